package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// WritePlan prints what a plan would run: as JSON one object, in the other formats the matrix with its legend.
func WritePlan(w io.Writer, p *sweep.Plan, format string, info PlanInfo) error {
	if format == "json" {
		return writePlanJSON(w, []PlanAndInfo{{p, info}}, false)
	}
	return Write(w, planTable(p, info), format, info.Options)
}

// WritePlans prints several plans: as JSON an array.
func WritePlans(w io.Writer, plans []PlanAndInfo, format string) error {
	if format == "json" {
		return writePlanJSON(w, plans, true)
	}
	tables := make([]*Table, len(plans))
	var o Options
	for i, p := range plans {
		tables[i], o = planTable(p.Plan, p.Info), p.Info.Options
	}
	return WriteAll(w, tables, format, o)
}

func planTable(p *sweep.Plan, info PlanInfo) *Table {
	s := newScope(Input{Plan: p, Derived: &sweep.Derived{}})
	s.mark("plan")
	t := s.table("plan", "Plan")
	t.Columns = []Column{
		{Name: "cell", Key: true},
		{Name: "blocks", Number: true},
		{Name: "requests", Unit: "a block", Number: true},
		{Name: "what moved, from → to", Wrap: true},
	}
	for _, sub := range s.cells {
		row := s.row("", sub, "")
		row.Values = []Value{words(sub.label()), count(p.Blocks), count(sub.cell.Requests), words(sub.movedWords(row.Verdict))}
		if sub.alias != "" {
			row.Values[1], row.Values[2] = count(0), count(0)
		}
		t.Rows = append(t.Rows, row)
	}
	t.View = s.planView()
	s.finish(t,
		Entry{"cell", "one point of the matrix: the baseline, a factor at another level, or a grid's point; (= name) is the same measurement under another name, run once"},
		Entry{"what moved", "every setting in which the cell differs from the baseline: of the contract, unless its path begins with another part of the cell (target, server, measure, warmup, tail, timeout)"},
		Entry{"requests", "expected to be due in the measured window of one block"})
	t.Legend.Totals = planTotals(p, info)
	t.Legend.Source, t.Legend.LeftOut = nil, nil
	return t
}

// movedWords list a cell's moves, one a line, and what is wrong with them.
func (sub subject) movedWords(verdict string) string {
	switch {
	case sub.name == sweep.Baseline:
		return "the reference"
	case sub.name == sweep.TwinName:
		return "nothing: the noise floor"
	case len(sub.cell.Moved) == 0:
		return "nothing"
	}
	lines := make([]string, len(sub.cell.Moved))
	for i, m := range sub.cell.Moved {
		lines[i] = strings.TrimPrefix(m.Path, "contract.") + ": " + level(m.From) + " → " + level(m.To)
		if slices.ContainsFunc(sub.cell.Undeclared, func(u sweep.Move) bool { return u.Path == m.Path }) {
			lines[i] += " (undeclared)"
		}
	}
	if verdict != sweep.VerdictValid {
		lines = append(lines, sub.doubts(verdict))
	}
	return strings.Join(lines, "\n")
}

func planTotals(p *sweep.Plan, info PlanInfo) []Entry {
	totals := []Entry{
		{"trials", fmt.Sprintf("%d, in %s of all cells", len(p.Trials), plural(p.Blocks, "block"))},
		{"server starts", launchWords(p.Launches)},
		{"expected time", clock(info.ExpectedS)},
		{"expected disk", size(info.ExpectedBytes)},
	}
	if len(info.Detectable) > 0 {
		totals = append(totals, Entry{"detectable", detectableWords(p, info)})
	}
	if info.Until != "" {
		totals = append(totals, Entry{"until " + info.Until, unfitWords(info.Unfit)})
	}
	return totals
}

func launchWords(launches int) string {
	if launches == 0 {
		return "none: the servers are already up"
	}
	return fmt.Sprint(launches)
}

// detectableWords say the smallest difference of each metric in percent.
func detectableWords(p *sweep.Plan, info PlanInfo) string {
	parts := make([]string, 0, len(info.Detectable))
	for _, metric := range slices.Sorted(maps.Keys(info.Detectable)) {
		share := 100 * info.Detectable[metric]
		parts = append(parts, fmt.Sprintf("%s %s %%", metric, plain(&share, significant2)))
	}
	spread := info.Spread
	if spread == "" {
		spread = "an assumed spread"
	}
	return fmt.Sprintf("the smallest difference that %s can tell from none, by %s: %s (margin of no difference: %s %%)",
		plural(p.Blocks, "block"), spread, strings.Join(parts, ", "), number(100*p.Judge.Margin))
}

func unfitWords(unfit []sweep.Trial) string {
	if len(unfit) == 0 {
		return "everything fits"
	}
	var cells []string
	for _, t := range unfit {
		if !slices.Contains(cells, t.Cell) {
			cells = append(cells, t.Cell)
		}
	}
	return fmt.Sprintf("%s would be left over, of %s", plural(len(unfit), "trial"), strings.Join(cells, ", "))
}

// clock is a duration to the second, as "1 h 20 min". Above 1,000 hours it is in days, since a time.Duration ends at 292
// years.
func clock(seconds float64) string {
	if days := seconds / (24 * time.Hour).Seconds(); days > 1000.0/24 {
		return plain(&days, significant2).String() + " days"
	}
	d := time.Duration(seconds * float64(time.Second)).Round(time.Second)
	switch {
	case d >= time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%d s", d/time.Second)
}

// size is a number of bytes in decimal units.
func size(bytes int64) string {
	x := float64(bytes)
	for _, unit := range []string{"B", "kB", "MB", "GB"} {
		if x < 1000 {
			return plain(&x, significant2).String() + " " + unit
		}
		x /= 1000
	}
	return plain(&x, significant2).String() + " TB"
}

// planView is the matrix as columns: what the JSON object says of each cell, in one line.
func (s *scope) planView() View {
	v := View{Columns: []string{"sweep", "cell", "alias_of", "factor", "blocks", "requests", "moved", "flags", "digest"}}
	for _, sub := range s.cells {
		codes := []string{}
		for _, f := range sub.cell.Flags {
			codes = append(codes, f.Code)
		}
		v.Rows = append(v.Rows, []any{s.Plan.Name, sub.name, nullText(sub.alias), nullText(sub.cell.Cell.FactorOf()),
			int64(s.Plan.Blocks), int64(sub.cell.Requests), compact(append([]sweep.Move{}, sub.cell.Moved...)), codes, sub.cell.Digest})
	}
	return v
}
