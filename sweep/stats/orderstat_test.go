package stats_test

import (
	"math"
	"testing"

	"github.com/inference-sweep/sweep/sweep/stats"
)

func TestMedianInterval95(t *testing.T) {
	for _, c := range []struct {
		n, low, high int
		coverage     float64
	}{
		{6, 1, 6, .96875}, {7, 1, 7, .984375}, {8, 1, 8, .992188}, {9, 2, 8, .960938}, {10, 2, 9, .978516},
		{11, 2, 10, .988281}, {12, 3, 10, .961426}, {13, 3, 11, .977539}, {14, 3, 12, .987061}, {15, 4, 12, .964844},
		{16, 4, 13, .978729}, {17, 5, 13, .950958}, {18, 5, 14, .969116}, {19, 5, 15, .980789}, {20, 6, 15, .958611},
		{21, 6, 16, .973396}, {22, 6, 17, .983099}, {23, 7, 17, .965310}, {24, 7, 18, .977344}, {25, 8, 18, .956715},
		{26, 8, 19, .971041}, {27, 8, 20, .980843}, {28, 9, 20, .964302}, {29, 9, 21, .975880}, {30, 10, 21, .957226},
	} {
		low, high, coverage, ok := stats.MedianInterval(c.n, .95)
		if !ok || low != c.low || high != c.high {
			t.Errorf("n %d: ranks (%d, %d) ok %v, want (%d, %d)", c.n, low, high, ok, c.low, c.high)
		}
		near(t, "coverage", coverage, c.coverage, 6e-7)
	}
	_, _, coverage, ok := stats.MedianInterval(5, .95)
	if ok {
		t.Error("five values cannot bear a 95 % interval of the median")
	}
	near(t, "coverage of the extremes of five", coverage, .9375, 1e-12)
}

func TestMedianIntervalLeastSizes(t *testing.T) {
	for conf, least := range map[float64]int{.90: 5, .95: 6, .99: 8, .9375: 5} {
		for n := range least + 3 {
			if _, _, _, ok := stats.MedianInterval(n, conf); ok != (n >= least) {
				t.Errorf("conf %g: n %d ok %v, want from %d on", conf, n, ok, least)
			}
		}
	}
}

func TestQuantileInterval95(t *testing.T) {
	for _, c := range []struct {
		n, perMille, low, high int
		coverage               float64 // 0 where only the ranks are a reference
	}{
		{20, 500, 6, 15, 0}, {20, 950, 17, 21, 0}, {20, 990, 19, 21, 0},
		{50, 500, 18, 33, 0}, {50, 950, 44, 51, 0}, {50, 990, 48, 51, 0},
		{72, 500, 28, 45, 0}, {72, 950, 64, 72, 0}, {72, 990, 69, 73, 0},
		{100, 500, 40, 61, 0}, {100, 950, 90, 100, .9826}, {100, 990, 97, 101, 0},
		{200, 500, 86, 115, 0}, {200, 950, 184, 197, .9672}, {200, 990, 195, 201, 0},
		{368, 500, 165, 204, 0}, {368, 950, 341, 358, .9584}, {368, 990, 360, 368, .9624},
		{500, 500, 228, 273, 0}, {500, 950, 465, 485, .9605}, {500, 990, 490, 500, .9802},
		{1000, 500, 469, 532, .9537}, {1000, 950, 936, 964, .9581}, {1000, 990, 983, 997, .9761},
		{2000, 500, 956, 1045, 0}, {2000, 950, 1880, 1920, 0}, {2000, 990, 1971, 1989, .9578},
		{10000, 500, 4902, 5099, .9512}, {10000, 950, 9457, 9543, .9515}, {10000, 990, 9880, 9920, .9558},
	} {
		low, high, coverage := stats.QuantileInterval(c.n, c.perMille, .95)
		if low != c.low || high != c.high {
			t.Errorf("n %d p%d: ranks (%d, %d), want (%d, %d)", c.n, c.perMille, low, high, c.low, c.high)
		}
		if c.coverage != 0 {
			near(t, "coverage", coverage, c.coverage, 5e-5)
		}
	}
}

