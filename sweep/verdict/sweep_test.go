package verdict_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/stats"
	"github.com/inference-sweep/sweep/sweep/verdict"
)

// twoRates is the baseline and a cell at half of its rate.
func twoRates(t *testing.T, changes ...func(*sweep.Definition)) *sweep.Plan {
	return planOf(t, []sweep.Cell{
		cellJSON(t, sweep.Baseline, "", nil, nil),
		cellJSON(t, "rate=50", "rate", 50, map[string]any{"rate": 50}, edits{"contract.load.open.rate": 50}),
	}, changes...)
}

func withTwin(d *sweep.Definition) { d.AA = true }

// night plays every trial of a plan: TTFT and its spread differ by block, and by cell as given.
func night(plan *sweep.Plan, ttftMS func(cell string, block int) float64) []sweep.TrialFacts {
	var trials []sweep.TrialFacts
	for i, trial := range plan.Trials {
		f := even(plan, 100)
		rng := rand.New(rand.NewPCG(uint64(trial.Block), uint64(i)))
		base := ttftMS(trial.Cell, trial.Block)
		for _, r := range rowsOf(f) {
			answers(base*(1+.01*rng.Float64()), 4, 16)(r)
		}
		f.Record.ID, f.Record.Key, f.Record.Cell, f.Record.OrderIndex = int64(i+1), trial.Key, trial.Cell, i+1
		f.Record.StartedAt = time.Unix(int64(60*i), 0).UTC()
		trials = append(trials, f)
	}
	return trials
}

// honest is a night in which nothing but the block matters, and rate=50 is a third faster.
func honest(cell string, block int) float64 {
	ttft := 50 + 2*float64(block%3)
	if cell == "rate=50" {
		ttft *= 2. / 3
	}
	return ttft
}

func find[T any](t *testing.T, rows []T, is func(T) bool) T {
	t.Helper()
	i := slices.IndexFunc(rows, is)
	if i < 0 {
		t.Fatalf("no such row among %d", len(rows))
	}
	return rows[i]
}

func goodputOf(t *testing.T, d *sweep.Derived, cell string, block int) sweep.GoodputRow {
	t.Helper()
	return find(t, d.Goodput, func(r sweep.GoodputRow) bool { return r.Cell == cell && r.Block == block })
}

func comparisonOf(t *testing.T, d *sweep.Derived, cell, metric string) sweep.ComparisonRow {
	t.Helper()
	return find(t, d.Comparison, func(r sweep.ComparisonRow) bool { return r.Cell == cell && r.Metric == metric })
}

func varianceOf(t *testing.T, d *sweep.Derived, cell, metric string) sweep.VarianceRow {
	t.Helper()
	return find(t, d.Variance, func(r sweep.VarianceRow) bool { return r.Cell == cell && r.Metric == metric })
}

func settlingOf(d *sweep.Derived, cell string) []sweep.SettlingRow {
	return slices.DeleteFunc(slices.Clone(d.Settling), func(r sweep.SettlingRow) bool { return r.Cell != cell })
}

func TestCleanNight(t *testing.T) {
	plan := twoRates(t, withTwin)
	d := derive(t, plan, night(plan, honest)...)
	if bad := unclean(d.Flags); bad != "" {
		t.Errorf("a clean night carries\n%s", bad)
	}
	if len(d.Trials) != 18 {
		t.Errorf("%d trials, want 18", len(d.Trials))
	}
	for _, name := range []string{sweep.Baseline, sweep.TwinName, "rate=50"} {
		pooled := goodputOf(t, d, name, 0)
		if pooled.Due != 600 || pooled.Blocks != 6 || pooled.LeftOut != 0 || pooled.Verdict != "valid" {
			t.Errorf("%s: %+v", name, pooled)
		}
		for block := 1; block <= 6; block++ {
			goodputOf(t, d, name, block)
		}
		if settled := settlingOf(d, name); len(settled) != 6 || settled[5].Block != 6 || settled[0].N != 150 || settled[0].WarmupN != 50 || settled[0].CutN == sweep.None {
			t.Errorf("%s: where it settled is %+v", name, settled)
		}
		row := varianceOf(t, d, name, "ttft_p50")
		if row.Blocks != 6 || row.Estimator != "mean-log" || row.CIMethod != "t-log" {
			t.Errorf("%s: %+v", name, row)
		}
	}
	faster := comparisonOf(t, d, "rate=50", "ttft_p50")
	if faster.Outcome != "better" || faster.Blocks != 6 || faster.Reference != sweep.Baseline || faster.Factor != "rate" || faster.Moved != 1 {
		t.Errorf("%+v", faster)
	}
	same := comparisonOf(t, d, sweep.TwinName, "ttft_p50")
	if same.Outcome != "no-difference" || *same.PHolm != *same.P {
		t.Errorf("%+v", same)
	}
	if goodput := comparisonOf(t, d, "rate=50", "goodput_req_s"); goodput.Test != "exact" || goodput.Outcome != "no-difference" {
		t.Errorf("%+v", goodput)
	}
}

