package stats_test

import (
	"fmt"
	"math"
	"testing"
	"testing/quick"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/inference-sweep/sweep/sweep/stats"
)

// Student's sleep data: extra hours under two drugs, the same ten patients.
var (
	sleep1 = []float64{.7, -1.6, -.2, -1.2, -.1, 3.4, 3.7, .8, 0, 2}
	sleep2 = []float64{1.9, .8, 1.1, .1, -.1, 4.4, 5.5, 1.6, 4.6, 3.4}
)

func TestPairedDiff(t *testing.T) {
	r := stats.PairedDiff(sleep1, sleep2)
	near(t, "estimate", r.Estimate, -1.58, 1e-12)
	nearInterval(t, "95 %", r.CI95, -2.4598858, -.7001142, 5e-8)
	nearInterval(t, "90 %", r.CI90, -2.293006, -.866994, 1e-6)
	near(t, "p", r.P, .002833, 5e-7)
	if r.N != 10 || !(r.CI90.Low > r.CI95.Low && r.CI90.High < r.CI95.High) {
		t.Errorf("n %d, 90 %% %v not inside 95 %% %v", r.N, r.CI90, r.CI95)
	}
}

func TestPairedLogRatioIsPairedDiffOfLogs(t *testing.T) {
	exp := func(xs []float64) []float64 { return each(xs, math.Exp) }
	r := stats.PairedLogRatio(exp(sleep1), exp(sleep2))
	near(t, "estimate", r.Estimate, math.Exp(-1.58), 1e-12)
	nearInterval(t, "95 %", r.CI95, math.Exp(-2.4598858), math.Exp(-.7001142), 5e-8)
	near(t, "p", r.P, .002833, 5e-7)
	near(t, "sd", r.SD, 1.229995, 1e-6)
}

func TestPairedWithoutSpread(t *testing.T) {
	for _, c := range []struct {
		what         string
		result       stats.PairedResult
		estimate, pp float64
	}{
		{"same values", stats.PairedLogRatio(toyA, toyA), 1, 1},
		{"doubled", stats.PairedLogRatio([]float64{2, 4, 6}, []float64{1, 2, 3}), 2, 0},
		{"times 1.1, inexact in binary", stats.PairedLogRatio(each(toyA, func(x float64) float64 { return 1.1 * x }), toyA), 1.1, 0},
		{"no difference", stats.PairedDiff([]float64{0, 2, 3}, []float64{0, 2, 3}), 0, 1},
		{"same difference, inexact in binary", stats.PairedDiff([]float64{.3, 1.1, 2.7}, []float64{.2, 1, 2.6}), .1, 0},
	} {
		near(t, c.what, c.result.Estimate, c.estimate, 1e-15)
		near(t, c.what+": p", c.result.P, c.pp, 0)
		near(t, c.what+": sd", c.result.SD, 0, 0)
		nearInterval(t, c.what, c.result.CI95, c.result.Estimate, c.result.Estimate, 0)
		nearInterval(t, c.what, c.result.CI90, c.result.Estimate, c.result.Estimate, 0)
	}
}

func TestPairedWithTooLittle(t *testing.T) {
	one := stats.PairedLogRatio([]float64{3}, []float64{2})
	near(t, "one pair", one.Estimate, 1.5, 1e-15)
	isNaN(t, "one pair", one.CI95.Low, one.CI95.High, one.P, one.SD)
	for what, r := range map[string]stats.PairedResult{
		"none":      stats.PairedDiff(nil, nil),
		"unequal":   stats.PairedDiff([]float64{1, 2}, []float64{1}),
		"zero":      stats.PairedLogRatio([]float64{1, 0}, []float64{1, 2}),
		"negative":  stats.PairedLogRatio([]float64{1, 2}, []float64{1, -2}),
		"undefined": stats.PairedDiff([]float64{1, math.NaN()}, []float64{1, 2}),
	} {
		isNaN(t, what, r.Estimate, r.CI95.Low, r.CI90.High, r.P)
		if r.N != 0 {
			t.Errorf("%s: n %d", what, r.N)
		}
	}
}

