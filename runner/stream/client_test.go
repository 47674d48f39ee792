package stream

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

func always(s scene) func(asked) scene { return func(asked) scene { return s } }

// Every case short enough is played over TCP too: the facts are the same, and no time is earlier than it can be.
func TestCasesOverTCP(t *testing.T) {
	var all sync.WaitGroup
	for _, group := range [][]wireCase{framingCases, endingCases, tokenCases, timingCases} {
		for _, c := range group {
			if c.long() {
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

// long says that a case takes too long for real time.
func (c *wireCase) long() bool {
	return strings.Contains(c.script, "stay") && !strings.Contains(c.script, "done") || strings.Contains(c.script, "@2200")
}

// notEarlier allows for a busy machine, but not for a clock that runs ahead.
func notEarlier(t *testing.T, what string, got, least int64) {
	t.Helper()
	if least != sweep.None && (got < least-int64(time.Millisecond) || got > least+int64(20*time.Second)) {
		t.Errorf("%s at %s ms, cannot be before %s ms", what, ms(got), ms(least))
	}
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

// listen accepts on loopback and hands each connection to a goroutine.
func listen(t *testing.T, handle func(net.Conn)) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	acceptAll(t, l, handle)
	return l
}

// acceptAll handles each connection of a listener in a goroutine of its own.
func acceptAll(t *testing.T, l net.Listener, handle func(net.Conn)) {
	t.Helper()
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
