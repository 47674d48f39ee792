package analysis_test

import (
	"math"
	"testing"

	"github.com/inference-sweep/sweep/sweep/analysis"
)

func valuesOf(metric string, xs ...float64) []analysis.Values {
	var blocks []analysis.Values
	for _, x := range xs {
		v := analysis.Values{}
		if !math.IsNaN(x) {
			v[metric] = x
		}
		blocks = append(blocks, v)
	}
	return blocks
}

// Reference values: t.975 is 12.7062 for 1 degree of freedom, 4.3027 for 2.
func TestVariance(t *testing.T) {
	const rate, share = "output_rate", "attainment"
	half := func(t975, sd float64, n int) float64 { return t975 * sd / math.Sqrt(float64(n)) }
	logSD := math.Log(4) / math.Sqrt2
	for _, c := range []struct {
		name, metric                string
		xs                          []float64
		blocks                      int
		estimate, low, high, sd, cv float64
		estimator, method           string
	}{
		{"logs", rate, []float64{1, 4}, 2, 2, 2 * math.Exp(-half(12.7062, logSD, 2)), 2 * math.Exp(half(12.7062, logSD, 2)),
			3 / math.Sqrt2, 3 / math.Sqrt2 / 2.5, "mean-log", "t-log"},
		{"shares are averaged as they are", share, []float64{.5, .6, .7}, 3, .6, .6 - half(4.3027, .1, 3), .6 + half(4.3027, .1, 3),
			.1, .1 / .6, "mean", "t"},
		{"clipped to a share", share, []float64{0, 1}, 2, .5, 0, 1, 1 / math.Sqrt2, math.Sqrt2, "mean", "t"},
		{"a zero counts", rate, []float64{0, 2, 4}, 3, 2, 2 - half(4.3027, 2, 3), 2 + half(4.3027, 2, 3), 2, 1, "mean", "t"},
		{"a NULL does not", rate, []float64{1, null, 3}, 2, 2, 2 - half(12.7062, math.Sqrt2, 2), 2 + half(12.7062, math.Sqrt2, 2),
			math.Sqrt2, math.Sqrt2 / 2, "mean", "t"},
		{"no spread", rate, []float64{.3, .3, .3}, 3, .3, .3, .3, 0, 0, "mean-log", "exact"},
		{"no spread of a share", share, []float64{1, 1}, 2, 1, 1, 1, 0, 0, "mean", "exact"},
		{"all zero", rate, []float64{0, 0, 0}, 3, 0, 0, 0, 0, null, "mean", "exact"},
		{"one block", rate, []float64{5}, 1, 5, null, null, null, null, "mean-log", ""},
		{"none", rate, []float64{null}, 0, null, null, null, null, null, "", ""},
	} {
		row := analysis.Variance("baseline", c.metric, valuesOf(c.metric, c.xs...))
		if row.Blocks != c.blocks || row.Estimator != c.estimator || row.CIMethod != c.method {
			t.Errorf("%s: %d blocks, %q by %q, want %d, %q by %q", c.name, row.Blocks, row.Estimator, row.CIMethod, c.blocks, c.estimator, c.method)
		}
		near(t, c.name+": estimate", row.Estimate, c.estimate, 1e-9)
		near(t, c.name+": low", row.CILow, c.low, 1e-4)
		near(t, c.name+": high", row.CIHigh, c.high, 1e-4)
		near(t, c.name+": sd", row.SD, c.sd, 1e-9)
		near(t, c.name+": cv", row.CV, c.cv, 1e-9)
	}
}

// near is same with a relative tolerance.
func near(t *testing.T, what string, got *float64, want, tolerance float64) {
	t.Helper()
	if got == nil || math.IsNaN(want) {
		same(t, what, got, want)
		return
	}
	if math.Abs(*got-want) > tolerance*math.Max(1, math.Abs(want)) {
		t.Errorf("%s = %v, want %v", what, *got, want)
	}
}

