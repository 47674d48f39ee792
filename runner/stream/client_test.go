package stream

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

func always(s scene) func(asked) scene { return func(asked) scene { return s } }

// Every case short enough is played over TCP too: the facts are the same, and no time is earlier than it can be.
func TestCasesOverTCP(t *testing.T) {
	var all sync.WaitGroup
	for _, group := range [][]wireCase{framingCases, endingCases, tokenCases, timingCases} {
		for _, c := range group {
			if strings.Contains(c.script, "stay") && !strings.Contains(c.script, "done") || strings.Contains(c.script, "@2200") {
				continue
			}
			var exact *sweep.Request
			virtual(t, Config{}, always(scene{script: c.script}), func(st *stage) { exact = st.send(context.Background(), chatRequest()) })
			all.Go(func() {
				overTCP(t, Config{}, always(scene{script: c.script}), func(st *stage) {
					rec := st.send(context.Background(), chatRequest())
					if got, want := summary(rec, false), summary(exact, false); got != want {
						t.Errorf("%s\ngot  %s\nwant %s", c.name, got, want)
					}
					notEarlier(t, c.name+": first token", rec.FirstTokenNS, exact.FirstTokenNS)
					notEarlier(t, c.name+": answer", rec.AnswerNS, exact.AnswerNS)
					notEarlier(t, c.name+": last token", rec.LastTokenNS, exact.LastTokenNS)
					notEarlier(t, c.name+": end", rec.EndNS, exact.EndNS)
				})
			})
		}
	}
	all.Wait()
}

// notEarlier allows for a busy machine, but not for a clock that runs ahead.
func notEarlier(t *testing.T, what string, got, least int64) {
	t.Helper()
	if least != sweep.None && (got < least-int64(time.Millisecond) || got > least+int64(20*time.Second)) {
		t.Errorf("%s at %s ms, cannot be before %s ms", what, ms(got), ms(least))
	}
}

// B10: a reset and an early end are told apart, and the next request does not suffer.
func TestResetInTheMiddle(t *testing.T) {
	var n atomic.Int64
	play := func(asked) scene {
		if n.Add(1) == 1 {
			return scene{script: `@5 H role @10 T("a") @20 T("b") @60 rst`}
		}
		return scene{script: s0}
	}
	overTCP(t, Config{}, play, func(st *stage) {
		rec := st.send(context.Background(), chatRequest())
		if got, want := summary(rec, false), `failed/reset in=- out=- chunks=[te*2] finish= text="ab"`; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if rec = st.send(context.Background(), chatRequest()); rec.Status != sweep.RequestOK || !rec.ConnNew {
			t.Errorf("the next request: %s, new connection %t", summary(rec, false), rec.ConnNew)
		}
	})
}

