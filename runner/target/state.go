package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

func (s *Server) metrics(ctx context.Context) (metrics, bool) {
	text, ok := s.get(ctx, s.Profile.Metrics)
	if !ok {
		return nil, false
	}
	return parseMetrics(text), true
}

// Running is how many requests run on the server and how many wait in its queue; false means that it does not say.
func (s *Server) Running(ctx context.Context) (running, waiting float64, ok bool) {
	m, ok := s.metrics(ctx)
	if !ok {
		return 0, 0, false
	}
	running, ok = m.sum(s.Profile.RunningGauge)
	waiting, _ = m.sum(s.Profile.WaitingGauge)
	return running, waiting, ok
}

// ProcessStart is when the server's process began, in Unix seconds by its own clock, so that another one at the same address
// can be told from it; false means that the server does not say.
func (s *Server) ProcessStart(ctx context.Context) (unixS float64, ok bool) {
	m, _ := s.metrics(ctx)
	return m.processStart()
}

// processStart is what Prometheus's client libraries tell of the process that they are in. Of several it says nothing.
func (m metrics) processStart() (unixS float64, ok bool) {
	if began := m["process_start_time_seconds"]; len(began) == 1 {
		return began[0].value, true
	}
	return 0, false
}

// CacheCounters is how many prompt tokens the prefix cache was asked for and how many it had, since the server started;
// false means that the server does not say.
func (s *Server) CacheCounters(ctx context.Context) (queries, hits float64, ok bool) {
	m, ok := s.metrics(ctx)
	if !ok {
		return 0, 0, false
	}
	queries, asked := m.sum(s.Profile.CacheQueries...)
	hits, had := m.sum(s.Profile.CacheHits)
	// A counter that has never counted may not be listed yet.
	return queries, hits, asked || had
}

// ErrNoReset says that the server has no way to empty its prefix cache.
var ErrNoReset = errors.New("the server offers no way to empty its prefix cache")

// resetPatience is how long a server that still works may refuse to empty its cache.
const resetPatience = 5 * time.Second

// ResetCache empties the prefix cache. A server that refuses because it is busy is asked again for a few seconds. That
// a server says yes does not prove that it did: CacheCounters tell.
func (s *Server) ResetCache(ctx context.Context) error {
	if s.Profile.ResetCache == "" {
		return fmt.Errorf("%s: %w", s.Profile.Name, ErrNoReset)
	}
	ctx, cancel := context.WithTimeout(ctx, resetPatience)
	defer cancel()
	var said error
	for {
		err := s.resetOnce(ctx)
		if err == nil || errors.Is(err, ErrNoReset) {
			return err
		}
		// What the server said is worth more than that time ran out while it was asked again.
		if said == nil || ctx.Err() == nil {
			said = err
		}
		if !sleep(ctx, 250*time.Millisecond) {
			return said
		}
	}
}

func (s *Server) resetOnce(ctx context.Context) error {
	path := s.Profile.ResetCache
	status, text, err := s.query(ctx, http.MethodPost, path, nil)
	switch {
	case err != nil:
		return fmt.Errorf("POST %s: %w", path, err)
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		return fmt.Errorf("POST %s answers %d (vLLM has it where VLLM_SERVER_DEV_MODE=1): %w", path, status, ErrNoReset)
	case status != http.StatusOK:
		return fmt.Errorf("POST %s answers %d: %s", path, status, s.secrets.redact(sentence(text)))
	}
	var reply struct {
		Success *bool `json:"success"`
	}
	if json.Unmarshal(text, &reply) == nil && reply.Success != nil && !*reply.Success {
		return fmt.Errorf("POST %s: the server did not empty its cache", path)
	}
	return nil
}

// Quiesce waits until nothing runs on the server or waits in its queue, at most for limit, and gives how many requests
// were left then: 0 means idle. Where no gauge tells, a short completion does: a server that takes several times as long
// to a first token as it did when this target was opened counts as one request's worth of busy.
func (s *Server) Quiesce(ctx context.Context, limit time.Duration) (busy int) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		running, waiting, ok := s.Running(ctx)
		switch {
		case ok:
			busy = int(running + waiting)
		case ctx.Err() != nil:
			return busy
		default:
			busy = s.busyByTTFT(ctx)
		}
		if busy == 0 || !sleep(ctx, 100*time.Millisecond) {
			return busy
		}
	}
}

func (s *Server) busyByTTFT(ctx context.Context) int {
	a, err := s.ask(ctx, s.Profile)
	if err != nil {
		return 1
	}
	if s.idleTTFT != 0 && a.ttft > max(3*s.idleTTFT, s.idleTTFT+50*time.Millisecond) {
		return 1
	}
	if s.idleTTFT == 0 || a.ttft < s.idleTTFT {
		s.idleTTFT = a.ttft
	}
	return 0
}

// CountTokens is how many tokens the server makes of a text, as a prompt of the cell's endpoint begins with it; false
// means that the server does not count.
func (s *Server) CountTokens(ctx context.Context, text string) (n int, ok bool, err error) {
	p := s.Profile
	if p.Tokenize == "" {
		return 0, false, nil
	}
	// A chat's template brings its own first token.
	special := s.cell.Contract.Endpoint != "chat"
	body := map[string]any{"model": s.Model, p.TokenizeField: text, "add_special_tokens": special, "add_special": special}
	if p.TokenizeField == "prompt" {
		delete(body, "add_special")
	}
	status, reply, err := s.query(ctx, http.MethodPost, p.Tokenize, body)
	switch {
	case err != nil:
		return 0, false, fmt.Errorf("POST %s: %w", p.Tokenize, err)
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented:
		return 0, false, nil
	case status != http.StatusOK:
		return 0, false, fmt.Errorf("POST %s answers %d: %s", p.Tokenize, status, s.secrets.redact(sentence(reply)))
	}
	var counted struct {
		Count  *int              `json:"count"`
		Tokens []json.RawMessage `json:"tokens"`
	}
	if err := json.Unmarshal(reply, &counted); err != nil {
		return 0, false, fmt.Errorf("POST %s: %w", p.Tokenize, err)
	}
	if counted.Count != nil {
		return *counted.Count, true, nil
	}
	return len(counted.Tokens), counted.Tokens != nil, nil
}