func pairsOf(metric string, cell, reference []float64) []analysis.Pair {
	a, b := valuesOf(metric, cell...), valuesOf(metric, reference...)
	pairs := make([]analysis.Pair, len(a))
	for i := range a {
		pairs[i] = analysis.Pair{Cell: a[i], Reference: b[i]}
	}
	return pairs
}

func outcome(metric string, margin float64, cell, reference []float64) analysis.Comparison {
	c := analysis.Compare(metric, margin, pairsOf(metric, cell, reference))
	analysis.Decide([]*analysis.Comparison{&c})
	return c
}

func TestOutcomes(t *testing.T) {
	ten := []float64{10, 10, 10, 10, 10, 10}
	higher := []float64{20, 21, 19, 20.5, 19.5, 20}
	same6 := []float64{10.01, 9.99, 10.02, 9.98, 10, 10}
	wild := []float64{5, 20, 9, 14, 8, 11}
	for _, c := range []struct {
		name, metric    string
		cell, reference []float64
		blocks          int
		test, outcome   string
	}{
		{"a rate that rose", "goodput_req_s", higher, ten, 6, "paired-t-log", "better"},
		{"a rate that fell", "output_rate", ten, higher, 6, "paired-t-log", "worse"},
		{"a time that rose", "ttft_p95", higher, ten, 6, "paired-t-log", "worse"},
		{"a time that fell", "tpot_p95", ten, higher, 6, "paired-t-log", "better"},
		{"attainment that rose", "attainment", []float64{.9, .92, .91}, []float64{.5, .52, .49}, 3, "paired-t-log", "better"},
		{"inside the margin", "ttft_p95", same6, ten, 6, "paired-t-log", "no-difference"},
		{"a large p alone is not equality", "ttft_p95", wild, ten, 6, "paired-t-log", "inconclusive"},
		{"two pairs", "ttft_p95", higher[:2], ten[:2], 2, "", "inconclusive"},
		{"a NULL leaves its pair out", "ttft_p95", []float64{20, null, 21, 19.5}, ten[:4], 3, "paired-t-log", "worse"},
		{"too few after that", "ttft_p95", []float64{20, null, 21}, ten[:3], 2, "", "inconclusive"},
		{"all ratios equal", "goodput_req_s", []float64{2, 4, 6}, []float64{1, 2, 3}, 3, "exact", "better"},
		{"identical", "goodput_req_s", ten, ten, 6, "exact", "no-difference"},
		{"always 0 against something", "goodput_req_s", []float64{0, 0, 0}, []float64{1, 2, 3}, 3, "exact", "worse"},
		{"a 0 somewhere", "goodput_req_s", []float64{0, 1, 0, .5, 0, 0}, higher, 6, "paired-t-diff", "worse"},
		{"something against always 0", "goodput_req_s", higher, []float64{0, 0, 0, 0, 0, 0}, 6, "paired-t-diff", "better"},
		{"zeros never show equality", "goodput_req_s", []float64{0, 0, 0}, []float64{0, 0, 0}, 3, "paired-t-diff", "inconclusive"},
		{"nothing", "goodput_req_s", nil, nil, 0, "", "inconclusive"},
	} {
		got := outcome(c.metric, .05, c.cell, c.reference)
		if got.Blocks != c.blocks || got.Test != c.test || got.Outcome != c.outcome {
			t.Errorf("%s: %d blocks, %q, %s; want %d, %q, %s", c.name, got.Blocks, got.Test, got.Outcome, c.blocks, c.test, c.outcome)
		}
	}
}