// The larger cases, whose scripts are made.
func TestLongStreams(t *testing.T) {
	var spaces, interval1, interval10, flush, bursts strings.Builder
	for i := range 20 {
		fmt.Fprintf(&spaces, ` @%d T(" ")`, 100+10*i)
	}
	for i := range 41 {
		fmt.Fprintf(&interval1, ` @%d T("x")`, 100+10*i)
	}
	interval10.WriteString(` @100 T("x")`)
	for i := range 4 {
		fmt.Fprintf(&interval10, ` @%d T("xxxxxxxxxx")`, 200+100*i)
	}
	flush.WriteString("@2100 H+role")
	for i := range 200 {
		flush.WriteString(`+T("x")`)
		bursts.WriteString(` T("x")`)
		if i%64 == 63 {
			fmt.Fprintf(&bursts, " @%d", 100+10*i)
		}
	}
	long := strings.Repeat("x", 100_000)
	for _, c := range []struct {
		name, script string
		tpot         float64
		want         string
	}{
		{"A12 a line of 100 kB", `@5 H role @100 T("a") @120 T("` + long + `") @140 T("c") f("stop") u(5,3) done`, 20,
			`ok ttft=100 answer=100 last=140 end=140 in=5/usage out=3/usage chunks=[te@100 te@120 te@140] finish=stop text="axxxxxxxxxxxxxxx…xxxxxxxxxxxxxxxc(100002)"`},
		{"C06 spaces", `@5 H role` + spaces.String() + ` f("stop") u(5,20) done`, 10,
			`ok ttft=100 last=290 out=20/usage`},
		{"D09 one token each", `@5 H role` + interval1.String() + ` f("stop") u(5,41) done`, 10,
			`ok ttft=100 last=500 out=41/usage`},
		{"D09 ten tokens each", `@5 H role` + interval10.String() + ` f("stop") u(5,41) done`, 10,
			`ok ttft=100 last=500 out=41/usage`},
		{"D17 all in one flush", flush.String() + ` f("stop") u(5,200) done`, 0,
			`ok ttft=2100 last=2100 out=200/usage`},
		{"D17 bursts of 64", `@5 H @100` + bursts.String() + ` f("stop") u(5,200) done`, 1920.0 / 199,
			`ok ttft=100 last=2010 out=200/usage`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for cutName, cut := range cuts(2) {
				virtual(t, Config{}, always(scene{script: c.script, cut: cut}), func(st *stage) {
					rec := st.send(context.Background(), chatRequest())
					got := summary(rec, true)
					if !strings.Contains(c.want, "chunks") {
						got = fmt.Sprintf("%s ttft=%s last=%s out=%s", rec.Status, ms(rec.FirstTokenNS), ms(rec.LastTokenNS), counted(rec.OutputTokens, rec.OutputSource))
					}
					if got != c.want {
						t.Errorf("%s\ngot  %s\nwant %s", cutName, got, c.want)
					}
					if tpot, ok := rec.TPOTNS(); !ok || tpot < c.tpot*1e6*0.99 || tpot > c.tpot*1e6*1.01 {
						t.Errorf("%s: time per token %v ns, want %v ms", cutName, tpot, c.tpot)
					}
				})
			}
		})
	}
}

func TestLineTooLong(t *testing.T) {
	for name, script := range map[string]string{
		"a line":     `@5 H role @100 T("a") "data: %s"`,
		"an event":   `@5 H role @100 T("a") "data: %s\ndata: %[1]s\n"`,
		"a document": `@5 H "{%s"`,
	} {
		size := LineLimit + 1
		if name == "an event" {
			size = LineLimit/2 + 1
		}
		virtual(t, Config{}, always(scene{script: fmt.Sprintf(script, strings.Repeat("x", size)) + " stay"}), func(st *stage) {
			if rec := st.send(context.Background(), chatRequest()); rec.Error != sweep.ErrLineTooLong {
				t.Errorf("%s: %s", name, summary(rec, true))
			}
		})
	}
}

func TestTextCap(t *testing.T) {
	for limit, want := range map[int]string{0: "aé汉b", 1: "a", 2: "a", 3: "aé", 5: "aé", 6: "aé汉", 100: "aé汉b"} {
		virtual(t, Config{TextCap: limit}, always(scene{script: `@5 H T("a") T("é汉") T("b") f("stop") done`}), func(st *stage) {
			if got := st.send(context.Background(), chatRequest()).Text; got != want {
				t.Errorf("up to %d bytes: %q, want %q", limit, got, want)
			}
		})
	}
}

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
		"closed while unused":   {"fin", []string{"ok new", "ok new"}},
		"reset while unused":    {"rst", []string{"ok new", "ok new"}},
		"closed on the request": {"read fin", []string{"ok new", "failed/stale", "ok new"}},
		"reset on the request":  {"read rst", []string{"ok new", "failed/stale", "ok new"}},
	} {
		t.Run(name, func(t *testing.T) {
			closed := make(chan bool)
			var conns atomic.Int64
			l := listen(t, func(nc net.Conn) {
				r := bufio.NewReader(nc)
				last := conns.Add(1) > 1
				for {
					if _, err := readRequest(r); err != nil {
						return
					}
					play(nc, scene{script: s0short})
					if last {
						continue
					}
					if strings.HasPrefix(c.second, "read") {
						_, _ = readRequest(r)
					}
					scene{}.do(nc, act{op: c.second[len(c.second)-3:]})
					_ = nc.Close()
					closed <- true
					return
				}
			})
			client := mustClient(t, Config{Base: "http://" + l.Addr().String(), Timeouts: usualTimeouts})
			for i, want := range c.want {
				rec := NewRecord()
				client.Do(context.Background(), time.Now(), chatRequest(), &rec)
				got := rec.Status
				if rec.Error != "" {
					got += "/" + rec.Error
				}
				if rec.ConnNew {
					got += " new"
				}
				if got != want {
					t.Errorf("request %d: %s, want %s: %s", i, got, want, rec.ErrorMessage)
				}
				if i == 0 && !strings.HasPrefix(c.second, "read") || i == 1 && strings.HasPrefix(c.second, "read") {
					<-closed
					time.Sleep(20 * time.Millisecond) // for the loopback to carry it
				}
			}
		})
	}
}

