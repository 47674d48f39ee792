package report

import (
	"fmt"
	"slices"

	"github.com/inference-sweep/sweep/sweep"
)

// groupThroughput heads the columns that count what was completed in the window, whenever it was due; all others count
// what was due in it, groupRequests how much that was.
const (
	groupRequests   = "requests"
	groupThroughput = "throughput"
)

func (s *scope) goodput() *Table {
	t := s.table("goodput", "Goodput: what met the SLO")
	perGPU := s.severalGPUs()
	t.Columns = []Column{
		{Name: "cell", Key: true},
		{Name: "attainment", Unit: "share", Number: true},
		{Name: "goodput", Unit: "req/s", Number: true},
		{Name: "goodput", Unit: "tok/s", Number: true, Extra: true},
	}
	if perGPU {
		t.Columns = append(t.Columns, Column{Name: "goodput", Unit: "tok/s/GPU", Number: true})
	}
	t.Columns = append(t.Columns,
		Column{Group: groupRequests, Name: "due", Number: true, Extra: true},
		Column{Group: groupRequests, Name: "failed", Number: true, Extra: true},
		Column{Group: groupThroughput, Name: "requests", Unit: "req/s", Number: true, Extra: true},
		Column{Group: groupThroughput, Name: "output", Unit: "tok/s", Number: true},
		Column{Name: "blocks", Number: true},
		Column{Name: "verdict", Extra: true}) // the marks say it too
	for _, sub := range s.cells {
		t.Rows = append(t.Rows, s.goodputRow(sub, perGPU))
	}
	t.View = s.goodputView()
	definitions := []Entry{defAttainment, defGoodput, defRates, defBoth}
	if s.hasEstimate("request_rate") {
		definitions = append(definitions, defDue)
	} else {
		definitions = append(definitions, defDueAndRequests)
	}
	return s.finish(t, append(definitions, defBetween, defBlocks, s.verdictWordsUsed())...)
}

func (s *scope) goodputRow(sub subject, perGPU bool) Row {
	whole := s.pooled(sub.name)
	if whole == nil {
		whole = &sweep.GoodputRow{}
	}
	tokens := s.between(sub, "goodput_tok_s")
	values := []Value{words(sub.label()), s.between(sub, "attainment"), s.between(sub, "goodput_req_s"), tokens}
	if perGPU {
		values = append(values, tokens.over(float64(sub.cell.Cell.Contract.Hardware.Gpus)))
	}
	rate := plain(whole.RequestRate, significant3)
	if s.hasEstimate("request_rate") {
		rate = s.between(sub, "request_rate")
	}
	row := s.row("", sub, whole.Verdict)
	due, failed, blocks := s.counts(whole)
	row.Values = append(values, due, failed, rate, s.between(sub, "output_rate"), blocks, words(s.verdictWords(sub, row.Verdict)))
	return row
}

// counts are due, failed and blocks; a cell that has not run, or of whose blocks none counts, has none.
func (s *scope) counts(whole *sweep.GoodputRow) (due, failed, blocks Value) {
	blocks = s.blocks(whole.Blocks, whole.LeftOut)
	if whole.Blocks == 0 {
		return plain(nil, 0), plain(nil, 0), blocks
	}
	return count(whole.Due), count(whole.Failed), blocks
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

// between is a cell's estimate over blocks with its interval, or a dash whose reason is noted.
func (s *scope) between(sub subject, metric string) Value {
	row := s.estimate(sub.name, metric)
	if row == nil || finite(row.Estimate) == nil {
		s.lacking(sub, metric)
		return plain(nil, 0)
	}
	return estimated(row)
}
