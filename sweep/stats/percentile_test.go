package stats_test

import (
	"math"
	"slices"
	"testing"
	"testing/quick"

	"github.com/inference-sweep/sweep/sweep/stats"
)

func TestRankIsExactWhereFloatsAreNot(t *testing.T) {
	for _, c := range []struct{ n, perMille, want int }{
		{0, 500, 0},
		{1, 500, 1}, {1, 999, 1},
		{100_000, 999, 99_900}, // ⌈99.9/100 · 100000⌉ in floats is 99901
		{100, 70, 7},           // ⌈0.07 · 100⌉ in floats is 8
		{2, 500, 1}, {3, 500, 2}, {29, 900, 27}, {59, 950, 57}, {299, 990, 297},
		{10, 0, 1}, {10, 1000, 10}, {10, -5, 1}, {10, 2000, 10},
		{math.MaxInt, 500, math.MaxInt/2 + 1},
	} {
		if got := stats.Rank(c.n, c.perMille); got != c.want {
			t.Errorf("Rank(%d, %d) = %d, want %d", c.n, c.perMille, got, c.want)
		}
	}
	for n := 1; n <= 3000; n++ {
		for _, perMille := range []int{500, 900, 950, 990, 999} {
			if got, want := stats.Rank(n, perMille), (n*perMille+999)/1000; got != want {
				t.Fatalf("Rank(%d, %d) = %d, want %d", n, perMille, got, want)
			}
		}
	}
}

func TestPercentileIsNearestRank(t *testing.T) {
	ten := series(1, 1, 10)
	five := []float64{15, 20, 35, 40, 50}
	for _, c := range []struct {
		sample   []float64
		perMille int
		want     float64
	}{
		{ten, 250, 3}, {ten, 500, 5}, {ten, 950, 10}, {ten, 990, 10},
		{five, 250, 20}, {five, 400, 20}, {five, 500, 35}, {five, 950, 50},
		{nil, 500, math.NaN()},
	} {
		near(t, "percentile", stats.Percentile(c.sample, c.perMille), c.want, 0)
	}
}

// Two runs, 1..100 and 201..300: the mean of their p99 is a value that no request ever had.
func TestPercentilesPoolInsteadOfAveraging(t *testing.T) {
	a, b := series(1, 1, 100), series(201, 1, 100)
	near(t, "p99 of a", stats.Percentile(a, 990), 99, 0)
	near(t, "p99 of b", stats.Percentile(b, 990), 299, 0)
	near(t, "p99 of both", stats.Percentile(slices.Concat(a, b), 990), 298, 0)
}

func TestFloor(t *testing.T) {
	for perMille, want := range map[int]int{
		500: 5, 900: 29, 950: 59, 990: 299, 999: 2995, 0: 1, -1: 1, 1000: math.MaxInt,
	} {
		if got := stats.Floor(perMille); got != want {
			t.Errorf("Floor(%d) = %d, want %d", perMille, got, want)
		}
	}
	for _, perMille := range []int{500, 900, 950, 990, 999} {
		n, p := stats.Floor(perMille), float64(perMille)/1000
		if math.Pow(p, float64(n)) > 0.05 || math.Pow(p, float64(n-1)) <= 0.05 {
			t.Errorf("Floor(%d) = %d is not the least n with pⁿ ≤ 0.05", perMille, n)
		}
	}
}

func TestSamplesForMargin(t *testing.T) {
	for _, c := range []struct {
		perMille     int
		margin, conf float64
		want         int
	}{
		{990, .005, .95, 1522}, {990, .0025, .95, 6085}, {990, .001, .95, 38031},
		{950, .01, .95, 1825}, {950, .005, .95, 7299},
		// The fixed sizes of MLPerf: 99 %, a margin of a twentieth of the tail.
		{900, .1 / 20, .99, 23886}, {950, .05 / 20, .99, 50426}, {970, .03 / 20, .99, 85812}, {990, .01 / 20, .99, 262742},
		{990, 0, .95, math.MaxInt},
	} {
		if got := stats.SamplesForMargin(c.perMille, c.margin, c.conf); got != c.want {
			t.Errorf("SamplesForMargin(%d, %g, %g) = %d, want %d", c.perMille, c.margin, c.conf, got, c.want)
		}
	}
}

func TestPercentilesAreMonotoneMembersOfTheSample(t *testing.T) {
	property := func(xs []float64, p, q uint16) bool {
		if len(xs) == 0 {
			return true
		}
		slices.Sort(xs)
		lower, upper := int(min(p%1000, q%1000)), int(max(p%1000, q%1000))
		a, b := stats.Percentile(xs, lower), stats.Percentile(xs, upper)
		atMost := 0
		for _, x := range xs {
			if x <= a {
				atMost++
			}
		}
		return a <= b && slices.Contains(xs, a) && slices.Contains(xs, b) && atMost*1000 >= len(xs)*lower
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

func BenchmarkPercentileWithSort(b *testing.B) {
	xs := normals(seeded(1), 10_000)
	for b.Loop() {
		s := slices.Clone(xs)
		slices.Sort(s)
		stats.Percentile(s, 990)
	}
}