const s0short = `@5 H role T("a") T("b") T("c") f("stop") u(5,3) done`

func play(nc net.Conn, s scene) {
	for _, a := range s.acts() {
		s.do(nc, a)
	}
}

// listen accepts on loopback and hands each connection to a goroutine.
func listen(t *testing.T, handle func(net.Conn)) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = nc.Close() }()
				handle(nc)
			}()
		}
	}()
	return l
}

func mustClient(t *testing.T, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// A new connection that is reset before the response is the server's doing.
func TestResetBeforeTheResponse(t *testing.T) {
	overTCP(t, Config{}, always(scene{script: "@20 rst"}), func(st *stage) {
		if rec := st.send(context.Background(), chatRequest()); rec.Error != sweep.ErrReset || rec.WrittenNS == sweep.None || rec.TTFBNS != sweep.None {
			t.Errorf("%s", summary(rec, false))
		}
	})
}

// D16: TLS that takes 150 ms is paid once, and shown.
func TestTLS(t *testing.T) {
	cert, pool := selfSigned(t)
	synctest.Test(t, func(t *testing.T) {
		handshakes := 0
		dial := func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			handshakes++
			go func() {
				time.Sleep(150 * time.Millisecond)
				serve(tls.Server(far, &tls.Config{Certificates: []tls.Certificate{cert}}), always(scene{script: s0}))
			}()
			return near, nil
		}
		c := mustClient(t, Config{Base: "https://server.test/v1", Dial: dial, TLS: &tls.Config{RootCAs: pool}, Timeouts: usualTimeouts, KeepText: true})
		epoch := time.Now()
		for i := range 20 {
			rec := NewRecord()
			c.Do(context.Background(), epoch, chatRequest(), &rec)
			if got := summary(&rec, true); got != s0Row {
				t.Errorf("got  %s\nwant %s", got, s0Row)
			}
			if want := int64(150e6); i == 0 && (rec.DialNS != want || rec.SentNS != want || !rec.ConnNew) || i > 0 && (rec.DialNS != 0 || rec.ConnNew) {
				t.Errorf("request %d: dial %s ms, sent %s ms, new connection %t", i, ms(rec.DialNS), ms(rec.SentNS), rec.ConnNew)
			}
		}
		if handshakes != 1 {
			t.Errorf("%d handshakes", handshakes)
		}
		c.Close()
	})
}

func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	// The fake clock of a test in virtual time begins in the year 2000.
	form := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"server.test"}, NotBefore: time.Unix(0, 0), NotAfter: time.Now().AddDate(10, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// Connections that do not come about: each kind, none of them sent.
func TestDialFailures(t *testing.T) {
	wrap := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)}
	}
	for name, c := range map[string]struct {
		dial func(context.Context, string, string) (net.Conn, error)
		want string
		ms   int64
	}{
		"refused":              {fails(wrap(syscall.ECONNREFUSED)), sweep.ErrConnect, 0},
		"unreachable":          {fails(wrap(syscall.EHOSTUNREACH)), sweep.ErrConnect, 0},
		"no port":              {fails(wrap(syscall.EADDRNOTAVAIL)), sweep.ErrLocal, 0},
		"no file":              {fails(wrap(syscall.EMFILE)), sweep.ErrLocal, 0},
		"no file, at all":      {fails(wrap(syscall.ENFILE)), sweep.ErrLocal, 0},
		"no name":              {fails(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "server.test", IsNotFound: true}}), sweep.ErrDNS, 0},
		"no file for the name": {fails(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "too many open files", UnwrapErr: syscall.EMFILE}}), sweep.ErrLocal, 0},
		"silence":              {func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }, sweep.ErrConnect, 10_000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := mustClient(t, Config{Base: "http://server.test", Dial: c.dial, Timeouts: usualTimeouts})
				rec := NewRecord()
				client.Do(context.Background(), time.Now(), chatRequest(), &rec)
				if rec.Status != sweep.RequestFailed || rec.Error != c.want || rec.DialNS != c.ms*1e6 || rec.SentNS != sweep.None || rec.EndNS != sweep.None {
					t.Errorf("%s %q after %s ms, sent %s", rec.Error, rec.ErrorMessage, ms(rec.DialNS), number(rec.SentNS))
				}
			})
		})
	}
}

