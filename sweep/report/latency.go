package report

import (
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// timing is a latency metric as tables speak of it.
type timing struct {
	metric string // by its name in the views
	name   string
	def    Entry
}

var (
	timeTTFT    = timing{"ttft", "TTFT", defTTFT}
	timeTTFTDue = timing{"ttft_due", "TTFT from due", defTTFTDue}
	timeTPOT    = timing{"tpot", "TPOT", defTPOT}
	timeITL     = timing{"itl", "ITL", defITL}
	timeGap     = timing{"gap", "gap", defGap}
	timeE2E     = timing{"e2e", "E2E", defE2E}
	timeE2EDue  = timing{"e2e_due", "E2E from due", defTTFTDue}
)

// timingsKnown are all that tables print.
var timingsKnown = []timing{timeTTFTDue, timeTTFT, timeTPOT, timeITL, timeGap, timeE2EDue, timeE2E}

// timingOf is a latency metric by its name in the views.
func timingOf(metric string) timing {
	for _, m := range timingsKnown {
		if m.metric == metric {
			return m
		}
	}
	return timing{metric: metric, name: metric}
}

func (s *scope) latency() *Table {
	t := s.table("latency", "Latency of the successful requests")
	t.Columns = []Column{
		{Name: "cell", Key: true},
		{Name: "p50", Unit: "ms", Number: true},
		{Name: "p95", Unit: "ms", Number: true},
		{Name: "p99", Unit: "ms", Number: true},
		{Name: "n", Number: true},
		{Name: "failed", Unit: "%", Number: true},
		{Name: "blocks", Number: true},
	}
	times, same := s.timings()
	definitions := []Entry{}
	for _, m := range times {
		for _, sub := range s.cells {
			t.Rows = append(t.Rows, s.latencyRow(sub, m))
		}
		if !slices.Contains(definitions, m.def) {
			definitions = append(definitions, m.def)
		}
	}
	definitions = append(definitions, same...)
	s.verdictColumn(t)
	t.View = s.latencyView()
	return s.finish(t, append(definitions, defPercentile, defBetween, defCount, defErrors, defBlocks)...)
}

// timings are the metrics to show. Times from due are shown where they differ from those from sent; where they do not,
// an entry of the legend says so.
func (s *scope) timings() ([]timing, []Entry) {
	token := timeGap
	if s.anyLatency(timeITL.metric) {
		token = timeITL
	}
	times := []timing{timeTTFT}
	var equal []string
	if s.openLoop() && s.anyLatency(timeTTFTDue.metric) {
		times, equal = s.fromDue(times, equal, timeTTFT, timeTTFTDue)
	}
	times = append(times, timeTPOT, token, timeE2E)
	if s.openLoop() && s.anyLatency(timeE2EDue.metric) {
		times, equal = s.fromDue(times, equal, timeE2E, timeE2EDue)
	}
	if len(equal) == 0 {
		return times, nil
	}
	return times, []Entry{sameFromDue(equal...)}
}

// sameFromDue says that times from due would print as those from sent do.
func sameFromDue(names ...string) Entry {
	return Entry{"from due", strings.Join(names, " and ") + ", counted from when a request was due: the same figures here as from sending it"}
}

// fromDue adds the time from due, or says that it prints as the time from sent.
func (s *scope) fromDue(times []timing, equal []string, sent, due timing) ([]timing, []string) {
	if s.differ(sent.metric, due.metric) {
		return append(times, due), equal
	}
	return times, append(equal, sent.name)
}

func (s *scope) openLoop() bool {
	return slices.ContainsFunc(s.cells, func(sub subject) bool { return sub.cell.Cell.LoadKind() != sweep.LoadClosed })
}

// anyLatency says that some shown cell has measured a metric.
func (s *scope) anyLatency(metric string) bool {
	return slices.ContainsFunc(s.cells, func(sub subject) bool {
		r := s.latencyOf(sub.name, sweep.PhaseMeasure, metric)
		return r != nil && r.N > 0
	})
}

// differ says that two metrics print differently in some cell.
func (s *scope) differ(a, b string) bool {
	for _, sub := range s.cells {
		for _, p := range percentiles {
			x, y := s.estimate(sub.name, a+"_"+p), s.estimate(sub.name, b+"_"+p)
			if x == nil || y == nil {
				continue
			}
			if interval(x.Estimate, x.CILow, x.CIHigh).String() != interval(y.Estimate, y.CILow, y.CIHigh).String() {
				return true
			}
		}
	}
	return false
}

var percentiles = []string{"p50", "p95", "p99"}

func (s *scope) latencyRow(sub subject, m timing) Row {
	pooled := s.latencyOf(sub.name, sweep.PhaseMeasure, m.metric)
	if pooled == nil {
		pooled = &sweep.LatencyRow{}
	}
	values := []Value{words(sub.label())}
	for _, p := range percentiles {
		values = append(values, s.between(sub, m.metric+"_"+p))
	}
	if pooled.Blocks == 0 {
		values = append(values, plain(nil, 0), plain(nil, 0), s.blocks(0, pooled.LeftOut))
	} else {
		values = append(values, count(pooled.N), percent(pooled.ErrorShare), s.blocks(pooled.Blocks, pooled.LeftOut))
	}
	row := s.row(m.name, sub, pooled.Verdict)
	row.Values = values
	return row
}

// percent turns a share into percent.
func percent(share *float64) Value {
	if share = finite(share); share == nil {
		return plain(nil, 0)
	}
	x := 100 * *share
	return plain(&x, significant2)
}

// verdictColumn adds a column of verdicts where some row is not valid.
func (s *scope) verdictColumn(t *Table) {
	doubtful := func(r Row) bool { return r.Verdict == string(sweep.Suspect) || r.Verdict == string(sweep.Invalid) }
	if !slices.ContainsFunc(t.Rows, doubtful) {
		return
	}
	t.Columns = append(t.Columns, Column{Name: "verdict"})
	for i := range t.Rows {
		sub := s.cells[i%len(s.cells)] // of each metric, every cell has a row
		t.Rows[i].Values = append(t.Rows[i].Values, words(s.verdictWords(sub, t.Rows[i].Verdict)))
	}
}
