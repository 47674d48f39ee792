package stats_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/inference-sweep/sweep/sweep/stats"
)

// floats reads a sample from bytes: the special values often, arbitrary bits else.
func floats(data []byte) (xs []float64) {
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, 1, math.MaxFloat64, math.SmallestNonzeroFloat64, -1}
	for len(data) >= 9 && len(xs) < 120 {
		if kind := int(data[0]); kind < 200 {
			xs = append(xs, special[kind%len(special)])
			data = data[1:]
			continue
		}
		xs = append(xs, math.Float64frombits(binary.LittleEndian.Uint64(data[1:])))
		data = data[9:]
	}
	return xs
}

// FuzzNothingPanics hands every function samples and settings of any kind. What it also holds: a percentile is a member
// of its sample, and a p is a share or NaN.
func FuzzNothingPanics(f *testing.F) {
	f.Add([]byte{}, []byte{}, 500, .95)
	f.Add(make([]byte, 40), []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, 990, .99)
	f.Add([]byte{5, 5, 5, 7, 7, 255, 1, 2, 3, 4, 5, 6, 7, 8, 5, 5, 5, 5, 5, 5, 5, 5, 5}, []byte{5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5}, -3, math.Inf(1))
	f.Fuzz(func(t *testing.T, dataA, dataB []byte, number int, level float64) {
		a, b := floats(dataA), floats(dataB)
		fuzzSamples(t, a, b, number%1_000_000, level)
		fuzzSettings(t, number%1_000_000, level)
	})
}

func fuzzSamples(t *testing.T, a, b []float64, number int, level float64) {
	stats.Percentile(a, number)
	stats.Moments(a)
	stats.TInterval(a, level)
	stats.LogTInterval(a, level)
	stats.BinMedians(a, number%50)
	stats.MSER(a)
	stats.MSER5(a)
	stats.KPSS(a, number%50)
	stats.DickeyFuller(a)
	stats.Geweke(a)
	stats.Lag1(a)
	stats.AndersonDarlingExp(a)
	stats.AndersonDarlingExpRate(a, level)
	stats.KSExp(a, level)
	stats.KSTwoSample(a, b)
	stats.HodgesLehmann(a, b, level)
	stats.Bonferroni(a)
	stats.BenjaminiHochberg(a)
	stats.Holm(a)
	_, welch := rest(stats.WelchT(a, b))
	_, u, _ := stats.MannWhitney(a, b)
	_, signed := stats.SignedRank(a)
	_, rho := stats.Spearman(a, b)
	trend := stats.MannKendall(a)
	pairs := stats.PairedDiff(a, b)
	ratios := stats.PairedLogRatio(a, b)
	for i, p := range []float64{welch, u, signed, rho, trend.P, trend.PUp, trend.PDown, pairs.P, ratios.P} {
		if p < 0 || p > 1 {
			t.Errorf("p %d = %g of %v and %v", i, p, a, b)
		}
	}
}

func rest(_, x, y float64) (float64, float64) { return x, y }

func fuzzSettings(t *testing.T, number int, level float64) {
	small := number % 500
	low, high, _, ok := stats.MedianInterval(small, level)
	if ok && (low < 1 || high > small || low > high) {
		t.Errorf("median ranks (%d, %d) of %d", low, high, small)
	}
	low, high, coverage := stats.QuantileInterval(small, number%1000, level)
	if low < 0 || high > max(small, 0)+1 || coverage < 0 || coverage > 1 {
		t.Errorf("quantile ranks (%d, %d) of %d cover %g", low, high, small, coverage)
	}
	stats.Floor(number)
	stats.EarlyStopping(number, number%1000, level)
	stats.MinSamples(number%1000, level)
	stats.SamplesForMargin(number%1000, level, level)
	stats.RepeatsNeeded(level, 1/level, .95)
	stats.RepeatsNeeded(.1, .05, level)
	stats.TQuantile(level, float64(number))
	stats.EffectiveN(number, level)
	stats.Dispersion([]int{number, small, 3})
	stats.FisherExact(small, number%777, number%91, 5)
	if ratio := stats.DetectableRatio(.05, small, level, .8); ratio < 1 {
		t.Errorf("detectable ratio %g", ratio)
	}
	stats.DetectableRatio(level, small, .05, level)
	stats.PairedPower(level, small, .05)
	var g stats.Gaps
	_ = g.Record(int64(number))
	_ = g.RecordN(int64(small), int64(number))
	g.PercentileNS(number % 1001)
}
