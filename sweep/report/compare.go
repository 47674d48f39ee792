package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/analysis"
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
	return s.finish(t, s.comparisonWords(rows)...)
}

// comparisonWords are the definitions of the table.
func (s *scope) comparisonWords(rows []*sweep.ComparisonRow) []Entry {
	definitions := []Entry{
		{"ratio", "cell ÷ " + s.referenceWords() + ", over the blocks in which both are valid; above 1 is more"},
		{"p", "by a paired t test on log ratios, corrected by Holm over all rows of one metric"},
	}
	if where := namesOf(rows, analysis.TestExact); where != "" {
		definitions = append(definitions, Entry{"exact", "all ratios of the row are equal, so that there is no spread to test by: the interval is the ratio, and p is 0 by definition (1 where the ratio is 1): " + where})
	}
	if where := namesOf(rows, analysis.TestPairedTDiff); where != "" {
		definitions = append(definitions, Entry{"differences", "where a block has 0 there is no log: a paired t test on differences, given as the ratio of means: " + where})
	}
	definitions = append(definitions,
		Entry{"better, worse", "p below 0.05; rates and attainment are better when up, times when down"},
		Entry{"no-difference", fmt.Sprintf("the 90 %% interval lies within 1 ± %s; never concluded from a large p", number(s.Plan.Judge.Margin))},
		Entry{"inconclusive", "neither: more blocks could tell"})
	if slices.ContainsFunc(rows, func(r *sweep.ComparisonRow) bool { return r.Outcome == analysis.Refused }) {
		definitions = append(definitions, Entry{analysis.Refused, "the two are not comparable: Missing says why of each"})
	}
	definitions = append(definitions, defGoodput)
	metrics := comparedMetrics(rows)
	if slices.Contains(metrics, "output_rate") {
		definitions = append(definitions, defBoth)
	}
	definitions = append(definitions, defTTFT)
	fromDue := func(metric string) bool { return strings.HasPrefix(metric, timeTTFTDue.metric) }
	switch due, both := s.fromDueToo(); {
	case !both:
	case slices.ContainsFunc(metrics, fromDue) || due != defTTFTDue:
		definitions = append(definitions, due)
	default:
		definitions = append(definitions, Entry{"from due", "TTFT from due differs from that from sending here, and judge.metrics does not name it: ttft_due_p95 there compares it"})
	}
	return append(definitions, defTPOT)
}

// namesOf lists the rows of one test, as "goodput (req/s) of batch=4".
func namesOf(rows []*sweep.ComparisonRow, test string) string {
	var names []string
	for _, metric := range comparedMetrics(rows) {
		var cells []string
		for _, r := range rows {
			if r.Metric == metric && r.Test == test {
				cells = append(cells, r.Cell)
			}
		}
		if len(cells) > 0 {
			names = append(names, quantity(metric)+" of "+strings.Join(cells, ", "))
		}
	}
	return strings.Join(names, "; ")
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
	ratio.Ends, ratio.Alone = true, r.Blocks == 1
	switch {
	case ratio.Missing():
		s.noRatio(sub, r)
	case finite(r.PHolm) != nil:
	case r.Blocks < analysis.MinPairs:
		s.dash("p", fmt.Sprintf("a test needs %d pairs; without one there is no interval either", analysis.MinPairs))
	default:
		s.dash("p of "+quantity(r.Metric)+" of "+r.Cell, "the test has no answer here")
	}
	verdict := ""
	if r.Outcome == "refused" {
		verdict = string(sweep.Invalid)
	}
	row := s.row(quantity(r.Metric), sub, verdict)
	row.Reference = slices.DeleteFunc(slices.Clone(s.marked[r.Reference]), func(m int) bool { return s.marks[m].Letter == "" || slices.Contains(row.Marks, m) })
	row.Values = []Value{words(sub.label()), ratio, pValue(r.PHolm), words(r.Outcome), count(r.Blocks)}
	if against {
		row.Values = slices.Insert(row.Values, 1, words(r.Reference))
	}
	return row
}

// noRatio notes why a row has no ratio: whatever its two cells lack, in the words of every table, or else the pairs.
func (s *scope) noRatio(sub subject, r *sweep.ComparisonRow) {
	if r.Outcome == analysis.Refused {
		s.dash(r.Cell, "refused, "+s.whyRefused(sub, r))
		return
	}
	lacks := false
	reference := s.anyone(r.Reference)
	for _, side := range []subject{sub, reference} {
		if e := s.estimate(side.name, r.Metric); side.cell != nil && (e == nil || finite(e.Estimate) == nil) {
			s.lacking(side, r.Metric)
			lacks = true
		}
	}
	where := quantity(r.Metric) + " of " + r.Cell
	switch e := s.estimate(reference.name, r.Metric); {
	case lacks:
	case r.Blocks == 0:
		s.dash(where, "no block has it on both sides, valid and measured in one sitting")
	case e != nil && e.Estimate != nil && *e.Estimate == 0:
		s.dash(quantity(r.Metric), r.Reference+" has 0, to which there is no ratio")
	default:
		s.dash(where, r.Reference+" has 0 in the blocks that both have, to which there is no ratio")
	}
}

// pValue prints small probabilities as a bound: their digits mean nothing.
func pValue(p *float64) Value {
	least := 0.0001
	if p = finite(p); p != nil && *p < least {
		return Value{Figure: true, X: &least, Places: 4, Below: true}
	}
	return plain(p, significant2)
}

// subject is a shown cell by its name; one that is not shown has no cell.
func (s *scope) subject(name string) subject { return named(s.cells, name) }

// anyone is a cell of the sweep by its name, shown or not.
func (s *scope) anyone(name string) subject { return named(s.all, name) }

func named(cells []subject, name string) subject {
	for _, sub := range cells {
		if sub.name == name {
			return sub
		}
	}
	return subject{name: name}
}

// noteUncompared names the shown cells that are no side of any comparison.
func (s *scope) noteUncompared(rows []*sweep.ComparisonRow) {
	for _, sub := range s.cells {
		side := func(r sweep.ComparisonRow) bool { return r.Cell == sub.name || r.Reference == sub.name }
		if sub.name == sweep.Baseline || slices.ContainsFunc(s.Derived.Comparison, side) {
			continue
		}
		why := s.why(sub)
		if why == "" {
			why = "no other cell differs from it in a way that the sweep compares"
		}
		s.dash(sub.name, "not in this table: "+why)
	}
}
