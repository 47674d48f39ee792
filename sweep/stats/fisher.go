package stats

import "math"

// FisherExact is the two-sided p of a 2×2 table with the rows (a, b) and (c, d): the probability, with all sums fixed,
// of the tables that are no likelier than this one. A table without counts has p 1; a negative count has none.
func FisherExact(a, b, c, d int) float64 {
	if min(a, b, c, d) < 0 {
		return math.NaN()
	}
	row, column, n := a+b, a+c, a+b+c+d
	logProbability := func(k int) float64 {
		return logChoose(row, k) + logChoose(n-row, column-k) - logChoose(n, column)
	}
	// Tables that are equally likely differ in the last digits only.
	limit := logProbability(a) + 1e-7
	var p float64
	for k := max(0, row+column-n); k <= min(row, column); k++ {
		if lp := logProbability(k); lp <= limit {
			p += math.Exp(lp)
		}
	}
	return math.Min(1, p)
}

func logChoose(n, k int) float64 {
	lnN, _ := math.Lgamma(float64(n) + 1)
	lnK, _ := math.Lgamma(float64(k) + 1)
	lnRest, _ := math.Lgamma(float64(n-k) + 1)
	return lnN - lnK - lnRest
}
