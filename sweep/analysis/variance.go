package analysis

import (
	"math"
	"slices"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/stats"
)

// The words of the columns estimator, ci_method and test.
const (
	EstimatorMeanLog = "mean-log" // mean of logarithms, back-transformed
	EstimatorMean    = "mean"     // arithmetic mean

	IntervalTLog  = "t-log" // t interval of the logarithms, back-transformed
	IntervalT     = "t"
	IntervalExact = "exact" // no spread at all

	TestPairedTLog  = "paired-t-log"  // paired t on the logarithms of ratios
	TestPairedTDiff = "paired-t-diff" // paired t on differences
	TestExact       = "exact"         // all ratios are equal
)

const confidence = 0.95

// Variance is a metric's spread over blocks: values holds one set of figures for each block that counts. Where none of
// them has the metric the row has no estimate.
func Variance(name, metric string, values []Values) sweep.VarianceRow {
	row := sweep.VarianceRow{Cell: name, Metric: metric}
	var xs []float64
	logs := metric != Attainment
	for _, v := range values {
		x, ok := v[metric]
		if ok {
			xs = append(xs, x)
		}
		logs = logs && ok && x > 0
	}
	row.Blocks = len(xs)
	if len(xs) == 0 {
		return row
	}
	slices.Sort(xs) // sums that do not depend on the order of blocks
	center, interval := estimate(xs, logs, &row)
	if metric == Attainment {
		interval.Low, interval.High = math.Max(0, interval.Low), math.Min(1, interval.High)
	}
	mean, sd := stats.Moments(xs)
	row.Estimate, row.SD = number(center), number(sd)
	row.CV = ratio(sd, mean)
	row.CILow, row.CIHigh = number(interval.Low), number(interval.High)
	return row
}

// estimate chooses the estimator and the interval, and says in the row which they were.
func estimate(xs []float64, logs bool, row *sweep.VarianceRow) (float64, stats.Interval) {
	row.Estimator, row.CIMethod = EstimatorMean, IntervalT
	if logs {
		row.Estimator, row.CIMethod = EstimatorMeanLog, IntervalTLog
	}
	switch {
	case len(xs) < 2:
		row.CIMethod = ""
	case xs[0] == xs[len(xs)-1]:
		row.CIMethod = IntervalExact
		return xs[0], stats.Interval{Low: xs[0], High: xs[0]}
	}
	if logs {
		return stats.LogTInterval(xs, confidence)
	}
	return stats.TInterval(xs, confidence)
}
