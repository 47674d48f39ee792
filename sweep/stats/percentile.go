package stats

import (
	"math"
	"slices"
)

// Rank is the nearest rank ⌈n·p⌉ of the quantile perMille/1000 in a sorted sample of n, counted from 1 and kept inside
// [1, n]. It is 0 for an empty sample.
func Rank(n, perMille int) int {
	if n <= 0 {
		return 0
	}
	// Quotient and remainder apart: n·perMille may not fit, and no float can round the product across a whole number.
	rank := n/1000*perMille + (n%1000*perMille+999)/1000
	return min(max(rank, 1), n)
}

// Percentile is the value at the nearest rank of a sample sorted in ascending order: always one of its values, never
// interpolated. It is NaN for an empty sample. It does not ask whether the sample bears that percentile; Floor does.
func Percentile(sorted []float64, perMille int) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[Rank(len(sorted), perMille)-1]
}

// Floor is the least sample size at which the largest value bounds the percentile from above with 95 % confidence:
// n ≥ ln 0.05 ÷ ln p. Below it the percentile is not a figure.
func Floor(perMille int) int {
	switch {
	case perMille <= 0:
		return 1
	case perMille >= 1000:
		return math.MaxInt
	}
	return int(math.Ceil(math.Log(0.05) / math.Log(float64(perMille)/1000)))
}

// SamplesForMargin is the sample size at which the normal interval of a quantile spans the levels p ± margin:
// z²·p·(1−p) ÷ margin², rounded up. The margin is a share: 0.001 for a tenth of a percentage point.
func SamplesForMargin(perMille int, margin, conf float64) int {
	p := float64(perMille) / 1000
	z := normalQuantile((1 + conf) / 2)
	return ceilInt(z * z * p * (1 - p) / (margin * margin))
}

// ceilInt rounds up to an int; what is no number or too large becomes the largest int.
func ceilInt(x float64) int {
	if !(x < math.MaxInt64) {
		return math.MaxInt
	}
	return int(math.Ceil(x))
}

func sorted(xs []float64) []float64 {
	s := slices.Clone(xs)
	slices.Sort(s)
	return s
}

// middle is the usual median of a sorted sample of at least one value: the mean of the two middle values where their number is even. The
// estimators built on pairs (Hodges–Lehmann, Sen) are defined by it; a percentile of measurements never uses it.
func middle(s []float64) float64 {
	n := len(s)
	return s[(n-1)/2]/2 + s[n/2]/2
}
