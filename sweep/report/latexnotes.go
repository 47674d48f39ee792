package report

import (
	"fmt"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// withoutTitle heads the columns that a lean table lacks.
const withoutTitle = "Left out to fit the page, and in the formats table and markdown"

// writeComments says what the table is and was made by, which columns it lacks, and all numbers of its flags, of which the
// notes have the first.
func writeComments(out *strings.Builder, t *Table) {
	fmt.Fprintf(out, "%% %s\n", comment(t.Title))
	for _, e := range t.Legend.Source {
		fmt.Fprintf(out, "%% %s\n", comment(e.Text))
	}
	if without := t.lean().Without; without != "" {
		fmt.Fprintf(out, "%% %s: %s\n", withoutTitle, comment(without))
	}
	for _, m := range t.Legend.Marks {
		for _, detail := range m.Details {
			fmt.Fprintf(out, "%% %s (%s): %s\n", m.Code, m.Severity, comment(detail.line()))
		}
	}
	fmt.Fprintf(out, "%% needs %s\n", latexPackages)
}

// comment keeps a comment on its line.
func comment(text string) string {
	return strings.ReplaceAll(printable(text), "\n", " ")
}

// shortMarks are the marks in words, without their numbers.
func (t *Table) shortMarks() []string {
	var notes []string
	for _, m := range t.Legend.Marks {
		switch e := m.entry(); {
		case m.Term == m.Code: // the rows carry the codes themselves
		case m.Letter != "":
			notes = append(notes, fmt.Sprintf("\\item[%s] %s.", m.Letter, latex(e.Text)))
		default:
			notes = append(notes, fmt.Sprintf("\\item %s: %s.", latex(e.Term), latex(e.Text)))
		}
	}
	return notes
}

// notes are what the page has no room for, and the legend but for its marks in words: one note a part.
func (t *Table) notes() []string {
	var notes []string
	if t.Without != "" {
		notes = append(notes, fmt.Sprintf("\\item %s: %s.", withoutTitle, latex(t.Without)))
	}
	for _, p := range t.Legend.parts() {
		entries := p.entries
		switch {
		case p.title == sourceTitle:
			continue
		case p.under != nil:
			entries = t.markNumbers()
		}
		var said []string
		for _, e := range entries {
			said = append(said, `\emph{`+latex(e.Term)+"}: "+latex(e.Text))
		}
		if len(said) > 0 {
			notes = append(notes, fmt.Sprintf("\\item %s: %s.", latex(p.title), strings.Join(said, "; ")))
		}
	}
	return notes
}

// markNumbers are the first numbers of what is suspect or invalid, or the meanings of marks where the rows carry the
// codes. A page has no room for all of them, and the table of flags has.
func (t *Table) markNumbers() []Entry {
	var entries []Entry
	for _, m := range t.Legend.Marks {
		if m.Term == m.Code {
			entries = append(entries, m.entry())
			continue
		}
		if m.Severity == sweep.Note || len(m.Details) == 0 {
			continue
		}
		text := m.Details[0].line()
		if len(m.Details) > 1 {
			text += fmt.Sprintf("; and %d more: sweep report flags", len(m.Details)-1)
		}
		entries = append(entries, Entry{m.Code, text})
	}
	return entries
}