// What is derived of a sweep does not depend on the order in which its trials come.
func TestOrderOfTrialsChangesNothing(t *testing.T) {
	plan := twoRates(t, withTwin)
	trials := night(plan, honest)
	want := derive(t, plan, trials...)
	shuffled := slices.Clone(trials)
	rand.New(rand.NewPCG(5, 5)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	if diff := cmp.Diff(want, derive(t, plan, shuffled...)); diff != "" {
		t.Error(diff)
	}
}

// What one trial decides alone is the same when it ends and when the sweep is derived.
func TestATrialAloneAndInItsSweep(t *testing.T) {
	plan := twoRates(t)
	trials := night(plan, honest)
	d := derive(t, plan, trials...)
	for _, f := range trials {
		alone := deriveTrial(t, plan, f)
		if diff := cmp.Diff(alone.Goodput[0], goodputOf(t, d, f.Record.Cell, f.Record.Block)); diff != "" {
			t.Error(diff)
		}
		settled := settlingOf(d, f.Record.Cell)[f.Record.Block-1]
		if diff := cmp.Diff(alone.Settling, []sweep.SettlingRow{settled}); diff != "" {
			t.Error(diff)
		}
		row := find(t, d.Trials, func(r sweep.TrialRow) bool { return r.Trial == f.Record.ID })
		if diff := cmp.Diff(alone.Row, row); diff != "" {
			t.Error(diff)
		}
	}
}

func TestInvalidTrialsStayInTheirBlockAlone(t *testing.T) {
	plan := twoRates(t)
	trials := night(plan, honest)
	var hit sweep.TrialFacts
	for _, f := range trials {
		if f.Record.Cell == "rate=50" && f.Record.Block == 2 {
			hit = f
		}
	}
	first(5, fails(sweep.ErrNotSent))(&hit)
	d := derive(t, plan, trials...)
	block := goodputOf(t, d, "rate=50", 2)
	if block.Verdict != "invalid" || !slices.Contains(block.Flags, "late-sends") || block.Due != 100 {
		t.Errorf("block 2: %+v", block)
	}
	pooled := goodputOf(t, d, "rate=50", 0)
	if pooled.Due != 500 || pooled.Blocks != 5 || pooled.LeftOut != 1 || pooled.Verdict != "valid" {
		t.Errorf("pooled: %+v", pooled)
	}
	if row := varianceOf(t, d, "rate=50", "attainment"); row.Blocks != 5 || *row.Estimate != 1 {
		t.Errorf("variance: %+v", row)
	}
	if row := comparisonOf(t, d, "rate=50", "ttft_p50"); row.Blocks != 5 {
		t.Errorf("comparison: %+v", row)
	}
}

func TestSuspectBlocksCountAndSayIt(t *testing.T) {
	plan := twoRates(t)
	trials := night(plan, honest)
	for _, f := range trials {
		if f.Record.Cell == "rate=50" && f.Record.Block == 2 {
			first(2, fails(sweep.ErrHTTP))(&f)
		}
	}
	pooled := goodputOf(t, derive(t, plan, trials...), "rate=50", 0)
	if pooled.Blocks != 6 || pooled.Verdict != "suspect" || !slices.Contains(pooled.Flags, "error-rate") {
		t.Errorf("%+v", pooled)
	}
}

func TestAttempts(t *testing.T) {
	plan := twoRates(t)
	trials := night(plan, honest)
	again := trials[0]
	failed, blocked := trials[0], trials[1]
	failed.Record.ID, failed.Record.Status = 100, sweep.StatusFailed
	again.Record.ID, again.Record.Attempt = 101, 2
	trials[1].Record.Status = sweep.StatusBlocked
	blocked = trials[1]
	stranger := trials[2]
	stranger.Record.ID, stranger.Record.Digest = 102, "another plan's"
	d := derive(t, plan, append(trials, failed, again, stranger)...)
	if len(d.Trials) != 14 {
		t.Errorf("%d trials, want the plan's 12 and 2 more attempts", len(d.Trials))
	}
	pooled := goodputOf(t, d, trials[0].Record.Cell, 0)
	if blocked.Record.Cell != trials[0].Record.Cell && (pooled.Blocks != 6 || pooled.LeftOut != 0) {
		t.Errorf("a second attempt: %+v", pooled)
	}
	if left := goodputOf(t, d, blocked.Record.Cell, 0); left.Blocks != 5 || left.LeftOut != 1 {
		t.Errorf("a blocked block: %+v", left)
	}
}

// A cell of a later night is paired with that night's own baseline, which has no rows of its own.
func TestPairsAreOfOneSitting(t *testing.T) {
	plan := twoRates(t)
	trials := night(plan, honest)
	var later []sweep.TrialFacts
	for i := range trials {
		if trials[i].Record.Cell == "rate=50" {
			trials[i].Record.Sitting = 2
		}
	}
	alone := derive(t, plan, trials...)
	if row := comparisonOf(t, alone, "rate=50", "ttft_p50"); row.Blocks != 0 || row.Outcome != "inconclusive" || row.Ratio != nil {
		t.Errorf("pairs across sittings: %+v", row)
	}
	const lonely = "measured in another sitting than any baseline of blocks 1, 2, 3, 4, 5, 6, so not paired: of 6 that count, without a pair: 6"
	if got := extendedOf(alone, "rate=50"); got != lonely {
		t.Errorf("without a fresh baseline the note is %q", got)
	}
	for _, f := range trials {
		if f.Record.Cell == sweep.Baseline {
			f.Record.ID, f.Record.Copy, f.Record.Sitting = f.Record.ID+100, 3, 2
			rows := rowsOf(f)
			for i := range rows {
				copied := *rows[i]
				answers(100, 4, 16)(&copied)
				rows[i] = &copied
			}
			f.Rows = each(rows)
			later = append(later, f)
		}
	}
	d := derive(t, plan, append(trials, later...)...)
	row := comparisonOf(t, d, "rate=50", "ttft_p50")
	if row.Blocks != 6 || *row.Ratio > .4 || !slices.Contains(row.Flags, "extended") {
		t.Errorf("pairs with the fresh baseline: %+v", row)
	}
	if got := severities(d.Flags)["extended"]; got != sweep.Note {
		t.Errorf("extended = %q", got)
	}
	if got, want := extendedOf(d, "rate=50"), "joined blocks 1, 2, 3, 4, 5, 6 in a later sitting than the baseline's, and is paired with a fresh one"; got != want {
		t.Errorf("the note is %q", got)
	}
	some := derive(t, plan, append(trials, later[1:]...)...)
	const both = "joined blocks 2, 3, 4, 5, 6 in a later sitting than the baseline's, and is paired with a fresh one; " +
		"measured in another sitting than any baseline of block 1, so not paired: of 6 that count, without a pair: 1"
	if got := extendedOf(some, "rate=50"); got != both {
		t.Errorf("with five fresh baselines the note is %q", got)
	}
	if diff := cmp.Diff(goodputOf(t, alone, sweep.Baseline, 0), goodputOf(t, d, sweep.Baseline, 0)); diff != "" {
		t.Errorf("the fresh baseline is in the baseline's own row:\n%s", diff)
	}
	if n := len(d.Goodput) - len(alone.Goodput) + len(d.Settling) - len(alone.Settling); n != 0 {
		t.Errorf("the fresh baselines have %d rows", n)
	}
}

// extendedOf is what the note of a cell says that joined later.
func extendedOf(d *sweep.Derived, cell string) string {
	for _, f := range d.Flags {
		if f.Code == "extended" && f.Cell == cell {
			return f.Detail
		}
	}
	return ""
}

// What did not come to measuring has no verdict and no counts.
func TestNothingMeasured(t *testing.T) {
	plan := twoRates(t)
	whole := night(plan, honest)[0]
	for _, status := range []string{sweep.StatusFailed, sweep.StatusInterrupted, sweep.StatusBlocked} {
		bare := whole
		bare.Record.Status, bare.Rows = status, each(nil)
		row := deriveTrial(t, plan, bare).Row
		if row.Verdict != "" || row.Due != sweep.None || row.Sent != sweep.None || row.OK != sweep.None || row.Failed != sweep.None {
			t.Errorf("%s without rows: %+v", status, row)
		}
		some := whole
		some.Record.Status = status
		if row := deriveTrial(t, plan, some).Row; row.Verdict == "" || row.Due <= 0 {
			t.Errorf("%s with rows: %+v", status, row)
		}
	}
}

// Aliases repeat rows under their names, judged by their own SLO, and do not widen the family.
func TestAliases(t *testing.T) {
	cells := []sweep.Cell{
		cellJSON(t, sweep.Baseline, "", nil, map[string]any{"rate": 100, "batch": 16}),
		cellJSON(t, "rate=50", "rate", 50, map[string]any{"rate": 50, "batch": 16}, edits{"contract.load.open.rate": 50}),
		cellJSON(t, "batch=8", "batch", 8, map[string]any{"rate": 100, "batch": 8}, edits{"contract.engine.args.max-num-seqs": 8}),
		cellJSON(t, "slo=tight", "slo", "tight", map[string]any{"rate": 100, "batch": 16}, edits{"contract.slo.ttft": "51ms"}),
		cellJSON(t, "both:rate=100,batch=16", "both", nil, map[string]any{"rate": 100, "batch": 16}),
		cellJSON(t, "both:rate=50,batch=16", "both", nil, map[string]any{"rate": 50, "batch": 16}, edits{"contract.load.open.rate": 50}),
		cellJSON(t, "both:rate=100,batch=8", "both", nil, map[string]any{"rate": 100, "batch": 8}, edits{"contract.engine.args.max-num-seqs": 8}),
		cellJSON(t, "both:rate=50,batch=8", "both", nil, map[string]any{"rate": 50, "batch": 8},
			edits{"contract.engine.args.max-num-seqs": 8, "contract.load.open.rate": 50}),
	}
	plan := planOf(t, cells, func(d *sweep.Definition) {
		d.Factors = []sweep.Factor{{Name: "rate"}, {Name: "batch"}, {Name: "slo"}}
		d.Factors[0].Baseline, d.Factors[1].Baseline = 100., 16.
		grid := sweep.Grid{Name: "both"}
		grid.Of = []string{"rate", "batch"}
		d.Grids = []sweep.Grid{grid}
	})
	d := derive(t, plan, night(plan, func(cell string, block int) float64 {
		ttft := honest(cell, block) * (1 + .02*float64(len(cell)%5)*float64(block%2))
		return ttft
	})...)
	a, b := goodputOf(t, d, "rate=50", 0), goodputOf(t, d, "both:rate=50,batch=16", 0)
	b.Cell = a.Cell
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("an alias's row differs:\n%s", diff)
	}
	settled, renamed := settlingOf(d, "rate=50"), settlingOf(d, "both:rate=50,batch=16")
	for i := range renamed {
		renamed[i].Cell = "rate=50"
	}
	if diff := cmp.Diff(settled, renamed); diff != "" || len(settled) != 6 {
		t.Errorf("an alias settles elsewhere:\n%s", diff)
	}
	base, tight := goodputOf(t, d, sweep.Baseline, 0), goodputOf(t, d, "slo=tight", 0)
	if base.Met != 600 || tight.Met == 600 || tight.Due != 600 {
		t.Errorf("met %d, and %d under the tighter SLO", base.Met, tight.Met)
	}
	if tight.Verdict != "invalid" || !slices.Contains(tight.Flags, "no-change") {
		t.Errorf("a level that moved nothing: %s, %v", tight.Verdict, tight.Flags)
	}
	if row := comparisonOf(t, d, "slo=tight", "ttft_p50"); row.Outcome != "refused" || row.Ratio != nil {
		t.Errorf("%+v", row)
	}
	// The family: rate=50, batch=8 and the two neighbours of the grid's far corner.
	var ps []float64
	var family []sweep.ComparisonRow
	for _, r := range d.Comparison {
		if r.Metric == "ttft_p50" && slices.Contains([]string{"rate=50", "batch=8", "both:rate=50,batch=8"}, r.Cell) {
			ps, family = append(ps, *r.P), append(family, r)
		}
	}
	if len(family) != 4 {
		t.Fatalf("%d rows in the family, want 4", len(family))
	}
	for i, p := range stats.Holm(ps) {
		if *family[i].PHolm != p {
			t.Errorf("%s against %s: p_holm %v, want %v", family[i].Cell, family[i].Reference, *family[i].PHolm, p)
		}
	}
	first, alias := comparisonOf(t, d, "rate=50", "ttft_p50"), comparisonOf(t, d, "both:rate=50,batch=16", "ttft_p50")
	if *first.PHolm != *alias.PHolm || first.Outcome != alias.Outcome {
		t.Errorf("the alias's comparison differs: %v %s, %v %s", *first.PHolm, first.Outcome, *alias.PHolm, alias.Outcome)
	}
}

