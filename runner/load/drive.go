package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// Drive sends one trial's requests, once. Its functions are called from many goroutines at once.
type Drive struct {
	// Epoch is the trial's start, to which every due time is relative.
	Epoch time.Time
	Wait  *Waiter
	// Prepare makes a request's body; it is called ahead of the due time.
	Prepare func(Slot) []byte
	// Send carries a request out and fills in everything that happened to it. A cancelled context ends it soon.
	Send func(ctx context.Context, body []byte, r *sweep.Request)
	// Start is Send for one who has others to send: it does not wait for the request's end, but calls ended then.
	Start func(ctx context.Context, body []byte, r *sweep.Request, ended func())
	// Ended takes a request that has ended, whatever became of it: exactly one for each due time.
	Ended func(*sweep.Request)
	// Steady says during a warm-up that latencies have settled, which ends it early; nil for a warm-up of fixed extent.
	Steady func() bool
	// StartNS is when the load starts, from the epoch, and FirstSeq the number of its first request: what the trial sent
	// before its load comes earlier and counts from 0.
	StartNS  int64
	FirstSeq int64
	// TailNS is how long load is kept up after the window, at most.
	TailNS int64

	seq         atomic.Int64
	outstanding atomic.Int64 // measured requests that have not ended
	measuredDue atomic.Bool  // every measured request has been due
	endLoad     context.CancelFunc
	inFlight    sync.WaitGroup
}

// Outcome is what a drive found out besides the rows.
type Outcome struct {
	T0NS, T1NS, EndNS int64
	// Drained counts the measured requests that were still open when the load had ended.
	Drained int
	// SteadyNS is when a warm-up found latencies settled, or None.
	SteadyNS int64
}

// nowNS is the time since the trial's start.
func (d *Drive) nowNS() int64 { return int64(time.Since(d.Epoch)) }

// row starts the record of a slot's request.
func (d *Drive) row(slot Slot) *sweep.Request {
	r := sweep.NewRequest()
	r.Seq = d.FirstSeq + d.seq.Add(1) - 1
	r.Phase, r.DueNS, r.InputAsked, r.OutputAsked = slot.Phase, slot.DueNS, slot.Input, slot.Output
	return r
}

// end accounts for a request that has ended. The last measured one ends the load.
func (d *Drive) end(r *sweep.Request) {
	d.Ended(r)
	if r.Phase == sweep.PhaseMeasure && d.outstanding.Add(-1) == 0 && d.measuredDue.Load() {
		d.endLoad()
	}
}

// closeWindow says that every measured request has been due.
func (d *Drive) closeWindow() {
	if d.measuredDue.CompareAndSwap(false, true) && d.outstanding.Load() == 0 {
		d.endLoad()
	}
}

// contextOf chooses what a request's life hangs on: tail requests are cut when the load ends, all others run on.
func contextOf(phase sweep.Phase, trial, load context.Context) context.Context {
	if phase == sweep.PhaseTail {
		return load
	}
	return trial
}

// drain waits for what is still open when no more load comes, and says how many measured requests that were.
func (d *Drive) drain() int {
	open := int(d.outstanding.Load())
	d.inFlight.Wait()
	return max(open, 0)
}

// unsent ends a request that never got as far as being sent.
func (d *Drive) unsent(r *sweep.Request, kind, why string) {
	r.Status, r.Error, r.ErrorMessage = sweep.RequestFailed, kind, why
	d.end(r)
}