// A block that is slower for both cells changes nothing; swapping the cells inverts the ratio and keeps p.
func TestPairedLogRatioCancelsBlocks(t *testing.T) {
	property := func(seed uint64, size uint8) bool {
		r := seeded(seed)
		n := 3 + int(size%10)
		a, b := each(normals(r, n), math.Exp), each(normals(r, n), math.Exp)
		slowA, slowB := make([]float64, n), make([]float64, n)
		for i := range a {
			block := math.Exp(r.NormFloat64())
			slowA[i], slowB[i] = a[i]*block, b[i]*block
		}
		plain, slow, swapped := stats.PairedLogRatio(a, b), stats.PairedLogRatio(slowA, slowB), stats.PairedLogRatio(b, a)
		return alike(plain.Estimate, slow.Estimate) && alike(plain.P, slow.P) && alike(plain.CI95.Low, slow.CI95.Low) &&
			alike(plain.Estimate, 1/swapped.Estimate) && alike(plain.P, swapped.P) && alike(plain.CI90.High, 1/swapped.CI90.Low) &&
			plain.CI90.Contains(plain.Estimate) && plain.CI95.Contains(1) == (plain.P >= .05)
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 300}); err != nil {
		t.Error(err)
	}
}

func TestPairedPower(t *testing.T) {
	// The textbook case: half a deviation, 80 %, needs 34 pairs.
	near(t, "34 pairs", stats.PairedPower(.5, 34, .05), .8077775, 1e-5)
	if p := stats.PairedPower(.5, 33, .05); p >= .8 {
		t.Errorf("33 pairs have power %g", p)
	}
	near(t, "no contrast is the level", stats.PairedPower(0, 5, .05), .05, 1e-9)
	near(t, "certain", stats.PairedPower(1e9, 2, .05), 1, 1e-12)
	isNaN(t, "one pair", stats.PairedPower(1, 1, .05))
	for _, pairs := range []int{2, 3, 5, 6, 10, 40} {
		for _, contrast := range []float64{.1, .5, 1, 2, 3} {
			for _, alpha := range []float64{.05, .01} {
				df, noncentral := float64(pairs-1), contrast*math.Sqrt(float64(pairs))
				critical := stats.TQuantile(1-alpha/2, df)
				reference := distuv.NoncentralT{Nu: df, Mu: noncentral}
				want := 1 - reference.CDF(critical) + reference.CDF(-critical)
				near(t, fmt.Sprintf("power of %g over %d pairs at %g", contrast, pairs, alpha),
					stats.PairedPower(contrast, pairs, alpha), want, 2e-6)
			}
		}
	}
}

func TestDetectableRatio(t *testing.T) {
	for _, c := range []struct {
		sdLog        float64
		blocks       int
		alpha, power float64
	}{
		{.05, 6, .05, .8}, {.05, 3, .05, .8}, {.05, 2, .05, .8}, {.02, 5, .01, .9}, {.1, 20, .05, .8}, {.03, 6, .0005, .8},
		{.03, 3, .0005, .95}, {.01, 200, .05, .8},
	} {
		ratio := stats.DetectableRatio(c.sdLog, c.blocks, c.alpha, c.power)
		near(t, fmt.Sprintf("power at the detectable ratio of %+v", c),
			stats.PairedPower(math.Log(ratio)/c.sdLog, c.blocks, c.alpha), c.power, 1e-6)
		if more := stats.DetectableRatio(c.sdLog, c.blocks+1, c.alpha, c.power); !(more < ratio && more > 1) {
			t.Errorf("%+v: one block more detects %g, not less than %g", c, more, ratio)
		}
	}
	near(t, "no spread", stats.DetectableRatio(0, 5, .05, .8), 1, 0)
	near(t, "one block", stats.DetectableRatio(.05, 1, .05, .8), math.Inf(1), 0)
	near(t, "a level that no t reaches", stats.DetectableRatio(.05, 5, math.SmallestNonzeroFloat64, .8), math.Inf(1), 0)
	near(t, "power below the level", stats.DetectableRatio(.05, 5, .05, .05), 1, 0)
	isNaN(t, "nonsense", stats.DetectableRatio(math.NaN(), 5, .05, .8), stats.DetectableRatio(-1, 5, .05, .8),
		stats.DetectableRatio(.1, 5, 0, .8), stats.DetectableRatio(.1, 5, .05, 1))
}
