package target

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/inference-sweep/sweep/runner/engine"
	"github.com/inference-sweep/sweep/sweep"
)

// cellOf makes a cell; each set is a path with slashes, "=" and JSON.
func cellOf(t *testing.T, target, engineName string, sets ...string) *sweep.PlanCell {
	t.Helper()
	all := append([]string{
		`contract/model/id="org/model"`, `contract/model/revision="abcdef0"`, fmt.Sprintf("contract/engine/name=%q", engineName),
		`contract/engine/args={}`, `contract/precision={"weights":"bf16","kvCache":"auto"}`, `contract/endpoint="completions"`,
		`contract/streaming=true`, `contract/prompt/ids={"from":1000,"to":4000}`, `contract/sampling={"temperature":0,"ignoreEOS":true}`,
		`contract/prefixCache={"enabled":true,"by":"salt"}`, `server/port=8000`,
		`timeout={"ready":"20s","noToken":"10s","stop":"5s"}`, fmt.Sprintf("target=%q", target),
	}, sets...)
	tree := map[string]any{}
	for _, set := range all {
		path, value, _ := strings.Cut(set, "=")
		node, parts := tree, strings.Split(path, "/")
		for _, part := range parts[:len(parts)-1] {
			if _, ok := node[part].(map[string]any); !ok {
				node[part] = map[string]any{}
			}
			node = node[part].(map[string]any)
		}
		var v any
		if err := json.Unmarshal([]byte(value), &v); err != nil {
			t.Fatalf("%s: %v", set, err)
		}
		node[parts[len(parts)-1]] = v
	}
	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	c := new(sweep.PlanCell)
	if err := json.Unmarshal(text, &c.Cell); err != nil {
		t.Fatal(err)
	}
	if c.Setting, err = engine.Setting(&c.Cell); err != nil {
		t.Fatal(err)
	}
	return c
}

// fake is a server of the tests: what it answers to posts, and the documents it has.
type fake struct {
	// answer is called with each completion's body; it is writeCompletion where it is nil.
	answer func(w http.ResponseWriter, r *http.Request, body map[string]any)
	// pages are documents by path; those that begin with "!" are answered with status 500.
	pages map[string]string

	mu     sync.Mutex
	bodies []map[string]any
	header []http.Header
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if page, ok := f.pages[r.URL.RequestURI()]; ok {
		if page, bad := strings.CutPrefix(page, "!"); bad {
			http.Error(w, page, http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, page)
		return
	}
	if !strings.HasSuffix(r.URL.Path, "/completions") {
		http.NotFound(w, r)
		return
	}
	body := map[string]any{}
	_ = json.NewDecoder(r.Body).Decode(&body)
	f.mu.Lock()
	f.bodies = append(f.bodies, body)
	f.header = append(f.header, r.Header.Clone())
	f.mu.Unlock()
	if f.answer == nil {
		writeCompletion(w)
		return
	}
	f.answer(w, r, body)
}

// asked is how many completions were asked for, and the last of them.
func (f *fake) asked() (n int, last map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.bodies), f.bodies[len(f.bodies)-1]
}

func (f *fake) start(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return server.URL
}

// open opens a target that has to open.
func open(t *testing.T, c *sweep.PlanCell, d Deps) *Server {
	t.Helper()
	s, err := Open(t.Context(), c, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(t.Context()) })
	return s
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// pipe is a listener in memory.
type pipe struct{ conns chan net.Conn }

func (p pipe) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p pipe) Accept() (net.Conn, error) {
	conn, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p pipe) Close() error { close(p.conns); return nil }

func (p pipe) Addr() net.Addr { return &net.TCPAddr{} }

// serve runs a handler behind a pipe for the length of a test in virtual time.
func serve(t *testing.T, handler http.Handler) Deps {
	t.Helper()
	p := pipe{make(chan net.Conn)}
	server := &http.Server{Handler: handler}
	go func() { _ = server.Serve(p) }()
	t.Cleanup(func() { _ = server.Close() })
	return Deps{Dial: p.dial}
}
