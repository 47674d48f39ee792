package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/sweep"
)

// unspun is a text with its line breaks as spaces.
func unspun(text string) string { return strings.Join(strings.Fields(text), " ") }

// sparse is a night in which rate=50 had 38 requests in each block: too few for p95.
func sparse(t testing.TB) Input {
	in := night(t)
	for i := range in.Derived.Variance {
		if r := &in.Derived.Variance[i]; r.Cell == "rate=50" && strings.HasSuffix(r.Metric, "_p95") {
			*r = sweep.VarianceRow{Cell: r.Cell, Metric: r.Metric, Verdict: r.Verdict, Flags: r.Flags}
		}
	}
	for i := range in.Derived.Latency {
		if r := &in.Derived.Latency[i]; r.Cell == "rate=50" && r.Block > 0 {
			r.N = 36 + int64(r.Block%3)
		}
	}
	for i := range in.Derived.Comparison {
		if r := &in.Derived.Comparison[i]; r.Cell == "rate=50" && r.Metric == "ttft_p95" {
			r.Blocks, r.Ratio, r.CILow, r.CIHigh, r.P, r.PHolm, r.Outcome = 0, nil, nil, nil, nil, nil, "inconclusive"
		}
	}
	return in
}

// TestOneAbsence: what is missing for one reason is explained in the same words wherever it is missing.
func TestOneAbsence(t *testing.T) {
	in := sparse(t)
	for _, kind := range []string{"latency", "variance", "compare"} {
		text := unspun(write(t, build(t, kind, in), "table", Options{}))
		if want := "p95 of rate=50 a block has 36 to 38 values: p95 needs 59"; !strings.Contains(text, want) {
			t.Errorf("%s does not say %q:\n%s", kind, want, text)
		}
	}
	text := unspun(write(t, build(t, "latency", in), "table", Options{}))
	if want := "p99 a block has 36 to 360 values: p99 over blocks needs 1,000 requests in each"; !strings.Contains(text, want) {
		t.Errorf("latency does not say %q:\n%s", want, text)
	}
}

// TestWhyNoRatio: the side that lacks something is named, and a reference is no cell that is left out.
func TestWhyNoRatio(t *testing.T) {
	in := night(t)
	in.Derived.Comparison = nil
	none := func(cell, reference, metric string, pairs int) {
		in.Derived.Comparison = append(in.Derived.Comparison, sweep.ComparisonRow{Cell: cell, Reference: reference, Metric: metric,
			Blocks: pairs, Margin: 0.05, Outcome: "inconclusive", Moved: 1})
	}
	none("rate=50", "batch=4", "goodput_req_s", 6)
	none("rate=150", "batch=8", "goodput_req_s", 0)
	text := unspun(write(t, build(t, "compare", in), "table", Options{}))
	for _, want := range []string{
		"goodput (req/s) batch=4 has 0, to which there is no ratio",
		"goodput (req/s) of rate=150 no block has it on both sides, valid and measured in one sitting",
		"batch=32, rate=200 not in this table",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "batch=8 not in this table") || strings.Contains(text, "batch=4, batch") {
		t.Errorf("a reference is said not to be there:\n%s", text)
	}
}

// TestOneBlock: what rests on one block does not look like what all blocks agree on.
func TestOneBlock(t *testing.T) {
	in := night(t)
	for i := range in.Derived.Variance {
		if r := &in.Derived.Variance[i]; r.Cell == "rate=50" {
			r.Blocks, r.SD, r.CV, r.CILow, r.CIHigh = 1, nil, nil, nil, nil
		}
	}
	table := build(t, "goodput", in)
	for _, row := range table.Rows {
		want := map[string]string{"rate=50": "1.000 †", "baseline": "1.000 ± 0"}[row.Values[0].Words]
		if got := row.Values[1].String(); want != "" && got != want {
			t.Errorf("%s: %q, want %q", row.Values[0].Words, got, want)
		}
	}
	if !slices.Contains(table.Legend.Definitions, defAlone) {
		t.Error("the legend does not say what the mark is")
	}
	if text := unspun(write(t, build(t, "variance", in), "table", Options{})); !strings.Contains(text, "sd, cv the estimate rests on one block") {
		t.Errorf("no reason for sd:\n%s", text)
	}
}

// TestLettersHold: a flag has one letter in all reports of a sweep, whichever cells are shown.
func TestLettersHold(t *testing.T) {
	whole := map[string]string{}
	for _, m := range build(t, "goodput", storm(t)).Legend.Marks {
		whole[m.Code+string(m.Severity)] = m.Letter
	}
	in := storm(t)
	in.Cells = func(name string) bool { return strings.HasPrefix(name, "tpRate") }
	for _, kind := range []string{"goodput", "latency", "compare"} {
		for _, m := range build(t, kind, in).Legend.Marks {
			if want := whole[m.Code+string(m.Severity)]; m.Letter != want {
				t.Errorf("%s: %s has letter %q, and %q among all cells", kind, m.Code, m.Letter, want)
			}
		}
	}
}

// TestTogether: tables of several kinds end in one legend that has the words of all.
func TestTogether(t *testing.T) {
	tables := []*Table{build(t, "goodput", night(t)), build(t, "variance", night(t))}
	for _, format := range []string{"table", "markdown"} {
		var out bytes.Buffer
		if err := WriteTogether(&out, tables, format, Options{}); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"Contract of all rows", "Read as", "Flags\n", "Made by", "Variance between blocks", "throughput", "standard deviation"} {
			if n := strings.Count(out.String(), part); n == 0 || n > 1 && part != "throughput" {
				t.Errorf("%s: %q stands there %d times", format, part, n)
			}
		}
	}
	if err := WriteTogether(&bytes.Buffer{}, tables, "csv", Options{}); err == nil {
		t.Error("two kinds of rows were written under one header")
	}
}

