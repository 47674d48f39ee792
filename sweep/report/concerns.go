package report

import (
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// aboutIn are the cells that a kind of table says something of: a ratio is of its reference, too, shown or not.
func (s *scope) aboutIn(kind string) []subject {
	if kind != "compare" {
		return s.cells
	}
	var about []subject
	for _, sub := range s.all {
		named := func(r sweep.ComparisonRow) bool { return r.Reference == sub.name && s.subject(r.Cell).cell != nil }
		if s.subject(sub.name).cell != nil || slices.ContainsFunc(s.Derived.Comparison, named) {
			about = append(about, sub)
		}
	}
	return about
}

// concerns says whether a flag is about the figures of a kind of table. What is suspect or invalid is about all of them; a
// note has its place.
func (s *scope) concerns(kind string, c charge) bool {
	switch {
	case c.severity != sweep.Note || kind == "plan" || kind == "flags":
		return true
	case kind == "errors":
		return c.code == "simulated" || c.code == "excluded"
	}
	switch c.code {
	case "few-samples": // for p99, or less, over blocks
		return kind == "latency" || kind == "variance" || kind == "compare" && slices.ContainsFunc(s.Plan.Judge.Metrics, isP99)
	case "few-blocks": // for an interval
		return kind != "phases"
	case "underpowered": // for a difference
		return kind == "variance" || kind == "compare"
	}
	return true
}

func isP99(metric string) bool { return strings.HasSuffix(metric, "_p99") }

// onNoRow is the term of what is said of a cell that has no row in the table.
const onNoRow = "on no row"

// onRows are the marks of a table. A letter that no row carries would send the reader looking for it: a note goes, and what
// is suspect or invalid says that it is on none.
func (s *scope) onRows(t *Table) []Mark {
	on := func(i int) bool {
		return slices.ContainsFunc(t.Rows, func(r Row) bool { return slices.Contains(r.Marks, i) || slices.Contains(r.Reference, i) })
	}
	var marks []Mark
	places := map[int]int{}
	for i, m := range s.marks {
		if m.Letter != "" && !on(i) || m.Term == everyRow && len(t.Rows) == 0 {
			if m.Severity == sweep.Note {
				continue
			}
			m.Letter, m.Term = "", onNoRow
		}
		places[i] = len(marks)
		marks = append(marks, m)
	}
	for i := range t.Rows {
		row := &t.Rows[i]
		row.Marks, row.Reference = moved(row.Marks, places), moved(row.Reference, places)
	}
	return marks
}

// moved are marks at their new places.
func moved(marks []int, places map[int]int) []int {
	var now []int
	for _, at := range marks {
		now = append(now, places[at])
	}
	return now
}
