package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/inference-sweep/sweep/sweep"
)

// doubted is a night with flags of every kind: the baseline's sends were late once, batch=8 moved too much and was
// overloaded, and one of its blocks does not count. No percentile has its requests, and differences are hard to see.
func doubted(t testing.TB) Input {
	in := night(t)
	d := in.Derived
	flag := func(cell string, block int, code string, severity sweep.Severity, detail string) {
		d.Flags = append(d.Flags, sweep.Flag{Cell: cell, Block: block, Code: code, Severity: severity, Detail: detail})
	}
	flag("baseline", 4, "late-sends", sweep.Suspect, "5 of 135 requests left more than 2.4 ms late")
	flag("batch=8", 0, "many-factors", sweep.Invalid, "2 leaves moved")
	for b := 1; b <= 6; b++ {
		flag("batch=8", b, "overloaded", sweep.Suspect, "TTFT rose")
		codes := []string{"many-factors", "overloaded", "simulated"}
		if b == 2 {
			flag("batch=8", b, "mixed-models", sweep.Invalid, "b answered where a was asked for")
			codes = append(codes, "mixed-models")
		}
		d.Goodput = append(d.Goodput, sweep.GoodputRow{Cell: "batch=8", Block: b, Verdict: string(sweep.Invalid), Flags: codes})
	}
	for i := range d.Goodput {
		if r := &d.Goodput[i]; r.Cell == "batch=8" && r.Block == 0 {
			r.Blocks, r.LeftOut = 5, 1
		}
	}
	for _, sub := range in.Plan.Cells {
		flag(sub.Name(), 0, "few-samples", sweep.Note, "a block has 90 values")
		flag(sub.Name(), 0, "few-blocks", sweep.Note, "blocks that count: 4")
	}
	flag("batch=8", 0, "underpowered", sweep.Note, "goodput_req_s 8 %")
	plan := *in.Plan
	plan.Flags = append(slices.Clone(plan.Flags), sweep.Flag{Code: "few-blocks", Severity: sweep.Note, Detail: "blocks planned: 4"})
	in.Plan = &plan
	return in
}

// codesOf are the codes of a row's marks.
func codesOf(t *Table, marks []int) []string {
	var codes []string
	for _, m := range marks {
		codes = append(codes, t.Legend.Marks[m].Code)
	}
	return codes
}

// TestCellsOwnFlagLeavesBlocks: what invalidates a cell as such leaves its blocks in every figure, with their flags on the
// rows; only what invalidates a block leaves it out.
func TestCellsOwnFlagLeavesBlocks(t *testing.T) {
	for _, kind := range []string{"goodput", "latency", "variance", "compare", "phases"} {
		table := build(t, kind, doubted(t))
		for _, row := range table.Rows {
			if row.Values[0].Words != "batch=8" {
				continue
			}
			for _, code := range []string{"many-factors", "overloaded"} {
				if codes := codesOf(table, row.Marks); !slices.Contains(codes, code) {
					t.Errorf("%s: batch=8 carries %v, and not %s", kind, codes, code)
				}
			}
		}
		if want := []Entry{{"batch=8", "block 2 (invalid: mixed-models)"}}; !slices.Equal(table.Legend.LeftOut, want) {
			t.Errorf("%s: left out: %v, want %v", kind, table.Legend.LeftOut, want)
		}
	}
	phases := build(t, "phases", doubted(t))
	for _, row := range phases.View.Rows {
		if row[1] == "batch=8" && row[4] == "found_ms" && row[5] != int64(5) {
			t.Errorf("found_ms of %v blocks, want those that count", row[5])
		}
	}
}

// TestReferenceLetters: a ratio carries the flags of its reference, marked as such, whether or not that is shown.
func TestReferenceLetters(t *testing.T) {
	in := doubted(t)
	for _, only := range []string{"", "batch=8"} {
		if only != "" {
			in.Cells = func(name string) bool { return name == only }
		}
		table := build(t, "compare", in)
		row := table.Rows[slices.IndexFunc(table.Rows, func(r Row) bool { return r.Values[0].Words == "batch=8" })]
		if codes := codesOf(table, row.Reference); !slices.Equal(codes, []string{"late-sends"}) {
			t.Errorf("batch=8 carries %v of the baseline", codes)
		}
		if !slices.Contains(table.Legend.Definitions, defOfReference) {
			t.Error("the legend does not say what the brackets are")
		}
		letters := markColumn(table.Legend.Marks, row)
		for format, want := range map[string]string{
			"table": letters, "markdown": "<sup>" + letters + "</sup>", "latex": `\textsuperscript{` + strings.ReplaceAll(letters, " ", ",") + "}",
		} {
			if text := write(t, table, format, Options{}); !strings.HasSuffix(letters, ")") || !strings.Contains(text, want) {
				t.Errorf("%s does not have %q:\n%s", format, want, text)
			}
		}
	}
}

