package exchange

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
)

// Formats lists the formats of WriteRows, the default first.
func Formats() []string { return []string{"csv", "jsonl"} }

// structured are the columns of the public views that hold JSON: as JSON lines they stand as what they are, not as text.
var structured = []string{"at", "level", "contract", "server", "command", "observed", "flags", "marks"}

// WriteRows writes rows as they come, each a slice of nil, int64, float64, string or []byte with one entry a column. It
// holds no more than one of them.
func WriteRows(w io.Writer, format string, columns []string, rows iter.Seq2[[]any, error]) error {
	switch format {
	case "csv":
		return writeCSV(w, columns, rows)
	case "jsonl":
		return writeLines(w, columns, rows)
	}
	return fmt.Errorf("format %q: there is none of this name; there are csv, jsonl", format)
}

// writeCSV writes NULL as nothing.
func writeCSV(w io.Writer, columns []string, rows iter.Seq2[[]any, error]) error {
	out := csv.NewWriter(w)
	if err := out.Write(columns); err != nil {
		return err
	}
	fields := make([]string, len(columns))
	for row, err := range rows {
		if err != nil {
			return err
		}
		for i, value := range row {
			fields[i] = plain(value)
		}
		if err := out.Write(fields); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func plain(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []byte:
		return string(v)
	}
	return fmt.Sprint(value)
}

// writeLines writes an object a row, its fields in the order of the columns.
func writeLines(w io.Writer, columns []string, rows iter.Seq2[[]any, error]) error {
	out := bufio.NewWriter(w)
	names := make([][]byte, len(columns))
	for i, column := range columns {
		names[i] = append(strconv.AppendQuote(nil, column), ':')
	}
	for row, err := range rows {
		if err != nil {
			return err
		}
		out.WriteByte('{')
		for i, value := range row {
			if i > 0 {
				out.WriteByte(',')
			}
			out.Write(names[i])
			text, err := asJSON(columns[i], value)
			if err != nil {
				return fmt.Errorf("column %s: %w", columns[i], err)
			}
			out.Write(text)
		}
		if _, err := out.WriteString("}\n"); err != nil {
			return err
		}
	}
	return out.Flush()
}

func asJSON(column string, value any) ([]byte, error) {
	if bytes, ok := value.([]byte); ok {
		value = string(bytes)
	}
	if text, ok := value.(string); ok && slices.Contains(structured, column) && json.Valid([]byte(text)) {
		return []byte(text), nil
	}
	return json.Marshal(value)
}
