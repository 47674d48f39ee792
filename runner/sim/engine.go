package sim

import (
	"context"
	"sync"
	"time"
)

// catchUp bounds how far steps run behind their schedule before it is begun anew: a process that was stopped for longer
// does not make up for it in a burst.
const catchUp = time.Second

// engine runs the scheduler's steps in time, on the goroutine that calls run.
type engine struct {
	mu   sync.Mutex // guards d
	d    *scheduler
	work chan struct{} // of capacity 1: something was submitted
}

func newEngine(cfg Config) *engine {
	return &engine{d: newScheduler(cfg), work: make(chan struct{}, 1)}
}

// run computes steps until ctx ends.
func (e *engine) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var at time.Time // when the step before should have ended; zero after a rest
	for ctx.Err() == nil {
		if now := time.Now(); at.IsZero() || now.Sub(at) > catchUp {
			at = now
		}
		took := e.begin(at)
		if took == 0 {
			at = time.Time{}
			select {
			case <-e.work:
			case <-ctx.Done():
			}
			continue
		}
		at = at.Add(took)
		timer.Reset(time.Until(at))
		select {
		case <-timer.C:
			e.end(at)
		case <-ctx.Done():
		}
	}
}

func (e *engine) begin(at time.Time) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.d.begin(at)
}

func (e *engine) end(at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.d.end(at)
}

// submit puts a sequence into the queue; its wake channel tells of tokens from then on.
func (e *engine) submit(s *sequence) {
	e.mu.Lock()
	e.d.submit(s, time.Now())
	e.mu.Unlock()
	select {
	case e.work <- struct{}{}:
	default:
	}
}

// leave gives up a sequence; one that has ended is left as it is.
func (e *engine) leave(s *sequence) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.d.leave(s)
}

// full says whether the queue takes no more, and counts the refusal.
func (e *engine) full() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	limit := e.d.cfg.MaxNumQueuedReqs
	if limit == 0 || len(e.d.waiting) < limit {
		return false
	}
	e.d.counts.rejections++
	return true
}

func (e *engine) resetPrefixCache() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.d.pool.reset()
}

func (e *engine) snapshot() snapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.d.snapshot()
}
