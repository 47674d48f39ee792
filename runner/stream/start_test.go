package stream

import (
	"context"
	"testing"

	"github.com/inference-sweep/sweep/sweep"
)

// Where no connection is at hand, or none that can be written at once, Start comes to what Do does.
func TestStartWithoutConnection(t *testing.T) {
	rows := map[string][2]*sweep.Request{}
	for way, carry := range ways {
		virtual(t, Config{}, always(scene{script: s0}), func(st *stage) {
			var got [2]*sweep.Request
			for i := range got {
				rec := newRecord()
				carry(st.Client, context.Background(), st.epoch, chatRequest(), &rec)
				got[i] = &rec
			}
			rows[way] = got
		})
	}
	for i, want := range rows["Do"] {
		got := rows["Start"][i]
		if summary(got, true) != summary(want, true) || got.ConnNew != want.ConnNew || got.SentNS != want.SentNS || got.Status != sweep.RequestOK {
			t.Errorf("request %d\ngot  %s, new connection %t\nwant %s, new connection %t", i, summary(got, true), got.ConnNew, summary(want, true), want.ConnNew)
		}
	}
}

// A request that cannot be made ends as any other, and takes no connection with it.
func TestStartCannotBeMade(t *testing.T) {
	virtual(t, Config{}, always(scene{script: s0}), func(st *stage) {
		req := chatRequest()
		req.Header = []Header{{"X", "a\r\nb"}}
		rec := newRecord()
		ways["Start"](st.Client, context.Background(), st.epoch, req, &rec)
		if rec.Error != sweep.ErrNotSent || rec.SentNS != sweep.None || st.accepts.Load() != 0 {
			t.Errorf("%s", summary(&rec, false))
		}
	})
}
