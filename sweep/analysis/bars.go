package analysis

import (
	"math"

	"github.com/inference-sweep/sweep/sweep"
)

// Bars are what a request has to meet to count as good: the most that each time may be, in nanoseconds. An absent bar is
// never missed. The zero value is not usable: see BarsOf.
type Bars struct {
	ttftNS, tpotNS, e2eNS int64
	fromDue               bool
}

// BarsOf reads a cell's SLO. It is not ok where the contract has none. Open loops and bursts are judged from due time, a
// closed loop from send.
func BarsOf(cell *sweep.PlanCell) (bars Bars, ok bool) {
	slo := cell.Cell.Contract.SLO
	if slo == nil {
		return Bars{}, false
	}
	return Bars{
		ttftNS:  mostNS(sweep.Duration(slo.Ttft).Nanoseconds()),
		tpotNS:  mostNS(sweep.Duration(slo.Tpot).Nanoseconds()),
		e2eNS:   mostNS(sweep.Duration(slo.E2e).Nanoseconds()),
		fromDue: cell.Cell.LoadKind() != sweep.LoadClosed,
	}, true
}

const noBar = math.MaxInt64

func mostNS(ns int64) int64 {
	if ns <= 0 {
		return noBar
	}
	return ns
}

// Met says whether a request met every bar. A failed one never does. The bar on TPOT is met by an answer of one token,
// and missed where nobody counted the tokens.
func (b Bars) Met(r *sweep.Request) bool {
	return r.Status == sweep.RequestOK &&
		within(b.sinceStart(r, r.FirstTokenNS), b.ttftNS) &&
		within(b.sinceStart(r, r.LastTokenNS), b.e2eNS) &&
		(b.tpotNS == noBar || b.metTPOT(r))
}

func (b Bars) sinceStart(r *sweep.Request, ns int64) int64 {
	if b.fromDue {
		return r.FromDueNS(ns)
	}
	return ns
}

func within(ns, mostNS int64) bool {
	return mostNS == noBar || ns != sweep.None && ns <= mostNS
}

func (b Bars) metTPOT(r *sweep.Request) bool {
	switch {
	case r.OutputTokens == sweep.None:
		return false
	case r.OutputTokens < 2:
		return true
	}
	// Whole numbers: no rounding decides whether a bar is met.
	return r.FirstTokenNS != sweep.None && r.LastTokenNS != sweep.None && r.LastTokenNS-r.FirstTokenNS <= b.tpotNS*(r.OutputTokens-1)
}
