package load

import (
	"context"
	"time"
)

// Waiter sleeps until an instant. Its zero value sleeps as time.Sleep does, which virtual time needs; NewWaiter's sleeps
// on a timer of its own, some twenty times closer to the instant. It serves one goroutine.
type Waiter struct {
	// Sleep waits for a time, or until the context ends, whose error it then returns; nil is the runtime's timer.
	Sleep func(ctx context.Context, wait time.Duration) error
	close func() error
}

// Close frees the timer.
func (w *Waiter) Close() error {
	if w.close == nil {
		return nil
	}
	return w.close()
}

// Until returns at the instant, or earlier with the context's error. An instant that has passed returns at once.
func (w *Waiter) Until(ctx context.Context, instant time.Time) error {
	wait := time.Until(instant)
	if wait <= 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	if w.Sleep != nil {
		return w.Sleep(ctx, wait)
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
