package stream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden rows anew")

// recording is what a real server answered to one request, read by read.
type recording struct {
	engine  string
	Name    string  `json:"name"`
	Request string  `json:"request"`
	Reads   [][]any `json:"reads"` // milliseconds since the request was written, Latin-1 text
	Closed  bool    `json:"closed"`
}

func recordings(t testing.TB) (all []recording) {
	t.Helper()
	files, err := filepath.Glob("testdata/recordings-*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 8<<20)
		for lines.Scan() {
			r := recording{engine: strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), "recordings-"), ".jsonl")}
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				t.Fatal(name, err)
			}
			all = append(all, r)
		}
		_ = f.Close()
	}
	return all
}

// scene replays a recording, byte for byte and at its times.
func (r recording) scene(cut func([]byte) [][]byte) (scene, []act) {
	var acts []act
	for _, read := range r.Reads {
		if strings.HasPrefix(read[1].(string), "<<cut:") {
			continue // the recording leaves out a stretch of chunks here
		}
		at := time.Duration(read[0].(float64) * float64(time.Millisecond))
		acts = append(acts, act{at: at, data: latin1(read[1].(string))})
	}
	return scene{cut: cut}, append(acts, act{op: "fin"})
}

func latin1(s string) []byte {
	var b []byte
	for _, r := range s {
		b = append(b, byte(r))
	}
	return b
}

// request is the recorded request as the client would be asked for it.
func (r recording) request() *Request {
	head, body, _ := strings.Cut(r.Request, "\r\n\r\n")
	return &Request{
		Path: strings.Fields(head)[1], Body: []byte(body),
		Stream: strings.Contains(body, `"stream": true`), GraceUsage: strings.Contains(body, `"include_usage": true`),
	}
}

func (r recording) play(t *testing.T, cut func([]byte) [][]byte) (row string) {
	t.Helper()
	s, acts := r.scene(cut)
	s.recorded = acts
	virtual(t, Config{}, func(asked) scene { return s }, func(st *stage) {
		rec := st.send(context.Background(), r.request())
		row = fmt.Sprintf("%s/%s: %s ttft=%s last=%s end=%s", r.engine, r.Name, summary(rec, false), ms(rec.FirstTokenNS), ms(rec.LastTokenNS), ms(rec.EndNS))
		if rec.ErrorMessage != "" {
			row += fmt.Sprintf(" message=%q", short(rec.ErrorMessage))
		}
	})
	return row
}

// The parser takes every recorded response apart as net/http does, however it is cut.
func TestRecordedFraming(t *testing.T) {
	for i, r := range recordings(t) {
		_, acts := r.scene(nil)
		var wire []byte
		for _, a := range acts {
			wire = append(wire, a.data...)
		}
		want, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(wire)), nil)
		if err != nil {
			t.Fatal(r.Name, err)
		}
		wantBody, wantErr := io.ReadAll(want.Body)
		for seed := range uint64(4) {
			var p response
			p.reset("")
			body, rest, err := parseAll(&p, randomCuts(uint64(i)*4+seed)(wire))
			if err != nil || p.status != want.StatusCode || !bytes.Equal(body, wantBody) || rest != 0 || p.ended() != (wantErr == nil) {
				t.Errorf("%s/%s: %v, status %d, %d body bytes of %d, %d left, ended %t, %v", r.engine, r.Name, err, p.status, len(body), len(wantBody), rest, p.ended(), wantErr)
			}
			if p.reusable() {
				t.Errorf("%s/%s: the server closed the connection, it cannot be used again", r.engine, r.Name)
			}
		}
	}
}

// parseAll feeds a response and returns its body and the number of bytes behind it.
func parseAll(p *response, cuts [][]byte) (body []byte, rest int, err error) {
	for _, b := range cuts {
		for len(b) > 0 && p.state != complete {
			var piece []byte
			if piece, b, err = p.next(b); err != nil {
				return body, rest, err
			}
			body = append(body, piece...)
		}
		rest += len(b)
	}
	return body, rest, nil
}

// Every recorded answer gives the row in the golden file, and gives it again however its reads are cut.
func TestRecordings(t *testing.T) {
	const golden = "testdata/recordings.rows"
	var got bytes.Buffer
	for i, r := range recordings(t) {
		if !strings.Contains(r.Request, "completions HTTP/1.1") {
			continue
		}
		row := r.play(t, nil)
		got.WriteString(row + "\n")
		for seed := range uint64(3) {
			if again := r.play(t, randomCuts(uint64(i)*10+seed)); again != row {
				t.Errorf("cut at random\ngot  %s\nwant %s", again, row)
			}
		}
		if again := r.play(t, bytewise); again != row {
			t.Errorf("byte by byte\ngot  %s\nwant %s", again, row)
		}
	}
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	gotRows, wantRows := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	if len(gotRows) != len(wantRows) {
		t.Fatalf("%d rows, want %d", len(gotRows), len(wantRows))
	}
	for i := range gotRows {
		if gotRows[i] != wantRows[i] {
			t.Errorf("got  %s\nwant %s", gotRows[i], wantRows[i])
		}
	}
}
