package load

import (
	"context"
	"sync"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// loop hands out the requests of a closed loop: which phase the next one belongs to follows from what has been due.
type loop struct {
	mu              sync.Mutex
	cell            *sweep.Cell
	drive           *Drive
	warmup, measure func() (input, output int64)
	warmed, due     int
	previousNS      int64
	out             Outcome
}

// Closed keeps clients busy, each with one request at a time and a pause between two. The lengths are drawn in the
// order of sending.
func (d *Drive) Closed(ctx context.Context, cell *sweep.Cell, warmup, measure func() (input, output int64)) (Outcome, error) {
	loadCtx, endLoad := context.WithCancel(ctx)
	defer endLoad()
	d.endLoad = endLoad
	l := &loop{cell: cell, drive: d, warmup: warmup, measure: measure}
	l.out = Outcome{T0NS: sweep.None, T1NS: sweep.None, SteadyNS: sweep.None}
	closed := cell.Contract.Load.Closed
	think := sweep.Duration(closed.Think)
	for range closed.Clients {
		d.inFlight.Go(func() { l.client(ctx, loadCtx, think) })
	}
	// The load ends when the window's last request has ended, or when the tail's time is up.
	<-loadCtx.Done()
	out := l.outcome()
	return out, d.finish(ctx, &out)
}

func (l *loop) outcome() Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out.T1NS == sweep.None {
		l.out.T1NS = l.drive.nowNS()
	}
	return l.out
}

// client is one client: it sends, waits for the answer, thinks, and sends again until the load ends.
func (l *loop) client(trial, load context.Context, think time.Duration) {
	d := l.drive
	for refusals := 0; load.Err() == nil; {
		slot, more := l.next()
		if !more {
			return
		}
		body := d.Prepare(slot)
		slot.DueNS = d.nowNS()
		r := d.row(slot)
		r.QueueNS = 0
		d.Send(contextOf(slot.Phase, trial, load), body, r)
		pause := think
		if r.SentNS != sweep.None {
			r.DueNS, refusals = r.SentNS, 0
		} else {
			refusals++
			pause = max(pause, refusalPause(refusals))
		}
		d.end(r)
		if pause > 0 && sleep(load, pause) != nil {
			return
		}
	}
}

// refusalPause is how long a client waits after so many requests in a row that found no server: at first 100 ms, then
// twice as long each time, at most 1 s. Without it, how many requests fail while a server is away would tell how fast the
// client is.
func refusalPause(refusals int) time.Duration {
	return min(100*time.Millisecond<<min(refusals-1, 8), time.Second)
}

func sleep(ctx context.Context, pause time.Duration) error {
	w := Waiter{}
	return w.Until(ctx, time.Now().Add(pause))
}

// next is the slot of the request that is due now, or none where the load is over.
func (l *loop) next() (Slot, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.drive.nowNS()
	if l.out.T0NS == sweep.None && !l.warm(now) {
		return l.slot(now, sweep.PhaseWarmup, &l.warmed, l.warmup), true
	}
	if l.out.T1NS == sweep.None {
		l.out.T1NS = WindowEnd(l.cell.Measure, l.out.T0NS, l.previousNS, now, l.due)
		l.previousNS = now
		if l.out.T1NS == sweep.None {
			l.drive.outstanding.Add(1)
			return l.slot(now, sweep.PhaseMeasure, &l.due, l.measure), true
		}
		l.drive.closeWindow()
		l.limitTail()
	}
	if l.drive.outstanding.Load() == 0 || now >= l.out.T1NS+l.drive.TailNS {
		return Slot{}, false
	}
	return l.slot(now, sweep.PhaseTail, &l.due, l.measure), true
}

// limitTail ends the load when the tail's time is up, though measured requests are still open.
func (l *loop) limitTail() {
	left := time.Until(l.drive.Epoch.Add(time.Duration(l.out.T1NS + l.drive.TailNS)))
	time.AfterFunc(max(left, 0), l.drive.endLoad)
}

// warm says whether the warm-up is over, and if so sets T0.
func (l *loop) warm(nowNS int64) bool {
	w := l.cell.Warmup
	limitNS := int64(sweep.Duration(w.Duration))
	switch {
	case limitNS > 0 && nowNS >= l.drive.StartNS+limitNS:
		l.out.T0NS = l.drive.StartNS + limitNS
	case w.Requests != nil && int64(l.warmed) >= *w.Requests:
		l.out.T0NS = nowNS
	case l.drive.settled(&l.out):
		l.out.T0NS = l.out.SteadyNS
	}
	l.previousNS = l.out.T0NS
	return l.out.T0NS != sweep.None
}

func (l *loop) slot(nowNS int64, phase sweep.Phase, count *int, lengths func() (int64, int64)) Slot {
	input, output := lengths()
	s := Slot{DueNS: nowNS, Phase: phase, Index: *count, Input: input, Output: output}
	*count++
	return s
}
