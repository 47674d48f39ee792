package sim

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

func (s *Server) completions(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, false)
}

func (s *Server) chatCompletions(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, true)
}

// answer serves one completion, of a prompt or of a chat.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, chat bool) {
	received := time.Now()
	s.load.Add(1)
	defer s.load.Add(-1)
	if id := r.Header.Get("X-Request-Id"); id != "" && s.cfg.EnableRequestIDHeaders {
		w.Header().Set("X-Request-Id", id)
	}
	a, refused := s.read(w, r)
	if refused != nil {
		writeError(w, refused)
		return
	}
	q, refused := s.understand(a, chat, received)
	if refused != nil {
		writeError(w, refused)
		return
	}
	if s.engine.full() {
		writeError(w, &refusal{http.StatusServiceUnavailable, "Service Unavailable", "",
			"The queue is full (max-num-queued-reqs); the request was not taken."})
		return
	}
	form := s.form(a, q, chat, r.Header.Get("X-Request-Id"))
	bad, foreign := outside(q.prompt, s.cfg.VocabSize)
	switch {
	case foreign && a.Stream:
		if startStream(w) == nil {
			_, _ = w.Write(form.failed(badRequest("", "Token id %d is not in the vocabulary.", bad)))
		}
	case foreign:
		writeError(w, badRequest("", "Token id %d is not in the vocabulary.", bad))
	case a.Stream:
		s.stream(r.Context(), w, q, form)
	default:
		s.whole(r.Context(), w, q, form)
	}
}

// understand makes the sequence that a request asks for.
func (s *Server) understand(a *asked, chat bool, received time.Time) (*sequence, *refusal) {
	if chat {
		if len(a.Messages) == 0 {
			return nil, badRequest("messages", "messages is empty.")
		}
		return s.sequence(a, chatTokens(a.Messages, s.cfg.VocabSize), 0, received)
	}
	prompt, refused := promptTokens(a.Prompt, s.cfg.VocabSize)
	if refused != nil {
		return nil, refused
	}
	return s.sequence(a, prompt, defaultTokens, received)
}

// generate takes a sequence through front end and scheduler and calls each whenever an event is due, with the number of
// tokens there are. It returns when the last is, or when ctx ends or each returns false: then the sequence is given up.
func (s *Server) generate(ctx context.Context, q *sequence, each func(tokens int) bool) {
	front := time.NewTimer(s.cfg.FrontEnd)
	defer front.Stop()
	select {
	case <-front.C:
	case <-ctx.Done():
		return
	}
	s.engine.submit(q)
	for {
		select {
		case <-q.wake:
		case <-ctx.Done():
			s.engine.leave(q)
			return
		}
		n := int(q.produced.Load())
		if !each(n) {
			s.engine.leave(q)
			return
		}
		if n == q.target {
			return
		}
	}
}

// startStream sends the headers of a stream, at once.
func startStream(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	return http.NewResponseController(w).Flush()
}

// stream sends events as they are due; the headers go out before the request is computed.
func (s *Server) stream(ctx context.Context, w http.ResponseWriter, q *sequence, f *form) {
	if startStream(w) != nil {
		return
	}
	out := http.NewResponseController(w)
	buf := make([]byte, 0, 1024)
	sent := 0
	s.generate(ctx, q, func(tokens int) bool {
		for sent < tokens {
			next := sent + 1
			for !q.event(next) {
				next++
			}
			if next > tokens {
				return true
			}
			buf = f.event(buf[:0], sent, next)
			sent = next
			if _, err := w.Write(buf); err != nil || out.Flush() != nil {
				return false
			}
		}
		if sent == q.target {
			_, err := w.Write(f.last(buf[:0]))
			return err == nil
		}
		return true
	})
}

// whole sends the answer in one piece.
func (s *Server) whole(ctx context.Context, w http.ResponseWriter, q *sequence, f *form) {
	s.generate(ctx, q, func(tokens int) bool {
		if tokens == q.target {
			body := f.whole()
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = w.Write(body)
		}
		return true
	})
}
