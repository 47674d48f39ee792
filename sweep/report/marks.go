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

// mark turns the flags of the shown cells into marks. A note that every cell carries is said once, of all rows; what
// is suspect or invalid always stands beside its row.
func (s *scope) mark() {
	for _, code := range s.codes() {
		m := Mark{Code: code, Severity: s.worstOf(code), Meaning: glossary[code].text, Details: s.details(code)}
		if m.Severity != sweep.Note || !s.everywhere(code) {
			m.Letter = letter(s.lettered())
			for i := range s.cells {
				if hasCode(s.cells[i].flags, code) {
					s.cells[i].marks = append(s.cells[i].marks, len(s.marks))
				}
			}
		}
		s.marks = append(s.marks, m)
	}
	for _, f := range s.sweepFlags() {
		s.markSweep(f)
	}
}

// markSweep adds a flag of the whole sweep, which needs no letter.
func (s *scope) markSweep(f sweep.Flag) {
	at := slices.IndexFunc(s.marks, func(m Mark) bool { return m.Code == f.Code && m.Letter == "" })
	if at < 0 {
		at = len(s.marks)
		s.marks = append(s.marks, Mark{Code: f.Code, Severity: f.Severity, Meaning: glossary[f.Code].text})
	}
	if f.Detail != "" {
		s.marks[at].Details = append(s.marks[at].Details, Entry{"the sweep", f.Detail})
	}
}

func (s *scope) lettered() int {
	n := 0
	for _, m := range s.marks {
		if m.Letter != "" {
			n++
		}
	}
	return n
}

// codes are those of the shown cells: the worst first, then in the glossary's order.
func (s *scope) codes() []string {
	var codes []string
	for _, sub := range s.cells {
		for _, f := range sub.flags {
			if !slices.Contains(codes, f.Code) {
				codes = append(codes, f.Code)
			}
		}
	}
	rank := func(code string) int {
		if i := slices.Index(order, code); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(codes, func(a, b string) int {
		return cmp.Or(bySeverity(s.worstOf(a), s.worstOf(b)), rank(a)-rank(b), cmp.Compare(a, b))
	})
	return codes
}

// bySeverity orders the worst first.
func bySeverity(a, b sweep.Severity) int {
	rank := []sweep.Severity{sweep.Invalid, sweep.Suspect, sweep.Note}
	return slices.Index(rank, a) - slices.Index(rank, b)
}

func (s *scope) worstOf(code string) sweep.Severity {
	severity := sweep.Note
	for _, sub := range s.cells {
		for _, f := range sub.flags {
			if f.Code == code && bySeverity(f.Severity, severity) < 0 {
				severity = f.Severity
			}
		}
	}
	return severity
}

func (s *scope) everywhere(code string) bool {
	for _, sub := range s.cells {
		if !hasCode(sub.flags, code) {
			return false
		}
	}
	return true
}

// detailsShown is how many lines of numbers a flag has in a legend.
const detailsShown = 5

// details are a code's numbers: cells that say the same share a line, and of many blocks the first is named.
func (s *scope) details(code string) []Entry {
	var details []Entry
	for _, sub := range s.cells {
		text := sub.detailOf(code)
		if text == "" {
			continue
		}
		same := slices.IndexFunc(details, func(e Entry) bool { return e.Text == text })
		if same < 0 {
			details = append(details, Entry{sub.name, text})
		} else {
			details[same].Term += ", " + sub.name
		}
	}
	if len(details) > detailsShown {
		more := fmt.Sprintf("%d more, in the table of flags", len(details)-detailsShown)
		details = append(details[:detailsShown], Entry{"and", more})
	}
	if len(details) == 1 && len(s.cells) > 1 && strings.Count(details[0].Term, ", ") == len(s.cells)-1 {
		details[0].Term = everyRow
	}
	return details
}

// detailOf is what the cell's flags of one code say of the cell as such, and of its first block.
func (sub subject) detailOf(code string) string {
	var parts []string
	blocks := 0
	for _, f := range sub.flags {
		switch {
		case f.Code != code:
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

// markColumn is the narrow column that holds the letters of a row.
func markColumn(marks []Mark, row Row) string {
	var letters []string
	for _, m := range row.Marks {
		if marks[m].Letter != "" {
			letters = append(letters, marks[m].Letter)
		}
	}
	return strings.Join(letters, " ")
}
