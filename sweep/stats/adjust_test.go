package stats_test

import (
	"math"
	"testing"
	"testing/quick"

	"github.com/inference-sweep/sweep/sweep/stats"
)

func TestAdjustedP(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		what string
		how  func([]float64) []float64
		ps   []float64
		want []float64
	}{
		{"Holm", stats.Holm, []float64{.01, .04, .03, .005}, []float64{.03, .06, .06, .02}},
		{"Holm of five", stats.Holm, []float64{.0001, .004, .019, .095, .201}, []float64{.0005, .016, .057, .19, .201}},
		{"Holm is at most 1", stats.Holm, []float64{.6, .9}, []float64{1, 1}},
		{"Holm leaves out what was not tested", stats.Holm, []float64{nan, .01, .04, nan}, []float64{nan, .02, .04, nan}},
		{"Holm of none", stats.Holm, nil, nil},
		{"Bonferroni", stats.Bonferroni, []float64{.01, .04, .03, .005}, []float64{.04, .16, .12, .02}},
		{"Benjamini–Hochberg", stats.BenjaminiHochberg, []float64{.01, .04, .03, .005}, []float64{.02, .04, .04, .02}},
	} {
		got := c.how(c.ps)
		if len(got) != len(c.want) {
			t.Fatalf("%s: %v, want %v", c.what, got, c.want)
		}
		for i := range got {
			near(t, c.what, got[i], c.want[i], 1e-12)
		}
	}
}

func TestAdjustmentsKeepOrderAndNeverHelp(t *testing.T) {
	property := func(seed uint64, size uint8) bool {
		r := seeded(seed)
		ps := make([]float64, size%30)
		for i := range ps {
			ps[i] = r.Float64() * r.Float64()
		}
		before := append([]float64(nil), ps...)
		holm, bonferroni, bh := stats.Holm(ps), stats.Bonferroni(ps), stats.BenjaminiHochberg(ps)
		for i, p := range ps {
			if p != before[i] || !(p <= bh[i] && bh[i] <= holm[i] && holm[i] <= bonferroni[i] && bonferroni[i] <= 1) {
				return false
			}
			for j := range ps {
				if ps[j] < p && (holm[j] > holm[i] || bh[j] > bh[i]) {
					return false
				}
			}
		}
		return true
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

// How many repeats it takes until the best possible U test survives Holm among m comparisons.
func TestRepeatsThatCanSurviveHolm(t *testing.T) {
	best := func(n int) float64 {
		_, p, _ := stats.MannWhitney(withU(n, n, 0))
		return p
	}
	for m, want := range map[int]int{1: 4, 2: 5, 6: 5, 10: 6, 20: 6, 50: 7, 100: 8} {
		n := 1
		for stats.Holm(append([]float64{best(n)}, series(.9, 0, m-1)...))[0] > .05 {
			n++
		}
		if n != want {
			t.Errorf("%d comparisons need %d repeats, want %d", m, n, want)
		}
	}
}
