package analysis

import (
	"slices"

	"github.com/inference-sweep/sweep/sweep"
)

// Phases are the phases that have latency rows, in order. They are never pooled with one another. A tail has none: it
// ends by cutting what is still open, so its answers are those that were fast.
var Phases = []sweep.Phase{sweep.PhaseCold, sweep.PhaseWarmup, sweep.PhaseMeasure}

// Places of Phases.
const (
	warmup   = 1
	measured = 2
)

// Totals are what the requests of one trial, or of several, add up to.
type Totals struct {
	// Measured requests.
	Due, Sent, OK, Failed int64
	// WindowNS is the length of the measured windows; 0 where there was none.
	WindowNS int64
	// Names are the names of the cell, each judged by its own SLO.
	Names []Judged

	requests, input, output flow
	phases                  [measured + 1]phaseTotals
}

// Judged is what requests add up to under one name's SLO.
type Judged struct {
	Name string
	// Bars are those of its SLO, where it has one: ok.
	bars Bars
	slo  bool
	gpus int64
	// Met is how many measured requests met every bar.
	Met    int64
	tokens flow
}

type phaseTotals struct {
	due, failed int64
	samples     [metricCount]Sample
}

// A flow is an amount that a window, or several, saw. It exists only in windows where somebody counted it.
type flow struct {
	amount   float64
	windowNS int64
}

func (f *flow) add(other flow) {
	f.amount += other.amount
	f.windowNS += other.windowNS
}

// perS is the amount per second, or nil where it does not exist.
func (f flow) perS() *float64 { return ratio(f.amount, seconds(f.windowNS)) }

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// ratio is nil where there is nothing to divide by.
func ratio(amount, by float64) *float64 {
	if by <= 0 {
		return nil
	}
	return number(amount / by)
}

// Add adds the totals of another trial of the same measurement; other stays as it is.
func (t *Totals) Add(other *Totals) error {
	t.Due += other.Due
	t.Sent += other.Sent
	t.OK += other.OK
	t.Failed += other.Failed
	t.WindowNS += other.WindowNS
	t.requests.add(other.requests)
	t.input.add(other.input)
	t.output.add(other.output)
	if t.Names == nil {
		t.Names = slices.Clone(other.Names)
	} else {
		for i := range t.Names {
			t.Names[i].Met += other.Names[i].Met
			t.Names[i].tokens.add(other.Names[i].tokens)
		}
	}
	for i := range t.phases {
		if err := t.phases[i].add(&other.phases[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *phaseTotals) add(other *phaseTotals) error {
	p.due += other.due
	p.failed += other.failed
	for i := range p.samples {
		if err := p.samples[i].add(&other.samples[i]); err != nil {
			return err
		}
	}
	return nil
}

// TTFT are the times to first token of the measured requests that have one, from due or from sent.
func (t *Totals) TTFT(fromDue bool) *Sample { return t.phases[measured].ttft(fromDue) }

// WarmupTTFT are those of the warm-up.
func (t *Totals) WarmupTTFT(fromDue bool) *Sample { return t.phases[warmup].ttft(fromDue) }

func (p *phaseTotals) ttft(fromDue bool) *Sample {
	if fromDue {
		return &p.samples[ttftDue]
	}
	return &p.samples[ttft]
}

// LatencyRows are the rows of the view latency under one name: one for each phase that had a request due and each
// metric. Block 0 stands for several.
func (t *Totals) LatencyRows(name string, block int) []sweep.LatencyRow {
	var rows []sweep.LatencyRow
	for i := range t.phases {
		p := &t.phases[i]
		if p.due == 0 {
			continue
		}
		for m := range p.samples {
			row := sweep.LatencyRow{Cell: name, Block: block, Phase: Phases[i], Metric: Metrics[m]}
			row.ErrorShare = ratio(float64(p.failed), float64(p.due))
			rows = append(rows, p.samples[m].row(row))
		}
	}
	return rows
}

// GoodputRow is the row of the view goodput under one name. Without an SLO nothing of it is judged: Met is None.
func (t *Totals) GoodputRow(name string, block int) sweep.GoodputRow {
	row := sweep.GoodputRow{
		Cell: name, Block: block, Due: t.Due, OK: t.OK, Failed: t.Failed, Met: sweep.None,
		RequestRate: t.requests.perS(), InputRate: t.input.perS(), OutputRate: t.output.perS(),
	}
	if t.WindowNS > 0 {
		row.WindowS = number(seconds(t.WindowNS))
	}
	judged := t.judged(name)
	if judged == nil || !judged.slo {
		return row
	}
	row.Met = judged.Met
	row.Attainment = ratio(float64(judged.Met), float64(t.Due))
	row.GoodputReqS = ratio(float64(judged.Met), seconds(t.WindowNS))
	row.GoodputTokS = judged.tokens.perS()
	if row.GoodputTokS != nil {
		row.GoodputTokSGPU = ratio(*row.GoodputTokS, float64(judged.gpus))
	}
	return row
}

func (t *Totals) judged(name string) *Judged {
	for i := range t.Names {
		if t.Names[i].Name == name {
			return &t.Names[i]
		}
	}
	return nil
}

// VarianceMetrics are the metrics of the view variance for a cell with these totals: the rates, and the percentiles of
// every time that one of its requests had.
func (t *Totals) VarianceMetrics() []string {
	names := []string{GoodputReqS, GoodputTokS, OutputRate, Attainment}
	for m := range Metrics {
		if t.phases[measured].samples[m].N() > 0 {
			names = append(names, percentileName(m, 500), percentileName(m, 950), percentileName(m, 990))
		}
	}
	return names
}

// p99Requests is how many requests a block needs for its own p99 to be a value: with fewer it is biased low.
const p99Requests = 1000

// Values are the figures of one block, one a metric; one that does not exist is absent.
type Values map[string]float64

// Values are the figures of these totals as one block's, under one name.
func (t *Totals) Values(name string) Values {
	row := t.GoodputRow(name, 0)
	values := Values{}
	for metric, x := range map[string]*float64{
		GoodputReqS: row.GoodputReqS, GoodputTokS: row.GoodputTokS, GoodputTokSGPU: row.GoodputTokSGPU,
		RequestRate: row.RequestRate, InputRate: row.InputRate, OutputRate: row.OutputRate, Attainment: row.Attainment,
	} {
		if x != nil {
			values[metric] = *x
		}
	}
	for m := range t.phases[measured].samples {
		sample := &t.phases[measured].samples[m]
		for _, perMille := range []int{500, 900, 950, 990} {
			if perMille == 990 && sample.Requests() < p99Requests {
				continue
			}
			if ms := sample.percentileMS(perMille); ms != nil {
				values[percentileName(m, perMille)] = *ms
			}
		}
	}
	return values
}
