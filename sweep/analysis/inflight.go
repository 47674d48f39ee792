package analysis

import (
	"math"
	"slices"
)

// inflight is how many requests were on their way, from sent to the end of the stream, over a window [fromNS, toNS).
type inflight struct {
	fromNS, toNS  int64
	sumNS         int64 // the integral of the number in flight
	starts, endNS []int64
}

// add counts one request, clipped to the window.
func (f *inflight) add(startNS, endNS int64) {
	startNS, endNS = max(startNS, f.fromNS), min(endNS, f.toNS)
	if startNS >= endNS {
		return
	}
	f.sumNS += endNS - startNS
	f.starts, f.endNS = append(f.starts, startNS), append(f.endNS, endNS)
}

// mean and most are NaN for an empty window.
func (f *inflight) mean() float64 {
	if f.toNS <= f.fromNS {
		return math.NaN()
	}
	return float64(f.sumNS) / float64(f.toNS-f.fromNS)
}

func (f *inflight) most() float64 {
	if f.toNS <= f.fromNS {
		return math.NaN()
	}
	slices.Sort(f.starts)
	slices.Sort(f.endNS)
	most, ended := 0, 0
	for i, start := range f.starts {
		for f.endNS[ended] <= start {
			ended++
		}
		most = max(most, i+1-ended)
	}
	return float64(most)
}
