package report

import (
	"fmt"
	"slices"

	"github.com/inference-sweep/sweep/sweep"
)

func (s *scope) compare() *Table {
	t := s.table("compare", "Comparison, paired within blocks")
	t.Columns = []Column{
		{Name: "cell", Key: true},
		{Name: "ratio", Unit: "[95 % interval]", Number: true},
		{Name: "p", Unit: "Holm", Number: true},
		{Name: "outcome"},
		{Name: "pairs", Number: true},
	}
	against := s.severalReferences()
	if against {
		t.Columns = slices.Insert(t.Columns, 1, Column{Name: "against"})
	}
	rows := inOrder(s, s.Derived.Comparison, func(r *sweep.ComparisonRow) string { return r.Cell })
	for _, metric := range comparedMetrics(rows) {
		for _, r := range rows {
			if r.Metric == metric {
				t.Rows = append(t.Rows, s.compareRow(r, against))
			}
		}
	}
	s.noteUncompared(rows)
	t.View = s.comparisonView()
	return s.finish(t,
		Entry{"ratio", "cell ÷ " + s.referenceWords() + ", over the blocks in which both are valid; above 1 is more"},
		Entry{"p", "by a paired t test on log ratios unless the view names another, corrected by Holm over all rows of one metric"},
		Entry{"better, worse", "p below 0.05; rates and attainment are better when up, times when down"},
		Entry{"no-difference", fmt.Sprintf("the 90 %% interval lies within 1 ± %s; never concluded from a large p", number(s.Plan.Judge.Margin))},
		Entry{"inconclusive", "neither: more blocks could tell"},
		Entry{"refused", "the two are not comparable; the row's flags say why"},
		defGoodput, defTTFT, defTPOT)
}

// severalReferences says that some row is compared with another cell than the baseline.
func (s *scope) severalReferences() bool {
	return slices.ContainsFunc(s.Derived.Comparison, func(r sweep.ComparisonRow) bool {
		return r.Reference != sweep.Baseline && s.subject(r.Cell).cell != nil
	})
}

func (s *scope) referenceWords() string {
	if s.severalReferences() {
		return "the cell it is compared with"
	}
	return "baseline"
}

// comparedMetrics are the metrics of rows, each once, in their order.
func comparedMetrics(rows []*sweep.ComparisonRow) []string {
	var metrics []string
	for _, r := range rows {
		if !slices.Contains(metrics, r.Metric) {
			metrics = append(metrics, r.Metric)
		}
	}
	return metrics
}

func (s *scope) compareRow(r *sweep.ComparisonRow, against bool) Row {
	sub := s.subject(r.Cell)
	ratio := interval(r.Ratio, r.CILow, r.CIHigh)
	ratio.Ends = true
	if ratio.Missing() {
		s.dash(quantity(r.Metric)+" of "+r.Cell, s.whyNoRatio(sub, r))
	}
	if finite(r.PHolm) == nil {
		s.dash("p", "fewer than 3 pairs, or the comparison is refused")
	}
	verdict := ""
	if r.Outcome == "refused" {
		verdict = string(sweep.Invalid)
	}
	row := s.row(quantity(r.Metric), sub, verdict)
	row.Values = []Value{words(sub.label()), ratio, pValue(r.PHolm), words(r.Outcome), count(r.Blocks)}
	if against {
		row.Values = slices.Insert(row.Values, 1, words(r.Reference))
	}
	return row
}

func (s *scope) whyNoRatio(sub subject, r *sweep.ComparisonRow) string {
	switch why := s.why(sub); {
	case r.Outcome == "refused":
		return "the comparison is refused"
	case why != "":
		return why
	}
	return "no block has a valid pair"
}

// pValue prints small probabilities as a bound: their digits mean nothing.
func pValue(p *float64) Value {
	least := 0.0001
	if p = finite(p); p != nil && *p < least {
		return Value{Figure: true, X: &least, Places: 4, Below: true}
	}
	return plain(p, significant2)
}

func (s *scope) subject(name string) subject {
	for _, sub := range s.cells {
		if sub.name == name {
			return sub
		}
	}
	return subject{name: name}
}

// noteUncompared names the shown cells that have no comparison at all.
func (s *scope) noteUncompared(rows []*sweep.ComparisonRow) {
	for _, sub := range s.cells {
		if sub.name == sweep.Baseline || slices.ContainsFunc(rows, func(r *sweep.ComparisonRow) bool { return r.Cell == sub.name }) {
			continue
		}
		why := s.why(sub)
		if why == "" {
			why = "no other cell differs from it in a way that the sweep compares"
		}
		s.dash(sub.name, "not in this table: "+why)
	}
}
