package stream

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// E19: large bodies, many at once; when they were written is in the row.
func TestLargeBodies(t *testing.T) {
	req := chatRequest()
	req.Body = []byte(strings.Repeat("x", 400_000))
	var bytesRead atomic.Int64
	overTCP(t, Config{}, func(a asked) scene { bytesRead.Add(int64(len(a.body))); return scene{script: s0short} }, func(st *stage) {
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				for range 2 {
					rec := st.send(context.Background(), req)
					if rec.Status != sweep.RequestOK || rec.WrittenNS == sweep.None || rec.WrittenNS > rec.TTFBNS || rec.Chunks != 3 {
						t.Errorf("%s, written %s ms, first byte %s ms: %s", summary(rec, false), ms(rec.WrittenNS), ms(rec.TTFBNS), rec.ErrorMessage)
					}
				}
			})
		}
		all.Wait()
	})
	if n := bytesRead.Load(); n != 128*400_000 {
		t.Errorf("the server read %d bytes", n)
	}
}

// A server that reads slowly, exactly.
func TestWrittenTime(t *testing.T) {
	for size, want := range map[int]int64{100: 0, 40_000: 400e6} {
		synctest.Test(t, func(t *testing.T) {
			dial := func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				go func() {
					slow := &slowly{far, size}
					_, _ = readRequest(bufio.NewReader(slow))
					play(far, scene{script: s0short})
					_ = far.Close()
				}()
				return near, nil
			}
			c := mustClient(t, Config{Base: "http://server.test", Dial: dial, Timeouts: usualTimeouts})
			req := chatRequest()
			req.Body = []byte(strings.Repeat("x", size))
			rec := newRecord()
			c.Do(context.Background(), time.Now(), req, &rec)
			if rec.WrittenNS != want || rec.TTFBNS != want || rec.Status != sweep.RequestOK {
				t.Errorf("%d bytes: written %s ms, first byte %s ms, %s", size, ms(rec.WrittenNS), ms(rec.TTFBNS), rec.Error)
			}
		})
	}
}

// slowly takes 100 ms over each of four reads of a large request.
type slowly struct {
	net.Conn
	size int
}

func (s *slowly) Read(b []byte) (int, error) {
	if s.size > 1000 && s.size < 40_000 {
		time.Sleep(100 * time.Millisecond)
	}
	n, err := s.Conn.Read(b[:min(len(b), 10_000)])
	s.size -= n
	return n, err
}

// A server that answers before it has read the request is heard, whatever becomes of the rest.
func TestEarlyAnswer(t *testing.T) {
	const refusal = "HTTP/1.1 413 Too Large\r\nContent-Length: 31\r\n\r\n{\"error\":{\"message\":\"no room\"}}"
	early := func(hold bool) func(net.Conn) {
		return func(nc net.Conn) {
			_, _ = nc.Read(make([]byte, 1000))
			_, _ = io.WriteString(nc, refusal)
			if hold {
				time.Sleep(100 * time.Millisecond)
			}
			_ = nc.Close()
		}
	}
	check := func(t *testing.T, c *Client, size int) {
		req := chatRequest()
		req.Body = bytes.Repeat([]byte("x"), size)
		rec := newRecord()
		c.Do(context.Background(), time.Now(), req, &rec)
		if rec.Error != sweep.ErrHTTP || rec.HTTPStatus != 413 || rec.ErrorMessage != "no room" || rec.WrittenNS != sweep.None {
			t.Errorf("%s %q, status %s, written %s", rec.Error, rec.ErrorMessage, number(rec.HTTPStatus), number(rec.WrittenNS))
		}
		if c.pool.ready() != 0 {
			t.Error("the connection was kept")
		}
	}
	t.Run("pipe", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			dial := func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				go early(false)(far)
				return near, nil
			}
			check(t, mustClient(t, Config{Base: "http://server.test", Dial: dial, Timeouts: usualTimeouts}), 5000)
		})
	})
	t.Run("TCP", func(t *testing.T) {
		l := listen(t, early(true))
		const size = 64 << 20 // more than any socket buffers
		check(t, mustClient(t, Config{Base: "http://" + l.Addr().String(), Timeouts: usualTimeouts}), size)
	})
}

