package stream

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// stage is a client with the servers behind it.
type stage struct {
	*Client
	epoch   time.Time
	accepts atomic.Int64
}

var usualTimeouts = Timeouts{Connect: 10 * time.Second, Idle: 60 * time.Second, NoToken: 120 * time.Second, Total: 10 * time.Minute, Grace: 2 * time.Second}

// virtual runs a test in virtual time, its server behind in-memory pipes.
func virtual(t *testing.T, cfg Config, play func(asked) scene, test func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		st := &stage{epoch: time.Now()}
		cfg.Base = "http://server.test:8000"
		cfg.Dial = func(context.Context, string, string) (net.Conn, error) {
			st.accepts.Add(1)
			near, far := net.Pipe()
			go serve(far, play)
			return near, nil
		}
		st.start(t, cfg)
		test(st)
		st.Close()
		time.Sleep(2 * time.Hour) // servers that sleep wake up and find their connections closed
	})
}

// overTCP runs a test against a server on loopback.
func overTCP(t *testing.T, cfg Config, play func(asked) scene, test func(*stage)) {
	t.Helper()
	l := listen(t, func(nc net.Conn) { serve(nc, play) })
	cfg.Base = "http://" + l.Addr().String() + "/v1/"
	st := &stage{epoch: time.Now()}
	st.start(t, cfg)
	test(st)
	st.Close()
	_ = l.Close()
}

func (st *stage) start(t *testing.T, cfg Config) {
	t.Helper()
	if cfg.Timeouts == (Timeouts{}) {
		cfg.Timeouts = usualTimeouts
	}
	cfg.KeepText = true
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	st.Client = c
}

func chatRequest() *Request {
	return &Request{
		Path: "/v1/chat/completions", ID: "row-1", Stream: true, GraceUsage: true,
		Body:   []byte(`{"model":"toy","messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":{"include_usage":true}}`),
		Header: []Header{{"Authorization", "Bearer k"}},
	}
}

// ways are those of having a request carried out. All wait for its end.
var ways = map[string]func(c *Client, ctx context.Context, epoch time.Time, req *Request, rec *sweep.Request){
	"Do": (*Client).Do,
	"Start": func(c *Client, ctx context.Context, epoch time.Time, req *Request, rec *sweep.Request) {
		over := make(chan bool)
		c.Start(ctx, epoch, req, rec, func() { close(over) })
		<-over
	},
}

// send makes one request and returns its row.
func (st *stage) send(ctx context.Context, req *Request) *sweep.Request {
	rec := newRecord()
	st.Do(ctx, st.epoch, req, &rec)
	return &rec
}

// newRecord is a row of which nothing is known yet, due at the epoch.
func newRecord() sweep.Request {
	r := *sweep.NewRequest()
	r.DueNS = 0
	return r
}
