package stats_test

import (
	"math"
	"testing"
	"testing/quick"

	"github.com/inference-sweep/sweep/sweep/stats"
)

// midQuantiles are the exact quantiles of the unit exponential law at the middles of n equal shares.
func midQuantiles(n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = -math.Log1p(-(float64(i) + .5) / float64(n))
	}
	return xs
}

func TestAndersonDarlingExp(t *testing.T) {
	for _, c := range []struct {
		what       string
		xs         []float64
		a2, a2star float64
	}{
		{"exact quantiles", midQuantiles(20), .0465247, .0479204},
		{"1 to 20", series(1, 1, 20), 1.437700, 1.480831},
		{"nearly constant", series(1, .01, 20), 8.237352, 8.237352 * 1.03},
		{"none", nil, math.NaN(), math.NaN()},
		{"negative", []float64{1, -1, 5}, math.NaN(), math.NaN()},
		{"two at once", []float64{0, 1, 2}, math.Inf(1), math.Inf(1)},
	} {
		a2, a2star := stats.AndersonDarlingExp(c.xs)
		near(t, c.what+": A²", a2, c.a2, 1e-6)
		near(t, c.what+": A*²", a2star, c.a2star, 1e-6)
	}
}

func TestAndersonDarlingExpRate(t *testing.T) {
	xs := midQuantiles(20)
	mean, _ := stats.Moments(xs)
	estimated, _ := stats.AndersonDarlingExp(xs)
	near(t, "at the sample's own rate", stats.AndersonDarlingExpRate(xs, 1/mean), estimated, 1e-12)
	if slow := stats.AndersonDarlingExpRate(xs, .5); slow < 2.492 {
		t.Errorf("half the rate has A² %g, want a rejection at 5 %%", slow)
	}
	isNaN(t, "no rate", stats.AndersonDarlingExpRate(xs, 0), stats.AndersonDarlingExpRate(xs, math.Inf(1)))
}

// The critical values are those of the law: exponential samples exceed the 5 % one in 5 % of cases.
func TestAndersonDarlingCriticalValues(t *testing.T) {
	const runs = 3000
	r := seeded(11)
	var estimated, known float64
	for range runs {
		xs := make([]float64, 40)
		for i := range xs {
			xs[i] = r.ExpFloat64() / 3
		}
		if _, a2star := stats.AndersonDarlingExp(xs); a2star > 1.341 {
			estimated += 1. / runs
		}
		if stats.AndersonDarlingExpRate(xs, 3) > 2.492 {
			known += 1. / runs
		}
	}
	near(t, "rejections with the rate estimated", estimated, .05, .015)
	near(t, "rejections with the rate known", known, .05, .015)
}

func TestKSExp(t *testing.T) {
	near(t, "exact quantiles", stats.KSExp(midQuantiles(20), 1), .025, 1e-12)
	near(t, "scaled with its rate", stats.KSExp(each(midQuantiles(20), func(x float64) float64 { return x / 7 }), 7), .025, 1e-12)
	near(t, "all at once", stats.KSExp([]float64{0, 0, 0}, 1), 1, 0)
	isNaN(t, "undefined", stats.KSExp(nil, 1), stats.KSExp([]float64{1}, -1), stats.KSExp([]float64{math.NaN()}, 1))
}

func TestKSTwoSample(t *testing.T) {
	near(t, "the same", stats.KSTwoSample(toyA, toyA), 0, 0)
	near(t, "apart", stats.KSTwoSample(toyA, toyB), 1, 0)
	near(t, "ties", stats.KSTwoSample([]float64{1, 1, 2}, []float64{1, 2, 2}), 1./3, 1e-12)
	isNaN(t, "none", stats.KSTwoSample(nil, toyA), stats.KSTwoSample(toyA, []float64{math.NaN()}))

	share := func(xs []float64, x float64) (f float64) {
		for _, v := range xs {
			if v <= x {
				f += 1 / float64(len(xs))
			}
		}
		return f
	}
	property := func(seed uint64) bool {
		r := seeded(seed)
		coarse := func(x float64) float64 { return math.Round(2 * x) }
		a, b := each(normals(r, 1+r.IntN(20)), coarse), each(normals(r, 1+r.IntN(20)), coarse)
		var want float64
		for _, x := range append(a[:len(a):len(a)], b...) {
			want = math.Max(want, math.Abs(share(a, x)-share(b, x)))
		}
		return alike(stats.KSTwoSample(a, b), want) && alike(stats.KSTwoSample(b, a), want)
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

func TestDispersion(t *testing.T) {
	vmr, chi2, df := stats.Dispersion([]int{3, 5, 4, 6, 2, 5, 3, 4})
	near(t, "variance to mean", vmr, .428571, 5e-7)
	near(t, "chi-square", chi2, 3, 1e-12)
	if df != 7 {
		t.Errorf("%d degrees of freedom, want 7", df)
	}
	vmr, chi2, _ = stats.Dispersion([]int{0, 0, 0})
	isNaN(t, "nothing counted", vmr, chi2)
	vmr, chi2, df = stats.Dispersion(nil)
	isNaN(t, "no bins", vmr, chi2)
	if df != 0 {
		t.Errorf("no bins: %d degrees of freedom", df)
	}
}

// The 99 % band of 60 bins is that of a Poisson process.
func TestDispersionOfPoissonCounts(t *testing.T) {
	const runs, rate = 1000, 20.
	r := seeded(5)
	outside := 0
	for range runs {
		counts := make([]int, 60)
		for at := r.ExpFloat64() / rate; at < 60; at += r.ExpFloat64() / rate {
			counts[int(at)]++
		}
		if vmr, _, _ := stats.Dispersion(counts); vmr < .589 || vmr > 1.538 {
			outside++
		}
	}
	if outside < 2 || outside > 25 {
		t.Errorf("%d of %d Poisson runs outside the 99 %% band", outside, runs)
	}
}
