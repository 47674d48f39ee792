package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/inference-sweep/sweep/sweep"
)

// TestSameFigures: every figure of a table stands in every printed format with the same digits.
func TestSameFigures(t *testing.T) {
	for name, in := range map[string]Input{"night": night(t), "storm": storm(t)} {
		for _, kind := range []string{"goodput", "latency", "variance", "compare", "phases"} {
			table := build(t, kind, in)
			text := squeezed(write(t, table, "table", Options{Width: 80}))
			markdown := squeezed(write(t, table, "markdown", Options{}))
			latex := squeezed(write(t, table, "latex", Options{}))
			for _, row := range table.Rows {
				for j, v := range row.Values {
					p := v.print()
					if !p.numeric {
						continue
					}
					inLaTeX := strings.Replace(p.figure, "< ", "<", 1)
					if spread := p.spread(); spread != "" {
						inLaTeX += "&" + unspaced(spread)
					}
					if !strings.Contains(text, squeezed(p.figure)) || p.half != "" && !strings.Contains(text, "±"+p.half) {
						t.Errorf("%s %s: %s is not in the text", name, kind, p)
					}
					if !strings.Contains(markdown, squeezed(unescaped(p.String()))) {
						t.Errorf("%s %s: %s is not in the Markdown", name, kind, p)
					}
					if !table.Columns[j].Extra && !strings.Contains(latex, squeezed(inLaTeX)) {
						t.Errorf("%s %s: %s is not in the LaTeX", name, kind, p)
					}
				}
			}
		}
	}
}

func unspaced(text string) string { return latex(strings.TrimSpace(text)) }

func squeezed(text string) string { return strings.ReplaceAll(text, " ", "") }

func unescaped(text string) string { return markdown(text) }

// TestWidths: no line of a table is wider than asked, but for a single column that cannot be narrower.
func TestWidths(t *testing.T) {
	for name, in := range map[string]Input{"night": night(t), "storm": storm(t)} {
		for _, kind := range Kinds() {
			for _, width := range []int{80, 100, 120, 160} {
				text := write(t, build(t, kind, in), "table", Options{Width: width})
				if n, line := widest(text); n > width {
					t.Errorf("%s %s at %d: a line of %d:\n%s", name, kind, width, n, line)
				}
			}
		}
	}
}

// TestRowsCarryTheirFlags: what invalidates a cell stands on each of its rows, in every kind and format.
func TestRowsCarryTheirFlags(t *testing.T) {
	in := storm(t)
	for _, kind := range []string{"goodput", "latency", "variance", "compare", "phases"} {
		table := build(t, kind, in)
		for _, row := range table.Rows {
			if row.Values[0].Words == "engine=sglang" && !slices.ContainsFunc(row.Marks, func(m int) bool {
				return table.Legend.Marks[m].Code == "many-factors" && table.Legend.Marks[m].Severity == sweep.Invalid
			}) {
				t.Errorf("%s: a row of engine=sglang does not say many-factors", kind)
			}
		}
		for _, format := range []string{"table", "markdown", "latex"} {
			if text := write(t, table, format, Options{}); !strings.Contains(text, "many-factors (invalid)") {
				t.Errorf("%s as %s has no many-factors in its legend", kind, format)
			}
		}
	}
}

// TestBaselineFirst: rows keep the plan's order, aliases say of whom, and cells without figures are there.
func TestBaselineFirst(t *testing.T) {
	table := build(t, "goodput", storm(t))
	var names []string
	for _, row := range table.Rows {
		names = append(names, row.Values[0].Words)
	}
	if names[0] != sweep.Baseline || names[1] != sweep.TwinName {
		t.Errorf("first rows: %v", names[:2])
	}
	for _, name := range []string{"rate=16", "prompt=8192", "tpRate:tp=1,rate=8 (= baseline)"} {
		if !slices.Contains(names, name) {
			t.Errorf("no row of %s in %v", name, names)
		}
	}
}

func TestCellFilter(t *testing.T) {
	in := night(t)
	in.Cells = func(name string) bool { return strings.HasPrefix(name, "rate=") }
	table := build(t, "goodput", in)
	if len(table.Rows) != 3 {
		t.Errorf("%d rows, want 3", len(table.Rows))
	}
	for _, row := range table.View.Rows {
		if !strings.HasPrefix(row[1].(string), "rate=") {
			t.Errorf("the view has a row of %v", row[1])
		}
	}
}

func TestUnknownNames(t *testing.T) {
	for _, kind := range []string{"capacity", "quality", "goodputs", ""} {
		if _, err := Build(kind, night(t)); err == nil {
			t.Errorf("table %q was built", kind)
		}
	}
	if err := Write(&bytes.Buffer{}, build(t, "goodput", night(t)), "html", Options{}); err == nil {
		t.Error("format html was written")
	}
}

