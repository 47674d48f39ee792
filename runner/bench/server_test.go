package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

func serve(t *testing.T, timing Timing) (*Server, time.Time) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	epoch := time.Now()
	s, err := Serve(l, timing, epoch)
	if err != nil {
		t.Fatal(err)
	}
	return s, epoch
}

// post sends one request with net/http and returns the events of its answer.
func post(t *testing.T, s *Server, path, id string) (events []string) {
	t.Helper()
	req, err := http.NewRequest("POST", s.URL()+path, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Request-Id", id)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("status %d, %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			events = append(events, data)
		}
	}
	return events
}

// stampOf is the time that an event's text is.
func stampOf(t *testing.T, event string) int64 {
	t.Helper()
	_, text, ok := strings.Cut(event, `"text":"`)
	if !ok {
		_, text, _ = strings.Cut(event, `"content":"`)
	}
	n, err := strconv.ParseInt(text[:16], 16, 64)
	if err != nil {
		t.Fatalf("%s: %v", event, err)
	}
	return n
}

// What a server says of itself is what it did: no write is early, each event carries the time of its write.
func TestServerKeepsItsTimes(t *testing.T) {
	for _, test := range []struct {
		name   string
		timing Timing
	}{
		{"at once", Timing{Events: 3}},
		{"one event", Timing{TTFT: time.Millisecond, Events: 1}},
		{"paced", Timing{TTFT: 3 * time.Millisecond, Gap: 2 * time.Millisecond, Events: 5}},
		{"several a write", Timing{TTFT: time.Millisecond, Gap: time.Millisecond, Events: 10, PerWrite: 4}},
		{"at once, then paced", Timing{Gap: 2 * time.Millisecond, Events: 4}},
	} {
		for _, path := range []string{"/v1/completions", "/v1/chat/completions"} {
			s, _ := serve(t, test.timing)
			events := post(t, s, path, "row-7")
			exchanges := s.Take()
			if err := s.Close(); err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			n := test.timing.Events
			if len(events) != n+2 || len(exchanges) != 1 || exchanges[0].ID != "row-7" {
				t.Fatalf("%s: %d events, exchanges %v", test.name, len(events), exchanges)
			}
			if events[n+1] != "[DONE]" || !strings.Contains(events[n], fmt.Sprintf(`"completion_tokens":%d`, n)) {
				t.Errorf("%s: the end is %q", test.name, events[n:])
			}
			x, perWrite := exchanges[0], max(test.timing.PerWrite, 1)
			for i, event := range events[:n] {
				write := i / perWrite
				if got := stampOf(t, event); got != x.WriteNS[write] {
					t.Errorf("%s: event %d carries %d, its write was at %d", test.name, i, got, x.WriteNS[write])
				}
				if due := x.RequestNS + int64(test.timing.TTFT) + int64(write)*int64(test.timing.Gap); x.WriteNS[write] < due {
					t.Errorf("%s: write %d came %d ns early", test.name, write, due-x.WriteNS[write])
				}
				if finished := strings.Contains(event, `"finish_reason":"length"`); finished != (i == n-1) {
					t.Errorf("%s: event %d: %s", test.name, i, event)
				}
			}
		}
	}
}

// Events are as long as those of real servers.
func TestEventLength(t *testing.T) {
	for _, e := range []*event{&completionEvent, &chatEvent} {
		if n := len(e.middle); n < 220 || n > 260 {
			t.Errorf("%d bytes", n)
		}
	}
}

// Spread sets answers apart whose requests came together.
func TestServerSpreadsAnswers(t *testing.T) {
	const streams = 4
	timing := Timing{TTFT: 5 * time.Millisecond, Gap: 40 * time.Millisecond, Events: 1, Spread: streams}
	s, _ := serve(t, timing)
	defer s.Close()
	for range 2 * streams {
		post(t, s, "/v1/completions", "")
	}
	for i, x := range s.Take() {
		if due := x.RequestNS + int64(timing.TTFT) + int64(timing.Gap)*int64(i%streams)/streams; x.WriteNS[0] < due {
			t.Errorf("answer %d came %d ns early", i, due-x.WriteNS[0])
		}
	}
}