// A server that stops reading the request has stalled.
func TestRequestNotRead(t *testing.T) {
	for size, timeouts := range map[int]Timeouts{
		100:    {Idle: time.Minute, Total: 10 * time.Minute},
		50_000: {Idle: time.Minute, Total: 10 * time.Minute},
		101:    {Total: time.Minute},
		50_001: {Total: time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			dial := func(context.Context, string, string) (net.Conn, error) {
				near, _ := net.Pipe()
				return near, nil
			}
			c := mustClient(t, Config{Base: "http://server.test", Dial: dial, Timeouts: timeouts})
			req := chatRequest()
			req.Body = []byte(strings.Repeat("x", size))
			rec := newRecord()
			c.Do(context.Background(), time.Now(), req, &rec)
			want := sweep.ErrStalled
			if timeouts.Idle == 0 {
				want = sweep.ErrTimeout
			}
			if rec.Error != want || rec.EndNS != int64(time.Minute) || rec.WrittenNS != sweep.None {
				t.Errorf("%d bytes: %s after %s ms", size, rec.Error, ms(rec.EndNS))
			}
		})
	}
}

// What is sent: one request line, the usual header, every header asked for, the body as it is.
func TestRequestAsSent(t *testing.T) {
	req := chatRequest()
	req.Header = append(req.Header, Header{"content-length", "1"}, Header{"User-Agent", "me"})
	var got asked
	virtual(t, Config{}, func(a asked) scene { got = a; return scene{script: s0} }, func(st *stage) {
		st.base.prefix = "/prefix"
		if rec := st.send(context.Background(), req); rec.RequestID != "row-1" {
			t.Errorf("the row's request id is %q", rec.RequestID)
		}
	})
	if got.line != "POST /prefix/v1/chat/completions HTTP/1.1" || string(got.body) != string(req.Body) {
		t.Errorf("sent %q and %q", got.line, got.body)
	}
	want := textproto.MIMEHeader{
		"Host": {"server.test:8000"}, "User-Agent": {"me"}, "Content-Type": {"application/json"}, "Accept": {"text/event-stream"},
		"X-Request-Id": {"row-1"}, "Authorization": {"Bearer k"}, "Content-Length": {fmt.Sprint(len(req.Body))},
	}
	if fmt.Sprint(got.header) != fmt.Sprint(want) {
		t.Errorf("header %v\nwant   %v", got.header, want)
	}
}

func TestHeaderThatCannotBeSent(t *testing.T) {
	req := chatRequest()
	req.Header = []Header{{"X-A", "b\r\nX-C: d"}}
	virtual(t, Config{}, func(asked) scene { return scene{script: s0} }, func(st *stage) {
		rec := st.send(context.Background(), req)
		if rec.Error != sweep.ErrNotSent || rec.SentNS != sweep.None || st.accepts.Load() != 0 {
			t.Errorf("%s, sent %s, %d connections", rec.Error, number(rec.SentNS), st.accepts.Load())
		}
	})
}

func TestBases(t *testing.T) {
	for in, want := range map[string]base{
		"http://h":                {"h:80", "h", "", false},
		"https://h/":              {"h:443", "h", "", true},
		"http://h:8000/v1":        {"h:8000", "h:8000", "", false},
		"http://h:8000/v1/":       {"h:8000", "h:8000", "", false},
		"https://h/gate/way/v1/":  {"h:443", "h", "/gate/way", true},
		"http://[::1]:8000/a%20b": {"[::1]:8000", "[::1]:8000", "/a%20b", false},
	} {
		got, _, err := parseBase(in)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "h:8000", "ftp://h", "http://", "http://u:p@h", "http://h?x=1", "http://h#x", "http://h:port"} {
		if c, err := New(Config{Base: in}); err == nil {
			t.Errorf("%q was taken: %+v", in, c.base)
		}
	}
}
