package report

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/sweep"
)

// definition reads the cells that CUE exports of an example, and adds what is asked of its factors.
func definition(t testing.TB, name string, change func(*sweep.Definition)) *sweep.Definition {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".cells.json"))
	if err != nil {
		t.Fatal(err)
	}
	d := &sweep.Definition{Name: name, Blocks: 6, Seed: 1,
		Judge: schema.Judge{Metrics: []string{"goodput_req_s", "output_rate", "ttft_p95", "tpot_p95"}, Margin: 0.05}}
	if err := json.Unmarshal(text, &d.Cells); err != nil {
		t.Fatal(err)
	}
	change(d)
	return d
}

func planOf(t testing.TB, d *sweep.Definition) *sweep.Plan {
	t.Helper()
	p, err := sweep.NewPlan(d, sweep.Rendering{
		Command: func(c *sweep.Cell) ([]string, error) {
			return []string{"serve", c.Contract.Model.Id, fmt.Sprint(c.Contract.Engine.Args)}, nil
		},
		Setting: func(c *sweep.Cell) (string, error) {
			return c.Contract.Engine.Name + fmt.Sprint(c.Contract.Engine.Args), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func batchPlan(t testing.TB) *sweep.Plan {
	return planOf(t, definition(t, "batch", func(d *sweep.Definition) {
		d.Factors = []sweep.Factor{
			{Name: "batch", Factor: schema.Factor{Baseline: 16.0, Levels: []any{4.0, 8.0, 32.0}}},
			{Name: "rate", Factor: schema.Factor{Baseline: 100.0, Levels: []any{50.0, 150.0, 200.0}}},
		}
	}))
}

// enginesPlan has a factor of several leaves, a grid with aliases, and a second run of the baseline.
func enginesPlan(t testing.TB) *sweep.Plan {
	return planOf(t, definition(t, "engines", func(d *sweep.Definition) {
		d.AA, d.Title = true, "Which engine, and how many GPUs?"
		d.Factors = []sweep.Factor{
			{Name: "rate", Factor: schema.Factor{Baseline: 8.0, Levels: []any{1.0, 2.0, 4.0, 16.0}}},
			{Name: "tp", Factor: schema.Factor{Baseline: 1.0, Levels: []any{2.0, 4.0},
				Couples: []string{"contract.engine.args.tensor-parallel-size", "contract.hardware.gpus"}}},
			{Name: "prompt", Factor: schema.Factor{Baseline: 1024.0, Levels: []any{128.0, 8192.0}}},
			// Without its couples: more moves than the factor lists.
			{Name: "engine", Factor: schema.Factor{Baseline: "vllm", Levels: []any{"sglang"}}},
		}
		d.Grids = []sweep.Grid{{Name: "tpRate", Grid: schema.Grid{Of: []string{"tp", "rate"}, Kind: "cross"}}}
	}))
}

// figures make derived rows of block values: the between-block rows by the rules of the public interface.
type figures struct {
	sweep.Derived
	blocks int
}

// t975 are the quantiles of Student's t by degrees of freedom, from a printed table.
var t975 = map[int]float64{1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571}

func ref(x float64) *float64 { return &x }

// wobble spreads the blocks of a cell without chance: shares of sd around 0.
func wobble(block int) float64 {
	return []float64{-1.1, 0.4, 1.3, -0.7, 0.9, -0.8}[(block-1)%6]
}

func (f *figures) variance(cell, metric string, centre, cv float64, flags ...string) {
	if centre == 0 {
		f.Derived.Variance = append(f.Derived.Variance, sweep.VarianceRow{Cell: cell, Metric: metric, Blocks: f.blocks, Estimate: ref(0),
			Estimator: "mean", SD: ref(0), CILow: ref(0), CIHigh: ref(0), CIMethod: "exact", Verdict: "valid", Flags: flags})
		return
	}
	var logs []float64
	for b := 1; b <= f.blocks; b++ {
		logs = append(logs, math.Log(centre*(1+cv*wobble(b))))
	}
	mean, sd := moments(logs)
	half := t975[f.blocks-1] * sd / math.Sqrt(float64(f.blocks))
	row := sweep.VarianceRow{Cell: cell, Metric: metric, Blocks: f.blocks, Estimate: ref(math.Exp(mean)), Estimator: "log-mean",
		SD: ref(centre * sd), CV: ref(sd), CILow: ref(math.Exp(mean - half)), CIHigh: ref(math.Exp(mean + half)),
		CIMethod: "t-log", Verdict: "valid", Flags: flags}
	if cv == 0 {
		row.CILow, row.CIHigh, row.CIMethod = row.Estimate, row.Estimate, "exact"
	}
	f.Derived.Variance = append(f.Derived.Variance, row)
}

func moments(xs []float64) (mean, sd float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		sd += (x - mean) * (x - mean) / float64(len(xs)-1)
	}
	return mean, math.Sqrt(sd)
}

// measured is what a test says of one cell.
type measured struct {
	cell             string
	rate, attainment float64 // requests per second due, and their share that met the SLO
	ttft, tpot       float64 // medians, milliseconds
	cv               float64
	n                int64 // requests due in a block
	failed, leftOut  int
	// foundMS is by when TTFT settled in a block, never how many blocks did not.
	foundMS float64
	never   int
	verdict string
	flags   []string
}

func (f *figures) add(m measured) {
	blocks := f.blocks - m.leftOut
	if m.verdict == "" {
		m.verdict = sweep.VerdictValid
	}
	due := m.n * int64(blocks)
	good := m.rate * m.attainment
	f.Derived.Goodput = append(f.Derived.Goodput, sweep.GoodputRow{Cell: m.cell, Due: due, OK: due - int64(m.failed),
		Failed: int64(m.failed), Met: int64(float64(due) * m.attainment), Attainment: ref(m.attainment), WindowS: ref(10.8),
		RequestRate: ref(m.rate * 0.997), InputRate: ref(m.rate * 128), OutputRate: ref(m.rate * 16), GoodputReqS: ref(good),
		GoodputTokS: ref(good * 16), GoodputTokSGPU: ref(good * 16), Blocks: blocks, LeftOut: m.leftOut, Verdict: m.verdict, Flags: m.flags})
	f.settling(m, blocks)
	f.attainment(m)
	f.variance(m.cell, "goodput_req_s", good, m.cv, m.flags...)
	f.variance(m.cell, "goodput_tok_s", good*16, m.cv, m.flags...)
	f.variance(m.cell, "output_rate", m.rate*16, m.cv/3, m.flags...)
	for _, l := range []struct {
		metric string
		p50    float64
		phase  sweep.Phase
		n      int64
	}{
		{"ttft", m.ttft, sweep.PhaseMeasure, due}, {"ttft_due", m.ttft, sweep.PhaseMeasure, due}, {"tpot", m.tpot, sweep.PhaseMeasure, due},
		{"gap", m.tpot * 1.01, sweep.PhaseMeasure, due * 15}, {"e2e", m.ttft + 15*m.tpot, sweep.PhaseMeasure, due},
		{"ttft", m.ttft * 1.2, sweep.PhaseWarmup, 240}, {"tpot", m.tpot * 1.1, sweep.PhaseWarmup, 240},
		{"ttft", m.ttft * 9, sweep.PhaseCold, 6}, {"tpot", m.tpot * 1.4, sweep.PhaseCold, 6},
	} {
		row := sweep.LatencyRow{Cell: m.cell, Phase: l.phase, Metric: l.metric, N: l.n, ErrorShare: ref(float64(m.failed) / float64(due)),
			Mean: ref(l.p50 * 1.1), SD: ref(l.p50 / 4), Min: ref(l.p50 * 0.7), P50: ref(l.p50), P90: ref(l.p50 * 1.5),
			P95: ref(l.p50 * 1.7), P99: ref(l.p50 * 2), Max: ref(l.p50 * 2.3), Blocks: blocks, LeftOut: m.leftOut, Verdict: m.verdict, Flags: m.flags}
		if l.n < 59 {
			row.P95, row.P99 = nil, nil
		}
		f.Derived.Latency = append(f.Derived.Latency, row)
		for b := 1; b <= blocks && l.phase == sweep.PhaseMeasure; b++ {
			own := row
			own.Block, own.N, own.Blocks, own.LeftOut = b, l.n/int64(blocks), 0, 0
			f.Derived.Latency = append(f.Derived.Latency, own)
		}
		if l.phase == sweep.PhaseMeasure {
			f.variance(m.cell, l.metric+"_p50", l.p50, m.cv, m.flags...)
			f.variance(m.cell, l.metric+"_p95", l.p50*1.7, m.cv*1.6, m.flags...)
			if m.n >= 1000 {
				f.variance(m.cell, l.metric+"_p99", l.p50*2.1, m.cv*2.2, m.flags...)
			}
		}
	}
}

// settling is where each block settled: the last ones never where some did not.
func (f *figures) settling(m measured, blocks int) {
	for b := 1; b <= blocks; b++ {
		settled := b <= blocks-m.never
		row := sweep.SettlingRow{Cell: m.cell, Block: b, N: m.n + 40, WarmupN: 40, CutN: 10, FoundMS: ref(m.foundMS * (1 + .1*wobble(b))),
			WarmupMS: ref(400 + float64(b)), Settled: &settled, TTFTMS: ref(m.ttft * 1.1), TTFTCutMS: ref(m.ttft)}
		if !settled || *row.FoundMS > *row.WarmupMS {
			row.CutN = 90
		}
		f.Derived.Settling = append(f.Derived.Settling, row)
	}
}

// attainment is the arithmetic mean with its interval clipped to a share.
func (f *figures) attainment(m measured) {
	sd := math.Min(m.cv, math.Min(m.attainment, 1-m.attainment))
	half := t975[f.blocks-1] * sd / math.Sqrt(float64(f.blocks))
	row := sweep.VarianceRow{Cell: m.cell, Metric: "attainment", Blocks: f.blocks, Estimate: ref(m.attainment), Estimator: "mean",
		SD: ref(sd), CV: ref(sd), CILow: ref(math.Max(0, m.attainment-half)), CIHigh: ref(math.Min(1, m.attainment+half)),
		CIMethod: "t", Verdict: "valid", Flags: m.flags}
	if sd == 0 {
		row.CIMethod = "exact"
	}
	f.Derived.Variance = append(f.Derived.Variance, row)
}

func (f *figures) compare(cell, reference, factor, metric string, ratio, spread, p float64, outcome string) {
	f.Derived.Comparison = append(f.Derived.Comparison, sweep.ComparisonRow{Cell: cell, Reference: reference, Factor: factor, Metric: metric,
		Blocks: f.blocks, Ratio: ref(ratio), CILow: ref(ratio / (1 + spread)), CIHigh: ref(ratio * (1 + spread)), P: ref(p / 4), PHolm: ref(p),
		Margin: 0.05, Test: "paired-t-log", Outcome: outcome, Moved: 1})
}

func (f *figures) flag(cell string, block int, code string, severity sweep.Severity, detail string) {
	f.Derived.Flags = append(f.Derived.Flags, sweep.Flag{Cell: cell, Block: block, Code: code, Severity: severity, Detail: detail})
}

var provenance = map[string]string{"version": "0.1.0", "commit": "4f2a9c1", "database": "sweep.db, sha256 9d0f…c2", "source": "package x\n\n…"}

// night is a clean night: the embedded example, seven cells, six blocks, nothing to doubt.
func night(t testing.TB) Input {
	f := &figures{blocks: 6}
	f.AnalysisVersion = 1
	sim := []string{"simulated"}
	for _, m := range []measured{
		{cell: "baseline", rate: 100, attainment: 1, ttft: 44.1, tpot: 5.2, foundMS: 85, cv: 0.02, n: 180, flags: sim},
		{cell: "batch=4", rate: 100, attainment: 0, ttft: 612, tpot: 4.1, never: 4, cv: 0.09, n: 180, flags: append([]string{"overloaded"}, sim...), verdict: "suspect"},
		{cell: "batch=8", rate: 100, attainment: 0.996, ttft: 61.3, tpot: 4.7, foundMS: 212, cv: 0.03, n: 180, flags: sim},
		{cell: "batch=32", rate: 100, attainment: 1, ttft: 43.9, tpot: 5.3, foundMS: 0, cv: 0.018, n: 180, flags: sim},
		{cell: "rate=50", rate: 50, attainment: 1, ttft: 42.6, tpot: 4.6, foundMS: 96, cv: 0.011, n: 90, flags: sim},
		{cell: "rate=150", rate: 150, attainment: 0.9991, ttft: 49.8, tpot: 6.1, foundMS: 1210, never: 1, cv: 0.024, n: 270, flags: sim},
		{cell: "rate=200", rate: 200, attainment: 0.22, ttft: 201, tpot: 6.9, foundMS: 870, cv: 0.14, n: 360, failed: 12, flags: append([]string{"overloaded"}, sim...), verdict: "suspect"},
	} {
		f.add(m)
		f.flag(m.cell, 0, "simulated", sweep.Note, "")
	}
	for b := 1; b <= 6; b++ {
		f.flag("batch=4", b, "overloaded", sweep.Suspect, fmt.Sprintf("TTFT rose through the window (tau 0.9%d), %d %% of the due requests ended in it", b, 88+b%3))
	}
	f.flag("rate=200", 2, "overloaded", sweep.Suspect, "TTFT rose through the window (tau 0.88), 93 % of the due requests ended in it")
	f.compareNight()
	plan := batchPlan(t)
	in := Input{Plan: plan, Derived: &f.Derived, Provenance: provenance, Command: "sweep report goodput"}
	in.Trials, in.Launches = trialsOf(plan)
	in.Errors = []ErrorCount{
		{Cell: "rate=200", Block: 2, Phase: sweep.PhaseMeasure, Error: sweep.ErrHTTP, HTTPStatus: 429, Count: 9, Message: "429 Too Many Requests: queue is full"},
		{Cell: "rate=200", Block: 5, Phase: sweep.PhaseMeasure, Error: sweep.ErrHTTP, HTTPStatus: 429, Count: 2, Message: "429 Too Many Requests: queue is full"},
		{Cell: "rate=200", Block: 5, Phase: sweep.PhaseMeasure, Error: sweep.ErrTruncated, HTTPStatus: 200, Count: 1, Message: "the stream ended after 7 of 16 tokens"},
		{Cell: "batch=4", Block: 1, Phase: sweep.PhaseTail, Error: sweep.ErrCancelled, HTTPStatus: sweep.None, Count: 31},
	}
	return in
}

func (f *figures) compareNight() {
	for _, metric := range []string{"goodput_req_s", "ttft_p95"} {
		f.compare("batch=8", "baseline", "batch", metric, 1.39, 0.04, 0.0031, map[string]string{"goodput_req_s": "better", "ttft_p95": "worse"}[metric])
		f.compare("batch=32", "baseline", "batch", metric, 0.997, 0.011, 1, "no-difference")
		f.compare("rate=50", "baseline", "rate", metric, 0.5004, 0.004, 1e-7, map[string]string{"goodput_req_s": "worse", "ttft_p95": "better"}[metric])
		f.compare("rate=150", "baseline", "rate", metric, 1.12, 0.17, 0.21, "inconclusive")
		f.Derived.Comparison = append(f.Derived.Comparison, sweep.ComparisonRow{Cell: "batch=4", Reference: "baseline", Factor: "batch", Metric: metric,
			Blocks: 6, Ratio: ref(0), CILow: ref(0), CIHigh: ref(0), PHolm: ref(1e-9), Margin: 0.05, Test: "paired-t-diff", Outcome: "worse", Moved: 1})
	}
}

// trialsOf are done trials of a whole plan, each setting on a launch of its own in each block.
func trialsOf(p *sweep.Plan) ([]sweep.TrialRecord, []sweep.Launch) {
	began := time.Date(2026, 3, 1, 22, 0, 0, 0, time.UTC)
	var trials []sweep.TrialRecord
	var launches []sweep.Launch
	byLaunch := map[string]int64{}
	for i, t := range p.Trials {
		key := fmt.Sprint(t.Setting, t.Block)
		if byLaunch[key] == 0 {
			byLaunch[key] = int64(len(launches) + 1)
			launches = append(launches, sweep.Launch{ID: byLaunch[key], Sweep: p.Name, Ordinal: len(launches) + 1, Target: "sim", Node: "bench-01",
				Command: p.CellNamed(t.Cell).Command, Setting: t.Setting, StartedAt: began.Add(time.Duration(i) * time.Minute), PortNS: 210e6 + int64(i)*1e6, ReadyNS: 455e6 + int64(i)*2e6,
				FirstTokenNS: 448e6 + int64(i)*2e6, StoppedAt: began.Add(time.Duration(i)*time.Minute + 50*time.Second), ExitCode: 0,
				Observed: map[string]any{"engine_version": "1"}})
		}
		trials = append(trials, sweep.TrialRecord{ID: int64(i + 1), Sweep: p.Name, Cell: t.Cell, Key: t.Key, Attempt: 1, Sitting: 1,
			OrderIndex: t.Order, Launch: byLaunch[key], Node: "bench-01", StartedAt: began.Add(time.Duration(i) * time.Minute),
			Nonce: "5eed", WorkloadHash: "sha256:77", Status: sweep.StatusDone, T0NS: 4e8, T1NS: 22e8, EndNS: 24e8, ServedModel: "sim/small"})
	}
	return trials, launches
}

// storm is a night in which much went wrong: undeclared moves, blocks that do not count, cells that never ran.
func storm(t testing.TB) Input {
	plan := enginesPlan(t)
	f := &figures{blocks: 5}
	f.AnalysisVersion = 1
	for i := range plan.Cells {
		c := &plan.Cells[i]
		at := c.Cell.At
		rate, gpus := number64(at["rate"]), number64(at["tp"])
		m := measured{cell: c.Name(), rate: rate, attainment: math.Min(1, 0.93+0.05*gpus/rate), ttft: 30 * rate / gpus, tpot: 9 / gpus,
			cv: 0.03, n: 1000}
		switch {
		case c.Name() == "prompt=8192", c.Name() == "rate=16":
			continue
		case c.Name() == "engine=sglang":
			m.verdict, m.flags = "invalid", []string{"many-factors"}
			for _, fl := range c.Flags {
				f.flag(c.Name(), 0, fl.Code, fl.Severity, fl.Detail)
			}
		case c.Name() == "rate=2":
			f.Derived.Goodput = append(f.Derived.Goodput, sweep.GoodputRow{Cell: "rate=2", LeftOut: 2, Verdict: "invalid"})
			for b := 1; b <= 2; b++ {
				f.Derived.Goodput = append(f.Derived.Goodput, sweep.GoodputRow{Cell: "rate=2", Block: b, Due: 1000, OK: 1000, Verdict: "invalid", Flags: []string{"mixed-models"}})
				f.flag("rate=2", b, "mixed-models", sweep.Invalid, "gpt-tiny answered where llama was asked for")
			}
			continue
		case c.Name() == "rate=4":
			m.leftOut, m.n, m.verdict = 1, 640, "valid"
			f.Derived.Goodput = append(f.Derived.Goodput, sweep.GoodputRow{Cell: "rate=4", Block: 3, Due: 640, OK: 640, Verdict: "invalid", Flags: []string{"late-sends"}})
			f.flag("rate=4", 3, "late-sends", sweep.Invalid, "4.1 % of 640 requests were sent more than 12 ms late (10 % of the median TTFT)")
		}
		f.add(m)
		if c.Name() == sweep.Baseline {
			m.cell = sweep.TwinName
			m.ttft *= 1.01
			f.add(m)
		}
	}
	f.compare(sweep.TwinName, sweep.Baseline, "", "goodput_req_s", 1.004, 0.012, 0.6, "no-difference")
	f.Derived.Comparison = append(f.Derived.Comparison, sweep.ComparisonRow{Cell: "engine=sglang", Reference: "baseline", Factor: "engine",
		Metric: "goodput_req_s", Blocks: 5, Margin: 0.05, Outcome: "refused", Moved: 5, Flags: []string{"many-factors"}})
	f.compare("tpRate:tp=2,rate=4", "rate=4", "tp", "goodput_req_s", 1.081, 0.02, 0.004, "better")
	in := Input{Plan: judgedBy(plan, "200ms"), Defined: plan, Derived: &f.Derived, Provenance: provenance,
		Command: "sweep report goodput --slo ttft=200ms", SLO: "ttft=200ms"}
	in.Trials, in.Launches = trialsOf(plan)
	for i := range in.Trials {
		switch tr := &in.Trials[i]; tr.Cell {
		case "prompt=8192":
			tr.Status, tr.Reason = sweep.StatusBlocked, "max_model_len 4096 is under the 9192 tokens that the cell needs"
		case "rate=16":
			tr.Status, tr.Reason = sweep.StatusFailed, "the server died: CUDA out of memory"
		}
	}
	return in
}

// judgedBy is a plan with one bar alone.
func judgedBy(p *sweep.Plan, ttft schema.Duration) *sweep.Plan {
	judged := *p
	judged.Cells = slices.Clone(p.Cells)
	for i := range judged.Cells {
		judged.Cells[i].Cell.Contract.SLO = &schema.SLO{Ttft: ttft, Attainment: 0.99}
	}
	return &judged
}

func number64(x any) float64 {
	switch x := x.(type) {
	case float64:
		return x
	case int:
		return float64(x)
	}
	return math.NaN()
}

// lines counts what a text has, for messages.
func widest(text string) (widest int, line string) {
	for l := range strings.SplitSeq(text, "\n") {
		if n := len([]rune(l)); n > widest {
			widest, line = n, l
		}
	}
	return widest, line
}
