package load

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// Burst sends the measured requests all at once, after a warm-up that has drained. The window lasts until the last of
// them has ended, and there is no tail. A warm-up by requests is a burst too; one by time sends one request after
// another for that long.
func (d *Drive) Burst(ctx context.Context, cell *sweep.Cell, warmup, measure func() (input, output int64)) (Outcome, error) {
	loadCtx, endLoad := context.WithCancel(ctx)
	defer endLoad()
	d.endLoad = endLoad
	out := Outcome{SteadyNS: sweep.None}
	d.warmBurst(ctx, cell, warmup)
	count := int64(cell.Measure.Requests)
	d.outstanding.Store(count)
	out.T0NS = d.burst(ctx, sweep.PhaseMeasure, count, measure)
	d.closeWindow()
	d.inFlight.Wait()
	<-loadCtx.Done()
	out.EndNS = d.nowNS()
	out.T1NS = out.EndNS
	return out, ctx.Err()
}

// burst sends requests at once, and says when they were due. With half of the processors for it, the last leaves soon
// after the first, while answers are read and a server on the same machine runs.
func (d *Drive) burst(ctx context.Context, phase sweep.Phase, count int64, lengths func() (input, output int64)) (dueNS int64) {
	bodies, rows := make([][]byte, count), make([]*sweep.Request, count)
	for i := range rows {
		slot := d.slot(phase, i, lengths)
		bodies[i], rows[i] = d.Prepare(slot), d.row(slot)
	}
	dueNS = d.nowNS()
	var next atomic.Int64
	var senders sync.WaitGroup
	for range max(1, runtime.GOMAXPROCS(0)/2) {
		senders.Go(func() {
			for i := next.Add(1) - 1; i < count; i = next.Add(1) - 1 {
				rows[i].DueNS = dueNS
				d.start(ctx, bodies[i], rows[i])
			}
		})
	}
	senders.Wait()
	return dueNS
}

func (d *Drive) slot(phase sweep.Phase, i int, lengths func() (input, output int64)) Slot {
	input, output := lengths()
	return Slot{Phase: phase, Index: i, Input: input, Output: output}
}

// warmBurst runs the warm-up and lets it drain.
func (d *Drive) warmBurst(ctx context.Context, cell *sweep.Cell, lengths func() (input, output int64)) {
	if n := cell.Warmup.Requests; n != nil {
		d.burst(ctx, sweep.PhaseWarmup, int64(*n), lengths)
		d.inFlight.Wait()
		return
	}
	end := d.Epoch.Add(time.Duration(d.StartNS) + sweep.Duration(cell.Warmup.Duration))
	for i := 0; time.Now().Before(end) && ctx.Err() == nil; i++ {
		slot := d.slot(sweep.PhaseWarmup, i, lengths)
		body := d.Prepare(slot)
		slot.DueNS = d.nowNS()
		r := d.row(slot)
		d.Send(ctx, body, r)
		d.end(r)
	}
}
