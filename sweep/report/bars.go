package report

import (
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// A bar is one limit of an SLO, by its name in --slo and in tables.
type bar struct{ name, term, most string }

// barsOf are the bars of a cell's SLO; none where it has no SLO.
func barsOf(c *sweep.Cell) []bar {
	slo := c.Contract.SLO
	if slo == nil {
		return nil
	}
	bars := []bar{{"ttft", "TTFT", string(slo.Ttft)}, {"tpot", "TPOT", string(slo.Tpot)}, {"e2e", "E2E", string(slo.E2e)}}
	return slices.DeleteFunc(bars, func(b bar) bool { return b.most == "" })
}

// saySLO says an SLO with what it counts from: where that depends on the load, which load has which.
func (s *scope) saySLO() func(*sweep.Cell) []string {
	from := s.judgedFrom()
	return func(c *sweep.Cell) []string { return sayBars(c, from) }
}

// sayBars says the bars of an SLO, from when they are counted, and the share of requests that they are meant for.
func sayBars(c *sweep.Cell, from ...string) []string {
	if c.Contract.SLO == nil {
		return []string{"none"}
	}
	var clauses []string
	for _, b := range barsOf(c) {
		clauses = append(clauses, b.term+" ≤ "+spaced(b.most))
	}
	clauses = append(clauses, from...)
	return append(clauses, "meant for "+number(100*c.Contract.SLO.Attainment)+" % of requests")
}

// judgedFrom says when the clock of the bars starts, by the loads of the shown cells.
func (s *scope) judgedFrom() string {
	has := func(load string) bool {
		return slices.ContainsFunc(s.cells, func(sub subject) bool { return sub.cell.Cell.LoadKind() == load })
	}
	var due []string
	for _, load := range []struct{ kind, words string }{{sweep.LoadOpen, "open loops"}, {sweep.LoadBurst, "bursts"}} {
		if has(load.kind) {
			due = append(due, load.words)
		}
	}
	switch closed := has(sweep.LoadClosed); {
	case !closed:
		return "judged from due time"
	case len(due) == 0:
		return "judged from send time"
	}
	return "judged from due time in " + strings.Join(due, " and ") + " and from send time in closed loops"
}

// instead says that the rows were judged by other bars than the contracts' own, which it names.
func (s *scope) instead() string {
	text := "; judged again by " + s.SLO
	if s.Defined == nil {
		return text
	}
	var own [][]string
	for _, sub := range s.cells {
		if c := s.Defined.CellNamed(sub.cell.Name()); c != nil {
			own = append(own, sayBars(&c.Cell))
		}
	}
	return text + " (the contract's own: " + merge(own) + ")"
}

// barsText is the SLO of a cell as --slo takes it, or empty.
func barsText(c *sweep.Cell) string {
	var parts []string
	for _, b := range barsOf(c) {
		parts = append(parts, b.name+"="+b.most)
	}
	if c.Contract.SLO != nil {
		parts = append(parts, "attainment="+number(c.Contract.SLO.Attainment))
	}
	return strings.Join(parts, ",")
}
