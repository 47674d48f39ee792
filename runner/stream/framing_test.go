package stream

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/inference-sweep/sweep/sweep"
)

// strictEvents is a slow reading of an event stream: the whole text at once, line by line, by the letter of the
// standard, but for what is documented: a data line that is a chunk by itself is an event, and the last event needs no
// empty line if it can be read.
func strictEvents(text string) (payloads []string, failed bool) {
	text = strings.TrimPrefix(text, "\xef\xbb\xbf")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	var data []string
	named := ""
	end := func() {
		if len(data) > 0 || named == "error" {
			payloads = append(payloads, strings.Join(data, "\n"))
			failed = failed || named == "error"
		}
		data, named = nil, ""
	}
	for line := range strings.SplitSeq(text, "\n") {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			end()
		case name == "data":
			data = append(data, value)
			if len(data) == 1 && named != "error" && standsAlone(value) {
				payloads, data = append(payloads, value), nil
			}
		case name == "event":
			named = strings.TrimSpace(value)
		}
		if failed || len(payloads) > 0 && strings.TrimSpace(payloads[len(payloads)-1]) == "[DONE]" {
			return payloads, failed
		}
	}
	return payloads, failed
}

func standsAlone(value string) bool {
	var e event
	return len(value) <= 16 && strings.TrimSpace(value) == "[DONE]" || e.scan([]byte(value)) && e.seen&keyChoices != 0
}

// facts of an answer in words.
func rowOf(d *Decoder) string {
	rec := newRecord()
	d.Fill(&rec, Ending{})
	return summary(&rec, false)
}

// replay decodes payloads that need no framing.
func replay(payloads []string, failed bool) *Decoder {
	d := new(Decoder)
	d.Reset(Options{Stream: true, EventStream: true, KeepText: true})
	d.shape = events
	for i, p := range payloads {
		d.framer.isError = failed && i == len(payloads)-1
		if !d.chunk(0, []byte(p)) {
			d.payload(0, []byte(p))
		}
		d.framer.isError = false
		if d.over() {
			break
		}
	}
	return d
}

// The framer gives what the strict reading gives, wherever reads are cut.
func FuzzFraming(f *testing.F) {
	for _, edit := range edits {
		var text string
		for _, w := range words(s0) {
			if body, ok := isBody(w); ok {
				text += edit(body)
			}
		}
		f.Add(text, uint64(1))
	}
	f.Add("event: error\ndata: x\n\n", uint64(2))
	f.Add("data: {\"choices\":[]}\nevent: error\n\n", uint64(3))
	f.Add("data\ndata:\ndata: a\n\rdata:[DONE]\n", uint64(4))
	f.Add(": a\r\n:b\r\rid: 1\ndata: {\"a\":1}\n\ndata: {\"choices\":\ndata:[]}\n\n", uint64(5))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		complete := text + "\n\n"
		want := rowOf(replay(strictEvents(complete)))
		for name, cut := range cuts(seed) {
			if cut == nil {
				cut = func(b []byte) [][]byte { return [][]byte{b} }
			}
			d := new(Decoder)
			d.Reset(Options{Stream: true, EventStream: true, KeepText: true})
			d.shape = events
			for _, b := range cut([]byte(complete)) {
				d.Feed(0, b)
			}
			d.End(0, true)
			if got := rowOf(d); got != want {
				t.Fatalf("%s %q\ngot  %s\nwant %s", name, complete, got, want)
			}
		}
	})
}

// A body ends where net/http says it ends, cut anywhere; what net/http refuses may be read, but never beyond its end.
func FuzzResponse(f *testing.F) {
	for _, framing := range []string{"", "length", "close"} {
		s := scene{script: s0, framing: framing}
		var wire []byte
		for _, a := range s.acts() {
			wire = append(wire, a.data...)
		}
		if framing == "" {
			wire = append(wire, "0\r\n\r\n"...)
		}
		f.Add(wire, uint64(1))
	}
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;ext=\"a\"\r\nhello\r\n00A\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 None\r\n\r\n", "HTTP/1.0 200\r\n\r\nx", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1",
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n",
	} {
		f.Add([]byte(s), uint64(2))
	}
	f.Fuzz(func(t *testing.T, wire []byte, seed uint64) {
		var whole response
		whole.reset("")
		body, rest, err := parseAll(&whole, [][]byte{wire})
		for name, cut := range cuts(seed) {
			if cut == nil {
				continue
			}
			var p response
			p.reset("")
			b, r, e := parseAll(&p, cut(wire))
			if !bytes.Equal(b, body) || e != err || e == nil && (r != rest || p.state != whole.state || p.status != whole.status) {
				t.Fatalf("%s: %q gives %q, %d, %v; whole: %q, %d, %v", name, wire, b, r, e, body, rest, err)
			}
		}
		if err == nil && whole.state == complete {
			sameAsStandard(t, wire, &whole, body)
		}
	})
}

func sameAsStandard(t *testing.T, wire []byte, p *response, body []byte) {
	r := bufio.NewReader(bytes.NewReader(wire))
	for {
		std, err := http.ReadResponse(r, nil)
		if err != nil {
			return
		}
		if std.StatusCode < 200 {
			continue
		}
		if stdBody, err := io.ReadAll(std.Body); err == nil && (std.StatusCode != p.status || !bytes.Equal(stdBody, body)) {
			t.Fatalf("%q gives %d %q; net/http says %d %q", wire, p.status, body, std.StatusCode, stdBody)
		}
		return
	}
}

func TestMalformedResponses(t *testing.T) {
	for wire, want := range map[string]error{
		"HTTP/2 200 OK\r\n\r\n":                                                      errStatusLine,
		"HTTP/1.1 20 OK\r\n\r\n":                                                     errStatusLine,
		"HTTP/1.1 2000 OK\r\n\r\n":                                                   errStatusLine,
		"HTTP/1.1 abc OK\r\n\r\n":                                                    errStatusLine,
		"HTTP/1.1 200 OK\r\nno colon\r\n\r\n":                                        errHeaderLine,
		"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n":                               errLength,
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n":                              errLength,
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n":          errLength,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n":                  errChunk,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5x\r\n":                errChunk,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n": errChunk,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n":           errChunkEnd,
		"HTTP/1.1 101 Switching\r\n\r\n":                                             errUpgrade,
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", headLimit):                    errHead,
		"HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", headLimit/4):              errHead,
	} {
		for _, cut := range [][][]byte{{[]byte(wire)}, randomCuts(1)([]byte(wire))} {
			var p response
			p.reset("")
			if _, _, err := parseAll(&p, cut); err != want {
				t.Errorf("%.60q: %v, want %v", wire, err, want)
			}
		}
	}
}

// The times of events are those of the reads that completed their data, not of the empty line behind it.
func TestTimeOfAnEvent(t *testing.T) {
	d := new(Decoder)
	d.Reset(Options{Stream: true, EventStream: true})
	for i, part := range []string{"data: {\"choices\":[{\"index\":0,", "\"text\":\"a\"}]}", "\n", "\n", "data: {\"choices\":[{\"index\":0,\ndata: \"text\":\"b\"}]}", "\r", "\n", "\r\n", ": x\n"} {
		d.Feed(int64(10*i), []byte(part))
	}
	d.End(1000, true)
	rec := newRecord()
	d.Fill(&rec, Ending{})
	var got []string
	for c := range sweep.Chunks(rec.ChunkLog) {
		got = append(got, fmt.Sprint(c.AtNS))
	}
	if strings.Join(got, " ") != "20 50" {
		t.Errorf("events at %v, want 20 and 50", got)
	}
}
