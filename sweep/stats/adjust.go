package stats

import (
	"cmp"
	"math"
	"slices"
)

// Holm adjusts the p values of one family so that the chance of any false rejection in it stays below the level used.
// The result is in the order given. A NaN is a test that was not made: it stays NaN and does not count in the family.
func Holm(ps []float64) []float64 {
	return adjust(ps, func(sorted []float64) {
		m, highest := len(sorted), 0.0
		for i, p := range sorted {
			highest = math.Max(highest, math.Min(1, float64(m-i)*p))
			sorted[i] = highest
		}
	})
}

// Bonferroni adjusts like Holm, by the number of tests alone; it is never smaller.
func Bonferroni(ps []float64) []float64 {
	return adjust(ps, func(sorted []float64) {
		for i, p := range sorted {
			sorted[i] = math.Min(1, float64(len(sorted))*p)
		}
	})
}

// BenjaminiHochberg adjusts the p values of one family so that the expected share of false ones among the rejections
// stays below the level used. NaN is treated as in Holm.
func BenjaminiHochberg(ps []float64) []float64 {
	return adjust(ps, func(sorted []float64) {
		m, lowest := len(sorted), 1.0
		for i := m - 1; i >= 0; i-- {
			lowest = math.Min(lowest, float64(m)/float64(i+1)*sorted[i])
			sorted[i] = lowest
		}
	})
}

// adjust hands the numbers of ps in ascending order to step, which replaces them, and puts them back in their places.
func adjust(ps []float64, step func(sorted []float64)) []float64 {
	adjusted := slices.Clone(ps)
	var order []int
	for i, p := range ps {
		if !math.IsNaN(p) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(ps[i], ps[j]) })
	values := make([]float64, len(order))
	for k, i := range order {
		values[k] = ps[i]
	}
	step(values)
	for k, i := range order {
		adjusted[i] = values[k]
	}
	return adjusted
}
