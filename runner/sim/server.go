package sim

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Server is one life of the embedded engine. New makes it, Serve lives it, once.
type Server struct {
	cfg        Config
	engine     *engine
	name       string // served model name
	quotedName string // as a JSON string
	readyAt    time.Time
	started    time.Time
	requests   atomic.Uint64 // completions so far
	load       atomic.Int64  // completions in progress
	routes     map[string]route
}

// route is one path and the one method it takes.
type route struct {
	method string
	handle http.HandlerFunc
}

// New makes a server; it starts nothing.
func New(cfg Config) (*Server, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, engine: newEngine(cfg), name: cfg.servedName()}
	quoted, err := json.Marshal(s.name)
	if err != nil {
		return nil, err
	}
	s.quotedName = string(quoted)
	s.routes = map[string]route{
		"/health":              {http.MethodGet, empty},
		"/ping":                {http.MethodGet, empty},
		"/version":             {http.MethodGet, s.version},
		"/load":                {http.MethodGet, s.serverLoad},
		"/metrics":             {http.MethodGet, s.metrics},
		"/v1/models":           {http.MethodGet, s.models},
		"/v1/completions":      {http.MethodPost, s.completions},
		"/v1/chat/completions": {http.MethodPost, s.chatCompletions},
		"/tokenize":            {http.MethodPost, s.tokenize},
		"/detokenize":          {http.MethodPost, s.detokenize},
		"/reset_prefix_cache":  {http.MethodPost, s.resetPrefixCache},
	}
	return s, nil
}

// Serve answers on l until ctx ends, then cuts what is in progress, closes l and returns nil; it returns early, with the
// reason, if l fails. No goroutine outlives it. Time until requests are accepted counts from here.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.started = time.Now()
	s.readyAt = s.started.Add(s.cfg.Startup)

	var conns sync.WaitGroup
	srv := &http.Server{
		Handler:     s,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    log.New(io.Discard, "", 0),
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				conns.Add(1)
			case http.StateClosed:
				conns.Done()
			}
		},
	}
	var inner sync.WaitGroup
	inner.Go(func() { s.engine.run(ctx) })
	inner.Go(func() {
		<-ctx.Done()
		_ = srv.Close()
	})
	err := srv.Serve(l)
	if ctx.Err() != nil {
		err = nil
	}
	cancel()
	inner.Wait()
	conns.Wait()
	return err
}

// ServeHTTP answers one request of any kind.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if time.Now().Before(s.readyAt) {
		writeError(w, &refusal{http.StatusServiceUnavailable, "unavailable_error", "", "Loading model"})
		return
	}
	to, ok := s.routes[r.URL.Path]
	switch {
	case s.cfg.APIKey != "" && strings.HasPrefix(r.URL.Path, "/v1") && r.Header.Get("Authorization") != "Bearer "+s.cfg.APIKey:
		writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "Unauthorized"})
	case !ok:
		writeJSON(w, http.StatusNotFound, map[string]string{"detail": "Not Found"})
	case r.Method != to.method:
		w.Header().Set("Allow", to.method)
		writeJSON(w, http.StatusMethodNotAllowed, map[string]string{"detail": "Method Not Allowed"})
	default:
		to.handle(w, r)
	}
}

func empty(http.ResponseWriter, *http.Request) {}

func (s *Server) version(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"version": Version})
}

func (s *Server) serverLoad(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]int64{"server_load": s.load.Load()})
}

func (s *Server) resetPrefixCache(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]bool{"success": s.engine.resetPrefixCache()})
}

// modelCard is an entry of /v1/models.
type modelCard struct {
	ID          string  `json:"id"`
	Object      string  `json:"object"`
	Created     int64   `json:"created"`
	OwnedBy     string  `json:"owned_by"`
	Root        string  `json:"root"`
	Parent      *string `json:"parent"`
	MaxModelLen int     `json:"max_model_len"`
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	root := s.cfg.Revision
	if root == "" {
		root = s.cfg.Model
	}
	card := modelCard{ID: s.name, Object: "model", Created: s.started.Unix(), OwnedBy: "sweep", Root: root, MaxModelLen: s.cfg.MaxModelLen}
	writeJSON(w, http.StatusOK, struct {
		Object string      `json:"object"`
		Data   []modelCard `json:"data"`
	}{"list", []modelCard{card}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":{"message":"answer cannot be encoded","code":500}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
