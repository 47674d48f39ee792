package stream

import (
	"bytes"
	"context"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// started has a request carried out on a connection that is at hand.
func started(t *testing.T, st *stage, req *Request) *sweep.Request {
	t.Helper()
	if err := st.Warm(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	rec := newRecord()
	ways["Start"](st.Client, context.Background(), st.epoch, req, &rec)
	if rec.ConnNew {
		t.Error("a connection was made although one was at hand")
	}
	return &rec
}

// Every case short enough comes to the same where nobody waits for it. A kept connection that dies before a byte is
// another case.
func TestCasesStarted(t *testing.T) {
	var all sync.WaitGroup
	for _, group := range [][]wireCase{framingCases, endingCases, tokenCases, timingCases} {
		for _, c := range group {
			if c.long() {
				continue
			}
			var exact *sweep.Request
			virtual(t, Config{}, always(scene{script: c.script}), func(st *stage) { exact = st.send(context.Background(), chatRequest()) })
			if exact.TTFBNS == sweep.None {
				continue
			}
			all.Go(func() {
				overTCP(t, Config{}, always(scene{script: c.script}), func(st *stage) {
					rec := started(t, st, chatRequest())
					if got, want := summary(rec, false), summary(exact, false); got != want {
						t.Errorf("%s\ngot  %s\nwant %s", c.name, got, want)
					}
					notEarlier(t, c.name+": first token", rec.FirstTokenNS, exact.FirstTokenNS)
					notEarlier(t, c.name+": end", rec.EndNS, exact.EndNS)
				})
			})
		}
	}
	all.Wait()
}

// What does not fit into the connection is written while the server takes its time, and its row says when that was over.
func TestStartWritesTheRestAside(t *testing.T) {
	const size = 30_000
	read := make(chan bool)
	narrow := net.ListenConfig{Control: func(_, _ string, rc syscall.RawConn) error {
		return rc.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 1) })
	}}
	l, err := narrow.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	acceptAll(t, l, func(nc net.Conn) {
		<-read
		serve(nc, func(a asked) scene {
			if len(a.body) != size {
				t.Errorf("%d bytes came of %d", len(a.body), size)
			}
			return scene{script: s0short}
		})
	})
	st := &stage{epoch: time.Now()}
	st.start(t, Config{Base: "http://" + l.Addr().String(), Dial: dialNarrow(1)})
	defer st.Close()
	req := chatRequest()
	req.Body = bytes.Repeat([]byte(" "), size)
	if err := st.Warm(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	rec, over := newRecord(), make(chan bool)
	st.Start(context.Background(), st.epoch, req, &rec, func() { close(over) })
	startedNS := int64(time.Since(st.epoch))
	read <- true
	<-over
	mustBeOK(t, &rec)
	if rec.ConnNew || rec.SentNS+rec.WrittenNS < startedNS || rec.WrittenNS > rec.TTFBNS {
		t.Errorf("sent at %s ms on a new connection %t, written after %s ms; Start returned at %s ms; first byte after %s ms",
			ms(rec.SentNS), rec.ConnNew, ms(rec.WrittenNS), ms(startedNS), ms(rec.TTFBNS))
	}
	close(read)
	if rec := started(t, st, req); rec.Status != sweep.RequestOK {
		t.Errorf("again: %s", summary(rec, false))
	}
}

// Requests for which nobody waits have no goroutine, and all of them end when their context does.
func TestStartedWaitForNobody(t *testing.T) {
	const streams = 200
	overTCP(t, Config{}, always(scene{script: `@1 H T("a") stay`}), func(st *stage) {
		if err := st.Warm(context.Background(), streams); err != nil {
			t.Fatal(err)
		}
		for runtime.Gosched(); runtime.NumGoroutine() < streams; { // the server has one for each
			time.Sleep(time.Millisecond)
		}
		before := runtime.NumGoroutine()
		ctx, cancel := context.WithCancel(context.Background())
		rows := make([]sweep.Request, streams)
		var all sync.WaitGroup
		all.Add(streams)
		for i := range rows {
			rows[i] = newRecord()
			st.Start(ctx, st.epoch, chatRequest(), &rows[i], all.Done)
		}
		if now := runtime.NumGoroutine(); now > before+streams/10 {
			t.Errorf("%d goroutines for %d streams, %d before", now, streams, before)
		}
		time.Sleep(20 * time.Millisecond)
		cancel()
		all.Wait()
		for i := range rows {
			if r := &rows[i]; r.Error != sweep.ErrCancelled || r.SentNS == sweep.None || r.ConnNew {
				t.Errorf("%s", summary(r, false))
			}
		}
		rec := newRecord()
		ways["Start"](st.Client, ctx, st.epoch, chatRequest(), &rec)
		if rec.Error != sweep.ErrCancelled || rec.SentNS != sweep.None {
			t.Errorf("cancelled before: %s", summary(&rec, false))
		}
	})
}

// Many that start from one goroutine, some of them cancelled on their way, are told apart, round after round on the same
// connections.
func TestStartManyAtOnce(t *testing.T) {
	const streams, rounds = 150, 4
	overTCP(t, Config{}, func(a asked) scene {
		if strings.Contains(string(a.body), "forever") {
			return scene{script: `@1 H T("a") stay`}
		}
		return scene{script: s0short}
	}, func(st *stage) {
		for range rounds {
			ctx, cancel := context.WithCancel(context.Background())
			rows := make([]sweep.Request, streams)
			var short, long sync.WaitGroup
			for i := range rows {
				rows[i] = newRecord()
				req, of := chatRequest(), &short
				if i%10 == 0 {
					req.Body, of = []byte(`"forever"`), &long
				}
				of.Add(1)
				st.Start(ctx, st.epoch, req, &rows[i], of.Done)
			}
			short.Wait()
			cancel()
			long.Wait()
			for i := range rows {
				if i%10 != 0 {
					mustBeOK(t, &rows[i])
				} else if rows[i].Error != sweep.ErrCancelled {
					t.Errorf("%s", summary(&rows[i], false))
				}
			}
		}
	})
}