// Both ends are finite from n with pⁿ ≤ 0.025 on, the upper one alone from pⁿ ≤ 0.05.
func TestQuantileIntervalBecomesFinite(t *testing.T) {
	for perMille, least := range map[int]int{900: 36, 950: 72, 990: 368, 999: 3688} {
		if _, high, _ := stats.QuantileInterval(least, perMille, .95); high != least {
			t.Errorf("p%d, n %d: high %d, want finite", perMille, least, high)
		}
		if _, high, _ := stats.QuantileInterval(least-1, perMille, .95); high != least {
			t.Errorf("p%d, n %d: high %d, want infinite", perMille, least-1, high)
		}
		if _, high, _ := stats.QuantileInterval(stats.Floor(perMille), perMille, .90); high != stats.Floor(perMille) {
			t.Errorf("p%d: at the floor the one-sided 95 %% bound is not finite", perMille)
		}
	}
	for _, bad := range [][2]int{{0, 500}, {-3, 500}, {10, 0}, {10, 1000}} {
		low, high, coverage := stats.QuantileInterval(bad[0], bad[1], .95)
		if low != 0 || high != max(bad[0], 0)+1 || coverage != 1 {
			t.Errorf("QuantileInterval%v = (%d, %d) %g, want nothing known", bad, low, high, coverage)
		}
	}
}

// A tail of exactly the size allowed counts, whatever 1 − 0.8 is in binary.
func TestQuantileIntervalAtItsLimit(t *testing.T) {
	if low, _, _ := stats.QuantileInterval(1, 900, .8); low != 1 {
		t.Errorf("P(B ≤ 0) = 0.1: low %d, want 1", low)
	}
	if _, high, _ := stats.QuantileInterval(2, 400, .68); high != 2 {
		t.Errorf("P(B ≥ 2) = 0.16: high %d, want 2", high)
	}
}

func TestQuantileIntervalCoversEverywhere(t *testing.T) {
	for n := 1; n <= 400; n++ {
		for _, perMille := range []int{1, 100, 500, 900, 950, 990, 999} {
			for _, conf := range []float64{.8, .9, .95, .99} {
				low, high, coverage := stats.QuantileInterval(n, perMille, conf)
				rank := stats.Rank(n, perMille)
				if coverage < conf-1e-9 || low > rank || high < rank || low < 0 || high > n+1 {
					t.Fatalf("n %d p%d conf %g: (%d, %d) covers %g", n, perMille, conf, low, high, coverage)
				}
			}
		}
	}
}

func TestEarlyStopping(t *testing.T) {
	for _, c := range []struct {
		conf float64
		want map[int]int
	}{
		{.99, map[int]int{500: 11, 900: 64, 950: 130, 970: 219, 990: 662, 999: 6636}},
		{.95, map[int]int{500: 8, 900: 46, 950: 93, 990: 473}},
	} {
		for perMille, least := range c.want {
			if got := stats.MinSamples(perMille, c.conf); got != least {
				t.Errorf("MinSamples(%d, %g) = %d, want %d", perMille, c.conf, got, least)
			}
			if bound, ok := stats.EarlyStopping(least, perMille, c.conf); !ok || bound != 1 {
				t.Errorf("p%d at its least n: t %d ok %v, want 1", perMille, bound, ok)
			}
			if _, ok := stats.EarlyStopping(least-1, perMille, c.conf); ok {
				t.Errorf("p%d below its least n is ok", perMille)
			}
		}
	}
	for conf, want := range map[float64]int{.99: 77, .95: 83} {
		if bound, ok := stats.EarlyStopping(10_000, 990, conf); !ok || bound != want {
			t.Errorf("EarlyStopping(10000, 990, %g) = %d %v, want %d", conf, bound, ok, want)
		}
	}
	for _, perMille := range []int{-1, 0, 1000} {
		if _, ok := stats.EarlyStopping(100, perMille, .99); ok {
			t.Errorf("EarlyStopping of %d per mille is ok", perMille)
		}
	}
	if stats.MinSamples(0, .99) != 1 || stats.MinSamples(500, 0) != 1 {
		t.Error("a bound that says nothing needs one sample")
	}
	if stats.MinSamples(1000, .99) != math.MaxInt || stats.MinSamples(500, 1) != math.MaxInt {
		t.Error("a bound of the maximum, or a certain one, was promised")
	}
}