// By hand: log ratios ln 2 ± ln 2 over two … over four pairs 2, 2, 4, 4: mean ln √8, sd ln 2 ÷ √3, t.975(3) = 3.182446.
func TestRatioAndInterval(t *testing.T) {
	c := outcome("ttft_p95", .05, []float64{2, 2, 4, 4}, []float64{1, 1, 1, 1})
	sd := math.Ln2 / math.Sqrt(3)
	half := 3.182446 * sd / 2
	near(t, "ratio", c.Ratio, math.Sqrt(8), 1e-9)
	near(t, "low", c.CILow, math.Sqrt(8)*math.Exp(-half), 1e-5)
	near(t, "high", c.CIHigh, math.Sqrt(8)*math.Exp(half), 1e-5)

	d := outcome("goodput_req_s", .05, []float64{0, 2, 4}, []float64{2, 2, 2})
	near(t, "ratio of means", d.Ratio, 1, 1e-9)
	near(t, "low", d.CILow, 1-4.302653*2/math.Sqrt(3)/2, 1e-5)
	zero := outcome("goodput_req_s", .05, []float64{1, 2, 4}, []float64{0, 0, 0})
	same(t, "nothing to divide by", zero.Ratio, null)
}

func TestDifferencesNeverShowEquality(t *testing.T) {
	cell := []float64{0, 10, 10, 10, 10, 10, 10, 10}
	c := outcome("goodput_req_s", .9, cell, cell)
	if c.Test != "paired-t-diff" || c.Outcome != "inconclusive" {
		t.Errorf("%s, %s", c.Test, c.Outcome)
	}
}

// Holm over the family: .01, .04, .03, .005 become .03, .06, .06, .02.
func TestFamily(t *testing.T) {
	ps := []float64{.01, .04, .03, .005}
	want := []float64{.03, .06, .06, .02}
	var family []*analysis.Comparison
	for _, p := range ps {
		c := outcome("ttft_p95", .05, []float64{2, 3, 4}, []float64{1, 1, 1})
		*c.P = p
		family = append(family, &c)
	}
	refused, untested := analysis.Refuse("ttft_p95", .05, 6), outcome("ttft_p95", .05, []float64{1}, []float64{2})
	analysis.Decide(append(family, &refused, &untested))
	for i, c := range family {
		near(t, "p_holm", c.PHolm, want[i], 1e-12)
	}
	if refused.Outcome != "refused" || refused.PHolm != nil || refused.Ratio != nil || refused.Blocks != 6 {
		t.Errorf("refused: %+v", refused.ComparisonRow)
	}
	if untested.Outcome != "inconclusive" || untested.PHolm != nil {
		t.Errorf("untested: %+v", untested.ComparisonRow)
	}
	alias := *family[0]
	alias.PHolm, alias.Outcome = nil, ""
	analysis.DecideApart(&alias, family[1:])
	near(t, "an alias in the place of its row", alias.PHolm, .03, 1e-12)
	analysis.DecideApart(&alias, nil)
	near(t, "alone", alias.PHolm, .01, 1e-12)
}

// A block's own p99 needs 1,000 requests; the other percentiles their floors.
func TestValuesOfABlock(t *testing.T) {
	for _, c := range []struct {
		n    int
		has  []string
		lack []string
	}{
		{58, []string{"ttft_p50", "ttft_p90", "goodput_req_s", "attainment"}, []string{"ttft_p95", "ttft_p99"}},
		{999, []string{"ttft_p95", "gap_p95"}, []string{"ttft_p99", "gap_p99"}},
		{1000, []string{"ttft_p99", "e2e_p99", "gap_p99", "output_rate"}, []string{"server_queue_p50"}},
	} {
		f := window(0, 10_000)
		f.Rows = rows(mixedOK(c.n)...)
		trial := summarise(t, openCell(), f)
		values := trial.Values("baseline")
		for _, metric := range c.has {
			if _, ok := values[metric]; !ok {
				t.Errorf("%d requests: no %s", c.n, metric)
			}
		}
		for _, metric := range c.lack {
			if x, ok := values[metric]; ok {
				t.Errorf("%d requests: %s = %v", c.n, metric, x)
			}
		}
	}
}
