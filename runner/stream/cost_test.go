package stream

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// commonEvents are what the engines send per token, as they write it.
var commonEvents = map[string]string{
	"completion":  `data: {"id":"cmpl-9f1c2c1e8d4f4a39","object":"text_completion","created":1795981090,"model":"tiny","choices":[{"index":0,"text":" import","logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"token_ids":null}],"usage":null}` + "\n\n",
	"chat":        `data: {"id":"chatcmpl-9f1c2c1e8d4f4a39","object":"chat.completion.chunk","created":1795981090,"model":"tiny","choices":[{"index":0,"delta":{"content":" import"},"logprobs":null,"finish_reason":null,"token_ids":null}]}` + "\n\n",
	"ids, usage":  `data: {"id":"cmpl-9f1c2c1e8d4f4a39","object":"text_completion","created":1795981090,"model":"tiny","choices":[{"index":0,"text":"xor","logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"token_ids":[3806]}],"usage":{"prompt_tokens":8,"total_tokens":10,"completion_tokens":2}}` + "\n\n",
	"llama.cpp":   `data: {"choices":[{"text":" variable","index":0,"logprobs":null,"finish_reason":null}],"created":1795981882,"model":"tiny","system_fingerprint":"b1-0c1e570","object":"text_completion","id":"chatcmpl-8r76kXRNgj1Dv10yR5kEwD1Hw4HalfRt"}` + "\n\n",
	"escapes":     `data: {"id":"x1","object":"chat.completion.chunk","created":1700000000,"model":"toy","choices":[{"index":0,"delta":{"content":"\"\n\t\u00e9\""},"finish_reason":null}]}` + "\r\n\r\n",
	"tool call":   `data: {"id":"x1","object":"chat.completion.chunk","created":1700000000,"model":"toy","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}}]},"finish_reason":null}]}` + "\n\n",
	"reasoning":   `data: {"id":"x1","object":"chat.completion.chunk","created":1700000000,"model":"toy","choices":[{"index":0,"delta":{"reasoning_content":" so"},"finish_reason":null}]}` + "\n\n",
	"a keepalive": ": ping - 2030-01-01 00:00:00\n\n",
}

func readyDecoder() *Decoder {
	d := new(Decoder)
	d.Reset(Options{Stream: true, EventStream: true})
	d.facts.log = make([]byte, 0, 1<<20)
	return d
}

// An event costs no allocation once the buffers have grown, whole or cut in two.
func TestEventsDoNotAllocate(t *testing.T) {
	for name, event := range commonEvents {
		for _, cut := range []int{0, 3, len(event) / 2, len(event) - 1} {
			d, at, wire := readyDecoder(), int64(0), []byte(event)
			one := func() {
				at += 10_000_000
				d.Feed(at, wire[:cut])
				d.Feed(at, wire[cut:])
			}
			one()
			if n := testing.AllocsPerRun(1000, one); n != 0 {
				t.Errorf("%s cut at %d: %v allocations", name, cut, n)
			}
			if name != "a keepalive" && d.facts.chunks < 1000 {
				t.Errorf("%s: %d events seen", name, d.facts.chunks)
			}
		}
	}
}

// wholeStream is the wire of an answer with n tokens.
func wholeStream(n int) []byte {
	var b strings.Builder
	b.WriteString(streamHead + "Transfer-Encoding: chunked\r\n\r\n")
	for range n {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(commonEvents["chat"]), commonEvents["chat"])
	}
	for _, w := range words(`f("stop") u(5,3) done`) {
		body := bodyOf(w)
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(body), body)
	}
	b.WriteString("0\r\n\r\n")
	return []byte(b.String())
}

// tape is a connection that plays one answer after each request, one read a piece.
type tape struct {
	wire  []byte
	piece int
	left  []byte
}

func (p *tape) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.left[:min(p.piece, len(p.left))])
	p.left = p.left[n:]
	return n, nil
}
func (p *tape) Write(b []byte) (int, error)      { p.left = p.wire; return len(b), nil }
func (p *tape) Close() error                     { return nil }
func (p *tape) LocalAddr() net.Addr              { return nil }
func (p *tape) RemoteAddr() net.Addr             { return nil }
func (p *tape) SetDeadline(time.Time) error      { return nil }
func (p *tape) SetReadDeadline(time.Time) error  { return nil }
func (p *tape) SetWriteDeadline(time.Time) error { return nil }

func tapeClient(t testing.TB, wire []byte, piece int) *Client {
	c, err := New(Config{Base: "http://server.test", Timeouts: usualTimeouts, Dial: func(context.Context, string, string) (net.Conn, error) {
		return &tape{wire: wire, piece: piece}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A whole request costs the few allocations that its row keeps, however many tokens it brings.
func TestRequestsHardlyAllocate(t *testing.T) {
	for _, tokens := range []int{10, 1000} {
		c, epoch, req := tapeClient(t, wholeStream(tokens), 240), time.Now(), chatRequest()
		rec, n := newRecord(), 1e9
		for range 30 { // the pools of the race detector forget on purpose
			n = min(n, testing.AllocsPerRun(1, func() {
				rec = newRecord()
				c.Do(context.Background(), epoch, req, &rec)
			}))
		}
		if rec.Status != sweep.RequestOK || rec.Chunks != int64(tokens) || rec.ConnNew {
			t.Fatalf("%s %s, %d events, new connection %t", rec.Status, rec.Error, rec.Chunks, rec.ConnNew)
		}
		if n > 4 {
			t.Errorf("%d tokens: %v allocations", tokens, n)
		}
	}
}

// Events that differ in their texts alone, and events of two forms in turn, each of which is read in full.
func BenchmarkFeed(b *testing.B) {
	for _, name := range []string{"completion", "chat", "ids, usage", "llama.cpp"} {
		event := commonEvents[name]
		other := strings.NewReplacer(" import", " the", "xor", "abc", "3806", "12", " variable", "s").Replace(event)
		for _, c := range []struct {
			name string
			wire []string
		}{
			{"", []string{event, other}},
			{", read in full", []string{event, strings.Replace(event, `"finish_reason":null`, `"finish_reason": null`, 1)}},
		} {
			b.Run(name+c.name, func(b *testing.B) {
				d, at, bytes := readyDecoder(), int64(0), [2][]byte{[]byte(c.wire[0]), []byte(c.wire[1])}
				b.ReportAllocs()
				b.SetBytes(int64(len(event)))
				for i := 0; b.Loop(); i++ {
					at += 10_000_000
					d.Feed(at, bytes[i%2])
					d.facts.log = d.facts.log[:0]
				}
			})
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	const tokens = 1000
	c, epoch, req := tapeClient(b, wholeStream(tokens), 240), time.Now(), chatRequest()
	b.ReportAllocs()
	for b.Loop() {
		rec := newRecord()
		c.Do(context.Background(), epoch, req, &rec)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/tokens, "ns/event")
}
