package report

import (
	"fmt"
	"io"
	"strings"
)

// Options say how a table is set.
type Options struct {
	// Width is the number of characters to keep within, where the format has lines; 0 means 100. Wider tables are
	// folded into panels that repeat the rows' names.
	Width int
	// Color marks suspect and invalid in colour, in the format table.
	Color bool
	// Standalone makes a LaTeX document of what is otherwise a float to be read into one.
	Standalone bool
	// TabularOnly makes only the tabular of LaTeX, without float, caption and notes, for those who write their own.
	TabularOnly bool
}

const defaultWidth = 100

// Formats lists the formats of Write, the default first.
func Formats() []string { return []string{"table", "markdown", "latex", "csv", "json"} }

// WriteAll sets tables of one kind, as those of several sweeps, one below the other: as CSV under one header, as JSON in
// one array.
func WriteAll(w io.Writer, tables []*Table, format string, o Options) error {
	if len(tables) > 0 && (format == "csv" || format == "json") {
		all := *tables[0]
		all.View.Rows = nil
		for _, t := range tables {
			all.View.Rows = append(all.View.Rows, t.View.Rows...)
		}
		return Write(w, &all, format, o)
	}
	for i, t := range tables {
		if i > 0 {
			if _, err := io.WriteString(w, "\n\n"); err != nil {
				return err
			}
		}
		if err := Write(w, t, format, o); err != nil {
			return err
		}
	}
	return nil
}

// WriteTogether sets tables of several kinds about the same cells of one sweep, one below the other, with one legend. As
// LaTeX, where tables float apart, each keeps its own; csv and json have no columns for several kinds.
func WriteTogether(w io.Writer, tables []*Table, format string, o Options) error {
	if o.Width <= 0 {
		o.Width = defaultWidth
	}
	var text strings.Builder
	for _, t := range tables {
		switch format {
		case "table":
			text.WriteString(textTable(t, o) + "\n")
		case "markdown":
			text.WriteString(markdownHead(t) + "\n")
		case "latex":
			text.WriteString(setLaTeX(t, o) + "\n")
		default:
			return fmt.Errorf("format %q: tables of several kinds are set as table, markdown or latex", format)
		}
	}
	switch l := together(tables); format {
	case "table":
		text.WriteString(textLegend(l, o.Width))
	case "markdown":
		text.WriteString(strings.TrimPrefix(markdownLegend(l), "\n"))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// Write sets a table in one format: table, markdown and latex as it is printed, csv and json as the public view has it.
func Write(w io.Writer, t *Table, format string, o Options) error {
	if o.Width <= 0 {
		o.Width = defaultWidth
	}
	var text string
	switch format {
	case "table":
		text = setText(t, o)
	case "markdown":
		text = setMarkdown(t)
	case "latex":
		text = setLaTeX(t, o)
	case "csv":
		return writeCSV(w, t.View)
	case "json":
		return writeJSON(w, t.View)
	default:
		return fmt.Errorf("format %q: there is none of this name; there are table, markdown, latex, csv, json", format)
	}
	_, err := io.WriteString(w, text)
	return err
}
