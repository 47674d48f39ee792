package runner

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/inference-sweep/sweep/sweep"
)

// healthFloor is how many requests have to have ended before their failures can end a trial.
const healthFloor = 20

// health counts how a trial's requests end.
type health struct {
	ended, failed, measuredOK int
	kinds                     map[string]int
	last                      string
}

// take counts a request and says why the trial has to end, if it has: the share of failed requests reached its limit.
func (h *health) take(r *sweep.Request, limit float64) error {
	if r.Error == sweep.ErrCancelled {
		return nil
	}
	h.ended++
	if r.Status == sweep.RequestOK {
		if r.Phase == sweep.PhaseMeasure {
			h.measuredOK++
		}
		return nil
	}
	h.failed++
	if h.kinds == nil {
		h.kinds = map[string]int{}
	}
	h.kinds[r.Error]++
	h.last = r.ErrorMessage
	if h.ended >= healthFloor && float64(h.failed) >= limit*float64(h.ended) {
		return fmt.Errorf("%d of %d requests failed, the limit is %g %%: %s", h.failed, h.ended, 100*limit, h.sentence())
	}
	return nil
}

// sentence names the commonest kind of failure, and what was said last.
func (h *health) sentence() string {
	if h.failed == 0 {
		return "none was due, because answers took longer than the window lasts"
	}
	kinds := make([]string, 0, len(h.kinds))
	for kind := range h.kinds {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b string) int { return cmp.Or(cmp.Compare(h.kinds[b], h.kinds[a]), cmp.Compare(a, b)) })
	if h.last == "" {
		return kinds[0]
	}
	return kinds[0] + ": " + h.last
}

// steadyRun is how many answers a settled latency is judged from: the two halves of the last so many.
const steadyRun = 40

// steadyBand is how close the medians of the two halves have to be.
const steadyBand = 0.05

// steadiness watches a warm-up until latencies have settled.
type steadiness struct {
	ttfts []float64
}

func (s *steadiness) take(r *sweep.Request) {
	if r.Phase == sweep.PhaseWarmup && r.Status == sweep.RequestOK && r.FirstTokenNS != sweep.None {
		s.ttfts = append(s.ttfts, float64(r.FirstTokenNS))
	}
}

// settled compares the medians of the two halves of the last answers.
func (s *steadiness) settled() bool {
	if len(s.ttfts) < steadyRun {
		return false
	}
	last := s.ttfts[len(s.ttfts)-steadyRun:]
	early, late := median(last[:steadyRun/2]), median(last[steadyRun/2:])
	return late <= early*(1+steadyBand) && early <= late*(1+steadyBand)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