func fails(err error) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) { return nil, err }
}

func TestRefusedForReal(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	c := mustClient(t, Config{Base: "http://" + l.Addr().String(), Timeouts: usualTimeouts})
	rec := NewRecord()
	c.Do(context.Background(), time.Now(), chatRequest(), &rec)
	if rec.Error != sweep.ErrConnect || !rec.ConnNew {
		t.Errorf("%s %q", rec.Error, rec.ErrorMessage)
	}
	if err := c.Warm(context.Background(), 3); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("warm: %v", err)
	}
}

func TestTLSFailures(t *testing.T) {
	cert, _ := selfSigned(t)
	for name, far := range map[string]func(net.Conn){
		"a certificate that nobody signed": func(nc net.Conn) {
			_ = tls.Server(nc, &tls.Config{Certificates: []tls.Certificate{cert}}).Handshake()
			_ = nc.Close()
		},
		"not TLS": func(nc net.Conn) {
			_, _ = nc.Read(make([]byte, 1<<10))
			_, _ = io.WriteString(nc, "HTTP/1.1 400 Bad Request\r\n\r\n")
			_ = nc.Close()
		},
		"closed":  func(nc net.Conn) { _ = nc.Close() },
		"silence": func(nc net.Conn) { _, _ = io.Copy(io.Discard, nc) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dial := func(context.Context, string, string) (net.Conn, error) {
					a, b := net.Pipe()
					go far(b)
					return a, nil
				}
				c := mustClient(t, Config{Base: "https://server.test", Dial: dial, Timeouts: usualTimeouts})
				rec := NewRecord()
				c.Do(context.Background(), time.Now(), chatRequest(), &rec)
				if rec.Error != sweep.ErrTLS || rec.SentNS != sweep.None {
					t.Errorf("%s %q", rec.Error, rec.ErrorMessage)
				}
			})
		})
	}
}

// Cancelling ends a request at once, wherever it is, and leaves the pool in order.
func TestCancel(t *testing.T) {
	for at, want := range map[int]string{
		2:   `failed/cancelled http=- ttft=- answer=- last=- end=2 in=- out=- chunks=[] finish=`,
		50:  `failed/cancelled ttft=- answer=- last=- end=50 in=- out=- chunks=[] finish=`,
		130: `failed/cancelled ttft=100 answer=100 last=120 end=130 in=- out=- chunks=[te@100 te@120] finish= text="ab"`,
		150: s0Row,
	} {
		virtual(t, Config{}, always(scene{script: s0}), func(st *stage) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(at)*time.Millisecond)
			defer cancel()
			if got := summary(st.send(ctx, chatRequest()), true); got != want {
				t.Errorf("at %d ms\ngot  %s\nwant %s", at, got, want)
			}
			if rec := st.send(context.Background(), chatRequest()); rec.Status != sweep.RequestOK || rec.ConnNew != (at < 140) {
				t.Errorf("the request after: %s, new connection %t", summary(rec, true), rec.ConnNew)
			}
			if rec := st.send(ctx, chatRequest()); at < 150 && (rec.Error != sweep.ErrCancelled || rec.SentNS != sweep.None) {
				t.Errorf("cancelled before: %s", summary(rec, true))
			}
		})
	}
}

