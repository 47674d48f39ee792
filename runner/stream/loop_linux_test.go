package stream

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// wire is a connection of a client whose other end a test holds.
func wire(t *testing.T) (p *port, far net.Conn, c *Client) {
	t.Helper()
	accepted := make(chan net.Conn)
	done := make(chan bool)
	t.Cleanup(func() { close(done) })
	l := listen(t, func(nc net.Conn) { accepted <- nc; <-done })
	c = mustClient(t, Config{Base: "http://" + l.Addr().String()})
	cn, err := c.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cn.kill)
	p, ok := cn.Conn.(*port)
	if !ok {
		t.Fatalf("a connection to a TCP server is a %T", cn.Conn)
	}
	return p, <-accepted, c
}

// record is a take that keeps what comes until a byte '.', or an error other than a deadline.
type record struct {
	got      bytes.Buffer
	expired  int
	err      error
	deadline func()
}

func (r *record) take(_ time.Time, b []byte, err error) bool {
	r.got.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) && r.deadline != nil {
		r.expired++
		r.deadline()
		return false
	}
	r.err = err
	return err != nil || bytes.HasSuffix(b, []byte("."))
}

func (p *port) pushing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.take != nil
}

func TestPush(t *testing.T) {
	t.Run("bytes, again and again", func(t *testing.T) {
		p, far, _ := wire(t)
		for _, text := range []string{"a.", "bc.", strings.Repeat("x", 300<<10) + "."} {
			go func() { _, _ = io.WriteString(far, text) }()
			var r record
			if !p.push(r.take) || r.got.String() != text || r.err != nil {
				t.Errorf("%d bytes of %d, %v", r.got.Len(), len(text), r.err)
			}
		}
	})
	t.Run("the end", func(t *testing.T) {
		p, far, _ := wire(t)
		_, _ = io.WriteString(far, "abc")
		_ = far.(*net.TCPConn).CloseWrite()
		var r record
		if !p.push(r.take) || r.got.String() != "abc" || r.err != io.EOF {
			t.Errorf("%q, %v", &r.got, r.err)
		}
	})
	t.Run("a reset", func(t *testing.T) {
		p, far, _ := wire(t)
		_ = far.(*net.TCPConn).SetLinger(0)
		_ = far.Close()
		var r record
		if !p.push(r.take) || wireEnding(r.err).Kind != sweep.ErrReset {
			t.Errorf("%v", r.err)
		}
	})
	t.Run("closed meanwhile", func(t *testing.T) {
		p, _, _ := wire(t)
		go func() {
			for !p.pushing() {
				time.Sleep(time.Millisecond)
			}
			_ = p.Close()
		}()
		var r record
		if !p.push(r.take) || !errors.Is(r.err, net.ErrClosed) {
			t.Errorf("%v", r.err)
		}
		if p.push(r.take) {
			t.Error("a closed connection was read")
		}
		if _, err := p.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a closed connection was read: %v", err)
		}
		if err := p.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("closed again: %v", err)
		}
	})
	t.Run("read outside", func(t *testing.T) {
		p, far, _ := wire(t)
		_, _ = io.WriteString(far, "a.")
		var r record
		p.push(r.take)
		_, _ = io.WriteString(far, "bc")
		b := make([]byte, 2)
		if _, err := io.ReadFull(p, b); err != nil || string(b) != "bc" {
			t.Errorf("%q, %v", b, err)
		}
		_ = p.SetDeadline(time.Now().Add(10 * time.Millisecond))
		if _, err := p.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// A deadline strikes whenever it was set, is moved by take, and is gone once it is taken back.
func TestPushDeadlines(t *testing.T) {
	p, far, _ := wire(t)
	_ = p.SetReadDeadline(past)
	time.Sleep(5 * time.Millisecond) // it is over before anybody reads
	r := record{}
	r.deadline = func() {
		if r.expired < 3 {
			_ = p.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
			return
		}
		_ = p.SetReadDeadline(time.Time{})
		time.AfterFunc(30*time.Millisecond, func() { _, _ = io.WriteString(far, "a.") })
	}
	if !p.push(r.take) || r.got.String() != "a." || r.err != nil || r.expired != 3 {
		t.Errorf("%q, %v, %d deadlines", &r.got, r.err, r.expired)
	}
	_ = p.SetReadDeadline(time.Now().Add(time.Hour)) // set, and moved forward by take
	r = record{deadline: func() { go func() { _, _ = io.WriteString(far, "c.") }() }}
	_, _ = io.WriteString(far, "b")
	p.push(func(_ time.Time, b []byte, err error) bool {
		if string(b) == "b" {
			_ = p.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		}
		return r.take(time.Time{}, b, err)
	})
	if r.got.String() != "bc." || r.expired != 1 {
		t.Errorf("%q, %d deadlines", &r.got, r.expired)
	}
}

// The loop, its goroutine and its descriptor last as long as its connections, however these come and go.
func TestLoopEndsWithItsConnections(t *testing.T) {
	before := descriptors(t)
	for range 20 {
		overTCP(t, Config{}, always(scene{script: s0short}), func(st *stage) {
			var all sync.WaitGroup
			for range 5 {
				all.Go(func() { mustBeOK(t, st.send(context.Background(), chatRequest())) })
			}
			all.Wait()
			st.CloseIdle()
			st.loop.mu.Lock()
			defer st.loop.mu.Unlock()
			if st.loop.open != 0 || st.loop.epoll != nil {
				t.Errorf("%d connections are open", st.loop.open)
			}
		})
	}
	for wait := time.Millisecond; descriptors(t) > before+10; wait *= 2 { // the server's close a little later
		if wait > 10*time.Second {
			t.Fatalf("%d descriptors, %d before", descriptors(t), before)
		}
		time.Sleep(wait)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func mustBeOK(t *testing.T, rec *sweep.Request) {
	t.Helper()
	if rec.Status != sweep.RequestOK || rec.Chunks == 0 {
		t.Errorf("%s", summary(rec, false))
	}
}

// Many streams at once, some of which are cancelled, are told apart.
func TestStreamsBesideCancelled(t *testing.T) {
	const streams, rounds = 150, 3
	overTCP(t, Config{}, func(a asked) scene {
		if strings.Contains(string(a.body), "forever") {
			return scene{script: `@1 H T("a") stay`}
		}
		return scene{script: s0short}
	}, func(st *stage) {
		var all sync.WaitGroup
		for i := range streams {
			all.Go(func() {
				for range rounds {
					if i%10 != 0 {
						mustBeOK(t, st.send(context.Background(), chatRequest()))
						continue
					}
					ctx, cancel := context.WithCancel(context.Background())
					time.AfterFunc(20*time.Millisecond, cancel)
					req := chatRequest()
					req.Body = []byte(`"forever"`)
					if rec := st.send(ctx, req); rec.Error != sweep.ErrCancelled {
						t.Errorf("%s", summary(rec, false))
					}
				}
			})
		}
		all.Wait()
	})
}

// A stream that is always full leaves the others their turns.
func TestFloodLeavesTurns(t *testing.T) {
	var flooded atomic.Int64
	over := make(chan bool)
	l := listen(t, func(nc net.Conn) {
		r := bufio.NewReader(nc)
		for {
			req, err := readRequest(r)
			if err != nil {
				return
			}
			if !strings.Contains(string(req.body), "flood") {
				play(nc, scene{script: s0short})
				continue
			}
			_, _ = io.WriteString(nc, streamHead+"\r\n")
			for text := strings.Repeat(commonEvents["chat"], 500); ; {
				if _, err := io.WriteString(nc, text); err != nil {
					return
				}
				flooded.Add(500)
			}
		}
	})
	c := mustClient(t, Config{Base: "http://" + l.Addr().String()})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(over)
		rec, req := newRecord(), chatRequest()
		req.Body = []byte(`"flood"`)
		if c.Do(ctx, time.Now(), req, &rec); rec.Error != sweep.ErrCancelled || rec.Chunks == 0 {
			t.Errorf("the flood: %s, %d events", rec.Error, rec.Chunks)
		}
	}()
	for flooded.Load() < 5000 {
		time.Sleep(time.Millisecond)
	}
	for range 20 {
		rec := newRecord()
		c.Do(context.Background(), time.Now(), chatRequest(), &rec)
		mustBeOK(t, &rec)
	}
	cancel()
	<-over
	c.Close()
}

// dialNarrow makes connections that buffer few of the bytes that are written.
func dialNarrow(bytes int) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			err = nc.(*net.TCPConn).SetWriteBuffer(bytes)
		}
		return nc, err
	}
}

