package report

import (
	"bytes"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// between columns stand so many spaces.
const gutter = 2

// indent sets the rows of a section off from its head.
const indent = "  "

// setText sets a table in characters of equal width.
func setText(t *Table, o Options) string {
	return textTable(t, o) + "\n" + textLegend(t.Legend, o.Width)
}

// textTable is a table without its legend.
func textTable(t *Table, o Options) string {
	var out strings.Builder
	out.WriteString(wrapped(t.Title, o.Width, "") + "\n\n")
	if len(t.Rows) == 0 {
		out.WriteString("  " + nothing(t) + "\n")
	} else {
		g := newGrid(t, o)
		for i, panel := range fold(g.parts(), g.keys, o.Width) {
			if i > 0 {
				out.WriteString("\n")
			}
			out.WriteString(g.set(panel))
		}
	}
	return out.String()
}

// nothing says that a table has no rows.
func nothing(t *Table) string {
	switch t.Kind {
	case "flags":
		return "There is no flag."
	case "errors":
		return "No request failed."
	}
	return "There is nothing to show yet."
}

// grid is a table as strings, aligned within their columns.
type grid struct {
	columns []Column
	keys    int // the first so many columns are repeated in each panel
	header  []string
	// rows hold entries; a row with one entry heads a section.
	rows [][]string
}

// newGrid sets every value. The letters of the marks get a narrow column of their own behind the row's name.
func newGrid(t *Table, o Options) *grid {
	g := &grid{columns: t.Columns, keys: 1}
	rows := cellsOf(t)
	if marked(t) {
		g.columns = append([]Column{t.Columns[0], {Name: "", Key: true}}, t.Columns[1:]...)
		g.keys = 2
		for i, row := range t.Rows {
			rows[i] = append([]string{rows[i][0], markColumn(t.Legend.Marks, row)}, rows[i][1:]...)
		}
	}
	for _, c := range g.columns {
		g.header = append(g.header, header(c))
	}
	g.wrapProse(rows, o.Width)
	section := ""
	for i, row := range t.Rows {
		if row.Section != section {
			section = row.Section
			if i > 0 {
				g.rows = append(g.rows, nil)
			}
			g.rows = append(g.rows, []string{printable(section)})
		}
		if section != "" {
			rows[i][0] = indent + strings.ReplaceAll(rows[i][0], "\n", "\n"+indent)
		}
		if o.Color {
			colour(g.columns, rows[i], row.Verdict)
		}
		g.rows = append(g.rows, rows[i])
	}
	return g
}

// header puts the group over the name and the unit under it.
func header(c Column) string {
	return strings.Trim(c.Group+"\n"+c.Name+"\n"+c.Unit, "\n")
}

func marked(t *Table) bool {
	for _, row := range t.Rows {
		if markColumn(t.Legend.Marks, row) != "" {
			return true
		}
	}
	return false
}

// cellsOf sets all values; figures of one column and section are padded so that their points stand in line.
func cellsOf(t *Table) [][]string {
	rows := make([][]string, len(t.Rows))
	for i, row := range t.Rows {
		rows[i] = make([]string, len(t.Columns))
		for j, v := range row.Values {
			rows[i][j] = v.String()
		}
	}
	for j, c := range t.Columns {
		for from := 0; c.Number && from < len(t.Rows); {
			to := from + 1
			for to < len(t.Rows) && t.Rows[to].Section == t.Rows[from].Section {
				to++
			}
			alignPoints(t.Rows[from:to], rows[from:to], j)
			from = to
		}
	}
	return rows
}

// alignPoints pads column j so that right alignment puts decimal points, and what follows figures, in line.
func alignPoints(rows []Row, set [][]string, j int) {
	var point, spread int
	for _, row := range rows {
		p := row.Values[j].print()
		point = max(point, len(p.decimals()))
		spread = max(spread, twwidth.Width(p.spread()))
	}
	for i, row := range rows {
		p := row.Values[j].print()
		if p.figure == "" {
			continue
		}
		set[i][j] = p.figure + strings.Repeat(" ", point-len(p.decimals())) +
			p.spread() + strings.Repeat(" ", spread-twwidth.Width(p.spread()))
	}
}

// decimals is a figure from its point on.
func (p printed) decimals() string {
	if at := strings.IndexByte(p.figure, '.'); at >= 0 && p.numeric {
		return p.figure[at:]
	}
	return ""
}

// proseWidth is the least that a column of prose is squeezed to.
const proseWidth = 24

// wrapProse breaks the columns of prose so that the table keeps within width.
func (g *grid) wrapProse(rows [][]string, width int) {
	whole := (&grid{columns: g.columns, header: g.header, rows: rows}).widths()
	for j, c := range g.columns {
		if !c.Wrap {
			continue
		}
		rest := width
		for k, w := range whole {
			if k != j {
				rest -= w + gutter
			}
		}
		for i := range rows {
			rows[i][j] = wrapped(rows[i][j], max(rest-gutter, proseWidth), "")
		}
	}
}

// widths are those of the columns, without the gutter.
func (g *grid) widths() []int {
	widths := make([]int, len(g.columns))
	for _, row := range append([][]string{g.header}, g.rows...) {
		for j, entry := range row {
			for line := range strings.SplitSeq(entry, "\n") {
				widths[j] = max(widths[j], twwidth.Width(line))
			}
		}
	}
	return widths
}

// block is some neighbouring columns that stay together, and their width.
type block struct {
	columns []int
	width   int
}

// parts are the grid's columns, those of one group as one block.
func (g *grid) parts() []block {
	var parts []block
	for j, w := range g.widths() {
		last := len(parts) - 1
		if j > 0 && g.columns[j].Group != "" && g.columns[j].Group == g.columns[j-1].Group {
			parts[last].columns = append(parts[last].columns, j)
			parts[last].width += w + gutter
			continue
		}
		parts = append(parts, block{[]int{j}, w})
	}
	return parts
}

// fold deals blocks of columns into panels no wider than width, each beginning with the first `keys` of them, and as
// even as can be.
func fold(parts []block, keys, width int) [][]int {
	panels := deal(parts, keys, width)
	for narrower := width - 1; narrower > 0; narrower-- {
		even := deal(parts, keys, narrower)
		if len(even) != len(panels) {
			break
		}
		panels = even
	}
	return panels
}

func deal(parts []block, keys, width int) [][]int {
	var head []int
	start := 0
	for _, p := range parts[:keys] {
		head = append(head, p.columns...)
		start += p.width + gutter
	}
	panels := [][]int{slices.Clone(head)}
	used := start
	for _, p := range parts[keys:] {
		last := len(panels) - 1
		if used+p.width > width && len(panels[last]) > len(head) {
			panels = append(panels, slices.Clone(head))
			last++
			used = start
		}
		panels[last] = append(panels[last], p.columns...)
		used += p.width + gutter
	}
	return panels
}

// set prints some columns as one table.
func (g *grid) set(panel []int) string {
	var out bytes.Buffer
	table := tablewriter.NewTable(&out,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.Border{Left: tw.Off, Right: tw.Off, Top: tw.On, Bottom: tw.On},
			Symbols: tw.NewSymbols(tw.StyleLight),
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off, ShowHeader: tw.On},
				Lines:      tw.Lines{ShowTop: tw.On, ShowBottom: tw.On, ShowHeaderLine: tw.On},
			},
		})),
		tablewriter.WithHeaderAutoFormat(tw.Off), tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone), tablewriter.WithTrimSpace(tw.Off), tablewriter.WithEastAsian(tw.Off),
		tablewriter.WithPadding(tw.Padding{Right: strings.Repeat(" ", gutter), Overwrite: true}),
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: g.aligned(panel)}),
		tablewriter.WithRowAlignmentConfig(tw.CellAlignment{PerColumn: g.aligned(panel)}))
	table.Header(pick(g.header, panel))
	for _, row := range g.rows {
		// Neither appending strings to a table in memory nor rendering to a buffer can fail.
		_ = table.Append(pick(row, panel))
	}
	_ = table.Render()
	return trimmed(out.String())
}