// TestEmpty: a plan that has not run has every table, and each says why it is empty.
func TestEmpty(t *testing.T) {
	for _, kind := range Kinds() {
		table := build(t, kind, Input{Plan: batchPlan(t)})
		for _, format := range Formats() {
			if text := write(t, table, format, Options{}); text == "" {
				t.Errorf("%s as %s is empty", kind, format)
			}
		}
	}
	if text := write(t, build(t, "goodput", Input{Plan: batchPlan(t)}), "table", Options{}); !strings.Contains(text, "it has not run") {
		t.Error(text)
	}
}

// TestViews: csv and json have the same columns and rows, figures in full, flags as lists.
func TestViews(t *testing.T) {
	for _, kind := range Kinds() {
		table := build(t, kind, night(t))
		records, err := csv.NewReader(strings.NewReader(write(t, table, "csv", Options{}))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var objects []map[string]any
		if err := json.Unmarshal([]byte(write(t, table, "json", Options{})), &objects); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(records[0], table.View.Columns) || len(records)-1 != len(objects) || len(objects) != len(table.View.Rows) {
			t.Fatalf("%s: %d records and %d objects of %d rows, columns %v", kind, len(records)-1, len(objects), len(table.View.Rows), records[0])
		}
		for i, object := range objects {
			if len(object) != len(records[0]) {
				t.Errorf("%s: object %d has %d columns", kind, i, len(object))
			}
			for j, name := range records[0] {
				if x, ok := object[name].(float64); ok {
					if want, _ := json.Marshal(x); !sameNumber(string(want), records[i+1][j]) {
						t.Errorf("%s: %s is %s in csv and %v in json", kind, name, records[i+1][j], x)
					}
				}
				if _, ok := object[name].([]any); name == "flags" && !ok {
					t.Errorf("%s: flags is %v", kind, object[name])
				}
			}
		}
	}
}

func sameNumber(a, b string) bool {
	var x, y float64
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && x == y
}

func TestPlanJSON(t *testing.T) {
	var out bytes.Buffer
	if err := WritePlan(&out, enginesPlan(t), "json", PlanInfo{ExpectedS: 118}); err != nil {
		t.Fatal(err)
	}
	var plan struct {
		Sweep string
		Cells []map[string]json.RawMessage
	}
	if err := json.Unmarshal(out.Bytes(), &plan); err != nil {
		t.Fatal(err)
	}
	want := []string{"alias_of", "at", "cell", "command", "contract", "digest", "factor", "flags", "level", "measure", "moved", "requests",
		"server", "target", "warmup"}
	for i, cell := range plan.Cells {
		var keys []string
		for k := range cell {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		if !slices.Equal(keys, want) {
			t.Fatalf("cell %d has %v", i, keys)
		}
		var exported map[string]any
		if err := json.Unmarshal(enginesPlan(t).Cells[i].Cell.Raw, &exported); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"cell", "factor", "level", "at", "target", "contract", "server", "measure", "warmup"} {
			var got any
			if err := json.Unmarshal(cell[key], &got); err != nil {
				t.Fatal(err)
			}
			if compact(got) != compact(exported[key]) {
				t.Errorf("cell %d: %s is %s, exported as %s", i, key, compact(got), compact(exported[key]))
			}
		}
	}
	out.Reset()
	if err := WritePlans(&out, []PlanAndInfo{{batchPlan(t), PlanInfo{}}, {enginesPlan(t), PlanInfo{}}}, "json"); err != nil {
		t.Fatal(err)
	}
	var plans []map[string]any
	if err := json.Unmarshal(out.Bytes(), &plans); err != nil || len(plans) != 2 {
		t.Errorf("%d plans, %v", len(plans), err)
	}
}

// TestColour: colour adds escapes and nothing else.
func TestColour(t *testing.T) {
	table := build(t, "goodput", storm(t))
	escapes := regexp.MustCompile("\x1b\\[[0-9;]*m")
	coloured := write(t, table, "table", Options{Width: 120, Color: true})
	if !escapes.MatchString(coloured) {
		t.Error("nothing is coloured")
	}
	if bare := escapes.ReplaceAllString(coloured, ""); bare != write(t, table, "table", Options{Width: 120}) {
		t.Errorf("without its escapes the coloured table differs:\n%s", bare)
	}
}

// TestGlossary: every code that has a meaning has a place in the order, once.
func TestGlossary(t *testing.T) {
	for code := range glossary {
		if n := len(slices.DeleteFunc(slices.Clone(order), func(o string) bool { return o != code })); n != 1 {
			t.Errorf("%s stands %d times in the order", code, n)
		}
	}
	if len(order) != len(glossary) {
		t.Errorf("%d in order, %d in the glossary", len(order), len(glossary))
	}
}
