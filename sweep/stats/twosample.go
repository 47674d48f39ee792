package stats

import (
	"errors"
	"math"
	"slices"
)

// The reasons why a rank test has no answer.
var (
	ErrEmpty    = errors.New("sample is empty")
	ErrNaN      = errors.New("sample holds a value that is not a number")
	ErrAllEqual = errors.New("all values are equal")
)

// WelchT compares two means without assuming equal spread: t of mean(a) − mean(b), Satterthwaite's degrees of freedom
// and p. Each sample needs two values. Where neither has any spread, p is 1 for equal means and 0 for different ones.
func WelchT(a, b []float64) (t, df, p float64) {
	meanA, sdA := Moments(a)
	meanB, sdB := Moments(b)
	if len(a) < 2 || len(b) < 2 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	nA, nB := float64(len(a)), float64(len(b))
	if sdA == 0 && sdB == 0 {
		if meanA == meanB {
			return 0, nA + nB - 2, 1
		}
		return math.Inf(sign(meanA - meanB)), nA + nB - 2, 0
	}
	varA, varB := sdA*sdA/nA, sdB*sdB/nB
	t = (meanA - meanB) / math.Sqrt(varA+varB)
	// Shares of the variance instead of its squares, which could overflow or vanish.
	shareA, shareB := varA/(varA+varB), varB/(varA+varB)
	df = 1 / (shareA*shareA/(nA-1) + shareB*shareB/(nB-1))
	return t, df, tTwoSided(t, df)
}

// exactLimit is the largest sample for which rank tests count all arrangements. Beyond it the normal approximation is
// good to the third digit of p.
const exactLimit = 50

// MannWhitney compares two independent samples by ranks. u counts the pairs in which a is the larger, ties for a half.
// p is exact, conditionally on the ties, while neither sample has more than 50 values; beyond that it is normal with
// corrections for ties and continuity. Values that are all equal have no p but ErrAllEqual.
func MannWhitney(a, b []float64) (u, p float64, err error) {
	u, p = math.NaN(), math.NaN()
	switch {
	case len(a) == 0 || len(b) == 0:
		return u, p, ErrEmpty
	case anyNaN(a) || anyNaN(b):
		return u, p, ErrNaN
	}
	all := slices.Concat(a, b)
	ranks, ties := doubledRanks(all)
	m, n := len(a), len(b)
	sumA := 0
	for _, r := range ranks[:m] {
		sumA += r
	}
	u = float64(sumA)/2 - float64(m)*float64(m+1)/2
	if slices.Min(all) == slices.Max(all) {
		return u, p, ErrAllEqual
	}
	if max(m, n) <= exactLimit {
		return u, twoSided(subsetSums(ranks, m), sumA), nil
	}
	total := float64(m + n)
	variance := float64(m) * float64(n) / 12 * (total + 1 - ties/(total*(total-1)))
	return u, normalTwoSided(u-float64(m)*float64(n)/2, variance), nil
}

// SignedRank is Wilcoxon's test that differences are symmetric about 0. w is the sum of the ranks of the positive ones;
// differences of 0 are left out, and p is NaN where nothing is left. p is exact, conditionally on the ties, up to 50
// differences, and beyond that normal with corrections for ties and continuity.
func SignedRank(diffs []float64) (w, p float64) {
	if anyNaN(diffs) {
		return math.NaN(), math.NaN()
	}
	moved := slices.DeleteFunc(slices.Clone(diffs), func(d float64) bool { return d == 0 })
	if len(moved) == 0 {
		return 0, math.NaN()
	}
	sizes := make([]float64, len(moved))
	for i, d := range moved {
		sizes[i] = math.Abs(d)
	}
	ranks, ties := doubledRanks(sizes)
	sum := 0
	for i, d := range moved {
		if d > 0 {
			sum += ranks[i]
		}
	}
	w = float64(sum) / 2
	if len(moved) <= exactLimit {
		return w, twoSided(signSums(ranks), sum)
	}
	n := float64(len(moved))
	return w, normalTwoSided(w-n*(n+1)/4, n*(n+1)*(2*n+1)/24-ties/48)
}

// HodgesLehmann estimates by how much b is shifted against a: the median of all differences b − a, with the interval
// that inverts MannWhitney and its coverage: exact up to 50 values a sample, normal beyond. The interval is infinite
// where the samples are too small for the confidence asked. It forms all pairs, so it is for repeats, not for requests.
func HodgesLehmann(a, b []float64, conf float64) (shift float64, iv Interval, coverage float64) {
	diffs := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			diffs = append(diffs, y-x)
		}
	}
	if len(diffs) == 0 || anyNaN(diffs) || !(conf > 0 && conf < 1) {
		return math.NaN(), noInterval(), math.NaN()
	}
	slices.Sort(diffs)
	k, tail := criticalU(len(a), len(b), (1-conf)/2)
	if k < 0 {
		return middle(diffs), Interval{math.Inf(-1), math.Inf(1)}, 1
	}
	return middle(diffs), Interval{diffs[k], diffs[len(diffs)-1-k]}, 1 - 2*tail
}

// criticalU is the largest u with P(U ≤ u) ≤ limit for samples without ties, and that probability; −1 where there is
// none.
func criticalU(m, n int, limit float64) (u int, tail float64) {
	cumulative := cumulativeU(m, n)
	u = lastWithin(m*n+1, func(i int) float64 { return cumulative(i - 1) }, limit) - 1
	return u, cumulative(u)
}

// cumulativeU is P(U ≤ u) for samples of m and n without ties.
func cumulativeU(m, n int) func(u int) float64 {
	if max(m, n) > exactLimit {
		mean, sd := float64(m)*float64(n)/2, math.Sqrt(float64(m)*float64(n)*float64(m+n+1)/12)
		return func(u int) float64 {
			if u < 0 {
				return 0
			}
			return normalCDF((float64(u) + 0.5 - mean) / sd)
		}
	}
	ranks := make([]int, m+n)
	for i := range ranks {
		ranks[i] = i
	}
	sums := subsetSums(ranks, m)
	least := m * (m - 1) / 2
	below := make([]float64, m*n+2)
	for u := range m*n + 1 {
		below[u+1] = below[u] + sums[least+u]
	}
	return func(u int) float64 { return below[u+1] }
}

func sign(x float64) int {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}