// TestEveryLetterIsOnARow: in every table, and every note is about its figures.
func TestEveryLetterIsOnARow(t *testing.T) {
	notes := map[string][]string{
		"goodput": {"few-blocks", "simulated"}, "latency": {"few-blocks", "few-samples", "simulated"},
		"variance": {"few-blocks", "few-samples", "simulated", "underpowered"}, "compare": {"few-blocks", "simulated", "underpowered"},
		"phases": {"simulated"}, "errors": {"simulated"},
	}
	for kind, want := range notes {
		table := build(t, kind, doubted(t))
		var got []string
		for i, m := range table.Legend.Marks {
			on := func(r Row) bool { return slices.Contains(r.Marks, i) || slices.Contains(r.Reference, i) }
			if m.Letter != "" && !slices.ContainsFunc(table.Rows, on) {
				t.Errorf("%s: the letter %s of %s is on no row", kind, m.Letter, m.Code)
			}
			if m.Severity == sweep.Note {
				got = append(got, m.Code)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s has the notes %v, want %v", kind, got, want)
		}
	}
}

// TestNothingFailed: a table without a row has no letter, and says what is suspect or invalid all the same.
func TestNothingFailed(t *testing.T) {
	in := doubted(t)
	in.Errors = nil
	table := build(t, "errors", in)
	if len(table.Rows) > 0 {
		t.Fatalf("%d rows", len(table.Rows))
	}
	for _, m := range table.Legend.Marks {
		if m.Letter != "" || m.Severity == sweep.Note || m.Term != onNoRow && m.Term != leftOutBlocks {
			t.Errorf("%s (%s) as %q, %q", m.Code, m.Severity, m.Letter, m.Term)
		}
	}
	if len(table.Legend.Marks) != 4 {
		t.Errorf("%d marks, want late-sends, many-factors, overloaded, mixed-models", len(table.Legend.Marks))
	}
}

// TestSaidOnce: what the plan foresaw of the sweep, and its cells then carry, is said of the cells alone.
func TestSaidOnce(t *testing.T) {
	for _, kind := range []string{"goodput", "flags"} {
		text := unspun(write(t, build(t, kind, doubted(t)), "table", Options{}))
		if strings.Contains(text, "blocks planned") || !strings.Contains(text, "blocks that count: 4") {
			t.Errorf("%s:\n%s", kind, text)
		}
	}
}

// TestWhyRefused: every row that is refused has its reason.
func TestWhyRefused(t *testing.T) {
	in := night(t)
	refuse := func(cell, reference, factor string) {
		in.Derived.Comparison = append(in.Derived.Comparison, sweep.ComparisonRow{Cell: cell, Reference: reference, Factor: factor,
			Metric: "goodput_req_s", Blocks: 6, Margin: 0.05, Outcome: "refused", Moved: 1})
	}
	in.Derived.Comparison = nil
	for _, cell := range []string{"batch=4", "batch=8", "batch=32", "rate=50", "rate=150"} {
		refuse(cell, "baseline", strings.Split(cell, "=")[0])
	}
	refuse("rate=200", "rate=50", "")
	in.Plan.CellNamed("batch=4").Cell.Contract.Load.Open = nil
	in.Plan.CellNamed("batch=8").Cell.Contract.Prompt.Length.Fixed = 4096
	in.Plan.CellNamed("batch=32").References[0].Undeclared = []sweep.Move{{Path: "contract.load.open.rate"}, {Path: "tail"}}
	in.Derived.Flags = append(in.Derived.Flags, sweep.Flag{Cell: "rate=50", Code: "label-only", Severity: sweep.Invalid})
	for i := range in.Plan.Factors {
		in.Plan.Factors[i].Couples = []string{"contract.load.open.rate", "contract.engine.args.max-num-seqs"}
	}
	table := build(t, "compare", in)
	got := map[string]string{}
	for _, e := range table.Legend.Missing {
		got[e.Term] = e.Text
	}
	for cell, want := range map[string]string{
		"batch=4":  "refused, different loops: burst against open",
		"batch=8":  "refused, different lengths (prompt/output): 4096/16 against 128/16, which the factor does not vary",
		"batch=32": "refused, also moved: load.open.rate, tail",
		"rate=50":  "refused, label-only of rate=50",
		"rate=150": "refused, for a reason that is not recorded",
		"rate=200": "refused, label-only of rate=50 (against rate=50)",
	} {
		if got[cell] != want {
			t.Errorf("%s: %q, want %q", cell, got[cell], want)
		}
	}
}

// TestBarsInForce: the legend and what lies beside csv and json say by which bars the rows are judged.
func TestBarsInForce(t *testing.T) {
	in := night(t)
	in.Defined, in.Plan, in.SLO = in.Plan, judgedBy(in.Plan, "1s"), "ttft=1s"
	for _, kind := range []string{"goodput", "variance", "compare"} {
		table := build(t, kind, in)
		at := slices.IndexFunc(table.Legend.Contract, func(e Entry) bool { return e.Term == "SLO" })
		want := "TTFT ≤ 1 s, judged from due time, meant for 99 % of requests; judged again by ttft=1s (the contract's own: TTFT ≤ 150 ms, TPOT ≤ 10 ms, meant for 99 % of requests)"
		if got := table.Legend.Contract[at].Text; got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
	var beside strings.Builder
	if err := WriteBeside(&beside, in); err != nil || strings.Count(beside.String(), `"slo": "ttft=1s,attainment=0.99"`) != len(in.Plan.Cells) {
		t.Errorf("beside it (%v):\n%s", err, beside.String())
	}
}

// TestLaTeXSaysWhatItLacks: columns that no page bears are named, and the numbers of flags stand whole in comments.
func TestLaTeXSaysWhatItLacks(t *testing.T) {
	text := write(t, build(t, "goodput", doubted(t)), "latex", Options{})
	for _, want := range []string{
		"% " + withoutTitle + ": goodput (tok/s), requests due, requests failed, throughput requests (req/s), verdict\n",
		`\item ` + withoutTitle + ": goodput (tok/s), requests due, requests failed, throughput requests (req/s), verdict.",
		"% overloaded (suspect): batch=4: block 1: TTFT rose through the window (tau 0.91), 89 % of the due requests ended in it; 5 more blocks\n",
		"% overloaded (suspect): batch=8: block 1: TTFT rose; 4 more blocks\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
	if text := write(t, build(t, "latency", doubted(t)), "latex", Options{}); strings.Contains(text, withoutTitle) {
		t.Error("columns are said to be left out of a table that has them all")
	}
}
