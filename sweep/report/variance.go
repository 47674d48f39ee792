package report

import (
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// quantity is a metric of the views as tables head it.
func quantity(metric string) string {
	names := map[string]string{
		"goodput_req_s": "goodput (req/s)", "goodput_tok_s": "goodput (tok/s)", "output_rate": "output (tok/s)",
		"attainment": "attainment", "request_rate": "requests (req/s)", "input_rate": "input (tok/s)",
	}
	if name, ok := names[metric]; ok {
		return name
	}
	if name, p := percentileOf(metric); p != "" {
		return timingOf(name).name + " " + p + " (ms)"
	}
	return metric
}

// varianceShown are the metrics of the printed table, before those that the sweep is judged by; all others are in the view.
var varianceShown = []string{"attainment", "goodput_req_s", "goodput_tok_s", "output_rate",
	"ttft_p50", "ttft_p95", "ttft_p99", "tpot_p50", "tpot_p95", "e2e_p50", "e2e_p95"}

func (s *scope) variance() *Table {
	t := s.table("variance", "Variance between blocks")
	t.Columns = []Column{
		{Name: "cell", Key: true},
		{Name: "estimate", Unit: "[95 % interval]", Number: true},
		{Name: "sd", Number: true},
		{Name: "cv", Unit: "%", Number: true},
		{Name: "blocks", Number: true},
	}
	for _, metric := range s.varianceMetrics() {
		for _, sub := range s.cells {
			t.Rows = append(t.Rows, s.varianceRow(sub, metric))
		}
	}
	t.View = s.varianceView()
	definitions := []Entry{
		{"estimate", "over blocks, each block one value: the mean of logs, transformed back; for attainment the arithmetic mean" + s.alsoArithmetic()},
		{"interval", "95 %, by Student's t over blocks, on the same scale; of no width where all blocks agree"},
		{"sd, cv", "standard deviation between blocks; the same in percent of the estimate"},
		defAttainment, defBoth, defTTFT,
	}
	if due, both := s.fromDueToo(); both {
		definitions = append(definitions, due)
	}
	return s.finish(t, append(definitions, defTPOT, defE2E,
		Entry{"others", "every metric is in the view variance, and in the formats csv and json"})...)
}

// fromDueToo explains TTFT from due where it is measured and may differ from that from sending.
func (s *scope) fromDueToo() (Entry, bool) {
	if !s.openLoop() || !s.anyLatency(timeTTFTDue.metric) {
		return Entry{}, false
	}
	if s.differ(timeTTFT.metric, timeTTFTDue.metric) {
		return defTTFTDue, true
	}
	return sameFromDue(timeTTFT.name), true
}

// varianceMetrics are the shown metrics for which there is an estimate in some cell.
func (s *scope) varianceMetrics() []string {
	metrics := slices.Clone(varianceShown)
	if s.openLoop() && s.differ(timeTTFT.metric, timeTTFTDue.metric) {
		metrics = slices.Insert(metrics, slices.Index(metrics, "tpot_p50"), "ttft_due_p50", "ttft_due_p95", "ttft_due_p99")
	}
	for _, m := range s.Plan.Judge.Metrics {
		if !slices.Contains(metrics, m) {
			metrics = append(metrics, m)
		}
	}
	return slices.DeleteFunc(metrics, func(metric string) bool {
		return !slices.ContainsFunc(s.Derived.Variance, func(r sweep.VarianceRow) bool {
			return r.Metric == metric && finite(r.Estimate) != nil
		})
	})
}

func (s *scope) varianceRow(sub subject, metric string) Row {
	r := s.estimate(sub.name, metric)
	if r == nil || finite(r.Estimate) == nil {
		s.lacking(sub, metric)
		row := s.row(quantity(metric), sub, "")
		none := plain(nil, 0)
		row.Values = []Value{words(sub.label()), none, none, none, count(0)}
		return row
	}
	estimate := estimated(r)
	estimate.Ends = true
	row := s.row(quantity(metric), sub, r.Verdict)
	row.Values = []Value{words(sub.label()), estimate, plain(r.SD, significant2), percent(r.CV), count(r.Blocks)}
	switch {
	case row.Values[2].Missing():
		s.dash("sd, cv", "the estimate rests on one block")
	case row.Values[3].Missing():
		s.dash("cv", "the estimate is 0")
	}
	return row
}

// alsoArithmetic names the estimates, besides those of attainment, that are arithmetic means.
func (s *scope) alsoArithmetic() string {
	var also []string
	for _, metric := range s.varianceMetrics() {
		for _, sub := range s.cells {
			if r := s.estimate(sub.name, metric); r != nil && r.Estimator == "mean" && metric != "attainment" {
				also = append(also, quantity(metric)+" of "+sub.name)
			}
		}
	}
	if len(also) == 0 {
		return ""
	}
	return ", and where a block has 0 or none: " + strings.Join(also, ", ")
}
