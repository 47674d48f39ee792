package stream

import (
	"bufio"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// A connection is used again, the last returned first, whether or not the body's end came with [DONE].
func TestReuse(t *testing.T) {
	for name, c := range map[string]struct {
		script  string
		pause   time.Duration
		accepts int
	}{
		"end in the same write":     {`@5 H T("a") f("stop") done+raw("0\r\n\r\n") raw("")`, 0, 1},
		"end right behind":          {`@5 H T("a") f("stop") done`, 0, 1},
		"end 2 ms behind":           {`@5 H T("a") f("stop") done @7 end`, 0, 1},
		"end in pieces":             {`@5 H T("a") f("stop") done raw("0\r") @6 raw("\nX-Trailer: a\r\n") @7 raw("\r\n")`, 0, 1},
		"end 1 s behind, no time":   {`@5 H T("a") f("stop") done @1005 end`, 0, 3},
		"end 1 s behind, time":      {`@5 H T("a") f("stop") done @1005 end`, 3 * time.Second, 1},
		"never an end":              {`@5 H T("a") f("stop") done stay`, 0, 3},
		"idle for too long":         {`@5 H T("a") f("stop") done`, 4001 * time.Millisecond, 3},
		"no [DONE]":                 {`@5 H T("a") f("stop") stay`, 0, 3},
		"an error at the end":       {`@5 H T("a") "data: {\"error\":\"x\"}\n\n" done`, 0, 3},
		"an error and all in order": {`@5 H T("a") "data: {\"error\":\"x\"}\n\n"+done+raw("0\r\n\r\n") raw("")`, 0, 1},
		"the server says close":     {`@5 raw("HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n") T("a") f("stop") done`, 0, 3},
		"an old server":             {`@5 raw("HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 14\r\n\r\ndata: [DONE]\n\n") raw("")`, 0, 3},
		"an old server that keeps":  {`@5 raw("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Type: text/event-stream\r\nContent-Length: 14\r\n\r\ndata: [DONE]\n\n") raw("")`, 0, 1},
		"more than was asked for":   {`@5 raw("HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\ndata: [DONE]\n\nHTTP/1.1 408 Late\r\n\r\n") raw("")`, 0, 3},
		"a refusal":                 {`@5 raw("HTTP/1.1 429 Slow\r\nContent-Length: 2\r\n\r\n{}") raw("")`, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := scene{script: c.script}
			if strings.HasSuffix(c.script, `raw("")`) || strings.Contains(c.script, "in pieces") || strings.Contains(c.script, "X-Trailer") {
				s.recorded = scene{script: c.script}.acts()
				s.recorded = s.recorded[:len(s.recorded)-1]
			}
			virtual(t, Config{}, always(s), func(st *stage) {
				var first string
				for i := range 3 {
					rec := st.send(context.Background(), chatRequest())
					if rec.ConnNew != (i == 0 || c.accepts == 3) || rec.DialNS != 0 && !rec.ConnNew {
						t.Errorf("request %d: new connection %t, dial %d ns", i, rec.ConnNew, rec.DialNS)
					}
					if i == 0 {
						first = summary(rec, true)
					} else if got := summary(rec, true); got != first {
						t.Errorf("request %d: %s\nfirst was  %s", i, got, first)
					}
					time.Sleep(c.pause)
				}
				if int(st.accepts.Load()) != c.accepts {
					t.Errorf("%d connections, want %d", st.accepts.Load(), c.accepts)
				}
			})
		})
	}
}

// E08: a server that closes idle connections after 5 s meets a client that does not trust them that long.
func TestKeepAliveRace(t *testing.T) {
	virtual(t, Config{}, always(scene{script: s0}), func(st *stage) {
		for i := range 20 {
			rec := st.send(context.Background(), chatRequest())
			if rec.Status != sweep.RequestOK || !rec.ConnNew {
				t.Fatalf("request %d: %s, new connection %t", i, summary(rec, false), rec.ConnNew)
			}
			time.Sleep(5*time.Second + time.Duration(i%3-1)*10*time.Millisecond)
		}
	})
}