// A held answer begins and does not end; closing the server ends it.
func TestServerHoldsAnswers(t *testing.T) {
	s, epoch := serve(t, Timing{Events: 2, Hold: true})
	client, err := newClient(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	row := make(chan *sweep.Request)
	go func() { row <- ask(context.Background(), client, epoch, "held") }()
	for held := 0; held == 0; time.Sleep(time.Millisecond) {
		held = len(s.Take())
	}
	select {
	case r := <-row:
		t.Fatalf("ended: %s %s", r.Error, r.ErrorMessage)
	case <-time.After(20 * time.Millisecond):
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if r := <-row; r.Status != sweep.RequestFailed || r.Chunks != 1 {
		t.Errorf("%s, %d events", r.Status, r.Chunks)
	}
}

// Other clients look at the model list first.
func TestServerListsAModel(t *testing.T) {
	s, _ := serve(t, Timing{Events: 1})
	defer s.Close()
	resp, err := http.Get(s.URL() + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || !bytes.Contains(body, []byte(`"id":"tiny"`)) {
		t.Errorf("%s, %v", body, err)
	}
}

// An answer whose client has gone does not stop the others.
func TestServerOutlivesItsClients(t *testing.T) {
	s, epoch := serve(t, Timing{TTFT: time.Millisecond, Gap: time.Millisecond, Events: 20})
	defer s.Close()
	ctx, cancel := context.WithCancel(context.Background())
	client, err := newClient(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	time.AfterFunc(5*time.Millisecond, cancel)
	ask(ctx, client, epoch, "gone")
	if events := post(t, s, "/v1/completions", "stays"); len(events) != 22 {
		t.Errorf("%d events", len(events))
	}
}

func TestReadRequest(t *testing.T) {
	for _, test := range []struct {
		wire string
		want request
		rest string
		ok   bool
	}{
		{"POST /v1/completions HTTP/1.1\r\nx-request-id:  a-1 \r\ncontent-length: 3\r\n\r\nabcnext", request{post: true, id: "a-1"}, "next", true},
		{"POST /v1/chat/completions HTTP/1.1\nContent-Length: 0\n\n", request{post: true, chat: true}, "", true},
		{"GET /health HTTP/1.1\r\nHost: a:1\r\n\r\n", request{}, "", true},
		{"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabc", request{}, "", false},
		{"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n", request{}, "", false},
		{"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", request{}, "", false},
		{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", request{}, "", false},
		{"POST / HTTP/1.1\r\nContent-Le", request{}, "", false},
		{"", request{}, "", false},
	} {
		in := bufio.NewReader(strings.NewReader(test.wire))
		got, err := readRequest(in)
		rest, _ := io.ReadAll(in)
		switch {
		case test.ok && (err != nil || got != test.want || string(rest) != test.rest):
			t.Errorf("%q: %+v, rest %q, %v", test.wire, got, rest, err)
		case !test.ok && err == nil:
			t.Errorf("%q: %+v", test.wire, got)
		}
	}
}

// FuzzReadRequest holds that a request which is taken was there as a whole, and that what follows it stays.
func FuzzReadRequest(f *testing.F) {
	f.Add("POST /v1/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", "GET /")
	f.Add("POST / HTTP/1.1\r\nX-Request-Id: x\r\n\r\n", "")
	f.Fuzz(func(t *testing.T, wire, next string) {
		alone := bufio.NewReader(strings.NewReader(wire))
		r, err := readRequest(alone)
		if err != nil {
			return
		}
		both := bufio.NewReader(strings.NewReader(wire + next))
		r2, err := readRequest(both)
		left, _ := io.ReadAll(alone)
		left2, _ := io.ReadAll(both)
		if err != nil || r2 != r || string(left2) != string(left)+next {
			t.Errorf("%+v then %q; with more behind it %+v then %q, %v", r, left, r2, left2, err)
		}
	})
}
