package verdict_test

import (
	"testing"

	"github.com/inference-sweep/sweep/sweep"
)

// A clean run carries no suspect and no invalid flag, over hundreds of trials at loads that a server can bear.
func TestCleanRunsStayClean(t *testing.T) {
	open := onlyBaseline(t)
	constant := onlyBaseline(t, edits{"contract.load.open.arrival": "constant"})
	fast := onlyBaseline(t, edits{"contract.load.open.rate": 800})
	fastConstant := onlyBaseline(t, edits{"contract.load.open.rate": 800, "contract.load.open.arrival": "constant"})
	closed := onlyBaseline(t, edits{"contract.load": map[string]any{"closed": map[string]any{"clients": 8}}})
	queue := func(plan *sweep.Plan, change func(*traffic)) func(uint64) sweep.TrialFacts {
		return func(seed uint64) sweep.TrialFacts {
			c := calm(seed)
			change(&c)
			return c.run(plan, &plan.Cells[0], 1)
		}
	}
	for _, c := range []struct {
		name  string
		plan  *sweep.Plan
		trial func(seed uint64) sweep.TrialFacts
	}{
		{"half loaded", open, queue(open, func(*traffic) {})},
		{"at 80 % of its slots", open, queue(open, func(c *traffic) { c.serviceMS = 128 })},
		{"few requests", open, queue(open, func(c *traffic) { c.n = 60 })},
		{"many requests", open, queue(open, func(c *traffic) { c.n = 2000 })},
		{"sent a millisecond late at times", open, queue(open, func(c *traffic) { c.jitterMS = 1 })},
		{"constant arrivals", constant, queue(constant, func(c *traffic) { c.arrival = "constant" })},
		{"fast", fast, queue(fast, func(c *traffic) { c.ratePerS, c.slots, c.n = 800, 128, 1000 })},
		{"fast and constant", fastConstant, queue(fastConstant, func(c *traffic) {
			c.ratePerS, c.slots, c.n, c.arrival = 800, 128, 1000, "constant"
		})},
		{"closed loop", closed, queue(closed, func(c *traffic) { c.clients = 8 })},
		{"a batching engine at 30 %", open, func(seed uint64) sweep.TrialFacts { return batching(seed, open, 50, 16, 1800) }},
		{"a batching engine at 55 %", open, func(seed uint64) sweep.TrialFacts { return batching(seed, open, 100, 16, 1800) }},
		{"a batching engine at 80 %, a longer window", open, func(seed uint64) sweep.TrialFacts { return batching(seed, open, 150, 16, 6000) }},
	} {
		if bad := flagsOfMany(t, c.plan, c.trial, manyTrials); len(bad) > 0 {
			t.Errorf("%s: %v", c.name, bad)
		}
	}
}

// manyTrials is how many trials of each sort are tried.
const manyTrials = 40

// flagsOfMany derives many trials and counts their suspect and invalid flags.
func flagsOfMany(t *testing.T, plan *sweep.Plan, trial func(seed uint64) sweep.TrialFacts, trials int) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for i := range trials {
		d := deriveTrial(t, plan, trial(uint64(i)))
		for _, f := range d.Flags {
			if f.Severity != sweep.Note {
				if counts[f.Code]++; counts[f.Code] == 1 {
					t.Logf("seed %d: %s: %s", i, f.Code, f.Detail)
				}
			}
		}
		if len(counts) == 0 && d.Row.Verdict != sweep.VerdictValid {
			counts["verdict "+d.Row.Verdict]++
		}
	}
	return counts
}

// Near saturation a queue's slow breathing is not yet a trend; beyond it, hardly a trial goes unnoticed.
func TestOverloadIsToldFromBreathing(t *testing.T) {
	plan := onlyBaseline(t)
	run := func(ratePerS float64, slots int) map[string]int {
		return flagsOfMany(t, plan, func(seed uint64) sweep.TrialFacts { return batching(seed, plan, ratePerS, slots, 1800) }, manyTrials)
	}
	if near := run(150, 16); near["no-steady-state"]+near["cold-in-window"] > 0 || near["overloaded"] > 1 {
		t.Errorf("at 80 %%: %v of %d trials", near, manyTrials)
	}
	if over := run(240, 16); over["overloaded"] < manyTrials*95/100 {
		t.Errorf("at 130 %%: %v of %d trials", over, manyTrials)
	}
	if far := run(100, 4); far["overloaded"] < manyTrials*95/100 {
		t.Errorf("at 160 %%: %v of %d trials", far, manyTrials)
	}
}