// A kept connection that the server has closed is not used; one that dies on the request is stale, not the server's fault.
func TestStaleConnections(t *testing.T) {
	for name, c := range map[string]struct {
		second string // what the server does behind its first response
		want   []string
	}{
		"closed while unused":     {"fin", []string{"ok new", "ok new"}},
		"reset while unused":      {"rst", []string{"ok new", "ok new"}},
		"closed on the request":   {"read fin", []string{"ok new", "ok retried-stale", "ok"}},
		"reset on the request":    {"read rst", []string{"ok new", "ok retried-stale", "ok"}},
		"closed on every request": {"read fin always", []string{"ok new", "failed/stale retried-stale"}},
		"reset on every request":  {"read rst always", []string{"ok new", "failed/stale retried-stale"}},
	} {
		stale := func(t *testing.T, carry func(*Client, context.Context, time.Time, *Request, *sweep.Request)) {
			closed := make(chan bool)
			var conns atomic.Int64
			l := listen(t, func(nc net.Conn) {
				r := bufio.NewReader(nc)
				last := conns.Add(1) > 1
				op, always := strings.CutSuffix(c.second, " always")
				for {
					if _, err := readRequest(r); err != nil {
						return
					}
					if last && always {
						scene{}.do(nc, act{op: op[len(op)-3:]})
						_ = nc.Close()
						return
					}
					play(nc, scene{script: s0short})
					if last {
						continue
					}
					if strings.HasPrefix(op, "read") {
						_, _ = readRequest(r)
					}
					scene{}.do(nc, act{op: op[len(op)-3:]})
					_ = nc.Close()
					closed <- true
					return
				}
			})
			client := mustClient(t, Config{Base: "http://" + l.Addr().String(), Timeouts: usualTimeouts})
			for i, want := range c.want {
				rec := newRecord()
				carry(client, context.Background(), time.Now(), chatRequest(), &rec)
				got := rec.Status
				if rec.Error != "" {
					got += "/" + rec.Error
				}
				if rec.ConnNew {
					got += " new"
				}
				for _, mark := range rec.Marks {
					got += " " + mark
				}
				if got != want {
					t.Errorf("request %d: %s, want %s: %s", i, got, want, rec.ErrorMessage)
				}
				if i == 0 && !strings.HasPrefix(c.second, "read") || i == 1 && strings.HasPrefix(c.second, "read") {
					if <-closed; i == 0 {
						carried(t, client)
					}
				}
			}
		}
		for way, carry := range ways {
			t.Run(name+", "+way, func(t *testing.T) { stale(t, carry) })
		}
	}
}

const s0short = `@5 H role T("a") T("b") T("c") f("stop") u(5,3) done`

func play(nc net.Conn, s scene) {
	for _, a := range s.acts() {
		s.do(nc, a)
	}
}

// E16, E13: as many connections as requests are open at once, and no more.
func TestConnectionsAsNeeded(t *testing.T) {
	for _, n := range []int{1, 50, 150, 300} {
		open, peak := 0, 0
		var mu sync.Mutex
		play := func(asked) scene {
			mu.Lock()
			open++
			peak = max(peak, open)
			mu.Unlock()
			time.AfterFunc(999*time.Millisecond, func() { mu.Lock(); open--; mu.Unlock() })
			return scene{script: `@1000 H T("a") f("stop") u(5,1) done`}
		}
		virtual(t, Config{}, play, func(st *stage) {
			for range 3 {
				var all sync.WaitGroup
				for range n {
					all.Go(func() {
						if rec := st.send(context.Background(), chatRequest()); rec.Status != sweep.RequestOK {
							t.Errorf("%s", summary(rec, true))
						}
					})
				}
				all.Wait()
			}
			if peak != n || int(st.accepts.Load()) != n {
				t.Errorf("%d at once: the server saw %d, over %d connections", n, peak, st.accepts.Load())
			}
		})
	}
}

// E13 over TCP: 1,000 requests of 64 workers take about 64 connections.
func TestConnectionsOverTCP(t *testing.T) {
	var accepts atomic.Int64
	l := listen(t, func(nc net.Conn) {
		accepts.Add(1)
		serve(nc, always(scene{script: `@1 H role T("a") @2 T("b") @3 T("c") f("stop") u(5,3) done`}))
	})
	c := mustClient(t, Config{Base: "http://" + l.Addr().String(), Timeouts: usualTimeouts})
	epoch := time.Now()
	var left, bad atomic.Int64
	left.Store(1000)
	var workers sync.WaitGroup
	for range 64 {
		workers.Go(func() {
			for left.Add(-1) >= 0 {
				rec := newRecord()
				c.Do(context.Background(), epoch, chatRequest(), &rec)
				if rec.Status != sweep.RequestOK || rec.Chunks != 3 || rec.OutputTokens != 3 {
					bad.Add(1)
				}
			}
		})
	}
	workers.Wait()
	// A machine that stalls may keep the end of a body from a request that comes right behind.
	if n := accepts.Load(); bad.Load() != 0 || n > 500 {
		t.Errorf("%d connections, %d rows not as sent", n, bad.Load())
	}
}

