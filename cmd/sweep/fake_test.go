package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// asking is a request as a fake server sees it.
type asking struct {
	n        int    // from 1, over all requests of its life
	open     int    // requests in progress, with this one
	prompt   string // as it stands in the body
	input    int    // tokens of it, or words
	output   int    // tokens asked for
	probe    bool   // it asks whether the server is there
	chat     bool
	stream   bool
	received time.Time
}

// reply is what a fake server makes of a request. The zero value of everything but tokens is usable.
type reply struct {
	status      int           // other than 200
	says        string        // of an error
	first, step time.Duration // until the first token, and between two
	tokens      int
	input       int    // what it counts; 0 counts what was sent
	cached      int    // of them; negative says nothing
	model       string // "" is the one of ordinary
	served      string // by the header that gateways say it in
	uncounted   bool   // no usage
	lump        int    // tokens an event; 0 is 1
	burst       int    // events a flush; 0 is 1
	finish      string // "" is length
	cut         bool   // the connection ends after the last token
	whole       bool   // a document, though a stream was asked for
}

// fake is a server whose answers a test makes. It counts requests as the engine's gauge does.
type fake struct {
	answer func(asking) reply
	mu     sync.Mutex
	n      int
	open   int
	most   int // of open
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/health":
	case "/version":
		io.WriteString(w, `{"version":"1"}`)
	case "/v1/models":
		io.WriteString(w, `{"object":"list","data":[{"id":"sim/small","object":"model","root":"sim/small","max_model_len":32768}]}`)
	case "/metrics":
		f.mu.Lock()
		defer f.mu.Unlock()
		fmt.Fprintf(w, "vllm:num_requests_running %d\nvllm:num_requests_waiting 0\n", f.open)
	case "/reset_prefix_cache":
		io.WriteString(w, `{"success":true}`)
	case "/v1/completions", "/v1/chat/completions":
		f.complete(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (f *fake) complete(w http.ResponseWriter, r *http.Request) {
	a := read(r)
	f.mu.Lock()
	f.n++
	f.open++
	f.most = max(f.most, f.open)
	a.n, a.open = f.n, f.open
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.open--
		f.mu.Unlock()
	}()
	out := f.answer(a)
	switch {
	case out.status != 0:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(out.status)
		fmt.Fprintf(w, `{"error":{"message":%q,"code":%d}}`, out.says, out.status)
	case out.whole || !a.stream:
		rest(r, a.received.Add(out.first))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"model":"sim/small","choices":[{"index":0,"text":"a","finish_reason":"length"}],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`,
			a.input, out.tokens)
	default:
		out.write(w, r, a)
	}
}

// read takes a request's body apart.
func read(r *http.Request) asking {
	var body struct {
		Prompt   json.RawMessage
		Messages json.RawMessage
		Stream   bool
		Max      int `json:"max_tokens"`
	}
	text, _ := io.ReadAll(r.Body)
	json.Unmarshal(text, &body)
	a := asking{prompt: string(body.Prompt), output: body.Max, stream: body.Stream, received: time.Now()}
	// What the runner asks on its own account carries no request id.
	a.probe = r.Header.Get("X-Request-Id") == ""
	a.input = bytes.Count(body.Prompt, []byte(",")) + 1
	if body.Messages != nil {
		a.chat, a.prompt = true, string(body.Messages)
		a.input = len(strings.Fields(a.prompt))
	}
	return a
}

// rest sleeps until an instant, or until the client goes away.
func rest(r *http.Request, until time.Time) bool {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// write streams a reply as completions do.
func (out reply) write(w http.ResponseWriter, r *http.Request, a asking) {
	model, finish, input := out.model, out.finish, out.input
	if model == "" {
		model = "sim/small"
	}
	if finish == "" {
		finish = "length"
	}
	if input == 0 {
		input = a.input
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if out.served != "" {
		w.Header().Set("X-Served-Model", out.served)
	}
	flush := http.NewResponseController(w)
	events := 0
	event := func(rest string) {
		fmt.Fprintf(w, "data: {\"model\":%q,%s}\n\n", model, rest)
		if events++; events%max(out.burst, 1) == 0 {
			flush.Flush()
		}
	}
	choice := `"text":"a"`
	if a.chat {
		choice = `"delta":{"content":"a"}`
	}
	at := a.received.Add(out.first)
	for sent := 0; sent < out.tokens; {
		if !rest(r, at) {
			return
		}
		n := min(max(out.lump, 1), out.tokens-sent)
		sent += n
		at = at.Add(time.Duration(n) * out.step)
		event(`"choices":[{"index":0,` + choice + `,"finish_reason":null}]`)
	}
	if out.cut {
		panic(http.ErrAbortHandler)
	}
	if out.tokens == 0 && !rest(r, at) {
		return
	}
	event(`"choices":[{"index":0,` + strings.Replace(choice, `"a"`, `""`, 1) + `,"finish_reason":` + strconv.Quote(finish) + `}]`)
	if !out.uncounted {
		details := ""
		if out.cached >= 0 {
			details = fmt.Sprintf(`,"prompt_tokens_details":{"cached_tokens":%d}`, out.cached)
		}
		event(fmt.Sprintf(`"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d%s}`, input, out.tokens, details))
	}
	io.WriteString(w, "data: [DONE]\n\n")
}

// answers is a spoil that puts a fake server in the engine's place.
func answers(answer func(l *life, a asking) reply) func(*life, http.Handler) http.Handler {
	return func(l *life, _ http.Handler) http.Handler {
		return &fake{answer: func(a asking) reply { return answer(l, a) }}
	}
}

// even is an answer without anything against it.
func even(a asking) reply {
	return reply{first: 40 * time.Millisecond, step: 4 * time.Millisecond, tokens: a.output}
}
