package verdict_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/inference-sweep/sweep/sweep"
)

// A trial that was taken out counts nowhere, its block is left out and its cell says why; an earlier done attempt counts
// in its place.
func TestExcludedTrial(t *testing.T) {
	plan := twoRates(t, withTwin)
	trials := night(plan, honest)
	at := slices.IndexFunc(trials, func(f sweep.TrialFacts) bool { return f.Record.Cell == "rate=50" && f.Record.Block == 3 })
	trials[at].Record.Status, trials[at].Record.Reason = sweep.StatusExcluded, "the fan failed"

	d := derive(t, plan, trials...)
	if row := goodputOf(t, d, "rate=50", 0); row.Blocks != 5 || row.LeftOut != 1 || row.Verdict != "valid" || !slices.Contains(row.Flags, "excluded") {
		t.Errorf("%+v", row)
	}
	if slices.ContainsFunc(d.Goodput, func(r sweep.GoodputRow) bool { return r.Cell == "rate=50" && r.Block == 3 }) {
		t.Error("its block still has a row")
	}
	if row := comparisonOf(t, d, "rate=50", "ttft_p50"); row.Blocks != 5 || !slices.Contains(row.Flags, "excluded") {
		t.Errorf("%+v", row)
	}
	flag := find(t, d.Flags, func(f sweep.Flag) bool { return f.Code == "excluded" })
	if flag.Cell != "rate=50" || flag.Severity != sweep.Note || !strings.Contains(flag.Detail, "(block 3, attempt 1) was taken out by hand: the fan failed") {
		t.Errorf("%+v", flag)
	}
	if row := goodputOf(t, d, sweep.Baseline, 0); row.Blocks != 6 || slices.Contains(row.Flags, "excluded") {
		t.Errorf("the baseline: %+v", row)
	}

	before := trials[at]
	before.Record.Status, before.Record.Reason, before.Record.ID = sweep.StatusDone, "", 1000
	trials[at].Record.Attempt = 2
	before.Record.Attempt = 1
	if row := goodputOf(t, derive(t, plan, append(trials, before)...), "rate=50", 0); row.Blocks != 6 || row.LeftOut != 0 {
		t.Errorf("with an attempt before: %+v", row)
	}
}