func TestCancelOverTCP(t *testing.T) {
	overTCP(t, Config{}, always(scene{script: `@5 H role T("a") stay`}), func(st *stage) {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(50*time.Millisecond, cancel)
		start := time.Now()
		rec := st.send(ctx, chatRequest())
		if rec.Error != sweep.ErrCancelled || rec.Chunks != 1 || time.Since(start) > 20*time.Second {
			t.Errorf("%s after %s", summary(rec, true), time.Since(start))
		}
	})
}

// While a finished answer waits for [DONE], cancelling takes nothing from it.
func TestCancelInTheGrace(t *testing.T) {
	virtual(t, Config{}, always(scene{script: `@5 H T("a") f("stop") u(5,1) stay`}), func(st *stage) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		want := `ok ttft=5 answer=5 last=5 end=1000 in=5/usage out=1/usage chunks=[te@5] finish=stop marks=no-done text="a"`
		if got := summary(st.send(ctx, chatRequest()), true); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// A request that does not stream is silent until its answer: only the total limit holds.
func TestSilenceOfWholeAnswers(t *testing.T) {
	req := chatRequest()
	req.Stream = false
	for script, want := range map[string]string{
		response1(300_000, jsonType, chatAnswer): `ok ttft=- answer=- last=300000 end=300000 in=5/usage out=3/usage chunks=[] finish=stop text="abc"`,
		`stay`:                                   `failed/timeout http=- ttft=- answer=- last=- end=600000 in=- out=- chunks=[] finish=`,
		`@5 raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{") @70000 raw("}") stay`: `failed/stalled ttft=- answer=- last=- end=60005 in=- out=- chunks=[] finish=`,
	} {
		virtual(t, Config{}, always(scene{script: script}), func(st *stage) {
			if got := summary(st.send(context.Background(), req), true); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
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
				rec := NewRecord()
				c.Do(context.Background(), epoch, chatRequest(), &rec)
				if rec.Status != sweep.RequestOK || rec.Chunks != 3 || rec.OutputTokens != 3 {
					bad.Add(1)
				}
			}
		})
	}
	workers.Wait()
	// A machine that stalls may keep the end of a body from a request that comes right behind.
	if n := accepts.Load(); bad.Load() != 0 || n > 250 {
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
		epoch := time.Now()
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				rec := NewRecord()
				c.Do(context.Background(), epoch, chatRequest(), &rec)
				if rec.ConnNew || rec.SentNS != 0 || rec.FirstTokenNS != 100e6 {
					t.Errorf("new connection %t, sent %s ms, first token %s ms", rec.ConnNew, ms(rec.SentNS), ms(rec.FirstTokenNS))
				}
			})
		}
		all.Wait()
		if dials != 200 {
			t.Errorf("%d connections", dials)
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
	rec := NewRecord()
	c.Do(context.Background(), time.Now(), chatRequest(), &rec)
	if !rec.ConnNew || rec.DialNS < 20e6 || rec.SentNS < rec.DialNS || rec.Status != sweep.RequestOK {
		t.Errorf("new connection %t, dial %s ms, sent %s ms", rec.ConnNew, ms(rec.DialNS), ms(rec.SentNS))
	}
	if err := c.Warm(context.Background(), 20); err != nil || c.pool.size() != 20 {
		t.Errorf("%v, %d connections ready", err, c.pool.size())
	}
}

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
			rec := NewRecord()
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
	req := chatRequest()
	req.Body = []byte(strings.Repeat("x", 4<<20))
	check := func(t *testing.T, c *Client) {
		rec := NewRecord()
		c.Do(context.Background(), time.Now(), req, &rec)
		if rec.Error != sweep.ErrHTTP || rec.HTTPStatus != 413 || rec.ErrorMessage != "no room" || rec.WrittenNS != sweep.None {
			t.Errorf("%s %q, status %s, written %s", rec.Error, rec.ErrorMessage, number(rec.HTTPStatus), number(rec.WrittenNS))
		}
		if c.pool.size() != 0 {
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
			check(t, mustClient(t, Config{Base: "http://server.test", Dial: dial, Timeouts: usualTimeouts}))
		})
	})
	t.Run("TCP", func(t *testing.T) {
		l := listen(t, early(true))
		check(t, mustClient(t, Config{Base: "http://" + l.Addr().String(), Timeouts: usualTimeouts}))
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
			rec := NewRecord()
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
