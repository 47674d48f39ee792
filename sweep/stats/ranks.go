package stats

import (
	"math"
	"sort"
)

// doubledRanks gives each value twice its rank, so that the midranks of ties are whole numbers, and the sum of t³ − t
// over the groups of ties.
func doubledRanks(xs []float64) (ranks []int, ties float64) {
	order := make([]int, len(xs))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(i, j int) bool { return xs[order[i]] < xs[order[j]] })
	ranks = make([]int, len(xs))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && xs[order[to]] == xs[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = from + to + 1
		}
		t := float64(to - from)
		ties += t*t*t - t
		from = to
	}
	return ranks, ties
}

// subsetSums is the distribution of the sum of m scores drawn without replacement: the probability of each sum, by
// counting subsets. Scores are whole numbers of at least 0.
func subsetSums(scores []int, m int) []float64 {
	total := 0
	for _, s := range scores {
		total += s
	}
	ways := make([][]float64, m+1) // by number drawn, then by sum
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	reach := make([]int, m+1) // the largest sum so far, by number drawn
	for i, s := range scores {
		for k := min(i, m-1); k >= max(0, m-len(scores)+i); k-- {
			from, to := ways[k][:reach[k]+1], ways[k+1][s:]
			for sum, w := range from {
				to[sum] += w
			}
			reach[k+1] = max(reach[k+1], reach[k]+s)
		}
	}
	return normalized(ways[m])
}

// signSums is the distribution of the sum of those scores that a fair coin picks.
func signSums(scores []int) []float64 {
	total := 0
	for _, s := range scores {
		total += s
	}
	ways := make([]float64, total+1)
	ways[0] = 1
	reach := 0
	for _, s := range scores {
		for sum := reach; sum >= 0; sum-- {
			ways[sum+s] += ways[sum]
		}
		reach += s
	}
	return normalized(ways)
}

func normalized(ways []float64) []float64 {
	var all float64
	for _, w := range ways {
		all += w
	}
	for i := range ways {
		ways[i] /= all
	}
	return ways
}

// twoSided doubles the smaller tail of a distribution at one of its values.
func twoSided(probability []float64, value int) float64 {
	var lower, upper float64
	for i, p := range probability {
		if i <= value {
			lower += p
		}
		if i >= value {
			upper += p
		}
	}
	return math.Min(1, 2*math.Min(lower, upper))
}

// normalTwoSided is the two-sided p of a deviation on a lattice of halves or wholes, with continuity correction.
func normalTwoSided(deviation, variance float64) float64 {
	z := math.Max(0, math.Abs(deviation)-0.5) / math.Sqrt(variance)
	return math.Min(1, 2*normalCDF(-z))
}
