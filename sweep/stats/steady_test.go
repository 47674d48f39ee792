package stats_test

import (
	"math"
	"slices"
	"testing"
	"testing/quick"

	"github.com/inference-sweep/sweep/sweep/stats"
)

func TestMSER(t *testing.T) {
	for _, c := range []struct {
		what    string
		xs      []float64
		cut     int
		value   float64
		atLimit bool
	}{
		{"settling", []float64{10, 8, 6, 5, 4, 4, 5, 4, 5, 4, 5, 4}, 3, .027435, false},
		{"the last value alone would be calm", []float64{1, 9, 1, 9, 1, 9, 1, 9, 1, 9, 1, 9}, 0, 16. / 12, false},
		{"constant", series(3, 0, 8), 0, 0, false},
		{"one", []float64{1}, 0, math.NaN(), true},
		{"none", nil, 0, math.NaN(), true},
		{"not a number", []float64{1, math.NaN(), 1, 1}, 0, math.NaN(), true},
	} {
		cut, value, atLimit := stats.MSER(c.xs)
		if cut != c.cut || atLimit != c.atLimit {
			t.Errorf("%s: cut %d at limit %v, want %d %v", c.what, cut, atLimit, c.cut, c.atLimit)
		}
		near(t, c.what, value, c.value, 5e-7)
	}
	if cut, _, atLimit := stats.MSER(series(0, 1, 20)); cut != 10 || !atLimit {
		t.Errorf("ramp: cut %d at limit %v, want 10 at the limit", cut, atLimit)
	}
}

func TestMSER5(t *testing.T) {
	xs := []float64{
		52, 44, 37, 31, 27, 22, 19, 17, 15, 14, 12, 12, 11, 11, 12, 10, 11, 10, 9, 11, 10, 9, 10, 11, 9,
		11, 10, 10, 12, 9, 9, 10, 11, 10, 11, 10, 9, 10, 9, 10, 11, 10, 11, 10, 10, 9, 11, 10, 10, 9,
	}
	for _, tail := range [][]float64{nil, {500, 500, 500}} { // an incomplete five is left out
		cut, value, atLimit := stats.MSER5(slices.Concat(xs, tail))
		if cut != 15 || atLimit {
			t.Errorf("cut %d at limit %v, want 15", cut, atLimit)
		}
		near(t, "value", value, .012595, 5e-7)
	}
}

// The one-pass form gives what the formula gives.
func TestMSERIsItsFormula(t *testing.T) {
	property := func(seed uint64, size uint8) bool {
		r := seeded(seed)
		xs := each(normals(r, 2+int(size%60)), func(x float64) float64 { return 1e6 + x })
		cut, value, _ := stats.MSER(xs)
		best, at := math.Inf(1), 0
		for d := range len(xs)/2 + 1 {
			rest := xs[d:]
			mean, _ := stats.Moments(rest)
			var squares float64
			for _, x := range rest {
				squares += (x - mean) * (x - mean)
			}
			if score := squares / float64(len(rest)*len(rest)); score < best {
				best, at = score, d
			}
		}
		return cut == at && math.Abs(value-best) <= 1e-6*best
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

func TestStationarityStatistics(t *testing.T) {
	var alternating []float64
	for range 50 {
		alternating = append(alternating, 0, 1)
	}
	ramp := series(0, 1, 100)
	near(t, "KPSS alternating", stats.KPSS(alternating, 0), .005, 1e-12)
	near(t, "KPSS alternating, lag 4", stats.KPSS(alternating, 4), .025, 1e-12)
	near(t, "KPSS ramp", stats.KPSS(ramp, 0), 10.001, 5e-5)
	near(t, "KPSS ramp, lag 4", stats.KPSS(ramp, 4), 2.101006, 5e-7)
	isNaN(t, "KPSS constant", stats.KPSS(series(1, 0, 10), 0), stats.KPSS(nil, 0))

	gamma, tt := stats.DickeyFuller([]float64{5, 6, 5, 7, 6, 8, 7, 9, 8, 10})
	near(t, "Dickey–Fuller slope", gamma, -.442857, 5e-7)
	near(t, "Dickey–Fuller t", tt, -1.186430, 5e-7)
	gamma, tt = stats.DickeyFuller([]float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8})
	near(t, "Dickey–Fuller slope", gamma, -1.089286, 5e-7)
	near(t, "Dickey–Fuller t", tt, -2.959427, 5e-7)
	gamma, tt = stats.DickeyFuller([]float64{1, 1, 1, 1, 1})
	isNaN(t, "Dickey–Fuller of a constant", gamma, tt)

	near(t, "Geweke ramp", stats.Geweke(ramp), -30.795894, 5e-7)
	near(t, "Geweke alternating", stats.Geweke(alternating), 0, 0)
	isNaN(t, "Geweke short", stats.Geweke(series(0, 1, 19)))
}
