package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// Spearman is the rank correlation of two series of the same length, with midranks for ties, and its p by t with n − 2
// degrees of freedom. It needs three pairs and some spread in both.
func Spearman(x, y []float64) (rho, p float64) {
	rho, _, p = spearman(x, y)
	return rho, p
}

// Lag1 is the rank correlation of a series with itself one step later, with its t and p: how far neighbours depend on
// each other.
func Lag1(xs []float64) (rho, t, p float64) {
	if len(xs) < 2 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	return spearman(xs[:len(xs)-1], xs[1:])
}

// EffectiveN is the number of independent values that n values with the lag-1 correlation rho are worth.
func EffectiveN(n int, rho float64) float64 { return float64(n) * (1 - rho) / (1 + rho) }

func spearman(x, y []float64) (rho, t, p float64) {
	if len(x) != len(y) || len(x) < 3 || anyNaN(x) || anyNaN(y) {
		return math.NaN(), math.NaN(), math.NaN()
	}
	df := float64(len(x) - 2)
	rho = stat.Correlation(rankValues(x), rankValues(y), nil)
	rho = math.Max(-1, math.Min(1, rho))
	t = rho * math.Sqrt(df/((1-rho)*(1+rho)))
	return rho, t, tTwoSided(t, df)
}

func rankValues(xs []float64) []float64 {
	doubled, _ := doubledRanks(xs)
	ranks := make([]float64, len(xs))
	for i, r := range doubled {
		ranks[i] = float64(r) / 2
	}
	return ranks
}
