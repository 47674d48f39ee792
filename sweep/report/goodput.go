package report

import (
	"fmt"
	"slices"

	"github.com/inference-sweep/sweep/sweep"
)

func (s *scope) goodput() *Table {
	t := s.table("goodput", "Goodput: what met the SLO")
	perGPU := s.severalGPUs()
	t.Columns = []Column{
		{Name: "cell", Key: true},
		{Name: "attainment", Unit: "share", Number: true},
		{Name: "goodput", Unit: "req/s", Number: true},
		{Name: "goodput", Unit: "tok/s", Number: true},
	}
	if perGPU {
		t.Columns = append(t.Columns, Column{Name: "goodput", Unit: "tok/s/GPU", Number: true})
	}
	t.Columns = append(t.Columns,
		Column{Name: "requests", Unit: "req/s", Number: true},
		Column{Name: "output", Unit: "tok/s", Number: true},
		Column{Name: "due", Number: true},
		Column{Name: "failed", Number: true},
		Column{Name: "blocks", Number: true},
		Column{Name: "verdict"})
	for _, sub := range s.cells {
		t.Rows = append(t.Rows, s.goodputRow(sub, perGPU))
	}
	t.View = s.goodputView()
	definitions := []Entry{defAttainment, defGoodput, defRates}
	if !s.hasEstimate("request_rate") {
		definitions = append(definitions, defRatesWhole)
	}
	return s.finish(t, append(definitions, defBetween, defBlocks, defVerdict)...)
}

func (s *scope) goodputRow(sub subject, perGPU bool) Row {
	whole := s.pooled(sub.name)
	if whole == nil {
		whole = &sweep.GoodputRow{}
	}
	tokens := s.between(sub, "goodput_tok_s", "goodput")
	values := []Value{
		words(sub.label()),
		s.between(sub, "attainment", "attainment"),
		s.between(sub, "goodput_req_s", "goodput"),
		tokens,
	}
	if perGPU {
		values = append(values, tokens.over(float64(sub.cell.Cell.Contract.Hardware.Gpus)))
	}
	rate := plain(whole.RequestRate, significant3)
	if s.hasEstimate("request_rate") {
		rate = s.between(sub, "request_rate", "requests")
	}
	values = append(values, rate, s.between(sub, "output_rate", "output"))
	row := s.row("", sub, whole.Verdict)
	row.Values = append(values, s.counts(sub, whole)...)
	row.Values = append(row.Values, words(s.verdictWords(sub, row.Verdict)))
	return row
}

// counts are due, failed and blocks; a cell that has not run, or of whose blocks none counts, has none.
func (s *scope) counts(sub subject, whole *sweep.GoodputRow) []Value {
	if whole.Cell == "" {
		return []Value{plain(nil, 0), plain(nil, 0), s.blocks(0, 0)}
	}
	if whole.Blocks == 0 {
		return []Value{plain(nil, 0), plain(nil, 0), s.blocks(0, whole.LeftOut)}
	}
	return []Value{count(whole.Due), count(whole.Failed), s.blocks(whole.Blocks, whole.LeftOut)}
}

func (s *scope) blocks(used, leftOut int) Value {
	v := count(used)
	if leftOut > 0 {
		v.Suffix = fmt.Sprintf(" of %d", used+leftOut)
	}
	return v
}

// over divides a figure and its interval by n.
func (v Value) over(n float64) Value {
	divide := func(x *float64) *float64 {
		if x == nil || n == 0 {
			return nil
		}
		y := *x / n
		return &y
	}
	v.X, v.Lo, v.Hi = divide(v.X), divide(v.Lo), divide(v.Hi)
	return v
}

// severalGPUs says that some shown cell runs on more than one.
func (s *scope) severalGPUs() bool {
	return slices.ContainsFunc(s.cells, func(sub subject) bool { return sub.cell.Cell.Contract.Hardware.Gpus > 1 })
}

func (s *scope) hasEstimate(metric string) bool {
	return slices.ContainsFunc(s.Derived.Variance, func(r sweep.VarianceRow) bool { return r.Metric == metric })
}

// between is a cell's estimate over blocks with its interval, or a dash whose reason is noted under `where`.
func (s *scope) between(sub subject, metric, where string) Value {
	row := s.estimate(sub.name, metric)
	if row == nil || finite(row.Estimate) == nil {
		s.noEstimate(sub, metric, where)
		return plain(nil, 0)
	}
	v := interval(row.Estimate, row.CILow, row.CIHigh)
	if metric == "attainment" {
		v.Places = 3
	}
	return v
}

func (s *scope) noEstimate(sub subject, metric, where string) {
	if why := s.why(sub); why != "" {
		s.dash(sub.name, why)
		return
	}
	switch {
	case sub.cell.Cell.Contract.SLO == nil && s.SLO == "" && slices.Contains(judged, metric):
		s.dash(where, "there is no SLO to judge by")
	case slices.Contains(counted, metric):
		s.dash(where+" of "+sub.name, "nobody counted the tokens")
	default:
		s.dash(where+" of "+sub.name, "no block has this figure")
	}
}

var (
	judged  = []string{"attainment", "goodput_req_s", "goodput_tok_s"}
	counted = []string{"output_rate", "goodput_tok_s"}
)
