package report

import (
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// nasty is a table whose words come from outside: names of levels, messages of servers.
func nasty(text string) *Table {
	return &Table{
		Kind: "errors", Sweep: text, Title: "Errors · " + text,
		Columns: []Column{{Name: "cell", Key: true}, {Name: "requests", Number: true}, {Name: "for example", Wrap: true}},
		Rows: []Row{
			{Section: text, Values: []Value{words(text), count(3), words(text)}, Marks: []int{0}},
			{Section: text, Values: []Value{words("next"), {}, words("")}},
		},
		Legend: Legend{
			Marks:    []Mark{{Letter: "a", Code: "error-rate", Severity: "suspect", Meaning: text, Details: []Entry{{text, text}}}},
			Contract: []Entry{{"model", text}}, Missing: []Entry{{text, text}}, Source: []Entry{{"", text}},
		},
		View: View{Columns: []string{"cell", "requests", "flags"}, Rows: [][]any{{text, int64(3), []string{text}}}},
	}
}

var nastyTexts = []string{
	`a|b`, `\`, `\\|`, "`code`", "<b>&amp;</b>", "*_~#$%^{}[]", `"quoted", 'single'`, "line\nbreak\r\nand\ttab", "naïve µs σ ≤ 5 → 中文",
	"[x]", "*", "--flag=---", "?` !`", "%comment", `\end{document}`, "a & b", "x_1^2", "|", "", " ", "\x00\x1b[31m", "| --- |", "``` \n```",
	"100 %", "#1", "~", "<script>", "\u2028", "-", "1-1", ",,", "''", "a]b[", `\input{/etc/passwd}`,
}

func FuzzMarkdown(f *testing.F) {
	for _, text := range nastyTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		table := nasty(text)
		out := markdownTable(table)
		rows := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		if want := 2 + 2 + 1; len(rows) != want {
			if text != "" {
				t.Fatalf("%d lines, want %d:\n%s", len(rows), want, out)
			}
		}
		for _, row := range rows {
			if n := unescapedPipes(row); n != len(table.Columns)+1 {
				t.Errorf("%d pipes in %q", n, row)
			}
		}
	})
}

// unescapedPipes counts the pipes that divide a row.
func unescapedPipes(row string) int {
	n := 0
	for i := 0; i < len(row); i++ {
		switch row[i] {
		case '\\':
			i++
		case '|':
			n++
		}
	}
	return n
}

func FuzzLaTeX(f *testing.F) {
	for _, text := range nastyTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out := latex(text)
		depth := 0
		for i := 0; i < len(out); i++ {
			switch c := out[i]; c {
			case '\\':
				i++ // a command or an escaped character of ours
				if i == len(out) {
					t.Fatalf("%q ends in a backslash", out)
				}
			case '{':
				depth++
			case '}':
				depth--
			case '&', '%', '#', '_', '\n', '\r', 0, 0x1b:
				t.Errorf("a bare %q in %q", c, out)
			case '~':
				if !strings.Contains(text, "\u00a0") {
					t.Errorf("a bare ~ in %q", out)
				}
			}
			if depth < 0 {
				t.Fatalf("a brace closes too early in %q", out)
			}
		}
		if depth != 0 {
			t.Errorf("braces are open in %q", out)
		}
		if !utf8.ValidString(out) {
			t.Errorf("%q is not UTF-8", out)
		}
	})
}

func FuzzData(f *testing.F) {
	for _, text := range nastyTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || strings.Contains(text, "\r") {
			t.Skip("JSON has no such text, and the csv reader turns line ends into \\n")
		}
		table := nasty(text)
		records, err := csv.NewReader(strings.NewReader(write(t, table, "csv", Options{}))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var codes []string
		if err := json.Unmarshal([]byte(records[1][2]), &codes); err != nil {
			t.Fatal(err)
		}
		if records[1][0] != text || records[1][1] != "3" || codes[0] != text {
			t.Errorf("csv has %q", records[1])
		}
		var objects []struct {
			Cell  string
			Flags []string
		}
		if err := json.Unmarshal([]byte(write(t, table, "json", Options{})), &objects); err != nil {
			t.Fatal(err)
		}
		if objects[0].Cell != text || objects[0].Flags[0] != text {
			t.Errorf("json has %+v", objects[0])
		}
	})
}

// FuzzText: whatever the words are, each row of the table is there, and no terminal escape comes from outside.
func FuzzText(f *testing.F) {
	for _, text := range nastyTexts {
		f.Add(text, 80)
	}
	f.Fuzz(func(t *testing.T, text string, width int) {
		out := write(t, nasty(text), "table", Options{Width: width % 500})
		if strings.ContainsAny(out, "\x00\x1b\r") {
			t.Errorf("a control character in %q", out)
		}
		if !strings.Contains(out, "next") || !strings.Contains(out, "3") {
			t.Errorf("rows are lost:\n%s", out)
		}
	})
}
