package stats

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// PairedResult is a comparison of pairs: an estimate with its 95 % and 90 % intervals, the p of no difference and the
// number of pairs. SD is the spread of one pair's log ratio, or of its difference. For fewer than two pairs only the
// estimate exists. Where all pairs agree (SD 0) the intervals are the estimate itself, and P is 1 if it says no
// difference and 0 if it says any.
type PairedResult struct {
	Estimate   float64
	CI95, CI90 Interval
	P          float64
	N          int
	SD         float64
}

// PairedLogRatio compares pairs by the ratio a ÷ b: the paired t on log ratios, back-transformed. Both samples have the
// same length and only values greater than 0; anything else has no result.
func PairedLogRatio(a, b []float64) PairedResult {
	logs := make([]float64, min(len(a), len(b)))
	for i := range logs {
		if !(a[i] > 0 && b[i] > 0) {
			return noResult()
		}
		logs[i] = math.Log(a[i] / b[i])
	}
	// Equal ratios of computed figures agree only to within their last digits.
	r := paired(a, b, logs, 1e-14)
	r.Estimate, r.CI95, r.CI90 = math.Exp(r.Estimate), r.CI95.exp(), r.CI90.exp()
	return r
}

// PairedDiff compares pairs by the mean difference a − b. Both samples have the same length; anything else has no
// result.
func PairedDiff(a, b []float64) PairedResult {
	diffs := make([]float64, min(len(a), len(b)))
	var scale float64
	for i := range diffs {
		diffs[i] = a[i] - b[i]
		scale = max(scale, math.Abs(a[i]), math.Abs(b[i]))
	}
	return paired(a, b, diffs, 1e-14*scale)
}

func paired(a, b, contrasts []float64, rounding float64) PairedResult {
	if len(a) != len(b) || len(a) == 0 || anyNaN(contrasts) {
		return noResult()
	}
	n := len(contrasts)
	mean, sd := Moments(contrasts)
	if sd <= rounding {
		sd = 0
		if math.Abs(mean) <= rounding {
			mean = 0
		}
	}
	r := PairedResult{Estimate: mean, N: n, SD: sd, P: math.NaN()}
	r.CI95, r.CI90 = tAround(mean, sd, n, 0.95), tAround(mean, sd, n, 0.90)
	switch {
	case n < 2:
	case sd > 0:
		r.P = tTwoSided(mean/(sd/math.Sqrt(float64(n))), float64(n-1))
	case mean == 0:
		r.P = 1
	default:
		r.P = 0
	}
	return r
}

func noResult() PairedResult {
	nan := math.NaN()
	return PairedResult{Estimate: nan, CI95: noInterval(), CI90: noInterval(), P: nan, SD: nan}
}

func (iv Interval) exp() Interval { return Interval{math.Exp(iv.Low), math.Exp(iv.High)} }

// PairedPower is the probability that a two-sided paired t test at level alpha on the given number of pairs finds a true
// mean contrast, given in units of the spread of one pair. It is exact for normal contrasts.
func PairedPower(contrast float64, pairs int, alpha float64) float64 {
	if pairs < 2 || !(alpha > 0 && alpha < 1) || math.IsNaN(contrast) {
		return math.NaN()
	}
	df := float64(pairs - 1)
	return tPower(math.Abs(contrast)*math.Sqrt(float64(pairs)), df, -TQuantile(alpha/2, df))
}

// tPower is P(|T| > critical) for a noncentral t: the test rejects when the estimated variance is small against the
// square of a normal numerator, so its power is the mean of a chi-square probability over the size x of that numerator.
func tPower(noncentrality, df, critical float64) float64 {
	if noncentrality > 1e6*critical {
		return 1
	}
	const reach = 9 // standard deviations beyond which the normal density does not count
	chi2 := distuv.ChiSquared{K: df}
	density := func(z float64) float64 { return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) }
	integrand := func(x float64) float64 {
		return (density(x-noncentrality) + density(x+noncentrality)) * chi2.CDF(df*x*x/(critical*critical))
	}
	return quad.Fixed(integrand, math.Max(0, noncentrality-reach), noncentrality+reach, 200, nil, 0)
}

// DetectableRatio is the smallest ratio above 1 that a two-sided paired t test on log ratios, at level alpha over the
// given number of blocks, finds with the power asked; its reciprocal is the one below 1. sdLog is the spread of one
// block's log ratio. It is 1 without spread, infinite for fewer than two blocks, and exact for normal log ratios.
func DetectableRatio(sdLog float64, blocks int, alpha, power float64) float64 {
	switch {
	case !(sdLog >= 0) || !(alpha > 0 && alpha < 1) || !(power > 0 && power < 1):
		return math.NaN()
	case blocks < 2:
		return math.Inf(1)
	case sdLog == 0 || power <= alpha:
		return 1
	}
	df := float64(blocks - 1)
	critical := -TQuantile(alpha/2, df) // of the lower tail, where a small alpha keeps its digits
	if math.IsInf(critical, 1) {
		return math.Inf(1)
	}
	reached := func(noncentrality float64) bool { return tPower(noncentrality, df, critical) >= power }
	limit := critical + 1
	for !reached(limit) {
		limit *= 2
	}
	const steps = 1 << 30
	step := sort.Search(steps, func(i int) bool { return reached(limit * float64(i) / steps) })
	return math.Exp(limit * float64(step) / steps * sdLog / math.Sqrt(float64(blocks)))
}
