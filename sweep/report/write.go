package report

import (
	"fmt"
	"io"
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
}

const defaultWidth = 100

// Formats lists the formats of Write, the default first.
func Formats() []string { return []string{"table", "markdown", "latex", "csv", "json"} }

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
