package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/inference-sweep/sweep/sweep/stats"
)

// The simulations of this file draw what a night draws: blocks whose level varies, and requests inside each. Seeds are
// fixed, so a result never changes from run to run; the bands leave room for the draw.

const coverageRuns = 3000

// blockMedians are the medians of blocks of 101 lognormal requests each, around a true median of 1; between is the
// spread of the blocks' levels on the log scale.
func blockMedians(r *rand.Rand, blocks int, between float64) []float64 {
	medians := make([]float64, blocks)
	for i := range medians {
		level := between * r.NormFloat64()
		requests := each(normals(r, 101), func(x float64) float64 { return math.Exp(level + .5*x) })
		slices.Sort(requests)
		medians[i] = stats.Percentile(requests, 500)
	}
	return medians
}

func share(runs int, hit func() bool) float64 {
	hits := 0
	for range runs {
		if hit() {
			hits++
		}
	}
	return float64(hits) / float64(runs)
}

func within(t *testing.T, what string, got, low, high float64) {
	t.Helper()
	if !(low <= got && got <= high) {
		t.Errorf("%s: %.4f, want within [%g, %g]", what, got, low, high)
	}
}

func TestLogTIntervalCoversBetweenBlocks(t *testing.T) {
	for _, blocks := range []int{3, 5, 8} {
		for _, between := range []float64{0, .05, .1, .3} {
			r := seeded(uint64(blocks))
			covered := share(coverageRuns/4, func() bool {
				_, iv := stats.LogTInterval(blockMedians(r, blocks, between), .95)
				return iv.Contains(1)
			})
			within(t, fmt.Sprintf("%d blocks, spread %g", blocks, between), covered, .93, .97)
		}
	}
}

// Ratios within blocks: the level of a block, common to both cells, must not widen the interval, and a true ratio must
// be covered.
func TestPairedLogRatioCovers(t *testing.T) {
	const ratio = 1.2
	for _, blocks := range []int{3, 5, 6, 12} {
		r := seeded(uint64(100 + blocks))
		var in95, in90, found float64
		for range coverageRuns {
			a, b, twin := make([]float64, blocks), make([]float64, blocks), make([]float64, blocks)
			for i := range a {
				level := math.Exp(r.NormFloat64())
				a[i] = ratio * level * math.Exp(.05*r.NormFloat64())
				b[i] = level * math.Exp(.05*r.NormFloat64())
				twin[i] = level * math.Exp(.05*r.NormFloat64())
			}
			result := stats.PairedLogRatio(a, b)
			in95 += count(result.CI95.Contains(ratio))
			in90 += count(result.CI90.Contains(ratio))
			found += count(stats.PairedLogRatio(b, twin).P < .05)
		}
		within(t, fmt.Sprintf("95 %%, %d blocks", blocks), in95/coverageRuns, .93, .97)
		within(t, fmt.Sprintf("90 %%, %d blocks", blocks), in90/coverageRuns, .88, .92)
		within(t, fmt.Sprintf("false differences, %d blocks", blocks), found/coverageRuns, .03, .065)
	}
}

