package stats

import (
	"math"
	"slices"
)

// Trend is a Mann–Kendall test: the sum S of the signs of all pairs, its variance under no trend (corrected for ties),
// the normal deviate with continuity correction and its probabilities, two-sided and one-sided each way. Tau is S over
// the number of pairs, Sen the median slope a step.
type Trend struct {
	S             int
	Var, Z        float64
	P, PUp, PDown float64
	Tau, Sen      float64
}

// MannKendall tests a series for a monotone trend. It assumes independent values: give it bin medians, never the raw
// series of a queue. Fewer than two values, or a NaN, make everything but S NaN.
func MannKendall(xs []float64) Trend {
	n := len(xs)
	if n < 2 || anyNaN(xs) {
		nan := math.NaN()
		return Trend{Var: nan, Z: nan, P: nan, PUp: nan, PDown: nan, Tau: nan, Sen: nan}
	}
	var tr Trend
	slopes := make([]float64, 0, n*(n-1)/2)
	for i, x := range xs {
		for j, y := range xs[i+1:] {
			slope := (y - x) / float64(j+1)
			if x == y {
				slope = 0 // also for two infinities
			}
			tr.S += sign(slope)
			slopes = append(slopes, slope)
		}
	}
	slices.Sort(slopes)
	tr.Sen = middle(slopes)
	tr.Tau = float64(tr.S) / float64(len(slopes))
	tr.Var = kendallVariance(xs)
	if tr.S != 0 {
		tr.Z = float64(tr.S-sign(float64(tr.S))) / math.Sqrt(tr.Var)
	}
	tr.P = math.Min(1, 2*normalCDF(-math.Abs(tr.Z)))
	tr.PUp, tr.PDown = normalCDF(-tr.Z), normalCDF(tr.Z)
	return tr
}

func kendallVariance(xs []float64) float64 {
	term := func(k float64) float64 { return k * (k - 1) * (2*k + 5) }
	variance := term(float64(len(xs)))
	s := sorted(xs)
	for from := 0; from < len(s); {
		to := from + 1
		for to < len(s) && s[to] == s[from] {
			to++
		}
		variance -= term(float64(to - from))
		from = to
	}
	return variance / 18
}

// BinMedians cuts a series into bins of equal counts in the order given, as equal as its length allows, and returns the
// median of each by nearest rank. A series shorter than the number of bins gives one bin a value.
func BinMedians(xs []float64, bins int) []float64 {
	bins = min(bins, len(xs))
	if bins < 1 {
		return nil
	}
	medians := make([]float64, bins)
	for i := range medians {
		bin := xs[i*len(xs)/bins : (i+1)*len(xs)/bins]
		medians[i] = math.NaN()
		if !anyNaN(bin) {
			medians[i] = Percentile(sorted(bin), 500)
		}
	}
	return medians
}
