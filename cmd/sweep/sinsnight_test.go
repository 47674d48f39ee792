package main

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/analysis"
)

// Sins of the night: too little was measured, or nothing, or on another night.
func TestSinsOfTheNight(t *testing.T) {
	twoCells := func(blocks int) night {
		return night{blocks: blocks, top: `factors: batch: {baseline: 16, levels: [2]}`, cell: lines{
			"contract.engine": `{name: "sim", revision: "1", args: "max-num-seqs": at.batch}`, "contract.slo": `{ttft: "70ms", tpot: "1s"}`,
		}}
	}
	for _, s := range []sin{
		{
			name: "twoBlocks", night: twoCells(2),
			notes: []string{"baseline: few-blocks", "batch=2: few-blocks"},
			check: func(t *testing.T, m *morning) {
				for _, row := range m.derived.Comparison {
					if row.Outcome != analysis.Inconclusive || row.P != nil || row.CILow != nil {
						t.Errorf("%s of two blocks: %s, p %v", row.Metric, row.Outcome, row.P)
					}
				}
			},
		},
		{
			name: "threeBlocks", night: twoCells(3),
			notes: []string{"batch=2: few-blocks"},
			check: func(t *testing.T, m *morning) { flagsOfComparison("batch=2", "few-blocks")(t, m) },
		},
		{
			name: "everythingIsRefused",
			night: night{spoil: answers(func(_ *life, a asking) reply {
				if !a.probe {
					return reply{status: 400, says: "maximum context length is 64 tokens, you requested 72"}
				}
				return even(a)
			})},
			check: nothingSucceeded("maximum context length is 64 tokens, you requested 72"),
		},
		{
			name: "nothingIsStreamed",
			night: night{spoil: answers(func(_ *life, a asking) reply {
				out := even(a)
				out.whole = !a.probe
				return out
			})},
			check: nothingSucceeded("not_stream"),
		},
		{
			name: "severalTokensAnEvent",
			night: night{top: `judge: metrics: ["gap_p95", "tpot_p95"]`, cell: lines{"contract.output.length": "fixed: 16"},
				spoil: answers(func(_ *life, a asking) reply {
					out := even(a)
					out.lump = 4
					return out
				})},
			doubts: []string{"baseline/*: coalesced suspect"},
		},
		{
			name: "severalTokensAnEventUnread",
			night: night{cell: lines{"contract.output.length": "fixed: 16"}, spoil: answers(func(_ *life, a asking) reply {
				out := even(a)
				out.lump = 4
				return out
			})},
			check: func(t *testing.T, m *morning) {
				if tpot := latency(t, m.derived, "baseline", 1, "tpot"); *tpot.P50 != 3*16/15. {
					t.Errorf("TPOT %v ms of three gaps of 16 ms over 15 tokens", *tpot.P50)
				}
			},
		},
		{
			name: "hardwareUnseen",
			night: night{attached: []string{"one:80", "two:80"},
				top: `factors: at: {baseline: "one", levels: ["two"], couples: ["target", "contract.hardware.**"]}`,
				cell: lines{"target": `"http://\(at.at)"`, "contract.engine": `{name: "vllm", revision: "1"}`,
					"contract.hardware": `{gpu: {one: "H100-SXM5-80GB", two: "H200-SXM5-141GB"}[at.at], gpus: 1}`}},
			notes: []string{"at=two: contract-unverified", "at=two: cold-not-measured"},
		},
	} {
		t.Run(s.name, s.test)
	}
}

// nothingSucceeded holds that every trial failed with a sentence, that no figure stands for it, and that the exit code
// says so.
func nothingSucceeded(why string) func(*testing.T, *morning) {
	return func(t *testing.T, m *morning) {
		if m.summary.Failed != len(m.plan.Trials) || strings.Count(m.reasons(t), why) != len(m.plan.Trials) {
			t.Errorf("%+v%s", m.summary, m.reasons(t))
		}
		if len(m.derived.Goodput)+len(m.derived.Latency)+len(m.derived.Variance) > 0 {
			t.Errorf("rows of nothing: %+v", m.derived.Goodput)
		}
		err := verdictOn(m.summary)
		if partly := (*partlyError)(nil); err == nil || errors.As(err, &partly) {
			t.Errorf("%v: a night without a result has failed", err)
		}
	}
}

// A cell that is added on a later night is paired with a baseline of that night, and says so.
func TestALaterNight(t *testing.T) {
	n := night{blocks: 3, top: `factors: batch: {baseline: 16, levels: [8]}`, cell: lines{
		"contract.engine": `{name: "sim", revision: "1", args: "max-num-seqs": at.batch}`,
	}}
	m := n.run(t, "growing")
	n.top = `factors: batch: {baseline: 16, levels: [8, 4]}`
	m.again(t, &n, "growing")
	s := sin{notes: []string{"batch=4: extended"}}
	s.judge(t, m)
	if m.summary.Done != 2*3 {
		t.Errorf("%d trials of a new cell and its fresh baselines in 3 blocks", m.summary.Done)
	}
	for _, f := range m.derived.Flags {
		if f.Code == "extended" && f.Cell != "batch=4" {
			t.Errorf("%s is of the first night", f.Cell)
		}
	}
	flagsOfComparison("batch=4", "extended")(t, m)
	if row := goodput(t, m.derived, sweep.Baseline, 0); row.Due != 3*120 || row.Blocks != 3 {
		t.Errorf("the baseline's own figures are of its first copy alone: %+v", row)
	}
}

// What was wrong with an attempt is not said of the block once a later one succeeded, nor the other way round: neither in
// what the run leaves in the database trial by trial, nor in what is derived of it all.
func TestOnlyTheAttemptThatCountsIsFlagged(t *testing.T) {
	var asked atomic.Int64
	broken := answers(func(_ *life, a asking) reply {
		if !a.probe && asked.Add(1)%60 > 30 {
			return reply{status: 500, says: "out of memory"}
		}
		return even(a)
	})
	n := night{cell: lines{"errorLimit": "0.1"}, spoil: broken}
	m := n.run(t, "flaky")
	if got := doubts(m.derived.Flags); !slices.Contains(got, "baseline/1: error-rate suspect") || m.summary.Failed != 3 {
		t.Fatalf("of a broken server: %v\n%+v%s", got, m.summary, m.reasons(t))
	}
	holds := func(when string) {
		t.Helper()
		stored, err := m.db.Derived(m.plan.Name)
		if err != nil {
			t.Fatal(err)
		}
		for what, flags := range map[string][]sweep.Flag{"derived": m.derived.Flags, "stored": stored.Flags} {
			if got := doubts(flags); len(got) > 0 {
				t.Errorf("%s, %s: %v", when, what, got)
			}
		}
		if row := goodput(t, stored, sweep.Baseline, 1); row.OK != 120 || row.Verdict != sweep.VerdictValid {
			t.Errorf("%s: %+v", when, row)
		}
	}
	n.spoil = nil
	m.again(t, &n, "flaky")
	holds("done at last")
	n.spoil = broken
	asked.Store(0)
	synctest.Test(t, func(t *testing.T) {
		m.summary = n.measure(t, m.db, m.plan, m.plan.Again(nil, func(t sweep.Trial) bool { return t.Block == 1 }))
	})
	if m.summary.Failed != 1 {
		t.Fatalf("%+v", m.summary)
	}
	holds("failed again, before all is derived")
	var err error
	if m.derived, err = derive(m.db, m.plan); err != nil {
		t.Fatal(err)
	}
	holds("failed again")
}