func TestRefusals(t *testing.T) {
	fixed := func(n int) map[string]any { return map[string]any{"fixed": n} }
	unlike := map[string]string{
		"another loop, declared": "different loops: closed against open",
		"length beside the rate": "different lengths (prompt/output): 64/16 against 128/16, which the factor does not vary",
	}
	for _, c := range []struct {
		name   string
		level  any
		cell   edits
		factor sweep.Factor
		want   bool
	}{
		{"one leaf", 50, edits{"contract.load.open.rate": 50}, sweep.Factor{}, false},
		{"two leaves, none declared", 50, edits{"contract.load.open.rate": 50, "tail": "9s"}, sweep.Factor{}, true},
		{"two leaves, declared", 50, edits{"contract.load.open.rate": 50, "tail": "9s"}, couples("contract.load.open.rate", "tail"), false},
		{"one beyond those declared", 50, edits{"contract.load.open.rate": 50, "tail": "9s"}, couples("contract.load.open.rate"), true},
		{"another loop, declared", "closed", closed, couples("contract.load.**"), true},
		{"length is the factor", 64, edits{"contract.prompt.length": fixed(64)}, sweep.Factor{}, false},
		{"a profile of lengths", "long", edits{"contract.prompt.length": fixed(64), "contract.output.length": fixed(8)},
			couples("contract.prompt.length.fixed", "contract.output.length.fixed"), false},
		{"length with what it needs", 64, edits{"contract.prompt.length": fixed(64), "contract.engine.args.max-model-len": 72},
			couples("contract.prompt.length.fixed", "contract.engine.args.max-model-len"), false},
		{"length beside the rate", 50, edits{"contract.load.open.rate": 50, "contract.prompt.length": fixed(64)},
			couples("contract.load.open.rate", "contract.prompt.length.fixed"), true},
		{"on paper only", "new", edits{"contract.hardware.driver": "571.1"}, sweep.Factor{}, true},
	} {
		plan := planOf(t, []sweep.Cell{
			cellJSON(t, sweep.Baseline, "", nil, map[string]any{"x": 0}),
			cellJSON(t, "x=1", "x", c.level, map[string]any{"x": c.level}, c.cell),
		}, func(d *sweep.Definition) { c.factor.Name = "x"; d.Factors = []sweep.Factor{c.factor} })
		trials := night(plan, honest)
		if c.name == "on paper only" {
			for i := range trials {
				delete(trials[i].Launch.Observed, sweep.ObsDriver)
			}
		}
		row := comparisonOf(t, derive(t, plan, trials...), "x=1", "ttft_p50")
		if refused := row.Outcome == "refused"; refused != c.want || refused && row.P != nil {
			t.Errorf("%s: %s (p %v)", c.name, row.Outcome, row.P)
		}
		if got := verdict.Unlike(plan, &plan.Cells[1], &plan.Cells[0], "x"); got != unlike[c.name] {
			t.Errorf("%s: %q, want %q", c.name, got, unlike[c.name])
		}
	}
}

