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
		if by := bySeverity(a.Severity, b.Severity); by != 0 {
			return by
		}
		return slices.Index(order, a.Code) - slices.Index(order, b.Code)
	})
	for _, f := range joinCells(flags, len(s.cells)) {
		detail := f.Detail
		if detail == "" {
			detail = glossary[f.Code].text
		}
		block := Value{}
		if f.Block > 0 {
			block = count(f.Block)
		}
		t.Rows = append(t.Rows, Row{Section: string(f.Severity), Verdict: string(f.Severity),
			Values: []Value{words(f.Code), words(f.Cell), block, words(detail)}})
	}
	t.View = s.flagView()
	t = s.finish(t, defVerdictOf("invalid", "not a result: pooled figures and comparisons leave the block out, or the whole cell is marked"),
		defVerdictOf("suspect", "in every figure, to be read with care"),
		defVerdictOf("note", "worth knowing; does not doubt the figure"))
	t.Legend.Marks = s.meanings(flags)
	return t
}

func defVerdictOf(severity, text string) Entry { return Entry{severity, text} }

// joinCells makes one row of a note that every cell carries in the same words.
func joinCells(flags []sweep.Flag, cells int) []sweep.Flag {
	type key struct {
		code, detail string
		block        int
	}
	in := map[key]int{}
	for _, f := range flags {
		in[key{f.Code, f.Detail, f.Block}]++
	}
	var joined []sweep.Flag
	for _, f := range flags {
		switch k := (key{f.Code, f.Detail, f.Block}); {
		case f.Cell == "":
			f.Cell = "the sweep"
		case cells > 1 && in[k] == cells:
			f.Cell = fmt.Sprintf("all %d", cells)
			in[k] = -1
		case in[k] < 0:
			continue
		}
		joined = append(joined, f)
	}
	return joined
}

// meanings are the codes of the shown flags in words, without letters: the rows carry the codes themselves.
func (s *scope) meanings(flags []sweep.Flag) []Mark {
	var marks []Mark
	for _, f := range flags {
		known := slices.ContainsFunc(marks, func(m Mark) bool { return m.Code == f.Code })
		if !known && glossary[f.Code].text != "" {
			marks = append(marks, Mark{Letter: f.Code, Code: f.Code, Severity: f.Severity, Meaning: glossary[f.Code].text})
		}
	}
	return marks
}