func TestReadings(t *testing.T) {
	for _, c := range []struct {
		key   string
		value any
		want  string
	}{
		{"client_cpu_share", 0.017277497066051674, "1.73 %"},
		{"round_trip_ns", int64(93983), "94.0 µs"},
		{"gc_pause_ns", 0.0, "0 ns"},
		{"null_floor_ns", 2.5e9, "2.50 s"},
		{"sched_p99_ns", int64(999), "999 ns"},
		{"tokens_per_word", 1.3333333333, "1.33"},
		{"max_model_len", int64(32768), "32768"},
		{"engine_version", "1", "1"},
		{"restarted", true, "true"},
	} {
		if got := reading(c.key, c.value); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.key, c.value, got, c.want)
		}
	}
}

// TestSettling: why a cell has no time at which it settled, and in which blocks it did not.
func TestSettling(t *testing.T) {
	in := night(t)
	batch := func(change func(*sweep.SettlingRow)) func() {
		return func() {
			for i := range in.Derived.Settling {
				if r := &in.Derived.Settling[i]; r.Cell == "batch=8" {
					change(r)
				}
			}
		}
	}
	drop := func(change func(*sweep.Cell)) func() {
		return func() {
			in.Derived.Settling = nil
			change(&in.Plan.CellNamed("batch=8").Cell)
		}
	}
	late := func(r *sweep.SettlingRow) { r.FoundMS, r.CutN, r.TTFTMS, r.TTFTCutMS = ref(420), 60, ref(55), ref(50) }
	for _, c := range []struct {
		name, printed, off, missing string
		change                      func()
	}{
		{"as it is", "0.20", "0.0", "", func() {}},
		{"later than the warm-up", "0.42 late 6/6", "10.0", "", batch(late)},
		{"later in fewer than half", "0.23 late 2/6", "10.0", "", batch(func(r *sweep.SettlingRow) {
			if r.Block < 3 {
				late(r)
			}
		})},
		{"all of the warm-up cut", "0.40", "0.0", "", batch(func(r *sweep.SettlingRow) { r.FoundMS, r.CutN = r.WarmupMS, r.WarmupN })},
		{"with a window that is too fast", "0.42 late 6/6", "-20.0", "", batch(func(r *sweep.SettlingRow) {
			late(r)
			r.TTFTMS = ref(52)
			if r.Block == 4 {
				r.TTFTMS = ref(40)
			}
		})},
		{"not in one block", "0.20 none 1/6", "0.0", "", batch(func(r *sweep.SettlingRow) { settled := r.Block != 3; r.Settled = &settled })},
		{"late and not", "0.42 late 5/6, none 1/6", "10.0", "", batch(func(r *sweep.SettlingRow) { late(r); settled := r.Block != 3; r.Settled = &settled })},
		{"not in an invalid block", "0.20", "0.0", "", func() {
			batch(func(r *sweep.SettlingRow) { settled := r.Block != 3; r.Settled = &settled })()
			in.Derived.Goodput = append(in.Derived.Goodput, sweep.GoodputRow{Cell: "batch=8", Block: 3, Verdict: "invalid"})
		}},
		{"not in half", "0.23 none 3/6", "0.0", "", batch(func(r *sweep.SettlingRow) { settled := r.Block%2 == 0; r.Settled, r.FoundMS = &settled, ref(230) })},
		{"not in most", "0.19 none 4/6", "0.0", "", batch(func(r *sweep.SettlingRow) { settled := r.Block < 3; r.Settled = &settled })},
		{"not at all", "none 6/6", "0.0", "", batch(func(r *sweep.SettlingRow) { settled := false; r.Settled = &settled })},
		{"of few requests", "—", "—", "a block has at most 49 requests: where they settle needs 50", batch(func(r *sweep.SettlingRow) {
			r.N, r.CutN, r.Settled, r.FoundMS = 49, sweep.None, nil, nil
		})},
		{"a burst", "—", "—", "a burst has no load that settles", drop(func(c *sweep.Cell) { c.Contract.Load = schema.Load{Burst: &schema.Burst{}} })},
		{"whole answers", "—", "—", "answers do not stream: there is no TTFT that settles", drop(func(c *sweep.Cell) { c.Contract.Streaming = false })},
	} {
		t.Run(c.name, func(t *testing.T) {
			in = night(t)
			c.change()
			table := build(t, "phases", in)
			column := slices.IndexFunc(table.Columns, func(c Column) bool { return c.Group == groupSettling && c.Name == "settled" })
			row := slices.IndexFunc(table.Rows, func(r Row) bool { return r.Values[0].Words == "batch=8" })
			if got := table.Rows[row].Values[column].String(); got != c.printed {
				t.Errorf("it prints %q, want %q", got, c.printed)
			}
			if got := table.Rows[row].Values[column+1].String(); got != c.off {
				t.Errorf("the window is off by %q, want %q", got, c.off)
			}
			missing := ""
			for _, e := range table.Legend.Missing {
				if strings.Contains(e.Term, "settling of") && strings.Contains(e.Term, "batch=8") {
					missing = e.Text
				}
			}
			if missing != c.missing {
				t.Errorf("the legend says %q, want %q", missing, c.missing)
			}
		})
	}
}
