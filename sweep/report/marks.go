package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// everyRow is the term of what is said of all rows.
const everyRow = "all rows"

// charge is a flag as the legend groups it: the same code may be a note of one cell and invalidate another.
type charge struct {
	code     string
	severity sweep.Severity
}

func (c charge) of(flags []sweep.Flag) bool {
	return slices.ContainsFunc(flags, func(f sweep.Flag) bool { return f.Code == c.code && f.Severity == c.severity })
}

func (c charge) meaning() string {
	if c.code == "many-factors" && c.severity == sweep.Note {
		return "a grid moves several factors on purpose: its cells are compared with their neighbours, not with the baseline"
	}
	return glossary[c.code].text
}

// mark turns the flags of the cells that a kind of table is about into marks. A note that every cell carries is said once,
// of all rows; what is suspect or invalid always stands beside its row. What only blocks carry that no figure uses needs no
// letter.
func (s *scope) mark(kind string) {
	s.about, s.marked = s.aboutIn(kind), map[string][]int{}
	used, letters := charges(s.about, subject.counted), s.letters()
	for _, c := range used {
		if !s.concerns(kind, c) {
			continue
		}
		m := Mark{Term: everyRow, Code: c.code, Severity: c.severity, Meaning: c.meaning(), Details: s.details(c, subject.counted)}
		if m.Letter = letters[c]; m.Letter != "" {
			for _, sub := range s.about {
				if c.of(sub.flags) {
					s.marked[sub.name] = append(s.marked[sub.name], len(s.marks))
				}
			}
		}
		s.marks = append(s.marks, m)
	}
	for _, c := range charges(s.about, subject.leftOut) {
		if c.severity == sweep.Invalid && !slices.Contains(used, c) {
			s.marks = append(s.marks, Mark{Term: leftOutBlocks, Code: c.code, Severity: c.severity, Meaning: c.meaning(),
				Details: s.details(c, subject.leftOut)})
		}
	}
	for _, f := range s.sweepFlags() {
		if s.concerns(kind, charge{f.Code, f.Severity}) {
			s.markSweep(f)
		}
	}
}

// leftOutBlocks is the term of what is said of blocks that no figure uses.
const leftOutBlocks = "left out"

func (sub subject) counted() []sweep.Flag { return sub.flags }
func (sub subject) leftOut() []sweep.Flag { return sub.lost }

// markSweep adds a flag of the whole sweep, which needs no letter.
func (s *scope) markSweep(f sweep.Flag) {
	at := slices.IndexFunc(s.marks, func(m Mark) bool { return m.Code == f.Code && m.Severity == f.Severity && m.Letter == "" })
	if at < 0 {
		at = len(s.marks)
		s.marks = append(s.marks, Mark{Term: wholeSweep, Code: f.Code, Severity: f.Severity, Meaning: charge{f.Code, f.Severity}.meaning()})
	}
	if f.Detail != "" {
		s.marks[at].Details = append(s.marks[at].Details, Entry{wholeSweep, f.Detail})
	}
}

// wholeSweep is the term of what is said of no cell in particular.
const wholeSweep = "the sweep"

// letters are those of the sweep's charges, whichever cells are shown: one charge has one letter in all its reports.
func (s *scope) letters() map[charge]string {
	letters := map[charge]string{}
	for _, c := range charges(s.all, subject.counted) {
		if c.severity != sweep.Note || !s.everywhere(c) {
			letters[c] = letter(len(letters))
		}
	}
	return letters
}

// charges are those of some cells: the worst first, then in the glossary's order.
func charges(cells []subject, of func(subject) []sweep.Flag) []charge {
	var charges []charge
	for _, sub := range cells {
		for _, f := range of(sub) {
			if c := (charge{f.Code, f.Severity}); !slices.Contains(charges, c) {
				charges = append(charges, c)
			}
		}
	}
	slices.SortStableFunc(charges, byWeight)
	return charges
}

// byWeight orders charges by severity, the worst first, then as the glossary does.
func byWeight(a, b charge) int {
	severities := []sweep.Severity{sweep.Invalid, sweep.Suspect, sweep.Note}
	rank := func(code string) int {
		if i := slices.Index(order, code); i >= 0 {
			return i
		}
		return len(order)
	}
	return cmp.Or(slices.Index(severities, a.severity)-slices.Index(severities, b.severity), rank(a.code)-rank(b.code),
		cmp.Compare(a.code, b.code))
}

// everywhere says that every cell of the sweep carries a charge.
func (s *scope) everywhere(c charge) bool {
	return !slices.ContainsFunc(s.all, func(sub subject) bool { return !c.of(sub.flags) })
}

// detailsShown is how many lines of numbers a flag has in a legend; a note has fewer.
const (
	detailsShown     = 5
	noteDetailsShown = 2
)

// shown are the first numbers of a mark.
func (m Mark) shown() []Entry {
	most := detailsShown
	if m.Severity == sweep.Note {
		most = noteDetailsShown
	}
	if len(m.Details) <= most {
		return m.Details
	}
	return append(m.Details[:most:most], Entry{"", fmt.Sprintf("and %d more: sweep report flags", len(m.Details)-most)})
}

// details are a charge's numbers: cells that say the same share a line, and of many blocks the first is named.
func (s *scope) details(c charge, of func(subject) []sweep.Flag) []Entry {
	var details []Entry
	cells := map[string][]string{}
	for _, sub := range s.about {
		text := c.detail(of(sub))
		if text == "" || strings.Contains(c.meaning(), text) {
			continue
		}
		if cells[text] == nil {
			details = append(details, Entry{Text: text})
		}
		cells[text] = append(cells[text], sub.name)
	}
	for i, d := range details {
		details[i].Term = s.nameAll(cells[d.Text])
	}
	return details
}

// nameAll lists cells: all of them at once, where it is more than one.
func (s *scope) nameAll(cells []string) string {
	if len(cells) > 1 && len(cells) == len(s.about) {
		return everyRow
	}
	return strings.Join(cells, ", ")
}

// detail is what a cell's flags of one charge say of the cell as such, and of its first block.
func (c charge) detail(flags []sweep.Flag) string {
	var parts []string
	blocks := 0
	for _, f := range flags {
		switch {
		case c != charge{f.Code, f.Severity}:
		case f.Block > 0 && blocks > 0:
			blocks++
		case f.Block > 0:
			blocks++
			parts = append(parts, strings.TrimSuffix(fmt.Sprintf("block %d: %s", f.Block, f.Detail), ": "))
		case f.Detail != "":
			parts = append(parts, f.Detail)
		}
	}
	if blocks > 1 {
		parts = append(parts, plural(blocks-1, "more block"))
	}
	return strings.Join(parts, "; ")
}

// letter names the n-th mark: a … z, aa, ab, …
func letter(n int) string {
	if n < 26 {
		return string(rune('a' + n))
	}
	return letter(n/26-1) + letter(n%26)
}

// markColumn is the narrow column that holds the letters of a row; in brackets those of its reference alone.
func markColumn(marks []Mark, row Row) string {
	lettersOf := func(at []int) string {
		var letters []string
		for _, m := range at {
			if marks[m].Letter != "" {
				letters = append(letters, marks[m].Letter)
			}
		}
		return strings.Join(letters, " ")
	}
	own, reference := lettersOf(row.Marks), lettersOf(row.Reference)
	if reference != "" {
		reference = "(" + reference + ")"
	}
	return strings.TrimSpace(own + " " + reference)
}
