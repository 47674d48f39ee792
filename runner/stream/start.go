package stream

import (
	"context"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// flight is what an exchange needs while nobody waits for it.
type flight struct {
	ctx     context.Context
	stop    func() bool // of its guard
	ended   func()      // the caller's
	written chan Ending // of what did not fit into the connection at once, nil where all did

	depart func() bool // the exchange's methods, to be had without an allocation
	landed func()
}

func (f *flight) init(x *exchange) {
	f.depart = x.depart
	land := x.land
	f.landed = func() { go land() }
}

// Start sends one request as Do does, and does not wait for its end: ended is then called, in another goroutine, once
// the row is final. Where a connection is at hand, the request has been written when Start returns, by the caller itself:
// many that start at once leave one after another from one thread, rather than from as many goroutines that keep each
// other, and a server on the same machine, from their processors between stamp and write. All else is left to a
// goroutine.
func (c *Client) Start(ctx context.Context, epoch time.Time, req *Request, rec *sweep.Request, ended func()) {
	x := c.exchange(epoch, req, rec)
	ready := x.ready()
	if ready && x.launch(ctx, ended) {
		return
	}
	go func() {
		if ready {
			x.do(ctx)
		}
		x.recycle()
		ended()
	}()
}

// launch sends a request that is ready, where that needs no waiting.
func (x *exchange) launch(ctx context.Context, ended func()) bool {
	if x.c.base.secure || !x.joined || ctx.Err() != nil {
		return false
	}
	x.cn = x.c.pool.atOnce()
	if x.cn == nil || x.cn.launch == nil {
		return false
	}
	x.kept = true
	x.reset()
	f := &x.flight
	f.ctx, f.ended, f.written = ctx, ended, nil
	f.stop = x.guard(ctx)
	if x.cn.launch(x.pushed, f.landed, f.depart) {
		return true // the exchange may be over, and be another's
	}
	f.stop()
	return false
}

// depart stamps and writes. What does not fit at once is written aside, while the answer may come.
func (x *exchange) depart() bool {
	x.stamp()
	n, ok := x.cn.writeNow(x.out)
	switch {
	case !ok:
		return false
	case n == len(x.out):
		x.rec.WrittenNS = x.now()
	default:
		written := make(chan Ending, 1)
		x.flight.written = written
		go func() { written <- x.write(n) }()
	}
	x.arm()
	return true
}

// land ends an exchange for which nobody waited.
func (x *exchange) land() {
	f := &x.flight
	if f.written != nil {
		x.cutWriter(f.written)
	}
	end, untouched := unguard(f.ctx, f.stop, x.end)
	x.finish(f.ctx, end, untouched)
	ended := f.ended
	f.ctx, f.stop, f.ended, f.written = nil, nil, nil, nil
	x.recycle()
	ended()
}
