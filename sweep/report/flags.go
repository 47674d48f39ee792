package report

import (
	"fmt"
	"slices"

	"github.com/inference-sweep/sweep/sweep"
)

func (s *scope) flags() *Table {
	t := s.table("flags", "Flags: every reason to doubt a figure")
	t.Columns = []Column{
		{Name: "flag", Key: true},
		{Name: "cell"},
		{Name: "block", Number: true},
		{Name: "what was seen", Wrap: true},
	}
	flags := s.shownFlags()
	slices.SortStableFunc(flags, func(a, b sweep.Flag) int {
		return byWeight(charge{a.Code, a.Severity}, charge{b.Code, b.Severity})
	})
	for _, f := range joinCells(flags, len(s.cells)) {
		t.Rows = append(t.Rows, flagRow(f))
	}
	t.View = s.flagView()
	t = s.finish(t,
		Entry{string(sweep.Invalid), "not a result: what is about a block leaves that block out of every pooled figure and comparison; what is about a cell leaves its figures in the tables, marked, and its comparisons are refused"},
		Entry{string(sweep.Suspect), "part of every figure, to be read with care"},
		Entry{string(sweep.Note), "worth knowing; no doubt about the figure"})
	t.Legend.Marks = meanings(flags)
	return t
}

// flagRow is a flag with its numbers, or with its meaning where it has none.
func flagRow(f sweep.Flag) Row {
	detail, block := f.Detail, Value{}
	if detail == "" {
		detail = charge{f.Code, f.Severity}.meaning()
	}
	if f.Block > 0 {
		block = count(f.Block)
	}
	return Row{Section: string(f.Severity), Verdict: string(f.Severity),
		Values: []Value{words(f.Code), words(f.Cell), block, words(detail)}}
}

// joinCells makes one row of a flag that every cell carries in the same words.
func joinCells(flags []sweep.Flag, cells int) []sweep.Flag {
	same := func(f sweep.Flag) sweep.Flag { f.Cell = ""; return f }
	in := map[sweep.Flag]int{}
	for _, f := range flags {
		in[same(f)]++
	}
	var joined []sweep.Flag
	for _, f := range flags {
		switch n := in[same(f)]; {
		case f.Cell == "":
			f.Cell = wholeSweep
		case n < 0:
			continue
		case cells > 1 && n == cells:
			in[same(f)] = -1
			f.Cell = fmt.Sprintf("all %d", cells)
		}
		joined = append(joined, f)
	}
	return joined
}

// meanings are the charges of the shown flags in words, where the rows give the numbers.
func meanings(flags []sweep.Flag) []Mark {
	var marks []Mark
	for _, f := range flags {
		c := charge{f.Code, f.Severity}
		known := slices.ContainsFunc(marks, func(m Mark) bool { return m.Code == c.code && m.Severity == c.severity })
		if !known && f.Detail != "" && c.meaning() != "" {
			marks = append(marks, Mark{Term: c.code, Code: c.code, Severity: c.severity, Meaning: c.meaning()})
		}
	}
	return marks
}
