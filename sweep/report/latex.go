package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A LaTeX table is one float or several: rows beyond what a page bears, and columns beyond what a line bears, go into
// the next, and so does the legend where it has no room below. It needs booktabs, siunitx and threeparttable; figures
// are siunitx numbers, so that their points stand in line, and their uncertainties have a column of their own. Marks are
// superscripts: a \tnote has no width in a table and would lie over the next column.

const (
	latexPackages = `\usepackage{booktabs,siunitx,threeparttable}`
	// lineWidth is how many characters of the table's size a page's full width bears, columnWidth one of two columns.
	lineWidth   = 82
	columnWidth = 40
	// proseShare is the part of the line that a column of prose takes, proseChars about how many characters that bears.
	proseShare = "0.42"
	proseChars = 34
	// noteChars is about how many characters a line of notes bears.
	noteChars = 100
	// noteHeight is the height of a line of notes in percent of one of the table.
	noteHeight = 85
	// pageLines is how many lines a page bears, of which headLines go to caption, header and rules.
	pageLines = 52
	headLines = 8
)

func setLaTeX(t *Table, o Options) string {
	var out strings.Builder
	writeComments(&out, t)
	t = t.lean()
	if o.TabularOnly {
		all := float{table: t, rows: t.Rows}
		for j := range t.Columns {
			all.columns = append(all.columns, j)
		}
		all.writeTabular(&out)
		return out.String()
	}
	if o.Standalone {
		out.WriteString("\\documentclass{article}\n\\usepackage[T1]{fontenc}\n\\usepackage[margin=2.5cm]{geometry}\n" +
			latexPackages + "\n\\begin{document}\n")
	}
	floats := newFloats(t)
	for i, f := range floats {
		f.write(&out, i, len(floats))
	}
	if o.Standalone {
		out.WriteString("\\end{document}\n")
	}
	return out.String()
}

// float is some rows and some columns of a table, with or without the table's legend.
type float struct {
	table   *Table
	rows    []Row
	columns []int
	width   int // of the columns, in characters
	legend  bool
}

func newFloats(t *Table) []float {
	if len(t.Rows) == 0 {
		return []float{{table: t, legend: true}}
	}
	var floats []float
	g := latexGrid(t)
	widths := g.widths()
	for _, rows := range pages(t, pageLines-headLines-noteLines(t.shortMarks())) {
		for _, columns := range fold(g.parts(), 1, lineWidth) {
			f := float{table: t, rows: rows, columns: columns}
			for _, j := range columns {
				f.width += widths[j] + gutter
			}
			floats = append(floats, f)
		}
	}
	last := &floats[len(floats)-1]
	used := headLines + noteLines(t.shortMarks())
	for _, row := range last.rows {
		used += t.lines(row)
	}
	if used+noteLines(t.notes()) <= pageLines {
		last.legend = true
		return floats
	}
	return append(floats, float{table: t, width: lineWidth, legend: true})
}

// latexGrid measures the columns as they would stand in characters.
func latexGrid(t *Table) *grid {
	g := &grid{columns: t.Columns, rows: cellsOf(t)}
	for i, row := range t.Rows {
		g.rows[i][0] += indent + markColumn(t.Legend.Marks, row)
	}
	for _, c := range t.Columns {
		g.header = append(g.header, header(c))
	}
	g.wrapProse(g.rows, lineWidth)
	return g
}

// pages cuts rows into lots that a page bears, between sections where it can.
func pages(t *Table, most int) [][]Row {
	var lots [][]Row
	var lot []Row
	used := 0
	for i, row := range t.Rows {
		lines := t.lines(row)
		begins := i == 0 || t.Rows[i-1].Section != row.Section
		if used > 0 && (used+lines > most || begins && used+t.sectionLines(i) > most) {
			lots = append(lots, lot)
			lot, used = nil, 0
		}
		if begins && row.Section != "" {
			used += 2
		}
		lot = append(lot, row)
		used += lines
	}
	return append(lots, lot)
}

// sectionLines is what the section that begins with row i takes.
func (t *Table) sectionLines(i int) int {
	n := 0
	for j := i; j < len(t.Rows) && t.Rows[j].Section == t.Rows[i].Section && t.Rows[i].Section != ""; j++ {
		n += t.lines(t.Rows[j])
	}
	return n
}

// lines is about how many lines a row takes in print.
func (t *Table) lines(row Row) int {
	n := 1
	for j, c := range t.Columns {
		if c.Wrap {
			n = max(n, strings.Count(wrapped(row.Values[j].String(), proseChars, ""), "\n")+1)
		}
	}
	return n
}

func (f float) write(out *strings.Builder, i, n int) {
	kind := "table*"
	if f.width <= columnWidth && !f.legend {
		kind = "table"
	}
	fmt.Fprintf(out, "\\begin{%s}[tbp]\n\\centering\\footnotesize\n\\setlength{\\tabcolsep}{4pt}\n", kind)
	out.WriteString("\\sisetup{group-digits=integer,group-minimum-digits=5,table-number-alignment=center}\n" +
		"\\begin{threeparttable}\n\\renewcommand\\TPTminimum{\\linewidth}\n")
	fmt.Fprintf(out, "\\caption{%s}\n\\label{%s}\n", f.caption(i, n), f.label(i))
	switch {
	case len(f.table.Rows) == 0:
		fmt.Fprintf(out, "\\begin{tabular}{l}\n%s\n\\end{tabular}\n", latex(nothing(f.table)))
	case len(f.rows) == 0:
		out.WriteString("\\begin{tabular}{l}\n\\end{tabular}\n")
	default:
		f.writeTabular(out)
	}
	f.writeNotes(out)
	fmt.Fprintf(out, "\\end{threeparttable}\n\\end{%s}\n", kind)
}

