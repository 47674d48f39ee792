package stats_test

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"testing"
	"testing/quick"

	"github.com/inference-sweep/sweep/sweep/stats"
)

func TestWelchT(t *testing.T) {
	long1 := []float64{27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4}
	long2 := []float64{27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.0, 23.9}
	for _, c := range []struct {
		what        string
		a, b        []float64
		tt, df, p   float64
		pPrecision  float64
		tPrecisions float64
	}{
		{"sleep", sleep1, sleep2, -1.860813, 17.776474, .0793941, 5e-8, 6e-7},
		{"15 against 15", long1, long2, -2.835264, 27.713626, .008452732, 5e-10, 6e-7},
		{"toy", toyA, toyB, -6.798897, 7.955252, 1.416163e-4, 1e-10, 6e-7},
		{"equal without spread", []float64{2, 2}, []float64{2, 2, 2}, 0, 3, 1, 0, 0},
		{"different without spread", []float64{2, 2}, []float64{3, 3}, math.Inf(-1), 2, 0, 0, 0},
		{"one value", []float64{1}, toyB, math.NaN(), math.NaN(), math.NaN(), 0, 0},
	} {
		tt, df, p := stats.WelchT(c.a, c.b)
		near(t, c.what+": t", tt, c.tt, c.tPrecisions)
		near(t, c.what+": df", df, c.df, c.tPrecisions)
		near(t, c.what+": p", p, c.p, c.pPrecision)
	}
}

// withU makes two samples without ties for which U of the first is u.
func withU(m, n, u int) (a, b []float64) {
	b = series(1, 1, n)
	for i := range m {
		over := min(max(u-i*n, 0), n) // how many of b this value exceeds
		a = append(a, float64(over)+.5+float64(m-i)/float64(4*m))
	}
	return a, b
}

func TestMannWhitneyExactTable(t *testing.T) {
	for _, c := range []struct {
		n int
		p map[int]float64
	}{
		{3, map[int]float64{0: .1, 1: .2, 2: .4, 3: .7}},
		{4, map[int]float64{0: .028571, 1: .057143, 2: .114286}},
		{5, map[int]float64{0: .007937, 1: .015873, 2: .031746, 3: .055556, 4: .095238}},
		{6, map[int]float64{0: .002165, 3: .015152, 5: .041126, 6: .064935}},
		{7, map[int]float64{0: .000583, 8: .037879, 9: .053030}},
		{8, map[int]float64{0: .000155, 13: .049883}},
		{9, map[int]float64{0: 4.11e-5}},
		{10, map[int]float64{0: 1.08e-5}},
	} {
		for want, wantP := range c.p {
			a, b := withU(c.n, c.n, want)
			u, p, err := stats.MannWhitney(a, b)
			if err != nil || u != float64(want) {
				t.Fatalf("n %d: U %g %v, want %d", c.n, u, err, want)
			}
			near(t, fmt.Sprintf("p of U %d, n %d", want, c.n), p, wantP, 6e-7)
			_, mirrored, _ := stats.MannWhitney(b, a)
			near(t, "p the other way round", mirrored, p, 1e-14)
		}
	}
}

func TestMannWhitneyCriticalValues(t *testing.T) {
	for alpha, table := range map[float64]map[[2]int]int{
		.05: {{3, 5}: 0, {4, 4}: 0, {4, 5}: 1, {5, 5}: 2, {5, 6}: 3, {6, 6}: 5, {7, 7}: 8, {8, 8}: 13, {9, 9}: 17, {10, 10}: 23},
		.01: {{5, 5}: 0, {6, 6}: 2, {7, 7}: 4, {8, 8}: 7, {9, 9}: 11, {10, 10}: 16},
	} {
		for sizes, critical := range table {
			p := func(u int) float64 {
				_, p, _ := stats.MannWhitney(withU(sizes[0], sizes[1], u))
				return p
			}
			if p(critical) > alpha || p(critical+1) <= alpha {
				t.Errorf("%v at %g: p(%d) = %g, p(%d) = %g", sizes, alpha, critical, p(critical), critical+1, p(critical+1))
			}
		}
	}
}

// ones are n values, the first k of them 1, the others 0.
func ones(k, n int) []float64 { return append(series(1, 0, k), series(0, 0, n-k)...) }