// E18: connections made before the burst, a few at a time.
func TestWarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dialling, peak, dials := 0, 0, 0
		var mu sync.Mutex
		dial := func(context.Context, string, string) (net.Conn, error) {
			mu.Lock()
			dials++
			dialling++
			peak = max(peak, dialling)
			mu.Unlock()
			time.Sleep(20 * time.Millisecond)
			mu.Lock()
			dialling--
			mu.Unlock()
			near, far := net.Pipe()
			go serve(far, always(scene{script: s0}))
			return near, nil
		}
		c := mustClient(t, Config{Base: "http://server.test", Dial: dial, Timeouts: usualTimeouts})
		for range 2 {
			if err := c.Warm(context.Background(), 200); err != nil || dials != 200 || peak > warmDials {
				t.Fatalf("%v, %d connections, %d at once", err, dials, peak)
			}
		}
		time.Sleep(59 * time.Second)
		epoch := time.Now()
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				rec := newRecord()
				c.Do(context.Background(), epoch, chatRequest(), &rec)
				if rec.ConnNew || rec.SentNS != 0 || rec.FirstTokenNS != 100e6 {
					t.Errorf("new connection %t, sent %s ms, first token %s ms", rec.ConnNew, ms(rec.SentNS), ms(rec.FirstTokenNS))
				}
			})
		}
		all.Wait()
		time.Sleep(5 * time.Second)
		if n := c.pool.ready(); dials != 200 || n != 0 {
			t.Errorf("%d connections made, %d trusted too long", dials, n)
		}
		c.Close()
	})
}

func TestWarmCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
		c := mustClient(t, Config{Base: "http://server.test", Dial: dial})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := c.Warm(ctx, 10); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// E18 over TCP: with a short backlog behind it, Warm still gets there, and a request that has to dial says how long.
func TestWarmOverTCP(t *testing.T) {
	l := listen(t, func(nc net.Conn) { serve(nc, always(scene{script: s0short})) })
	slow := func(ctx context.Context, network, addr string) (net.Conn, error) {
		time.Sleep(20 * time.Millisecond)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	c := mustClient(t, Config{Base: "http://" + l.Addr().String(), Dial: slow, Timeouts: usualTimeouts})
	rec := newRecord()
	c.Do(context.Background(), time.Now(), chatRequest(), &rec)
	if !rec.ConnNew || rec.DialNS < 20e6 || rec.SentNS < rec.DialNS || rec.Status != sweep.RequestOK {
		t.Errorf("new connection %t, dial %s ms, sent %s ms", rec.ConnNew, ms(rec.DialNS), ms(rec.SentNS))
	}
	if err := c.Warm(context.Background(), 20); err != nil || c.pool.ready() != 20 {
		t.Errorf("%v, %d connections ready", err, c.pool.ready())
	}
}

// D13: many streams at once, each event with 4 KiB that nobody needs: no row is touched by another.
func TestManyStreams(t *testing.T) {
	fat := replacer(`"model":`, `"padding":"`+strings.Repeat("y", 4096)+`","model":`)
	virtual(t, Config{}, always(scene{script: s0, edit: fat}), func(st *stage) {
		var all sync.WaitGroup
		for range 256 {
			all.Go(func() {
				if got := summary(st.send(context.Background(), chatRequest()), true); got != s0Row {
					t.Errorf("got  %s\nwant %s", got, s0Row)
				}
			})
		}
		all.Wait()
	})
}

// Without a descriptor to look at, a connection that the server has closed is found out by the request, which is then
// sent once more and says so.
func TestStalePipe(t *testing.T) {
	virtual(t, Config{}, always(scene{script: `@5 H T("a") f("stop") done+raw("0\r\n\r\n") fin`}), func(st *stage) {
		for i := range 3 {
			rec := st.send(context.Background(), chatRequest())
			retried := slices.Contains(rec.Marks, MarkRetriedStale)
			if got := summary(rec, false); !strings.HasPrefix(got, "ok") || rec.ConnNew != (i == 0) || retried != (i > 0) || rec.EndNS == sweep.None {
				t.Errorf("request %d: %s, new connection %t", i, got, rec.ConnNew)
			}
		}
	})
}

func TestCloseIdle(t *testing.T) {
	virtual(t, Config{}, always(scene{script: s0}), func(st *stage) {
		for range 2 {
			if rec := st.send(context.Background(), chatRequest()); !rec.ConnNew || rec.Status != sweep.RequestOK {
				t.Errorf("%s, new connection %t", summary(rec, false), rec.ConnNew)
			}
			st.CloseIdle()
		}
		st.Close()
		if rec := st.send(context.Background(), chatRequest()); rec.Status != sweep.RequestOK || st.pool.ready() != 0 {
			t.Errorf("after Close: %s, %d connections kept", summary(rec, false), st.pool.ready())
		}
	})
}

// carried waits until the loopback has brought the ends of unused connections.
func carried(t *testing.T, c *Client) {
	t.Helper()
	for start := time.Now(); time.Since(start) < 30*time.Second; time.Sleep(time.Millisecond) {
		cn := c.pool.get()
		if cn == nil {
			return
		}
		c.pool.put(cn)
	}
	t.Fatal("the server's end of a connection did not come")
}
