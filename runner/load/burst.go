package load

import (
	"context"
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
	count := int(cell.Measure.Requests)
	ready := make([]prepared, count)
	for i := range ready {
		input, output := measure()
		slot := Slot{Phase: sweep.PhaseMeasure, Index: i, Input: input, Output: output}
		ready[i] = prepared{slot, d.Prepare(slot)}
	}
	d.outstanding.Store(int64(count))
	out.T0NS = d.nowNS()
	d.burst(ctx, ready, out.T0NS)
	d.closeWindow()
	d.inFlight.Wait()
	<-loadCtx.Done()
	out.EndNS = d.nowNS()
	out.T1NS = out.EndNS
	return out, ctx.Err()
}

// burst sends everything that is ready at once, due at dueNS.
func (d *Drive) burst(ctx context.Context, ready []prepared, dueNS int64) {
	for _, p := range ready {
		p.slot.DueNS = dueNS
		d.dispatch(ctx, p, nil)
	}
}

// warmBurst runs the warm-up and lets it drain.
func (d *Drive) warmBurst(ctx context.Context, cell *sweep.Cell, lengths func() (input, output int64)) {
	next := func(i int) prepared {
		input, output := lengths()
		slot := Slot{Phase: sweep.PhaseWarmup, Index: i, Input: input, Output: output}
		return prepared{slot, d.Prepare(slot)}
	}
	if n := cell.Warmup.Requests; n != nil {
		ready := make([]prepared, *n)
		for i := range ready {
			ready[i] = next(i)
		}
		d.burst(ctx, ready, d.nowNS())
		d.inFlight.Wait()
		return
	}
	end := d.Epoch.Add(time.Duration(d.StartNS) + sweep.Duration(cell.Warmup.Duration))
	for i := 0; time.Now().Before(end) && ctx.Err() == nil; i++ {
		p := next(i)
		p.slot.DueNS = d.nowNS()
		r := d.row(p.slot)
		d.Send(ctx, p.body, r)
		d.end(r)
	}
}
