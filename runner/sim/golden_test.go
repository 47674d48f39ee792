package sim

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

func rawPost(path, body string, headers ...string) string {
	h := ""
	for _, line := range headers {
		h += line + "\r\n"
	}
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: sim\r\n%sContent-Length: %d\r\n\r\n%s", path, h, len(body), body)
}

func rawGet(path string) string {
	return fmt.Sprintf("GET %s HTTP/1.1\r\nHost: sim\r\nConnection: close\r\n\r\n", path)
}

// serving runs f against the whole server over a pipe, in virtual time.
func serving(t *testing.T, cfg Config, f func(t *testing.T, s *Server, p *Pipe)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		p := NewPipe()
		ctx, cancel := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- s.Serve(ctx, p) }()
		synctest.Wait()
		f(t, s, p)
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// exchange sends raw bytes and returns what comes back until the server closes the connection.
func exchange(t *testing.T, dial func() (net.Conn, error), request string) []byte {
	t.Helper()
	conn, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go conn.Write([]byte(request))
	got, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func dialler(p *Pipe) func() (net.Conn, error) {
	return func() (net.Conn, error) { return p.Dial(context.Background(), "", "") }
}

// The golden files hold every byte of an answer, headers and chunk sizes included.
func TestGoldenWire(t *testing.T) {
	plain := func(*Config) {}
	const ending = "Connection: close"
	for _, c := range []struct {
		name   string
		change func(*Config)
		raw    string
	}{
		{"completion-stream", plain, rawPost("/v1/completions",
			`{"model":"sim/small","prompt":"one two three","max_tokens":4,"temperature":0,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true}}`,
			ending, "X-Request-Id: row-17")},
		{"completion-stream-ids", plain, rawPost("/v1/completions",
			`{"prompt":[1000,1001,1002],"max_tokens":3,"min_tokens":3,"temperature":0,"ignore_eos":true,"return_token_ids":true,"stream":true,`+
				`"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`, ending)},
		{"completion-stream-no-usage", plain, rawPost("/v1/completions",
			`{"prompt":[[1000,1001]],"max_tokens":2,"temperature":0,"ignore_eos":true,"stream":true}`, ending)},
		{"completion-stream-interval", func(c *Config) { c.StreamInterval = 4 }, rawPost("/v1/completions",
			`{"prompt":["one"],"max_tokens":10,"temperature":0,"ignore_eos":true,"stream":true,"return_token_ids":true}`, ending)},
		{"completion-stream-eos", plain, rawPost("/v1/completions",
			`{"prompt":"one","max_tokens":2,"temperature":0,"return_token_ids":true,"stream":true,"stream_options":{"include_usage":true}}`, ending)},
		{"completion-plain", plain, rawPost("/v1/completions",
			`{"prompt":"one two","max_tokens":3,"temperature":0,"ignore_eos":true,"return_token_ids":true}`, ending)},
		{"completion-token-range", plain, rawPost("/v1/completions",
			`{"prompt":[999999],"max_tokens":3,"stream":true}`, ending)},
		{"chat-stream", plain, rawPost("/v1/chat/completions",
			`{"messages":[{"role":"user","content":"hello"}],"max_tokens":3,"temperature":0,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true}}`, ending)},
		{"chat-stream-forced-usage", func(c *Config) { c.EnableForceIncludeUsage, c.EnablePerRequestMetrics = true, false }, rawPost("/v1/chat/completions",
			`{"messages":[{"role":"user","content":[{"type":"text","text":"hello"}]}],"max_completion_tokens":2,"temperature":0,"ignore_eos":true,"return_token_ids":true,"stream":true}`, ending)},
		{"chat-plain", func(c *Config) { c.EnablePromptTokensDetails = false }, rawPost("/v1/chat/completions",
			`{"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hello"}],"max_tokens":3,"temperature":0,"ignore_eos":true}`, ending)},
		{"models", func(c *Config) { c.Revision, c.ServedModelName = "0000001", "small" }, rawGet("/v1/models")},
		{"version", plain, rawGet("/version")},
		{"health", plain, rawGet("/health")},
		{"metrics", plain, rawGet("/metrics")},
		{"tokenize", plain, rawPost("/tokenize", `{"model":"sim/small","prompt":"gaka hello gaka"}`, ending)},
		{"detokenize", plain, rawPost("/detokenize", `{"model":"sim/small","tokens":[1000,9999,10000,131071,0]}`, ending)},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := exact()
			c.change(&cfg)
			serving(t, cfg, func(t *testing.T, s *Server, p *Pipe) {
				time.Sleep(s.cfg.Startup)
				compareGolden(t, c.name, exchange(t, dialler(p), c.raw))
			})
		})
	}
}

func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}
