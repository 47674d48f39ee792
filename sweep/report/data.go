package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// writeCSV prints a view with a header line; NULL is an empty field, a list is JSON.
func writeCSV(w io.Writer, v View) error {
	out := csv.NewWriter(w)
	if err := out.Write(v.Columns); err != nil {
		return err
	}
	for _, row := range v.Rows {
		record := make([]string, len(row))
		for i, x := range row {
			record[i] = csvField(x)
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func csvField(x any) string {
	switch x := x.(type) {
	case nil:
		return ""
	case string:
		return x
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case []string:
		return compact(x)
	}
	return fmt.Sprint(x)
}

// writeJSON prints a view as an array of objects, one a line, with the columns in their order.
func writeJSON(w io.Writer, v View) error {
	var out bytes.Buffer
	out.WriteString("[")
	for i, row := range v.Rows {
		if i > 0 {
			out.WriteString(",")
		}
		out.WriteString("\n  {")
		for j, x := range row {
			if j > 0 {
				out.WriteString(", ")
			}
			fmt.Fprintf(&out, "%s: %s", compact(v.Columns[j]), compact(x))
		}
		out.WriteString("}")
	}
	if len(v.Rows) > 0 {
		out.WriteString("\n")
	}
	out.WriteString("]\n")
	_, err := w.Write(out.Bytes())
	return err
}

// compact is x as JSON on one line, with < and > as they are. What views hold can always be written.
func compact(x any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(x); err != nil {
		return "null"
	}
	return string(bytes.TrimSpace(out.Bytes()))
}