func couples(paths ...string) sweep.Factor {
	f := sweep.Factor{}
	f.Couples = paths
	return f
}

// A label that moved nothing is withdrawn where an observed leaf moved with it.
func TestLabelOnly(t *testing.T) {
	plan := planOf(t, []sweep.Cell{
		cellJSON(t, sweep.Baseline, "", nil, nil, edits{"contract.hardware.driver": "570.86"}),
		cellJSON(t, "driver=571", "driver", "571", nil, edits{"contract.hardware.driver": "571.10"}),
	})
	for _, c := range []struct {
		observed any
		label    sweep.Severity
		drift    sweep.Severity
	}{{"571.10.04", "", ""}, {"570.86.15", sweep.Invalid, sweep.Invalid}, {nil, sweep.Invalid, ""}} {
		trials := night(plan, honest)
		for i := range trials {
			if trials[i].Record.Cell != sweep.Baseline {
				if c.observed == nil {
					delete(trials[i].Launch.Observed, sweep.ObsDriver)
				} else {
					trials[i].Launch.Observed[sweep.ObsDriver] = c.observed
				}
			}
		}
		got := severities(derive(t, plan, trials...).Flags)
		if got["label-only"] != c.label || got["contract-drift"] != c.drift {
			t.Errorf("observed %v: label-only %q, contract-drift %q", c.observed, got["label-only"], got["contract-drift"])
		}
		if c.observed == nil && got["contract-unverified"] != sweep.Note {
			t.Errorf("nothing to check against: %v", got)
		}
	}
}