func TestMannWhitneyPublished(t *testing.T) {
	for _, c := range []struct {
		what        string
		a, b        []float64
		u, p        float64
		pDifference float64
	}{
		{"males and females", []float64{19, 22, 16, 29, 24}, []float64{20, 11, 17, 12}, 17, .111111, 5e-7},
		{"Hollander and Wolfe", term, weeks, 35, .254412, 5e-7},
		{"apart", []float64{2, 1, 3, 5}, []float64{12, 11, 13, 15}, 0, .0285714, 5e-8},
		{"interleaved", []float64{2, 1, 3, 5}, []float64{0, 4, 6, 7}, 5, .485714, 5e-7},
		{"ties", []float64{2, 1, 3, 5}, []float64{2, 2, 2, 2}, 10, .7142857, 5e-8},
		{"toy", toyA, toyB, 0, .007937, 5e-7},
		// Two values only: U is a count, so its variance is that of the hypergeometric law.
		{"large, ties", ones(35, 60), ones(20, 60), 2250, 0.00626354, 5e-9},
		{"large, normal", series(0, 2, 500), series(-41, 2, 600), 135250, .00493354, 5e-9},
	} {
		u, p, err := stats.MannWhitney(c.a, c.b)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		near(t, c.what+": U", u, c.u, 0)
		near(t, c.what+": p", p, c.p, c.pDifference)
	}
}

func TestMannWhitneyWithoutAnswer(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want error
	}{
		{nil, toyA, stats.ErrEmpty}, {toyA, nil, stats.ErrEmpty},
		{[]float64{2, 2}, []float64{2, 2, 2}, stats.ErrAllEqual},
		{slices.Repeat([]float64{2}, 80), slices.Repeat([]float64{2}, 80), stats.ErrAllEqual},
		{[]float64{math.NaN()}, toyA, stats.ErrNaN},
	} {
		if _, p, err := stats.MannWhitney(c.a, c.b); !errors.Is(err, c.want) || !math.IsNaN(p) {
			t.Errorf("MannWhitney(%v, %v): p %g, error %v, want %v", c.a, c.b, p, err, c.want)
		}
	}
}

// With ties the p must be that of all assignments of the pooled values, counted one by one.
func TestMannWhitneyCountsAssignments(t *testing.T) {
	property := func(seed uint64) bool {
		r := seeded(seed)
		m, n := 1+r.IntN(5), 1+r.IntN(5)
		pool := make([]float64, m+n)
		for i := range pool {
			pool[i] = float64(r.IntN(5))
		}
		u, p, err := stats.MannWhitney(pool[:m], pool[m:])
		if err != nil {
			return errors.Is(err, stats.ErrAllEqual)
		}
		var lower, upper, all float64
		for set := range uint(1) << (m + n) {
			if bits.OnesCount(set) != m {
				continue
			}
			all++
			other := pairsWon(pool, set)
			if other <= u {
				lower++
			}
			if other >= u {
				upper++
			}
		}
		return alike(p, min(1, 2*min(lower, upper)/all))
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 200}); err != nil {
		t.Error(err)
	}
}

func pairsWon(pool []float64, set uint) (u float64) {
	for i, x := range pool {
		for j, y := range pool {
			switch {
			case set>>i&1 == 0 || set>>j&1 == 1 || x < y:
			case x == y:
				u += .5
			default:
				u++
			}
		}
	}
	return u
}

// The normal form takes over where the exact one ends, with and without ties.
func TestMannWhitneyIsContinuousAtTheLimit(t *testing.T) {
	r := seeded(7)
	for _, round := range []float64{1e9, 4} {
		a, b := normals(r, 50), each(normals(r, 50), func(x float64) float64 { return x + .4 })
		coarse := func(x float64) float64 { return math.Round(x * round) }
		_, exact, _ := stats.MannWhitney(each(a, coarse), each(b, coarse))
		far := append(slices.Clone(b), 0) // one value near the middle more
		_, normal, _ := stats.MannWhitney(each(a, coarse), each(far, coarse))
		if math.Abs(math.Log(exact/normal)) > .35 {
			t.Errorf("p %g with 50 values, %g with 51", exact, normal)
		}
	}
}

func TestRankTestsIgnoreOrderAndMonotoneScales(t *testing.T) {
	property := func(seed uint64) bool {
		r := seeded(seed)
		a, b := normals(r, 3+r.IntN(8)), normals(r, 3+r.IntN(8))
		u, p, _ := stats.MannWhitney(a, b)
		u2, p2, _ := stats.MannWhitney(each(shuffled(r, a), math.Exp), each(shuffled(r, b), math.Exp))
		swapped, p3, _ := stats.MannWhitney(b, a)
		return u == u2 && alike(p, p2) && alike(p, p3) && u+swapped == float64(len(a)*len(b))
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 200}); err != nil {
		t.Error(err)
	}
}

