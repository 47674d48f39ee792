package sim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// recorded is an answer of vLLM 0.32.0: the events of a stream, or one body.
type recorded struct {
	Name, Path string
	Status     int
	Answer     []string
}

func recordings(t *testing.T) map[string]recorded {
	t.Helper()
	file, err := os.ReadFile("testdata/vllm-0.32.0.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]recorded)
	for line := range bytes.Lines(file) {
		var r recorded
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		all[r.Name] = r
	}
	return all
}

// Status, and the order and nesting of the fields of every kind of event, are those of a real server.
func TestShapesAreThoseOfVLLM(t *testing.T) {
	const usage = `"stream":true,"stream_options":{"include_usage":true}`
	const running = `"return_token_ids":true,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`
	const chat = `"messages":[{"role":"user","content":"hello"}],"max_tokens":8,"ignore_eos":true`
	bare := func(c *Config) { c.EnablePromptTokensDetails, c.EnablePerRequestMetrics = false, false }
	want := recordings(t)
	for _, c := range []struct {
		name   string
		body   string // empty: a GET
		change func(*Config)
		subset bool // fields may be missing
	}{
		{name: "models", subset: true},
		{name: "version"},
		{name: "load"},
		{name: "completion-stream", body: `{"prompt":"a b","max_tokens":12,"ignore_eos":true,` + usage + `}`},
		{name: "completion-stream-ids", body: `{"prompt":[300,301],"max_tokens":12,"ignore_eos":true,` + running + `}`},
		{name: "completion-stream-no-usage", body: `{"prompt":[300,301],"max_tokens":4,"ignore_eos":true,"stream":true}`},
		{name: "completion-interval-4", body: `{"prompt":"a b","max_tokens":18,"ignore_eos":true,"stream_interval":4,` + usage + `}`},
		{name: "completion-plain", body: `{"prompt":"a b","max_tokens":8,"ignore_eos":true}`, subset: true},
		{name: "chat-stream", body: `{` + chat + `,` + usage + `}`},
		{name: "chat-stream-ids", body: `{` + chat + `,` + running + `}`},
		{name: "chat-plain", body: `{` + chat + `}`, subset: true},
		{name: "request-metrics-stream", body: `{"prompt":[300],"max_tokens":8,"ignore_eos":true,"stream":true}`,
			change: func(c *Config) { c.EnableForceIncludeUsage = true }},
		{name: "error-model", body: `{"model":"other","prompt":"x","max_tokens":4}`},
		{name: "error-negative", body: `{"prompt":"x","max_tokens":-1}`},
		{name: "error-token-range", body: `{"prompt":[999999],"max_tokens":4,"stream":true}`},
		{name: "error-path", body: `{}`},
		{name: "error-method"},
		{name: "error-no-key", body: `{"prompt":"x"}`, change: func(c *Config) { c.APIKey = "k" }},
		{name: "tokenize", body: `{"prompt":"import os"}`},
		{name: "reset-prefix-cache", body: `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := exact()
			if c.change == nil {
				c.change = bare
			}
			c.change(&cfg)
			serving(t, cfg, func(t *testing.T, s *Server, p *Pipe) {
				time.Sleep(s.cfg.Startup)
				w := want[c.name]
				status, answer := ask(t, p, w.Path, c.body)
				if status != w.Status {
					t.Errorf("status %d, want %d", status, w.Status)
				}
				got, want := shapes(t, answer), shapes(t, w.Answer)
				if c.subset {
					requireSubset(t, answer[0], w.Answer[0])
				} else if !slices.Equal(got, want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			})
		})
	}
}

// ask returns the status and the events, or the body, of an answer.
func ask(t *testing.T, p *Pipe, path, body string) (status int, answer []string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DialContext: p.Dial}}
	defer client.CloseIdleConnections()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	r, err := http.NewRequest(method, "http://sim"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		all, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, []string{string(all)}
	}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if event, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			answer = append(answer, event)
		}
	}
	return resp.StatusCode, answer
}

// shapes returns the different kinds of events, in order: runs of one kind count once.
func shapes(t *testing.T, events []string) []string {
	t.Helper()
	var all []string
	for _, e := range events {
		if e == "[DONE]" {
			all = append(all, e)
			continue
		}
		all = append(all, shape(t, json.NewDecoder(strings.NewReader(e))))
	}
	return slices.Compact(all)
}

// shape writes a JSON value with its keys in order and without its scalars.
func shape(t *testing.T, d *json.Decoder) string {
	t.Helper()
	token, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	switch token {
	case json.Delim('{'):
		for d.More() {
			key, _ := d.Token()
			parts = append(parts, fmt.Sprint(key, shape(t, d)))
		}
		_, _ = d.Token()
		return "{" + strings.Join(parts, ",") + "}"
	case json.Delim('['):
		for d.More() {
			parts = append(parts, shape(t, d))
		}
		_, _ = d.Token()
		if strings.Join(parts, "") == "" {
			return "" // ids, or null where there are none
		}
		return "[" + strings.Join(slices.Compact(parts), ",") + "]"
	}
	return ""
}

// requireSubset fails for every field that the real server's answer doesn't have in the same place.
func requireSubset(t *testing.T, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	paths("", w, func(p string) { known[p] = true })
	paths("", g, func(p string) {
		if !known[p] {
			t.Errorf("field %s is not one of vLLM's", p)
		}
	})
}

func paths(at string, v any, visit func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			visit(at + "." + key)
			paths(at+"."+key, value, visit)
		}
	case []any:
		for _, value := range v {
			paths(at+"[]", value, visit)
		}
	}
}
