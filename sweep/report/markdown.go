package report

import (
	"bytes"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// setMarkdown sets a table with its legend as lists below it. Markdown has no width: nothing is folded.
func setMarkdown(t *Table) string { return markdownHead(t) + markdownLegend(t.Legend) }

// markdownHead is a table under its title, without its legend.
func markdownHead(t *Table) string {
	var out strings.Builder
	out.WriteString("**" + markdown(t.Title) + "**\n\n")
	if len(t.Rows) == 0 {
		out.WriteString(nothing(t) + "\n")
	} else {
		out.WriteString(markdownTable(t))
	}
	return out.String()
}

func markdownLegend(l Legend) string {
	var out strings.Builder
	for _, p := range l.parts() {
		out.WriteString("\n" + markdown(p.title) + "\n\n")
		for i, e := range p.entries {
			out.WriteString("- " + markdownEntry(e))
			if p.under == nil {
				continue
			}
			for _, detail := range p.under[i] {
				out.WriteString("  - " + markdownEntry(detail))
			}
		}
	}
	return out.String()
}

func markdownEntry(e Entry) string {
	if e.Term == "" {
		return markdown(e.Text) + "\n"
	}
	return "**" + markdown(e.Term) + "** " + markdown(e.Text) + "\n"
}

func markdownTable(t *Table) string {
	var out bytes.Buffer
	align := make([]tw.Align, len(t.Columns))
	names := make([]string, len(t.Columns))
	for j, c := range t.Columns {
		align[j] = tw.AlignLeft
		if c.Number {
			align[j] = tw.AlignRight
		}
		names[j] = markdown(oneLine(c))
	}
	table := tablewriter.NewTable(&out, tablewriter.WithRenderer(renderer.NewMarkdown()),
		tablewriter.WithHeaderAutoFormat(tw.Off), tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone), tablewriter.WithEastAsian(tw.Off),
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: align}),
		tablewriter.WithRowAlignmentConfig(tw.CellAlignment{PerColumn: align}))
	table.Header(names)
	section := ""
	for _, row := range t.Rows {
		if row.Section != section {
			section = row.Section
			// Appending strings to a table in memory cannot fail.
			_ = table.Append(append([]string{"**" + markdown(section) + "**"}, make([]string, len(t.Columns)-1)...))
		}
		_ = table.Append(markdownRow(t, row))
	}
	_ = table.Render()
	return out.String()
}

func markdownRow(t *Table, row Row) []string {
	entries := make([]string, len(row.Values))
	for j, v := range row.Values {
		entries[j] = markdown(v.String())
	}
	if marks := markColumn(t.Legend.Marks, row); marks != "" {
		entries[0] += " <sup>" + marks + "</sup>"
	}
	return entries
}

// oneLine is a column's header with the unit behind the name.
func oneLine(c Column) string {
	name := strings.TrimSpace(c.Group + " " + c.Name)
	switch {
	case c.Unit == "":
		return name
	case strings.HasPrefix(c.Unit, "["):
		return name + " " + c.Unit
	}
	return name + " (" + c.Unit + ")"
}

// markdown escapes what Markdown would read as its own: in tables, lists and running text alike.
func markdown(text string) string {
	var out strings.Builder
	for _, r := range printable(text) {
		switch {
		case r == '\n':
			out.WriteString("<br>")
			continue
		case strings.ContainsRune("\\`*_{}[]<>|#~&$", r):
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}
