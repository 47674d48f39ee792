package stats

import (
	"math"
	"sort"
)

// slack forgives rounding where a coverage is compared with the level asked: 1 − 0.05 is not 0.95 in binary.
const slack = 1e-12

// MedianInterval gives the narrowest symmetric ranks (low, n+1−low) of a sorted sample of n whose values hold the median
// with at least the confidence asked, and the exact coverage. It is not ok where even the extremes fall short, as below
// n = 6 for 95 %; coverage is then that of the extremes.
func MedianInterval(n int, conf float64) (low, high int, coverage float64, ok bool) {
	if n < 1 || !(conf > 0 && conf < 1) {
		return 0, 0, 0, false
	}
	tail := func(l int) float64 { return binomialCDF(l-1, n, 0.5) }
	low = lastWithin(n/2, func(l int) float64 { return 2 * tail(l) }, 1-conf)
	if low < 1 {
		return 0, 0, math.Max(0, 1-2*tail(1)), false
	}
	return low, n + 1 - low, 1 - 2*tail(low), true
}

// QuantileInterval gives equal-tailed ranks of a sorted sample of n whose values hold the quantile perMille/1000 with
// at least the confidence asked, and the exact coverage P(X_(low) ≤ q < X_(high)). low = 0 stands for −∞ and high = n+1
// for +∞: the sample then bears no bound on that side.
func QuantileInterval(n, perMille int, conf float64) (low, high int, coverage float64) {
	if n < 1 || perMille <= 0 || perMille >= 1000 || !(conf > 0 && conf < 1) {
		return 0, max(n, 0) + 1, 1
	}
	p, tail := float64(perMille)/1000, (1-conf)/2
	low = lastWithin(n, func(l int) float64 { return binomialCDF(l-1, n, p) }, tail)
	// P(B ≥ u) is the chance of at most n−u successes on the other side, which keeps small tails exact.
	above := func(u int) float64 { return binomialCDF(n-u, n, 1-p) }
	high = 1 + sort.Search(n, func(i int) bool { return above(i+1) <= tail+slack })
	return low, high, 1 - binomialCDF(low-1, n, p) - above(high)
}

// lastWithin is the largest l in [1, n] with f(l) ≤ limit for an increasing f, or 0.
func lastWithin(n int, f func(int) float64, limit float64) int {
	return sort.Search(n, func(i int) bool { return f(i+1) > limit+slack })
}

// EarlyStopping is MLPerf's bound on a percentile from n samples: the largest t for which t values beyond the quantile
// among n would be too few by chance, P(B(n, 1−p) ≤ t) ≤ 1 − conf. The t-th largest value of the sample is then an upper
// bound of the percentile with that confidence. It is not ok where no t ≥ 1 exists, below MinSamples.
func EarlyStopping(n, perMille int, conf float64) (t int, ok bool) {
	if n < 1 || perMille <= 0 || perMille >= 1000 || !(conf > 0 && conf < 1) {
		return 0, false
	}
	q := float64(1000-perMille) / 1000
	t = lastWithin(n, func(t int) float64 { return binomialCDF(t, n, q) }, 1-conf)
	return t, t >= 1
}

// MinSamples is the least n for which EarlyStopping has an answer.
func MinSamples(perMille int, conf float64) int {
	if perMille >= 1000 || !(conf < 1) {
		return math.MaxInt
	}
	enough := func(n int) bool { _, ok := EarlyStopping(n, perMille, conf); return ok }
	if perMille <= 0 || !(conf > 0) {
		return 1
	}
	limit := 2
	for !enough(limit) {
		limit *= 2
	}
	return sort.Search(limit, enough)
}
