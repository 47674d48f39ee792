package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

const sourceTitle = "Made by"

// part is a headed list of the legend.
type part struct {
	title   string
	entries []Entry
	// under holds, for each entry, what stands indented below it.
	under [][]Entry
}

// parts are those of a legend that say something, in the order in which every format prints them.
func (l Legend) parts() []part {
	flags := part{title: "Flags"}
	for _, m := range l.Marks {
		flags.entries = append(flags.entries, m.entry())
		flags.under = append(flags.under, m.shown())
	}
	all := []part{
		{title: "In all", entries: l.Totals},
		flags,
		{title: "Missing (" + dash + ")", entries: l.Missing},
		{title: "Left out", entries: l.LeftOut},
		{title: contractTitle(l.Contract), entries: l.Contract},
		{title: "Read as", entries: l.Definitions},
		{title: sourceTitle, entries: l.Source},
	}
	var parts []part
	for _, p := range all {
		if len(p.entries) > 0 {
			parts = append(parts, p)
		}
	}
	return parts
}

// together is one legend of tables about the same cells: what several of them say stands once.
func together(tables []*Table) Legend {
	var l Legend
	for i, t := range tables {
		of := t.Legend
		if i == 0 {
			l.Totals, l.Contract, l.LeftOut = of.Totals, of.Contract, of.LeftOut
		}
		l.Marks = unitedMarks(l.Marks, of.Marks)
		l.Definitions = united(l.Definitions, of.Definitions)
		l.Missing = united(l.Missing, of.Missing)
		l.Source = united(l.Source, of.Source)
	}
	// What explains a dash stands last, as in the legend of one table.
	if at := slices.Index(l.Definitions, defDash); at >= 0 {
		l.Definitions = append(slices.Delete(l.Definitions, at, at+1), defDash)
	}
	return l
}

// united adds the entries that are not there yet.
func united(entries, more []Entry) []Entry {
	entries = slices.Clone(entries)
	for _, e := range more {
		if !slices.Contains(entries, e) {
			entries = append(entries, e)
		}
	}
	return entries
}

// unitedMarks adds the marks that are not there yet, in the order that those of one table have.
func unitedMarks(marks, more []Mark) []Mark {
	marks = slices.Clone(marks)
	for _, m := range more {
		if !slices.ContainsFunc(marks, m.same) {
			marks = append(marks, m)
		}
	}
	slices.SortStableFunc(marks, func(a, b Mark) int {
		return cmp.Or(slices.Index(apartTerms, a.Term)-slices.Index(apartTerms, b.Term),
			byWeight(charge{a.Code, a.Severity}, charge{b.Code, b.Severity}))
	})
	return marks
}

// apartTerms are those of marks that stand behind the marks of rows.
var apartTerms = []string{leftOutBlocks, wholeSweep}

func (m Mark) same(o Mark) bool {
	return m.Code == o.Code && m.Severity == o.Severity && m.Letter == o.Letter && m.Term == o.Term
}

// contractTitle explains the braces of what varies, where something does.
func contractTitle(contract []Entry) string {
	for _, e := range contract {
		if strings.Contains(e.Text, variesMark) {
			return "Contract of all rows; {a | b} varies from row to row, the baseline's first"
		}
	}
	return "Contract of all rows"
}

// line is a detail of a flag: whose, and what.
func (e Entry) line() string {
	switch e.Term {
	case "", everyRow, wholeSweep:
		return e.Text
	}
	return e.Term + ": " + e.Text
}

// entry says a mark in words.
func (m Mark) entry() Entry {
	if m.Term == m.Code {
		return Entry{m.Code, m.Meaning}
	}
	term := cmp.Or(m.Letter, m.Term)
	text := m.Code + " (" + string(m.Severity) + ")"
	if m.Meaning != "" {
		text += ": " + m.Meaning
	}
	return Entry{term, text}
}

const termWidth = 26

// textLegend prints a legend, each part with its terms in one column.
func textLegend(l Legend, width int) string {
	var out strings.Builder
	for i, p := range l.parts() {
		if i > 0 {
			out.WriteString("\n")
		}
		out.WriteString(wrapped(p.title, width, "") + "\n")
		term := 0
		for _, e := range p.entries {
			if w := twwidth.Width(printable(e.Term)); w <= termWidth {
				term = max(term, w)
			}
		}
		for j, e := range p.entries {
			if e.Term == "" {
				out.WriteString("  " + wrapped(e.Text, width-2, "  ") + "\n")
				continue
			}
			out.WriteString(listed(e, term, width, "  "))
			if p.under == nil {
				continue
			}
			for _, detail := range p.under[j] {
				out.WriteString(listed(Entry{"", detail.line()}, term, width, "  "))
			}
		}
	}
	return out.String()
}

// listed prints an entry with its text in a column of its own; a term too long for that column has its own line.
func listed(e Entry, term, width int, indent string) string {
	e.Term = printable(e.Term)
	hang := indent + strings.Repeat(" ", term+gutter)
	body := wrapped(e.Text, max(width-len(hang), proseWidth), hang)
	if w := twwidth.Width(e.Term); w > term {
		return indent + wrapped(e.Term, max(width-len(indent), proseWidth), indent) + "\n" + hang + body + "\n"
	}
	return indent + e.Term + strings.Repeat(" ", term-twwidth.Width(e.Term)+gutter) + body + "\n"
}

// glue stands for a space at which no line is broken, while lines are made. Printable text does not have it.
const glue = "\x00"

// wrapped breaks text at spaces into lines of at most width; all but the first begin with hang. A word that is wider
// stands alone on its line.
func wrapped(text string, width int, hang string) string {
	var lines []string
	for paragraph := range strings.SplitSeq(printable(text), "\n") {
		line := ""
		for _, word := range strings.Fields(strings.ReplaceAll(paragraph, " %", glue+"%")) {
			switch {
			case line == "":
				line = word
			case twwidth.Width(line)+1+twwidth.Width(word)+strings.Count(line+word, glue) <= width:
				line += " " + word
			default:
				lines = append(lines, line)
				line = word
			}
		}
		lines = append(lines, line)
	}
	return strings.ReplaceAll(strings.Join(lines, "\n"+hang), glue, " ")
}
