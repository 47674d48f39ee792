package main

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inference-sweep/sweep/runner/sim"
)

// oddServer serves the embedded engine behind a proxy that may answer in its place: intercept says whether it did.
func oddServer(t *testing.T, config sim.Config, intercept func(w http.ResponseWriter, r *http.Request, body string) bool) string {
	t.Helper()
	engine, err := sim.New(config)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- engine.Serve(ctx, listener) }()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: listener.Addr().String()})
	proxy.FlushInterval, proxy.ErrorLog = -1, log.New(io.Discard, "", 0)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !intercept(w, r, string(body)) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		front.Close()
		stop()
		<-ended
	})
	return front.URL
}

func answerWith(w http.ResponseWriter, status int, text string) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, text)
	return true
}

// refuses answers 400 to a completion with one of the fields, as servers do that know only their own.
func refuses(fields ...string) func(http.ResponseWriter, *http.Request, string) bool {
	return func(w http.ResponseWriter, _ *http.Request, body string) bool {
		for _, field := range fields {
			if strings.Contains(body, `"`+field+`"`) {
				return answerWith(w, 400, `{"error":{"message":"`+field+`: extra fields not permitted","code":400}}`)
			}
		}
		return false
	}
}

// at answers for one path.
func at(path string, status int, text string) func(http.ResponseWriter, *http.Request, string) bool {
	return func(w http.ResponseWriter, r *http.Request, _ string) bool {
		return r.URL.Path == path && answerWith(w, status, text)
	}
}

// TestCheckOddServers: what servers do that would spoil a night, each with the line that says so. C05 and E05 are among
// them.
func TestCheckOddServers(t *testing.T) {
	cold := `prefixCache: {enabled: true, state: "cold", by: "reset"}`
	for name, c := range map[string]struct {
		config    func(*sim.Config)
		intercept func(http.ResponseWriter, *http.Request, string) bool
		cache     string
		code      int
		want      string
	}{
		"refuses stream_options": {intercept: refuses("continuous_usage_stats", "stream_options"),
			want: "warn  fields       URL: refuses stream_options, which is then not sent: without it a stream has no token counts"},
		"counts no tokens": {intercept: refuses("stream_options", "return_token_ids"),
			want: "warn  tokens       URL: nobody counted the output tokens of 1 of 1 answers (token-source, suspect); time per token"},
		"takes no token ids": {intercept: func(w http.ResponseWriter, r *http.Request, body string) bool {
			return strings.Contains(body, `"prompt":[`) && answerWith(w, 400, `{"error":{"message":"prompt: Input should be a valid string","code":400}}`)
		}, want: "warn  fields       URL: refuses prompt, which is then not sent: prompts go as text"},
		"says it resets and does not": {cache: cold, intercept: at("/reset_prefix_cache", 200, `{"success":true}`), code: exitEnvironment,
			want: "fail  cache        URL: the server said that it emptied its cache, and"},
		"has no reset": {cache: cold, intercept: at("/reset_prefix_cache", 404, `{"detail":"Not Found"}`), code: exitEnvironment,
			want: "fail  cache        URL: POST /reset_prefix_cache answers 404"},
		"does not show what is cached": {cache: cold, config: func(c *sim.Config) { c.EnablePromptTokensDetails = false },
			want: "warn  cache        URL: the server takes the reset, and does not show what was cached"},
		"is used by others": {intercept: at("/metrics", 200, "vllm:num_requests_running 3\nvllm:num_requests_waiting 2\n"),
			want: "warn  idle         URL: 3 requests of others run on it, 2 wait; have the server to yourself"},
		"hides how long its context is": {intercept: at("/v1/models", 200, `{"data":[{"id":"sim/small"}]}`), code: exitEnvironment,
			config: func(c *sim.Config) { c.MaxModelLen = 35 },
			want:   "fail  request      URL: 32 tokens in, 4 out (cell baseline): HTTP 400: "},
		"is something else": {intercept: func(w http.ResponseWriter, _ *http.Request, _ string) bool {
			return answerWith(w, 500, "<html>Internal Server Error</html>")
		},
			code: exitEnvironment, want: "fail  server       URL: "},
	} {
		t.Run(name, func(t *testing.T) {
			config := sim.Default()
			if c.config != nil {
				c.config(&config)
			}
			intercept := c.intercept
			if intercept == nil {
				intercept = func(http.ResponseWriter, *http.Request, string) bool { return false }
			}
			server := oddServer(t, config, intercept)
			definition := definitionAt(t, server, c.cache)
			var stdout, stderr bytes.Buffer
			code := run([]string{"--db", filepath.Join(t.TempDir(), "s.db"), "check", definition}, strings.NewReader(""), &stdout, &stderr)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if want := strings.ReplaceAll(c.want, "URL", server); !strings.Contains("\n"+stdout.String(), "\n"+want) {
				t.Errorf("no line begins with %q in\n%s%s", want, &stdout, &stderr)
			}
		})
	}
}

// definitionAt is tiny.cue at a URL, with another prefixCache where one is given.
func definitionAt(t *testing.T, target, cache string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/tiny.cue")
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), `target: "sim"`, `target: "`+target+`"`, 1)
	if cache != "" {
		changed = strings.Replace(changed, "prefixCache: enabled:  false", cache, 1)
	}
	path := filepath.Join(t.TempDir(), "tiny.cue")
	if err := os.WriteFile(path, []byte(changed), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}
