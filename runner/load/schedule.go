// Package load draws when requests are due and sends them then.
//
// A schedule is drawn whole before a trial starts, from a seed, and its times are absolute: lateness never accumulates
// and never moves a later request. The package knows nothing of what a request says, of servers, of databases, nor of
// what the figures mean.
package load

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/sweep"
)

// Slot is one request that is to be sent.
type Slot struct {
	// DueNS counts from the trial's start. Closed loops and bursts have none before they run.
	DueNS int64
	Phase sweep.Phase
	// Index numbers the requests of one stream of draws from 0: those of the warm-up are one, those measured and of the
	// tail another.
	Index int
	// Lengths in tokens.
	Input, Output int64
}

// Schedule is every request of a trial that arrives on its own, in the order of due times.
type Schedule struct {
	Slots []Slot
	// The measured window [T0NS, T1NS).
	T0NS, T1NS int64
	// Warmup and Measured count the slots of those phases; the rest is tail.
	Warmup, Measured int
}

// Draw makes an open loop's schedule: due times from the start of the warm-up until the tail's limit. Measured requests
// are drawn from a stream of their own, so that all cells of a block have the same lengths and unit gaps in their
// windows, whatever their rates.
func Draw(cell *sweep.Cell, seed int64, block int, traces map[string][]float64) (*Schedule, error) {
	open := cell.Contract.Load.Open
	if open == nil {
		return nil, fmt.Errorf("cell %s has no open loop to schedule", cell.Name())
	}
	warmup, err := newStream(cell, seed, block, streamWarmup, traces)
	if err != nil {
		return nil, err
	}
	measure, err := newStream(cell, seed, block, streamMeasure, traces)
	if err != nil {
		return nil, err
	}
	most, err := mostSlots(cell)
	if err != nil {
		return nil, err
	}
	s := &Schedule{}
	first, err := s.drawWarmup(cell.Warmup, warmup, &arrivals{warmup.gap, open.Rate, most})
	if err == nil {
		err = s.drawMeasured(cell, measure, &arrivals{measure.gap, open.Rate, most}, first)
	}
	if err != nil {
		return nil, fmt.Errorf("cell %s: %w", cell.Name(), err)
	}
	return s, nil
}

const (
	// maxExpected bounds the slots that memory is to hold: twice what a plan takes, since a number and a time, which end
	// a phase together, are added up here.
	maxExpected = 40_000_000
	// maxScheduleS keeps due times far from the end of what an int64 of nanoseconds counts.
	maxScheduleS = 2 * 365 * 24 * 3600.0
)

// mostSlots is how many requests of a phase are too many to be chance: many more than a cell's times and rate lead to
// expect.
func mostSlots(cell *sweep.Cell) (int, error) {
	w, m := cell.Warmup, cell.Measure
	times := sweep.Duration(w.Duration).Seconds() + sweep.Duration(m.Duration).Seconds() + sweep.Duration(cell.Tail).Seconds()
	expected := times*cell.Contract.Load.Open.Rate + float64(m.Requests) + float64(m.MinRequests)
	if w.Requests != nil {
		expected += float64(*w.Requests)
	}
	if !(expected <= maxExpected) {
		return 0, fmt.Errorf("cell %s: a schedule of %.3g requests: the most is %d", cell.Name(), expected, maxExpected)
	}
	return 2*int(expected) + 1_000_000, nil
}

// arrivals counts the time of one phase's requests.
type arrivals struct {
	gap      func() float64 // mean 1
	ratePerS float64
	left     int
}

// after is when the request after one at atS is due, or an error where the schedule has no end: gaps that round to
// nothing, or of years.
func (a *arrivals) after(atS float64) (float64, error) {
	atS += a.gap() / a.ratePerS
	a.left--
	if a.left < 0 || !(atS <= maxScheduleS) { // NaN is no time either
		return 0, errors.New("the arrivals have no end: their gaps are nothing, or years")
	}
	return atS, nil
}

// drawWarmup draws the warm-up and T0. It returns whether the first measured request is due at T0 itself, which it is
// where the warm-up is a number of requests; where it is a time, the first gap follows T0.
func (s *Schedule) drawWarmup(w schema.Warmup, from *stream, arriving *arrivals) (firstAtT0 bool, err error) {
	limitNS := int64(sweep.Duration(w.Duration))
	requests := int64(math.MaxInt64)
	if w.Requests != nil {
		requests = *w.Requests
	}
	if w.Requests != nil && *w.Requests == 0 && limitNS == 0 {
		return false, nil
	}
	at := 0.0
	for i := 0; ; i++ {
		if at, err = arriving.after(at); err != nil {
			return false, err
		}
		due := seconds(at)
		if limitNS > 0 && due >= limitNS {
			s.T0NS = limitNS
			return false, nil
		}
		if int64(i) == requests {
			s.T0NS = due
			return true, nil
		}
		s.add(due, sweep.PhaseWarmup, i, from)
		s.Warmup++
	}
}

// drawMeasured draws the window and the load that is kept up after it.
func (s *Schedule) drawMeasured(cell *sweep.Cell, from *stream, arriving *arrivals, firstAtT0 bool) (err error) {
	m := cell.Measure
	tailNS := int64(sweep.Duration(cell.Tail))
	s.T1NS = sweep.None
	at, previous := 0.0, s.T0NS
	for i := 0; ; i++ {
		if i > 0 || !firstAtT0 {
			if at, err = arriving.after(at); err != nil {
				return err
			}
		}
		due := s.T0NS + seconds(at)
		if s.T1NS == sweep.None {
			s.T1NS = WindowEnd(m, s.T0NS, previous, due, i)
			previous = due
		}
		if s.T1NS != sweep.None && due >= s.T1NS+tailNS {
			return nil
		}
		phase := sweep.PhaseMeasure
		if s.T1NS != sweep.None && due >= s.T1NS {
			phase = sweep.PhaseTail
		} else {
			s.Measured++
		}
		s.add(due, phase, i, from)
	}
}

// WindowEnd is T1 if the request with index i, due at dueNS, is the first one after the window that starts at t0NS, else
// None. previousNS is when the request before it was due. The window lasts for its duration, or until as many requests
// as asked have been due, and then ends when the next one would be.
func WindowEnd(m schema.Measure, t0NS, previousNS, dueNS int64, i int) int64 {
	if m.Requests > 0 {
		if i >= int(m.Requests) {
			return dueNS
		}
		return sweep.None
	}
	end := t0NS + int64(sweep.Duration(m.Duration))
	switch {
	case dueNS < end || i < int(m.MinRequests):
		return sweep.None
	case i > 0 && previousNS >= end:
		return dueNS
	}
	return end
}

func (s *Schedule) add(dueNS int64, phase sweep.Phase, index int, from *stream) {
	input, output := from.lengths()
	s.Slots = append(s.Slots, Slot{DueNS: dueNS, Phase: phase, Index: index, Input: input, Output: output})
}

func seconds(s float64) int64 { return int64(math.Round(s * float64(time.Second))) }
