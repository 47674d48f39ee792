package load

import (
	"context"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// prepareAhead bounds how many bodies wait for their due times.
const prepareAhead = 64

// prepared is a slot whose body is ready to go.
type prepared struct {
	slot Slot
	body []byte
}

// Open sends a schedule, whether or not the server keeps up. maxInFlight, where it is not 0, bounds the requests that
// are open at once; the rest wait in the client in the order of their due times. It returns the context's error where
// the trial was cut short.
func (d *Drive) Open(ctx context.Context, s *Schedule, maxInFlight int) (Outcome, error) {
	loadCtx, endLoad := context.WithCancel(ctx)
	defer endLoad()
	d.endLoad = endLoad
	d.outstanding.Store(int64(s.Measured))
	out := Outcome{SteadyNS: sweep.None}
	var slots chan struct{}
	if maxInFlight > 0 {
		slots = make(chan struct{}, maxInFlight)
	}
	shiftNS, measured := d.StartNS, 0
	if s.Measured == 0 {
		d.closeWindow()
	}
	for p := range d.prepare(loadCtx, s) {
		p.slot.DueNS += shiftNS
		if p.slot.Phase == sweep.PhaseWarmup && (out.SteadyNS != sweep.None || d.settled(&out)) {
			shiftNS = out.SteadyNS - s.T0NS
			continue
		}
		if p.slot.Phase == sweep.PhaseTail && d.outstanding.Load() == 0 {
			break
		}
		if d.Wait.Until(loadCtx, d.Epoch.Add(time.Duration(p.slot.DueNS))) != nil {
			break
		}
		d.dispatch(contextOf(p.slot.Phase, ctx, loadCtx), p, slots)
		if p.slot.Phase == sweep.PhaseMeasure {
			if measured++; measured == s.Measured {
				d.closeWindow()
			}
		}
	}
	out.T0NS, out.T1NS = s.T0NS+shiftNS, s.T1NS+shiftNS
	d.Wait.Until(loadCtx, d.Epoch.Add(time.Duration(out.T1NS+d.TailNS)))
	return out, d.finish(ctx, &out)
}

// settled asks whether the warm-up may end, and if so ends it now.
func (d *Drive) settled(out *Outcome) bool {
	if d.Steady == nil || !d.Steady() {
		return false
	}
	out.SteadyNS = d.nowNS()
	return true
}

// finish cuts the tail, lets the window pass to its end, and waits for every open request.
func (d *Drive) finish(ctx context.Context, out *Outcome) error {
	d.endLoad()
	out.Drained = d.drain()
	err := d.Wait.Until(ctx, d.Epoch.Add(time.Duration(out.T1NS)))
	out.EndNS = d.nowNS()
	return err
}

// prepare makes bodies ahead of their due times, in order.
func (d *Drive) prepare(ctx context.Context, s *Schedule) <-chan prepared {
	ahead := make(chan prepared, prepareAhead)
	go func() {
		defer close(ahead)
		for _, slot := range s.Slots {
			select {
			case ahead <- prepared{slot, d.Prepare(slot)}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ahead
}

// dispatch starts one request. With a cap, it waits for its turn: channels serve their waiters in order.
func (d *Drive) dispatch(ctx context.Context, p prepared, slots chan struct{}) {
	r := d.row(p.slot)
	if slots == nil {
		d.start(ctx, p.body, r)
		return
	}
	d.inFlight.Go(func() {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-ctx.Done():
			d.unsent(r, cutKind(r.Phase), "no slot of maxInFlight came free before the trial ended")
			return
		}
		r.QueueNS = d.nowNS() - r.DueNS
		d.Send(ctx, p.body, r)
		d.end(r)
	})
}

// start sends a request that waits for nothing.
func (d *Drive) start(ctx context.Context, body []byte, r *sweep.Request) {
	d.inFlight.Add(1)
	r.QueueNS = d.nowNS() - r.DueNS
	d.Start(ctx, body, r, func() {
		d.end(r)
		d.inFlight.Done()
	})
}

// cutKind is how a request that waited in vain ends: the tail is cut, anything else should have been sent.
func cutKind(phase sweep.Phase) string {
	if phase == sweep.PhaseTail {
		return sweep.ErrCancelled
	}
	return sweep.ErrNotSent
}