// An engine, a driver or a host that changes between trials is drift of the trials after it, unless it was to change.
func TestChangesBetweenTrials(t *testing.T) {
	plan := twoRates(t)
	changed := func(key string, value any, from int) []sweep.TrialFacts {
		trials := night(plan, honest)
		for i := from; i < len(trials); i++ {
			trials[i].Launch.Observed[key] = value
		}
		return trials
	}
	for _, c := range []struct {
		key   string
		value any
		want  sweep.Severity
	}{
		{sweep.ObsDriver, "571.1", sweep.Invalid}, {sweep.ObsHost, "h100-02", sweep.Invalid}, {sweep.ObsImage, "sha256:1", ""},
		{sweep.ObsMaxModelLen, int64(2048), ""}, {"pid", int64(7), ""},
	} {
		d := derive(t, plan, changed(c.key, c.value, 8)...)
		if got := severities(d.Flags)["contract-drift"]; got != c.want {
			t.Errorf("%s: %q, want %q", c.key, got, c.want)
		}
		invalid := 0
		for _, row := range d.Trials {
			if row.Verdict == "invalid" {
				invalid++
			}
		}
		if c.want == sweep.Invalid && invalid != 4 {
			t.Errorf("%s: %d invalid trials, want the 4 after the change", c.key, invalid)
		}
	}

	listed := planOf(t, []sweep.Cell{
		cellJSON(t, sweep.Baseline, "", nil, nil),
		cellJSON(t, "target=b", "target", "b", nil, edits{"target": "ssh://b"}),
	}, func(d *sweep.Definition) {
		f := couples("target", "observed.driver")
		f.Name = "target"
		d.Factors = []sweep.Factor{f}
	})
	for _, c := range []struct {
		key  string
		want sweep.Severity
	}{{sweep.ObsHost, ""}, {sweep.ObsDriver, ""}, {sweep.ObsCUDA, sweep.Invalid}} {
		trials := night(listed, honest)
		for i := range trials {
			trials[i].Launch.Observed[sweep.ObsCUDA] = "12.8"
			if trials[i].Record.Cell != sweep.Baseline {
				trials[i].Launch.Observed[c.key] = "13.0"
			}
		}
		d := derive(t, listed, trials...)
		if got := severities(d.Flags); got["many-factors"] != c.want || got["contract-drift"] != "" {
			t.Errorf("another target's %s: %v, want %q", c.key, got, c.want)
		}
		if row := goodputOf(t, d, "target=b", 0); row.Due != 600 {
			t.Errorf("%s: figures are not there: %+v", c.key, row)
		}
		if row := comparisonOf(t, d, "target=b", "ttft_p50"); (row.Outcome == "refused") != (c.want != "") {
			t.Errorf("%s: %s", c.key, row.Outcome)
		}
	}
}