func (g *grid) aligned(panel []int) []tw.Align {
	align := make([]tw.Align, len(panel))
	for i, j := range panel {
		align[i] = tw.AlignLeft
		if g.columns[j].Number {
			align[i] = tw.AlignRight
		}
	}
	return align
}

func pick(row []string, panel []int) []string {
	picked := make([]string, len(panel))
	for i, j := range panel {
		if j < len(row) {
			picked[i] = row[j]
		}
	}
	return picked
}

// trimmed ends each line where its text ends, and rules where the last column does.
func trimmed(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		if strings.Trim(lines[i], "─") == "" {
			lines[i] = strings.TrimSuffix(lines[i], strings.Repeat("─", gutter))
		}
		// The table library ends a painted entry once more, behind its padding.
		lines[i] = strings.TrimSuffix(strings.TrimRight(lines[i], " "), paintEnd)
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

const (
	red      = "\x1b[31m"
	yellow   = "\x1b[33m"
	paintEnd = "\x1b[0m"
)

// colour paints the verdict of a row and the row's name.
func colour(columns []Column, row []string, verdict string) {
	paint := map[string]string{"suspect": yellow, "invalid": red}[verdict]
	if paint == "" {
		return
	}
	for j, c := range columns {
		if j == 0 || c.Name == "verdict" || c.Name == "outcome" {
			row[j] = paint + row[j] + paintEnd
		}
	}
}
