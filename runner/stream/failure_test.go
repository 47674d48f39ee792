package stream

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

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
			rec := newRecord()
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
				rec := newRecord()
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
	rec := newRecord()
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
				rec := newRecord()
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