func TestSignedRank(t *testing.T) {
	x := []float64{1.83, .50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	y := []float64{.878, .647, .598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	diffs := make([]float64, len(x))
	for i := range x {
		diffs[i] = x[i] - y[i]
	}
	for _, c := range []struct {
		what  string
		diffs []float64
		w, p  float64
	}{
		{"Hollander and Wolfe", diffs, 40, .0390625},
		{"five blocks at best", series(1, 1, 5), 15, .0625},
		{"six blocks at best", series(1, 1, 6), 21, .03125},
		{"six the other way", series(-6, 1, 6), 0, .03125},
		{"zeros are left out", []float64{0, 1, 2, 0, 3, 4, 5, 6}, 21, .03125},
		{"ties: two of the eight sign patterns are this extreme", []float64{1, 1, 1}, 6, .25},
		// One size only: W is a count of signs, so its variance is that of a fair coin.
		{"large, ties", each(ones(40, 60), func(x float64) float64 { return 2*x - 1 }), 1220, 0.009944415291},
		{"nothing moved", []float64{0, 0}, 0, math.NaN()},
		{"no blocks", nil, 0, math.NaN()},
	} {
		w, p := stats.SignedRank(c.diffs)
		near(t, c.what+": W", w, c.w, 0)
		near(t, c.what+": p", p, c.p, 1e-12)
	}
	// The normal form takes over where the exact one ends: one tiny difference more changes little.
	shifted := each(normals(seeded(4), 50), func(x float64) float64 { return x + .3 })
	_, exact := stats.SignedRank(shifted)
	_, normal := stats.SignedRank(append(shifted, 1e-9))
	if math.Abs(math.Log(exact/normal)) > .1 {
		t.Errorf("p %g with 50 values, %g with 51", exact, normal)
	}
}

func TestHodgesLehmann(t *testing.T) {
	for _, c := range []struct {
		what                             string
		a, b                             []float64
		conf, shift, low, high, coverage float64
	}{
		{"Hollander and Wolfe", weeks, term, .95, .305, -.15, .76, .960040},
		{"Hollander and Wolfe", weeks, term, .90, .305, -.08, .72, .900766},
		{"toy", toyA, toyB, .95, .9, .5, 1.2, .968254},
		{"three repeats at exactly their level", []float64{1, 2, 3}, []float64{4, 5, 6}, .9, 3, 1, 5, .9},
		{"three repeats bear no interval", []float64{1, 2, 3}, []float64{4, 5, 6}, .95, 3, math.Inf(-1), math.Inf(1), 1},
		{"one against many bears none either", []float64{0}, series(1, 1, 51), .95, 26, math.Inf(-1), math.Inf(1), 1},
		{"none", nil, toyA, .95, math.NaN(), math.NaN(), math.NaN(), math.NaN()},
	} {
		shift, iv, coverage := stats.HodgesLehmann(c.a, c.b, c.conf)
		near(t, c.what+": shift", shift, c.shift, 1e-12)
		nearInterval(t, c.what, iv, c.low, c.high, 1e-12)
		near(t, c.what+": coverage", coverage, c.coverage, 5e-7)
	}
}

// The interval holds no shift exactly where the U test finds none, and it moves with the samples.
func TestHodgesLehmannInvertsMannWhitney(t *testing.T) {
	property := func(seed uint64) bool {
		r := seeded(seed)
		a, b := normals(r, 5+r.IntN(8)), each(normals(r, 5+r.IntN(8)), func(x float64) float64 { return x + 1 })
		shift, iv, coverage := stats.HodgesLehmann(a, b, .95)
		_, p, _ := stats.MannWhitney(a, b)
		moved, movedIv, _ := stats.HodgesLehmann(a, each(b, func(x float64) float64 { return x + 10 }), .95)
		back, backIv, _ := stats.HodgesLehmann(b, a, .95)
		return iv.Contains(shift) && coverage >= .95 && (iv.Low < 0 && 0 < iv.High) == (p > .05) &&
			alike(moved, shift+10) && alike(movedIv.Low, iv.Low+10) && alike(back, -shift) && alike(backIv.High, -iv.Low)
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 200}); err != nil {
		t.Error(err)
	}
}

func TestHodgesLehmannOfLargeSamples(t *testing.T) {
	r := seeded(3)
	a, b := normals(r, 60), each(normals(r, 55), func(x float64) float64 { return x + 2 })
	shift, iv, coverage := stats.HodgesLehmann(a, b, .95)
	if !iv.Contains(shift) || !iv.Contains(2) || iv.High-iv.Low > 1.2 || coverage < .95 || coverage > .955 {
		t.Errorf("shift %g %v coverage %g", shift, iv, coverage)
	}
}

func BenchmarkMannWhitney500(b *testing.B) {
	r := seeded(1)
	x, y := normals(r, 500), normals(r, 500)
	for b.Loop() {
		stats.MannWhitney(x, y)
	}
}

func BenchmarkMannWhitneyExact50(b *testing.B) {
	r := seeded(1)
	x, y := normals(r, 50), normals(r, 50)
	for b.Loop() {
		stats.MannWhitney(x, y)
	}
}
