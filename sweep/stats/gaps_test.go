package stats_test

import (
	"math"
	"slices"
	"testing"
	"testing/quick"

	"github.com/inference-sweep/sweep/sweep/stats"
)

const hourNS = 3_600_000_000_000

func recorded(t testing.TB, gapsNS ...float64) *stats.Gaps {
	t.Helper()
	var g stats.Gaps
	for _, v := range gapsNS {
		if err := g.Record(int64(v)); err != nil {
			t.Fatal(err)
		}
	}
	return &g
}

// spread is a sample of whole nanoseconds from under a microsecond to an hour.
func spread(seed uint64, n int) []float64 {
	r := seeded(seed)
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = math.Floor(math.Pow(hourNS, r.Float64()))
	}
	return xs
}

func TestGapsAreNearTheExactPercentiles(t *testing.T) {
	property := func(seed uint64, size uint16, perMille uint16) bool {
		xs := spread(seed, 1+int(size%2000))
		g := recorded(t, xs...)
		slices.Sort(xs)
		exact, p := stats.Percentile(xs, int(perMille%1000)), g.PercentileNS(int(perMille%1000))
		least, greatest := g.ExtremesNS()
		return g.N() == int64(len(xs)) && math.Abs(p-exact) <= .0005*exact && least == xs[0] && greatest == xs[len(xs)-1] &&
			g.PercentileNS(1000) == greatest && least <= p && p <= greatest
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

// A library quantile of 0.99 instead of 99, or a rank rounded to nearest, would show here.
func TestGapsUseTheNearestRank(t *testing.T) {
	g := recorded(t, series(1, 1, 10)...)
	for perMille, want := range map[int]float64{0: 1, 250: 3, 500: 5, 510: 6, 900: 9, 901: 10, 990: 10, 1000: 10} {
		near(t, "percentile", g.PercentileNS(perMille), want, 0)
	}
	three := recorded(t, 1000, 2000, 3000)
	near(t, "p40 of three", three.PercentileNS(400), 2000, 0)
}

func TestGapsKeepEveryOutlier(t *testing.T) {
	g := recorded(t, 0, 1_000_000, 10*hourNS, 100_000*hourNS/100)
	if g.N() != 4 {
		t.Fatalf("%d counted, want 4", g.N())
	}
	near(t, "third of four", g.PercentileNS(750), 10*hourNS, .0005*10*hourNS)
	_, greatest := g.ExtremesNS()
	near(t, "greatest", greatest, 1000*hourNS, 0)
	if err := g.Record(math.MaxInt64); err != nil {
		t.Errorf("the longest duration there is: %v", err)
	}
	if err := g.Record(-1); err == nil {
		t.Error("a negative gap was counted")
	}
	if g.N() != 5 {
		t.Errorf("%d counted, want 5", g.N())
	}
}

func TestGapsMerge(t *testing.T) {
	property := func(seed uint64, a, b, c uint8) bool {
		xs := spread(seed, int(a)+int(b)+int(c))
		whole := recorded(t, xs...)
		parts := []*stats.Gaps{recorded(t, xs[:a]...), recorded(t, xs[a:int(a)+int(b)]...), recorded(t, xs[int(a)+int(b):]...)}
		var merged stats.Gaps
		for _, i := range seeded(seed).Perm(3) {
			before := parts[i].PercentileNS(500)
			if err := merged.Merge(parts[i]); err != nil {
				return false
			}
			if after := parts[i].PercentileNS(500); after != before && !math.IsNaN(before) {
				return false
			}
		}
		for _, perMille := range []int{1, 500, 950, 990, 999} {
			if x, y := merged.PercentileNS(perMille), whole.PercentileNS(perMille); x != y && !math.IsNaN(y) {
				return false
			}
		}
		mean, sd := merged.MomentsNS()
		wantMean, wantSD := stats.Moments(xs)
		return merged.N() == whole.N() && (len(xs) < 2 || math.Abs(mean-wantMean) <= 1e-9*wantMean && math.Abs(sd-wantSD) <= 1e-9*wantSD)
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

func TestGapsMergedAreIndependent(t *testing.T) {
	var all stats.Gaps
	part := recorded(t, 5, 6, 7)
	if err := all.Merge(part); err != nil {
		t.Fatal(err)
	}
	if err := all.Record(1000); err != nil {
		t.Fatal(err)
	}
	if part.N() != 3 || all.N() != 4 || part.PercentileNS(990) != 7 || all.PercentileNS(990) != 1000 {
		t.Errorf("part %d %g, all %d %g", part.N(), part.PercentileNS(990), all.N(), all.PercentileNS(990))
	}
}

func TestGapsOfNothing(t *testing.T) {
	var g stats.Gaps
	if err := g.RecordN(7, 0); err != nil || g.Merge(&stats.Gaps{}) != nil {
		t.Error("nothing could not be added")
	}
	least, greatest := g.ExtremesNS()
	mean, sd := g.MomentsNS()
	isNaN(t, "nothing", g.PercentileNS(500), least, greatest, mean, sd)
	if g.N() != 0 {
		t.Errorf("%d counted", g.N())
	}
	mean, sd = recorded(t, 12).MomentsNS()
	near(t, "mean of one", mean, 12, 0)
	isNaN(t, "sd of one", sd)
}

func TestGapsRecordN(t *testing.T) {
	var many stats.Gaps
	for gap, n := range map[int64]int64{10: 3, 20: 1, 40: 2} {
		if err := many.RecordN(gap, n); err != nil {
			t.Fatal(err)
		}
	}
	single := recorded(t, 10, 10, 10, 20, 40, 40)
	for _, perMille := range []int{500, 501, 667, 668} {
		near(t, "percentile", many.PercentileNS(perMille), single.PercentileNS(perMille), 0)
	}
	mean, sd := many.MomentsNS()
	wantMean, wantSD := single.MomentsNS()
	near(t, "mean", mean, wantMean, 1e-9)
	near(t, "sd", sd, wantSD, 1e-9)
	if err := many.RecordN(10, -1); err == nil {
		t.Error("a negative count was accepted")
	}
	if err := many.RecordN(10, math.MaxInt64); err == nil || many.N() != 6 {
		t.Error("a count that overflows was accepted")
	}
	var full stats.Gaps
	if err := full.RecordN(10, math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	if err := many.Merge(&full); err == nil || many.N() != 6 {
		t.Error("a merge that overflows was accepted")
	}
}

func BenchmarkGapsRecord(b *testing.B) {
	r := seeded(1)
	gaps := make([]int64, 100_000)
	for i := range gaps {
		gaps[i] = int64(2e7 * math.Exp(.3*r.NormFloat64()))
	}
	var g stats.Gaps
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := g.Record(gaps[i%len(gaps)]); err != nil {
			b.Fatal(err)
		}
	}
}
