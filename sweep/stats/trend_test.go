package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/quick"

	"github.com/inference-sweep/sweep/sweep/stats"
)

func TestMannKendall(t *testing.T) {
	for _, c := range []struct {
		what                string
		xs                  []float64
		s                   int
		variance, z, p      float64
		tau, sen, precision float64
	}{
		{"0 to 99", series(0, 1, 100), 4950, 112750, 14.7386998, 0, 1, 1, 2e-7},
		{"1 to 10", series(1, 1, 10), 45, 125, 3.935480, 8.303e-5, 1, 1, 5e-7},
		{"ties", []float64{5, 6, 5, 7, 6, 8, 7, 9, 8, 10}, 33, 121, 2.909091, .00362481, .733333, .5, 5e-7},
		{"falling", series(10, -2, 10), -45, 125, -3.935480, 8.303e-5, -1, -2, 5e-7},
		{"infinities tie", series(math.Inf(-1), 0, 5), 0, 0, 0, 1, 0, 0, 0},
		{"constant", series(3, 0, 10), 0, 0, 0, 1, 0, 0, 0},
	} {
		tr := stats.MannKendall(c.xs)
		if tr.S != c.s {
			t.Errorf("%s: S %d, want %d", c.what, tr.S, c.s)
		}
		near(t, c.what+": variance", tr.Var, c.variance, 1e-9)
		near(t, c.what+": Z", tr.Z, c.z, c.precision)
		near(t, c.what+": p", tr.P, c.p, 5e-9)
		near(t, c.what+": tau", tr.Tau, c.tau, c.precision)
		near(t, c.what+": slope", tr.Sen, c.sen, 1e-12)
		near(t, c.what+": one-sided", math.Min(1, 2*math.Min(tr.PUp, tr.PDown)), tr.P, 1e-12)
		if c.s != 0 && (c.s > 0) != (tr.PUp < tr.PDown) {
			t.Errorf("%s: up %g, down %g", c.what, tr.PUp, tr.PDown)
		}
	}
	for _, xs := range [][]float64{nil, {1}, {1, math.NaN(), 3}} {
		tr := stats.MannKendall(xs)
		isNaN(t, "too little", tr.P, tr.PUp, tr.PDown, tr.Z, tr.Sen)
	}
}

// withS is a permutation of 1..n whose S is the least possible one of at least s.
func withS(n, s int) []float64 {
	inversions := (n*(n-1)/2 - s) / 2
	left, xs := series(1, 1, n), []float64(nil)
	for len(left) > 0 {
		i := min(inversions, len(left)-1)
		xs, left, inversions = append(xs, left[i]), slices.Delete(left, i, i+1), inversions-i
	}
	return xs
}

func TestMannKendallLeastS(t *testing.T) {
	for n, least := range map[int]int{8: 22, 10: 30, 20: 81, 30: 146, 60: 405} {
		enough := stats.MannKendall(withS(n, least))
		if enough.S < least || enough.S > least+1 || enough.P > .01 {
			t.Errorf("n %d: S %d has p %g, want at most 0.01", n, enough.S, enough.P)
		}
		short := stats.MannKendall(withS(n, enough.S-2))
		if short.S >= least || short.P <= .01 {
			t.Errorf("n %d: S %d has p %g, want more than 0.01", n, short.S, short.P)
		}
	}
}

func TestMannKendallFollowsItsSeries(t *testing.T) {
	property := func(seed uint64, size uint8) bool {
		r := seeded(seed)
		xs := normals(r, 3+int(size%30))
		tr := stats.MannKendall(xs)
		same := stats.MannKendall(each(xs, func(x float64) float64 { return 3*x + 7 }))
		reversed := slices.Clone(xs)
		slices.Reverse(reversed)
		back := stats.MannKendall(reversed)
		return tr.S == same.S && alike(same.Sen, 3*tr.Sen) && back.S == -tr.S && alike(back.P, tr.P) && alike(back.PUp, tr.PDown)
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

func TestBinMedians(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		bins int
		want []float64
	}{
		{series(1, 1, 9), 3, []float64{2, 5, 8}},
		{[]float64{9, 1, 5, 2, 8, 2}, 2, []float64{5, 2}},
		{series(1, 1, 10), 4, []float64{1, 4, 6, 9}}, // bins of 2, 3, 2, 3
		{[]float64{4, 3}, 20, []float64{4, 3}},
		{nil, 20, nil}, {series(1, 1, 3), 0, nil},
	} {
		if got := stats.BinMedians(c.xs, c.bins); !slices.Equal(got, c.want) {
			t.Errorf("BinMedians(%v, %d) = %v, want %v", c.xs, c.bins, got, c.want)
		}
	}
}

// queueLatencies are the times in system of a queue with servers servers: Poisson arrivals, lognormal service.
func queueLatencies(r *rand.Rand, servers, n int, load float64) []float64 {
	const sigma = .5
	free := make([]float64, servers)
	now, latencies := 0.0, make([]float64, n)
	for i := range latencies {
		now += r.ExpFloat64() / (load * float64(servers))
		service := math.Exp(sigma*r.NormFloat64() - sigma*sigma/2)
		first := 0
		for j := range free {
			if free[j] < free[first] {
				first = j
			}
		}
		free[first] = math.Max(free[first], now) + service
		latencies[i] = free[first] - now
	}
	return latencies
}

// Bin medians show an overloaded server; Dickey–Fuller on the raw series calls the same server stationary.
func TestTrendShowsOverload(t *testing.T) {
	const runs = 60
	for _, c := range []struct {
		servers, n           int
		load                 float64
		trendAtLeast         float64
		trendAtMost, dfLeast float64
	}{
		{8, 600, .5, 0, .04, 1}, {8, 600, .8, 0, .06, 1}, {8, 600, 1.3, 1, 1, 0},
		{32, 2000, .8, 0, .06, 1}, {32, 2000, 1.1, .95, 1, .95}, {32, 2000, 1.3, 1, 1, .95},
	} {
		r := seeded(uint64(c.servers*1000) + uint64(c.load*100))
		var up, stationary float64
		for range runs {
			latencies := queueLatencies(r, c.servers, c.n, c.load)
			if stats.MannKendall(stats.BinMedians(latencies, 20)).PUp < .01 {
				up += 1. / runs
			}
			if _, tt := stats.DickeyFuller(latencies); tt < -2.86 {
				stationary += 1. / runs
			}
		}
		if up < c.trendAtLeast-1e-9 || up > c.trendAtMost+1e-9 || stationary < c.dfLeast-1e-9 {
			t.Errorf("%d servers, load %g: trend in %.2f of runs, called stationary in %.2f", c.servers, c.load, up, stationary)
		}
	}
}

func BenchmarkMannKendall20(b *testing.B) {
	xs := normals(seeded(1), 20)
	for b.Loop() {
		stats.MannKendall(xs)
	}
}
