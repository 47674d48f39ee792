// Package stats turns samples into summaries, intervals and tests: percentiles by nearest rank, order-statistic and t
// intervals, paired and two-sample comparisons, corrections for many comparisons, trend and steady-state statistics,
// and the checks of an arrival process.
//
// It is pure and knows nothing of sweeps, cells, requests, units, files or databases, of what a figure means or of
// when it is bad: thresholds and verdicts belong to its callers. It draws no random numbers.
//
// Conventions. A sample is a slice that no function changes. Missing values are left out by the caller: a NaN in a
// sample makes the result NaN, and so does a sample too small for the figure asked. Percentiles are given in per mille
// (500, 900, 950, 990, 999), so that ranks are whole-number arithmetic. Ranks count from 1. Confidence levels, alpha
// and power are shares in (0, 1). Every test is two-sided unless its field or parameter says otherwise.
package stats

import "math"

// Interval is a closed range. Either end may be infinite where a sample bears no bound on that side; both are NaN
// where there is no interval.
type Interval struct{ Low, High float64 }

// Contains reports whether x lies in the interval, its ends included.
func (iv Interval) Contains(x float64) bool { return iv.Low <= x && x <= iv.High }

func noInterval() Interval { return Interval{math.NaN(), math.NaN()} }

func anyNaN(xs []float64) bool {
	for _, x := range xs {
		if math.IsNaN(x) {
			return true
		}
	}
	return false
}
