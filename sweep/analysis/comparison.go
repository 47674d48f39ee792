package analysis

import (
	"math"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/stats"
)

// The outcomes of a comparison.
const (
	Better       = "better"
	Worse        = "worse"
	NoDifference = "no-difference"
	Inconclusive = "inconclusive"
	Refused      = "refused"
)

// MinPairs is how many pairs a comparison needs to be tested.
const MinPairs = 3

// Pair is one block's figures of a cell and of its reference, measured in one sitting.
type Pair struct{ Cell, Reference Values }

// A Comparison is a row of the view comparison in the making: its outcome waits for Decide, since p is adjusted over a
// family of rows.
type Comparison struct {
	sweep.ComparisonRow
	// SDLog is the spread of one pair's log ratio; NaN where the test was another.
	SDLog float64
	// within is the 90 % interval of the ratio, and up says that the cell's figure is the higher one.
	within stats.Interval
	up     bool
}

// Compare tests one metric over pairs. Pairs in which a figure does not exist are left out. Under MinPairs there is a
// ratio and no test.
func Compare(metric string, margin float64, pairs []Pair) Comparison {
	nan := math.NaN()
	c := Comparison{SDLog: nan, within: stats.Interval{Low: nan, High: nan}}
	c.Metric, c.Margin = metric, margin
	var cell, reference []float64
	for _, p := range pairs {
		a, okA := p.Cell[metric]
		b, okB := p.Reference[metric]
		if okA && okB {
			cell, reference = append(cell, a), append(reference, b)
		}
	}
	c.Blocks = len(cell)
	switch {
	case len(cell) == 0:
	case equalRatios(cell, reference):
		c.exact(cell[0] / reference[0])
	case positive(cell) && positive(reference):
		c.logs(stats.PairedLogRatio(cell, reference))
	default:
		c.differences(cell, reference)
	}
	if c.Blocks < MinPairs {
		c.CILow, c.CIHigh, c.P, c.Test = nil, nil, nil, ""
	}
	return c
}

func positive(xs []float64) bool {
	for _, x := range xs {
		if x <= 0 {
			return false
		}
	}
	return true
}

// rounding is how far equal ratios of measured figures may differ in binary.
const rounding = 1e-14

// equalRatios says that all pairs have the same ratio, which may be 0.
func equalRatios(cell, reference []float64) bool {
	if !positive(reference) {
		return false
	}
	first := cell[0] / reference[0]
	for i := range cell {
		if math.Abs(cell[i]/reference[i]-first) > rounding*math.Max(first, rounding) {
			return false
		}
	}
	return true
}

// exact is a comparison whose pairs all agree: a difference without any spread is certain.
func (c *Comparison) exact(r float64) {
	p := 0.0
	if math.Abs(r-1) <= rounding {
		r, p = 1, 1
	}
	c.Test, c.SDLog = TestExact, 0
	c.Ratio, c.CILow, c.CIHigh, c.P = &r, &r, &r, &p
	c.within, c.up = stats.Interval{Low: r, High: r}, r > 1
}

func (c *Comparison) logs(r stats.PairedResult) {
	c.Test, c.SDLog = TestPairedTLog, r.SD
	c.Ratio, c.CILow, c.CIHigh, c.P = number(r.Estimate), number(r.CI95.Low), number(r.CI95.High), number(r.P)
	c.within, c.up = r.CI90, r.Estimate > 1
}

// differences compares means where a ratio does not exist in every pair. The interval of the difference is given as one
// of the ratio of means; without a mean to divide by there is none.
func (c *Comparison) differences(cell, reference []float64) {
	r := stats.PairedDiff(cell, reference)
	mean, _ := stats.Moments(reference)
	c.Test, c.P = TestPairedTDiff, number(r.P)
	c.Ratio = ratio(mean+r.Estimate, mean)
	c.CILow, c.CIHigh = ratio(mean+r.CI95.Low, mean), ratio(mean+r.CI95.High, mean)
	c.up = r.Estimate > 0
}

// Decide adjusts the p values of one family, the rows of a sweep for one metric, after Holm, and gives each its outcome.
// Rows that were not tested do not count in it.
func Decide(family []*Comparison) {
	ps := probabilities(family)
	adjusted := stats.Holm(ps)
	for i, c := range family {
		c.decide(adjusted[i])
	}
}

// DecideApart gives a row its outcome that repeats another one of a family, or belongs to none: its p is adjusted as if
// it stood among the others, and theirs stay as they are.
func DecideApart(c *Comparison, others []*Comparison) {
	adjusted := stats.Holm(probabilities(append(others[:len(others):len(others)], c)))
	c.decide(adjusted[len(others)])
}

func probabilities(family []*Comparison) []float64 {
	ps := make([]float64, len(family))
	for i, c := range family {
		ps[i] = math.NaN()
		if c.P != nil && c.Outcome != Refused {
			ps[i] = *c.P
		}
	}
	return ps
}

const alpha = 0.05

func (c *Comparison) decide(pHolm float64) {
	if c.Outcome == Refused {
		return
	}
	c.PHolm = number(pHolm)
	equivalent := 1-c.Margin <= c.within.Low && c.within.High <= 1+c.Margin
	switch {
	case c.PHolm == nil:
		c.Outcome = Inconclusive
	case pHolm < alpha && c.up == HigherIsBetter(c.Metric):
		c.Outcome = Better
	case pHolm < alpha:
		c.Outcome = Worse
	case equivalent:
		c.Outcome = NoDifference
	default:
		c.Outcome = Inconclusive
	}
}

// Refuse makes a comparison that is not made: it has no figures.
func Refuse(metric string, margin float64, pairs int) Comparison {
	c := Compare(metric, margin, nil)
	c.Blocks, c.Outcome = pairs, Refused
	return c
}