// What moves with a cell, again in each block, is a second leaf of that cell and no drift of the trials that come second; what
// changes once is drift, whichever cells came after it.
func TestObservedLeafThatMovesWithACell(t *testing.T) {
	plan := planOf(t, []sweep.Cell{
		cellJSON(t, sweep.Baseline, "", nil, nil),
		cellJSON(t, "batch=8", "batch", 8, nil, edits{"contract.engine.args.max-num-seqs": 8}),
		cellJSON(t, "rate=50", "rate", 50, nil, edits{"contract.load.open.rate": 50}),
	})
	of := func(cell string) func(int, *sweep.TrialFacts) bool {
		return func(_ int, f *sweep.TrialFacts) bool { return f.Record.Cell == cell }
	}
	for _, c := range []struct {
		name  string
		other func(i int, f *sweep.TrialFacts) bool // that a trial saw another driver
		many  []string
		drift bool
	}{
		{"with one cell", of("batch=8"), []string{"batch=8"}, false},
		{"with the baseline, and so with all others", of(sweep.Baseline), []string{"batch=8", "rate=50"}, false},
		{"with one cell, but for one block", func(i int, f *sweep.TrialFacts) bool { return f.Record.Cell == "batch=8" && f.Record.Block != 4 }, nil, true},
		{"once", func(i int, _ *sweep.TrialFacts) bool { return i >= 8 }, nil, true},
		{"with a cell of another sitting", func(_ int, f *sweep.TrialFacts) bool {
			if f.Record.Cell == "batch=8" {
				f.Record.Sitting = 2
			}
			return f.Record.Sitting == 2
		}, nil, true},
		{"never", func(int, *sweep.TrialFacts) bool { return false }, nil, false},
	} {
		trials := night(plan, honest)
		for i := range trials {
			if c.other(i, &trials[i]) {
				trials[i].Launch.Observed[sweep.ObsDriver] = "580.65.06"
			}
		}
		d := derive(t, plan, trials...)
		var many []string
		for _, f := range d.Flags {
			if f.Code == "many-factors" && f.Severity == sweep.Invalid {
				many = append(many, f.Cell)
				if !strings.Contains(f.Detail, "observed driver is ") {
					t.Errorf("%s: the flag says %q", c.name, f.Detail)
				}
			}
		}
		if drift := severities(d.Flags)["contract-drift"] != ""; !slices.Equal(many, c.many) || drift != c.drift {
			t.Errorf("%s: many-factors of %v, drift %v; want %v, %v", c.name, many, drift, c.many, c.drift)
		}
		for _, cell := range many {
			if row := goodputOf(t, d, cell, 0); row.Blocks != 6 || row.Verdict != "invalid" || !slices.Contains(row.Flags, "many-factors") {
				t.Errorf("%s: its figures are to stand, and to say so: %+v", c.name, row)
			}
			if row := comparisonOf(t, d, cell, "ttft_p50"); row.Outcome != "refused" {
				t.Errorf("%s: %s is compared: %s", c.name, cell, row.Outcome)
			}
			if row := find(t, d.Trials, func(r sweep.TrialRow) bool { return trials[r.Trial-1].Record.Cell == cell }); row.Verdict != "invalid" {
				t.Errorf("%s: a trial of %s is %s", c.name, cell, row.Verdict)
			}
		}
		if row := goodputOf(t, d, sweep.Baseline, 0); !c.drift && row.Verdict != "valid" {
			t.Errorf("%s: the baseline is %s", c.name, row.Verdict)
		}
	}
}

