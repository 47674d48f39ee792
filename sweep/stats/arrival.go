package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// AndersonDarlingExp is the Anderson–Darling distance of a sample from an exponential law whose rate is estimated from
// it: A² and, corrected for that estimate, A*² = A²·(1 + 0.6/n), whose critical values at 15, 10, 5, 2.5 and 1 % are
// 0.922, 1.078, 1.341, 1.606 and 1.957. A value of 0 makes both infinite.
func AndersonDarlingExp(xs []float64) (a2, a2star float64) {
	mean, _ := Moments(xs)
	a2 = AndersonDarlingExpRate(xs, 1/mean)
	return a2, a2 * (1 + 0.6/float64(len(xs)))
}

// AndersonDarlingExpRate is A² against the exponential law of a known rate, whose critical values at 10, 5, 2.5 and 1 %
// are 1.933, 2.492, 3.070 and 3.857.
func AndersonDarlingExpRate(xs []float64, rate float64) (a2 float64) {
	if !exponential(xs, rate) {
		return math.NaN()
	}
	s := sorted(xs)
	n := len(s)
	for i, x := range s {
		logBelow := math.Log(-math.Expm1(-rate * x))
		logAbove := -rate * s[n-1-i]
		a2 -= float64(2*i+1) * (logBelow + logAbove)
	}
	return a2/float64(n) - float64(n)
}

// KSExp is the Kolmogorov–Smirnov distance of a sample from the exponential law of a known rate: the largest difference
// of the two distribution functions.
func KSExp(xs []float64, rate float64) (d float64) {
	if !exponential(xs, rate) {
		return math.NaN()
	}
	s := sorted(xs)
	n := float64(len(s))
	for i, x := range s {
		f := -math.Expm1(-rate * x)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	return d
}

// exponential reports whether xs could come from an exponential law: finite values of at least 0, and a rate above 0.
func exponential(xs []float64, rate float64) bool {
	for _, x := range xs {
		if !(x >= 0) || math.IsInf(x, 1) {
			return false
		}
	}
	return len(xs) > 0 && rate > 0 && !math.IsInf(rate, 1)
}

// KSTwoSample is the Kolmogorov–Smirnov distance of two samples: the largest difference of their distribution
// functions.
func KSTwoSample(a, b []float64) (d float64) {
	if len(a) == 0 || len(b) == 0 || anyNaN(a) || anyNaN(b) {
		return math.NaN()
	}
	return stat.KolmogorovSmirnov(sorted(a), nil, sorted(b), nil)
}

// Dispersion describes how bursty counts in equal bins are: the variance-to-mean ratio, which is 1 for a Poisson
// process, and the chi-square of equal means with its degrees of freedom. It needs two bins and a count above 0.
func Dispersion(counts []int) (vmr, chi2 float64, df int) {
	values := make([]float64, len(counts))
	for i, c := range counts {
		values[i] = float64(c)
	}
	mean, sd := Moments(values)
	if len(counts) < 2 || !(mean > 0) {
		return math.NaN(), math.NaN(), max(0, len(counts)-1)
	}
	df = len(counts) - 1
	vmr = sd * sd / mean
	return vmr, vmr * float64(df), df
}
