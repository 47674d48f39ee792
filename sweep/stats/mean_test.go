package stats_test

import (
	"math"
	"testing"
	"testing/quick"

	"github.com/inference-sweep/sweep/sweep/stats"
)

func TestTQuantile(t *testing.T) {
	for df, want := range map[float64]float64{
		1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764, 5: 2.5706, 6: 2.4469, 7: 2.3646, 8: 2.3060, 9: 2.2622,
		14: 2.1448, 19: 2.0930, 29: 2.0452,
	} {
		near(t, "t.975", stats.TQuantile(.975, df), want, 5e-5)
		near(t, "t.025", stats.TQuantile(.025, df), -want, 5e-5)
	}
	near(t, "t.975 of 8", stats.TQuantile(.975, 8), 2.306004, 5e-7)
	near(t, "normal limit", stats.TQuantile(.975, math.Inf(1)), 1.959963985, 1e-8)
	near(t, "one degree is Cauchy", stats.TQuantile(.999, 1), math.Tan(math.Pi*.499), 1e-6)
	near(t, "median", stats.TQuantile(.5, 3), 0, 0)
	near(t, "p 0", stats.TQuantile(0, 3), math.Inf(-1), 0)
	near(t, "p 1", stats.TQuantile(1, 3), math.Inf(1), 0)
	isNaN(t, "outside", stats.TQuantile(1.1, 3), stats.TQuantile(-.1, 3), stats.TQuantile(.5, 0), stats.TQuantile(math.NaN(), 3))
}

func TestMoments(t *testing.T) {
	mean, sd := stats.Moments([]float64{10, 12, 11, 13, 10, 30})
	near(t, "mean", mean, 14.3333, 5e-5)
	near(t, "sd", sd, 7.76316, 5e-6)

	mean, sd = stats.Moments([]float64{7})
	near(t, "mean of one", mean, 7, 0)
	isNaN(t, "sd of one", sd)

	mean, sd = stats.Moments(nil)
	isNaN(t, "moments of none", mean, sd)

	mean, sd = stats.Moments([]float64{.1, .1, .1, .1, .1, .1, .1})
	near(t, "mean of equals", mean, .1, 0)
	near(t, "sd of equals", sd, 0, 0)

	_, sd = stats.Moments([]float64{1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16})
	near(t, "sd far from 0", sd, math.Sqrt(30), 1e-6)
}

func TestTInterval(t *testing.T) {
	mean, iv := stats.TInterval([]float64{10.5, 12.5, 9.5}, .95)
	near(t, "mean", mean, 10.8333, 5e-5)
	nearInterval(t, "interval", iv, 10.8333-3.79458, 10.8333+3.79458, 6e-5)

	mean, iv = stats.TInterval([]float64{3, 3, 3}, .95)
	near(t, "mean of equals", mean, 3, 0)
	nearInterval(t, "interval of equals", iv, 3, 3, 0)

	mean, iv = stats.TInterval([]float64{5}, .95)
	near(t, "mean of one", mean, 5, 0)
	isNaN(t, "interval of one", iv.Low, iv.High)
}

func TestLogTInterval(t *testing.T) {
	geomean, _ := stats.LogTInterval([]float64{1.1, .9, 1.25}, .95)
	near(t, "geometric mean", geomean, 1.073615, 5e-7)

	// By hand: logs are 0 and ln 4, mean ln 2, sd ln 4 ÷ √2, half width t₁ · ln 2.
	geomean, iv := stats.LogTInterval([]float64{1, 4}, .95)
	near(t, "geometric mean of two", geomean, 2, 1e-12)
	half := 12.706204736 * math.Ln2
	nearInterval(t, "interval of two", iv, 2*math.Exp(-half), 2*math.Exp(half), 1e-3)

	geomean, iv = stats.LogTInterval([]float64{.3, .3, .3}, .95)
	near(t, "equals", geomean, .3, 0)
	nearInterval(t, "equals", iv, .3, .3, 0)

	for _, bad := range [][]float64{nil, {1, 0, 2}, {1, -1}, {1, math.NaN()}} {
		geomean, iv = stats.LogTInterval(bad, .95)
		isNaN(t, "no logarithm", geomean, iv.Low, iv.High)
	}
}

func TestRepeatsNeeded(t *testing.T) {
	for _, c := range []struct {
		cv, half, conf float64
		want           int
	}{
		{.05, .05, .95, 7}, {.05, .02, .95, 27}, {.02, .02, .95, 7}, {.10, .05, .95, 18}, {.10, .02, .95, 99},
		{0, .02, .95, 2}, {.001, .5, .95, 2}, {.1, 0, .95, math.MaxInt}, {.1, -1, .95, math.MaxInt},
		{math.NaN(), .1, .95, math.MaxInt}, {.1, .1, 1, math.MaxInt},
	} {
		if got := stats.RepeatsNeeded(c.cv, c.half, c.conf); got != c.want {
			t.Errorf("RepeatsNeeded(%g, %g, %g) = %d, want %d", c.cv, c.half, c.conf, got, c.want)
		}
	}
}

// Scaling a sample scales its mean, geometric mean and intervals; shifting it shifts its mean and t interval; neither
// cares for the order; and each interval holds its estimate.
func TestIntervalsFollowTheirSample(t *testing.T) {
	property := func(seed uint64, size, by uint8) bool {
		r := seeded(seed)
		xs := each(normals(r, 2+int(size%20)), func(x float64) float64 { return math.Exp(x) })
		factor, shift := 1+float64(by)/16, float64(by)-100

		mean, iv := stats.TInterval(xs, .95)
		scaled, scaledIv := stats.TInterval(each(xs, func(x float64) float64 { return factor * x }), .95)
		shiftedMean, shiftedIv := stats.TInterval(each(shuffled(r, xs), func(x float64) float64 { return x + shift }), .95)
		geomean, logIv := stats.LogTInterval(xs, .95)
		scaledGeomean, scaledLogIv := stats.LogTInterval(each(shuffled(r, xs), func(x float64) float64 { return factor * x }), .95)
		_, wider := stats.TInterval(xs, .99)

		return iv.Contains(mean) && logIv.Contains(geomean) && wider.Low <= iv.Low && iv.High <= wider.High &&
			alike(scaled, factor*mean) && alike(scaledIv.Low, factor*iv.Low) && alike(scaledIv.High, factor*iv.High) &&
			alike(shiftedMean, mean+shift) && alike(shiftedIv.Low, iv.Low+shift) && alike(shiftedIv.High, iv.High+shift) &&
			alike(scaledGeomean, factor*geomean) && alike(scaledLogIv.Low, factor*logIv.Low) && alike(scaledLogIv.High, factor*logIv.High)
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 300}); err != nil {
		t.Error(err)
	}
}

func alike(a, b float64) bool { return math.Abs(a-b) <= 1e-8*(1+math.Abs(a)+math.Abs(b)) }
