package exchange_test

import (
	"errors"
	"iter"
	"math"
	"strings"
	"testing"

	"github.com/inference-sweep/sweep/sweep/exchange"
)

func rowsOf(rows [][]any, last error) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
		if last != nil {
			yield(nil, last)
		}
	}
}

// NULL is nothing in CSV and null in JSON, never 0; figures keep every digit; columns that hold JSON stay it.
func TestWriteRows(t *testing.T) {
	columns := []string{"cell", "ttft_ms", "tokens", "flags", "error_message", "level"}
	rows := [][]any{
		{"rate=1, \"two\"", math.Nextafter(0.1, 1), int64(0), `["a","b"]`, "line\nbreak", `8`},
		{"x", nil, nil, `[]`, nil, []byte(`"open"`)},
	}
	for format, want := range map[string]string{
		"csv": "cell,ttft_ms,tokens,flags,error_message,level\n" +
			`"rate=1, ""two""",0.10000000000000002,0,"[""a"",""b""]","line` + "\nbreak\",8\n" + "x,,,[],,\"\"\"open\"\"\"\n",
		"jsonl": `{"cell":"rate=1, \"two\"","ttft_ms":0.10000000000000002,"tokens":0,"flags":["a","b"],"error_message":"line\nbreak","level":8}` + "\n" +
			`{"cell":"x","ttft_ms":null,"tokens":null,"flags":[],"error_message":null,"level":"open"}` + "\n",
	} {
		var out strings.Builder
		if err := exchange.WriteRows(&out, format, columns, rowsOf(rows, nil)); err != nil || out.String() != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", format, err, &out, want)
		}
	}
}

func TestWriteRowsEndsWithTheError(t *testing.T) {
	broken := errors.New("the disk is gone")
	for _, format := range exchange.Formats() {
		var out strings.Builder
		if err := exchange.WriteRows(&out, format, []string{"a"}, rowsOf([][]any{{"1"}}, broken)); !errors.Is(err, broken) {
			t.Errorf("%s: %v", format, err)
		}
	}
	if err := exchange.WriteRows(new(strings.Builder), "parquet", nil, rowsOf(nil, nil)); err == nil {
		t.Error("a format that is none was written")
	}
}