func TestDrift(t *testing.T) {
	plan := onlyBaseline(t)
	for _, c := range []struct {
		name string
		ttft func(block int) float64
		want sweep.Severity
	}{
		{"noise", func(b int) float64 { return 50 + float64(b%3) }, ""},
		{"11 % slower after half", func(b int) float64 { return 50*(1+.12*float64(b/4)) + .5*float64(b%2) }, sweep.Suspect},
		{"9 % slower after half", func(b int) float64 { return 50*(1+.09*float64(b/4)) + .7*float64(b%3) }, ""},
		{"5 % slower with every block", func(b int) float64 { return 50 * math.Pow(1.05, float64(b)) }, sweep.Suspect},
		{"2 % slower with every block", func(b int) float64 { return 50 * math.Pow(1.02, float64(b)) }, ""},
		{"5 % slower with every block but the last", func(b int) float64 { return 50 * math.Pow(1.05, float64(b-b/6*2)) }, ""},
		{"small and certain", func(b int) float64 { return 50*(1+.09*float64(b/4)) + .001*float64(b%3) }, sweep.Suspect},
	} {
		d := derive(t, plan, night(plan, func(_ string, block int) float64 { return c.ttft(block) })...)
		if got := severities(d.Flags)["drift"]; got != c.want {
			t.Errorf("%s: drift = %q, want %q: %v", c.name, got, c.want, d.Flags)
		}
		if row := goodputOf(t, d, sweep.Baseline, 0); (row.Verdict == "suspect") != (c.want != "") {
			t.Errorf("%s: %s %v", c.name, row.Verdict, row.Flags)
		}
	}
	few := derive(t, plan, night(plan, func(_ string, b int) float64 { return 50 + 30*float64(b/4) })[:5]...)
	if got := severities(few.Flags)["drift"]; got != "" {
		t.Errorf("five blocks: drift = %q", got)
	}
}

func TestFewBlocksAndPower(t *testing.T) {
	plan := twoRates(t)
	trials := night(plan, honest)
	in := func(blocks int) *sweep.Derived {
		return derive(t, plan, slices.DeleteFunc(slices.Clone(trials), func(f sweep.TrialFacts) bool { return f.Record.Block > blocks })...)
	}
	for blocks, want := range map[int]sweep.Severity{2: sweep.Note, 4: sweep.Note, 5: ""} {
		d := in(blocks)
		if got := severities(d.Flags)["few-blocks"]; got != want {
			t.Errorf("%d blocks: few-blocks = %q", blocks, got)
		}
		if row := varianceOf(t, d, "rate=50", "ttft_p50"); slices.Contains(row.Flags, "few-blocks") != (want != "") {
			t.Errorf("%d blocks: %v", blocks, row.Flags)
		}
	}
	if row := comparisonOf(t, in(2), "rate=50", "ttft_p50"); row.Outcome != "inconclusive" || row.Blocks != 2 || row.P != nil || row.Ratio == nil {
		t.Errorf("two pairs: %+v", row)
	}
	noisy := derive(t, plan, night(plan, func(cell string, block int) float64 {
		if cell == "rate=50" {
			return 40 + 10*float64(block%3)
		}
		return 50
	})...)
	row := comparisonOf(t, noisy, "rate=50", "ttft_p50")
	if got := severities(noisy.Flags)["underpowered"]; got != sweep.Note || !slices.Contains(row.Flags, "underpowered") || row.Outcome != "inconclusive" {
		t.Errorf("underpowered = %q, %+v", got, row)
	}
	if got := severities(in(6).Flags)["underpowered"]; got != "" {
		t.Errorf("a sharp comparison is underpowered: %q", got)
	}
}

