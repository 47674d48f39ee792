package sim

import (
	"context"
	"sync"
	"time"
)

// catchUp bounds how far steps run behind their schedule before it is begun anew: a process that was stopped for longer
// does not make up for it in a burst.
const catchUp = time.Second

// gather is how long a step waits after a rest, so that requests of one moment are one batch.
const gather = time.Microsecond

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
	until := func(at time.Time) {
		timer.Reset(time.Until(at))
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	at := time.Now() // when the step before should have ended
	for ctx.Err() == nil {
		at = startOf(at, time.Now())
		if took := e.begin(at); took > 0 {
			at = at.Add(took)
			until(at)
			e.end(at)
			continue
		}
		select {
		case <-e.work:
		case <-ctx.Done():
		}
		at = time.Now().Add(gather)
		until(at)
	}
}

// startOf is when a step starts that could start now: when the one before should have ended, which is at, so that lateness
// does not add up.
func startOf(at, now time.Time) time.Time {
	if now.Sub(at) > catchUp {
		return now
	}
	return at
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