func count(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func TestMedianIntervalCoversBetweenBlocks(t *testing.T) {
	for _, blocks := range []int{6, 8, 12} {
		low, high, promised, _ := stats.MedianInterval(blocks, .95)
		r := seeded(uint64(200 + blocks))
		covered := share(coverageRuns/3, func() bool {
			medians := blockMedians(r, blocks, .2)
			slices.Sort(medians)
			return medians[low-1] <= 1 && 1 <= medians[high-1]
		})
		within(t, fmt.Sprintf("%d blocks", blocks), covered, math.Max(.94, promised-.02), promised+.02)
	}
}

func TestQuantileIntervalCovers(t *testing.T) {
	for _, c := range []struct{ n, perMille int }{{50, 500}, {100, 950}, {368, 990}} {
		low, high, promised := stats.QuantileInterval(c.n, c.perMille, .95)
		truth := -math.Log1p(-float64(c.perMille) / 1000)
		r := seeded(uint64(300 + c.n))
		covered := share(coverageRuns, func() bool {
			xs := make([]float64, c.n)
			for i := range xs {
				xs[i] = r.ExpFloat64()
			}
			slices.Sort(xs)
			return xs[low-1] <= truth && truth < xs[high-1]
		})
		within(t, fmt.Sprintf("p%d of %d", c.perMille, c.n), covered, math.Max(.94, promised-.015), promised+.015)
	}
}

// The t-th largest value bounds the percentile from above as often as promised, and hardly more than that.
func TestEarlyStoppingBounds(t *testing.T) {
	const n, perMille = 500, 950
	bound, ok := stats.EarlyStopping(n, perMille, .95)
	if !ok {
		t.Fatal("500 requests bear no bound of p95")
	}
	truth := -math.Log1p(-float64(perMille) / 1000)
	r := seeded(17)
	held := share(coverageRuns, func() bool {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = r.ExpFloat64()
		}
		slices.Sort(xs)
		return xs[n-bound] >= truth
	})
	within(t, "bound holds", held, .95, .99)
}

func TestRankTestsKeepTheirLevel(t *testing.T) {
	r := seeded(42)
	for _, n := range []int{5, 8, 60} {
		runs := coverageRuns
		var shifted, paired, covered float64
		for range runs {
			a, b := normals(r, n), normals(r, n)
			_, p, _ := stats.MannWhitney(a, b)
			shifted += count(p <= .05)
			_, p = stats.SignedRank(a)
			paired += count(p <= .05)
			if n <= 8 {
				_, iv, _ := stats.HodgesLehmann(a, each(b, func(x float64) float64 { return x + 3 }), .95)
				covered += count(iv.Contains(3))
			}
		}
		within(t, fmt.Sprintf("U test, n %d", n), shifted/float64(runs), .015, .06)
		within(t, fmt.Sprintf("signed rank, n %d", n), paired/float64(runs), 0, .06)
		if n <= 8 {
			within(t, fmt.Sprintf("Hodges–Lehmann, n %d", n), covered/float64(runs), .94, .985)
		}
	}
}

// The power of the U test for normal values, by shift in units of their spread.
func TestMannWhitneyPower(t *testing.T) {
	for _, c := range []struct {
		n     int
		power []float64 // at shifts of 1, 2, 3
	}{
		{4, []float64{.16, .49, .84}}, {5, []float64{.21, .67, .95}}, {6, []float64{.31, .82, .99}},
		{8, []float64{.43, .94, 1}}, {10, []float64{.52, .99, 1}}, {20, []float64{.84}},
	} {
		r := seeded(uint64(c.n))
		for i, want := range c.power {
			found := share(800, func() bool {
				b := each(normals(r, c.n), func(x float64) float64 { return x + float64(i+1) })
				_, p, _ := stats.MannWhitney(normals(r, c.n), b)
				return p <= .05
			})
			within(t, fmt.Sprintf("n %d, shift %d", c.n, i+1), found, want-.05, want+.05)
		}
	}
}

func TestDetectableRatioIsDetected(t *testing.T) {
	for _, c := range []struct {
		sdLog        float64
		blocks       int
		alpha, power float64
	}{
		{.05, 3, .05, .8}, {.05, 6, .05, .8}, {.02, 6, .01, .8}, {.1, 12, .05, .9}, {.05, 2, .05, .5},
	} {
		ratio := stats.DetectableRatio(c.sdLog, c.blocks, c.alpha, c.power)
		r := seeded(uint64(c.blocks))
		found := share(coverageRuns, func() bool {
			a, b := make([]float64, c.blocks), make([]float64, c.blocks)
			for i := range a {
				b[i] = math.Exp(r.NormFloat64())
				a[i] = b[i] * ratio * math.Exp(c.sdLog*r.NormFloat64())
			}
			return stats.PairedLogRatio(a, b).P < c.alpha
		})
		within(t, fmt.Sprintf("%+v at ratio %.4f", c, ratio), found, c.power-.025, c.power+.025)
	}
}