func TestFewSamples(t *testing.T) {
	plan := onlyBaseline(t)
	d := derive(t, plan, night(plan, honest)...)
	for _, row := range d.Latency {
		few := slices.Contains(row.Flags, "few-samples")
		if missing := row.N > 0 && (row.P50 == nil || row.P90 == nil || row.P95 == nil || row.P99 == nil); few != missing {
			t.Errorf("%s block %d %s n=%d: few-samples %v, p99 %v", row.Phase, row.Block, row.Metric, row.N, few, row.P99)
		}
	}
	if got := severities(d.Flags)["few-samples"]; got != sweep.Note {
		t.Errorf("few-samples = %q", got)
	}
	n := 0
	for _, f := range d.Flags {
		if f.Code == "few-samples" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("few-samples is said %d times", n)
	}
}

func TestUnequalSources(t *testing.T) {
	plan := twoRates(t)
	trials := night(plan, honest)
	for _, f := range trials {
		if f.Record.Cell == "rate=50" {
			for _, r := range rowsOf(f) {
				r.OutputSource = "token_ids"
			}
		}
	}
	d := derive(t, plan, trials...)
	if row := comparisonOf(t, d, "rate=50", "ttft_p50"); !slices.Contains(row.Flags, "token-source") {
		t.Errorf("%v", row.Flags)
	}
	if got := severities(d.Flags)["token-source"]; got != sweep.Suspect {
		t.Errorf("token-source = %q", got)
	}
}

func TestQualityUnpinned(t *testing.T) {
	for _, c := range []struct {
		change edits
		want   sweep.Severity
	}{
		{edits{"contract.precision.weights": "fp8"}, sweep.Note},
		{edits{"contract.engine.args.quantization": "fp8"}, sweep.Note},
		{edits{"contract.sampling.temperature": 1}, sweep.Note},
		{edits{"contract.engine.args.max-num-seqs": 8}, ""},
		{edits{"contract.load.open.rate": 50}, ""},
	} {
		plan := planOf(t, []sweep.Cell{cellJSON(t, sweep.Baseline, "", nil, nil), cellJSON(t, "x=1", "x", 1, nil, c.change)})
		if got := severities(derive(t, plan, night(plan, honest)...).Flags)["quality-unpinned"]; got != c.want {
			t.Errorf("%v: %q, want %q", c.change, got, c.want)
		}
	}
}

// Notes that say the same of every block are said once of the cell.
func TestNotesAreFolded(t *testing.T) {
	plan := onlyBaseline(t)
	trials := night(plan, honest)
	for i := range trials {
		trials[i].Launch.Attached = true
	}
	d := derive(t, plan, trials...)
	var said []string
	for _, f := range d.Flags {
		if f.Code == "cold-not-measured" || f.Code == "cache-unverified" {
			said = append(said, fmt.Sprintf("%s %d", f.Code, f.Block))
		}
	}
	if diff := cmp.Diff([]string{"cache-unverified 0", "cold-not-measured 0"}, said); diff != "" {
		t.Error(diff)
	}
}

// A cell of which no block is left has its rows all the same, without a figure in them.
func TestCellWithoutAValidBlock(t *testing.T) {
	plan := twoRates(t)
	trials := night(plan, honest)
	for i := range trials {
		if trials[i].Record.Cell != "rate=50" {
			continue
		}
		if trials[i].Record.Block == 6 {
			trials[i].Record.Status = sweep.StatusBlocked
			continue
		}
		first(5, fails(sweep.ErrNotSent))(&trials[i])
	}
	d := derive(t, plan, trials...)
	row := goodputOf(t, d, "rate=50", 0)
	none := sweep.GoodputRow{Cell: "rate=50", Due: sweep.None, OK: sweep.None, Failed: sweep.None, Met: sweep.None,
		LeftOut: 6, Moved: 1, Verdict: "invalid", Flags: row.Flags}
	if diff := cmp.Diff(none, row); diff != "" || row.Flags[0] != "late-sends" {
		t.Errorf("%s\n%v", diff, row.Flags)
	}
	latencies := 0
	for _, r := range d.Latency {
		if r.Cell == "rate=50" && r.Block == 0 {
			latencies++
			if r.N != 0 || r.P50 != nil || r.ErrorShare != nil || r.Blocks != 0 || r.LeftOut != 6 || r.Verdict != "invalid" || !slices.Contains(r.Flags, "late-sends") {
				t.Errorf("%+v", r)
			}
		}
	}
	if latencies == 0 {
		t.Error("no pooled latency row")
	}
	for _, metric := range []string{"goodput_req_s", "ttft_p50"} {
		if r := varianceOf(t, d, "rate=50", metric); r.Blocks != 0 || r.Estimate != nil || r.Verdict != "invalid" || r.Flags[0] != "late-sends" {
			t.Errorf("%+v", r)
		}
	}
	if r := comparisonOf(t, d, "rate=50", "ttft_p50"); r.Blocks != 0 || r.Outcome != "inconclusive" {
		t.Errorf("%+v", r)
	}
}