// A request larger than a socket holds is written while its server takes its time.
func TestLongRequestToSlowReader(t *testing.T) {
	const size = asideSocket - 4<<10
	l := listen(t, func(nc net.Conn) {
		time.Sleep(50 * time.Millisecond)
		serve(nc, func(a asked) scene {
			if len(a.body) != size {
				t.Errorf("%d bytes came of %d", len(a.body), size)
			}
			return scene{script: s0short}
		})
	})
	c := mustClient(t, Config{Base: "http://" + l.Addr().String(), Dial: dialNarrow(16 << 10), Timeouts: usualTimeouts})
	defer c.Close()
	req := chatRequest()
	req.Body = bytes.Repeat([]byte(" "), size)
	for range 2 {
		rec := newRecord()
		c.Do(context.Background(), time.Now(), req, &rec)
		mustBeOK(t, &rec)
	}
}

// What is not a plain TCP connection is read by its exchange.
func TestOnlyTCPIsPushed(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	for name, c := range map[string]struct {
		secure bool
		nc     net.Conn
	}{
		"a pipe": {false, near}, "TLS": {true, new(net.TCPConn)}, "a wrapped connection": {false, struct{ net.Conn }{new(net.TCPConn)}},
	} {
		client := Client{base: base{secure: c.secure}}
		cn := &conn{Conn: c.nc, raw: c.nc}
		if c.secure {
			cn.Conn = tls.Client(c.nc, new(tls.Config))
		}
		if client.join(cn); cn.push != nil {
			t.Errorf("%s is pushed", name)
		}
	}
}