func (f float) caption(i, n int) string {
	text := latex(f.table.Title)
	if len(f.rows) == 0 && n > 1 {
		return text + ": legend."
	}
	if n > 1 {
		text += fmt.Sprintf(" (%d of %d)", i+1, n)
	}
	if f.uncertain() {
		text += `. $\pm$ is half of the \SI{95}{\percent} interval between blocks`
	}
	return text + "."
}

func (f float) uncertain() bool {
	return slices.ContainsFunc(f.rows, func(r Row) bool {
		return slices.ContainsFunc(f.columns, func(j int) bool { return r.Values[j].print().half != "" })
	})
}

// label names the float for \ref: of letters, digits and hyphens alone.
func (f float) label(i int) string {
	name := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '-'
	}, f.table.Sweep+"-"+f.table.Kind)
	if i > 0 {
		name += fmt.Sprintf("-%d", i+1)
	}
	return "tab:" + name
}

func (f float) writeTabular(out *strings.Builder) {
	shapes := make([]shape, len(f.columns))
	for k, j := range f.columns {
		shapes[k] = shapeOf(f.table.Columns[j], f.rows, j)
	}
	var spec strings.Builder
	for _, s := range shapes {
		spec.WriteString(s.spec())
	}
	fmt.Fprintf(out, "\\begin{tabular}{@{}%s@{}}\n\\toprule\n", spec.String())
	f.writeHeader(out, shapes)
	out.WriteString("\\midrule\n")
	section := ""
	for i, row := range f.rows {
		if row.Section != section {
			section = row.Section
			if i > 0 {
				out.WriteString("\\addlinespace\n")
			}
			fmt.Fprintf(out, "\\multicolumn{%d}{@{}l}{\\emph{%s}} \\\\\n", spans(shapes), latex(section))
		}
		out.WriteString(f.row(row, shapes) + " \\\\\n")
	}
	out.WriteString("\\bottomrule\n\\end{tabular}\n")
}

func (f float) row(row Row, shapes []shape) string {
	entries := make([]string, len(f.columns))
	for k, j := range f.columns {
		entries[k] = shapes[k].entry(row.Values[j])
	}
	if row.Section != "" {
		entries[0] = `\quad ` + entries[0]
	}
	if marks := markColumn(f.table.Legend.Marks, row); marks != "" {
		entries[0] += `\textsuperscript{` + strings.ReplaceAll(marks, " ", ",") + "}"
	}
	return strings.Join(entries, " & ")
}

// writeHeader writes the groups, where there are any, the names, and the units, where there are any.
func (f float) writeHeader(out *strings.Builder, shapes []shape) {
	f.writeGroups(out, shapes)
	line := func(text func(Column) string) string {
		entries := make([]string, len(f.columns))
		for k, j := range f.columns {
			entries[k] = shapes[k].head(latex(text(f.table.Columns[j])))
		}
		return strings.Join(entries, " & ")
	}
	out.WriteString(line(func(c Column) string { return c.Name }) + " \\\\\n")
	if slices.ContainsFunc(f.columns, func(j int) bool { return f.table.Columns[j].Unit != "" }) {
		out.WriteString(line(func(c Column) string { return c.Unit }) + " \\\\\n")
	}
}

func (f float) writeGroups(out *strings.Builder, shapes []shape) {
	var heads, rules []string
	grouped := false
	at := 1
	for k := 0; k < len(f.columns); {
		group := f.table.Columns[f.columns[k]].Group
		to := k + 1
		for group != "" && to < len(f.columns) && f.table.Columns[f.columns[to]].Group == group {
			to++
		}
		n := spans(shapes[k:to])
		heads = append(heads, fmt.Sprintf("\\multicolumn{%d}{c}{%s}", n, latex(group)))
		if group != "" {
			grouped = true
			rules = append(rules, fmt.Sprintf("\\cmidrule(lr){%d-%d}", at, at+n-1))
		}
		at += n
		k = to
	}
	if grouped {
		out.WriteString(strings.Join(heads, " & ") + " \\\\\n" + strings.Join(rules, "") + "\n")
	}
}

// writeNotes writes what the marks mean under every float, and the rest of the legend where it belongs.
func (f float) writeNotes(out *strings.Builder) {
	var notes []string
	if len(f.rows) > 0 {
		notes = f.table.shortMarks()
	}
	if f.legend {
		notes = append(notes, f.table.notes()...)
	}
	if len(notes) > 0 {
		fmt.Fprintf(out, "\\begin{tablenotes}[flushleft]\\scriptsize\n%s\n\\end{tablenotes}\n", strings.Join(notes, "\n"))
	}
}

// noteLines is about how many lines of the table's size notes take, which are set smaller.
func noteLines(notes []string) int {
	n := 0
	for _, note := range notes {
		n += utf8.RuneCountInString(unset.Replace(note))/noteChars + 1
	}
	return (n*noteHeight + 99) / 100
}

// unset takes from a note what does not show in print.
var unset = strings.NewReplacer(`\item`, "", `\emph{`, "", `$\leq$`, "x", `$\times$`, "x", `$\div$`, "x", `$\pm$`, "x", `\`, "", "{", "", "}", "", "$", "")
