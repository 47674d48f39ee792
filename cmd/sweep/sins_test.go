package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/analysis"
)

// A sin is a way to publish a wrong number, planted in a night that is otherwise in order: what has to be said of it,
// and nothing more.
type sin struct {
	name string
	night
	// doubts are the flags beyond notes, each as "cell/block: code severity"; a block * stands for each.
	doubts []string
	// notes are footnotes that have to be there, each as "cell: code".
	notes []string
	// refused are the cells whose comparisons are refused; no other's is.
	refused []string
	check   func(t *testing.T, m *morning)
}

// test runs the night and holds what is said of it against what has to be.
func (s *sin) test(t *testing.T) {
	t.Helper()
	m := s.run(t, s.name)
	s.judge(t, m)
	m.holdsOfWholeRows(t)
	if s.check != nil {
		s.check(t, m)
	}
}

func (s *sin) judge(t *testing.T, m *morning) {
	t.Helper()
	if got, want := doubts(m.derived.Flags), s.expected(m.plan.Blocks); !slices.Equal(got, want) {
		t.Errorf("doubts\n%s\nwant\n%s\nall flags:%s%s", strings.Join(got, "\n"), strings.Join(want, "\n"), details(m.derived.Flags), m.reasons(t))
	}
	for _, want := range s.notes {
		if !slices.ContainsFunc(m.derived.Flags, func(f sweep.Flag) bool { return f.Cell+": "+f.Code == want && f.Severity == sweep.Note }) {
			t.Errorf("no note %q among%s", want, details(m.derived.Flags))
		}
	}
	for _, f := range m.derived.Flags {
		if f.Severity != sweep.Note {
			standsOnItsRows(t, m.derived, f)
		}
	}
	for _, row := range m.derived.Comparison {
		if refused := slices.Contains(s.refused, row.Cell); refused != (row.Outcome == analysis.Refused) {
			t.Errorf("%s of %s against %s: %s", row.Metric, row.Cell, row.Reference, row.Outcome)
		}
	}
	for _, cell := range s.refused {
		if !slices.ContainsFunc(m.derived.Comparison, func(r sweep.ComparisonRow) bool { return r.Cell == cell }) {
			t.Errorf("nothing is compared with %s", cell)
		}
	}
}

// expected writes every doubt out and sorts them.
func (s *sin) expected(blocks int) []string {
	var all []string
	for _, d := range s.doubts {
		if !strings.Contains(d, "/*:") {
			all = append(all, d)
			continue
		}
		for b := range blocks {
			all = append(all, strings.Replace(d, "/*:", fmt.Sprintf("/%d:", b+1), 1))
		}
	}
	slices.Sort(all)
	return all
}

// standsOnItsRows holds that a flag is on the rows that it is about, and in their verdicts: those of its block, or of all
// blocks together; what a definition got wrong, on each of its cell's.
func standsOnItsRows(t *testing.T, d *sweep.Derived, f sweep.Flag) {
	t.Helper()
	if f.Code == "token-source" && f.Block == 0 {
		return // of a comparison: its rows are that one's
	}
	everywhere := slices.Contains([]string{"many-factors", "label-only", "no-slo"}, f.Code)
	check := func(cell string, block int, codes []string, verdict string) bool {
		about := cell == f.Cell && (block == f.Block || everywhere)
		return !about || slices.Contains(codes, f.Code) && verdict != sweep.VerdictValid
	}
	for _, r := range d.Goodput {
		if !check(r.Cell, r.Block, r.Flags, r.Verdict) {
			t.Errorf("goodput of %s block %d is %s %v, without %s", r.Cell, r.Block, r.Verdict, r.Flags, doubt(f))
		}
	}
	for _, r := range d.Latency {
		if !check(r.Cell, r.Block, r.Flags, r.Verdict) {
			t.Errorf("%s of %s block %d is %s %v, without %s", r.Metric, r.Cell, r.Block, r.Verdict, r.Flags, doubt(f))
		}
	}
}

// goodput finds a row of goodput.
func goodput(t *testing.T, d *sweep.Derived, cell string, block int) sweep.GoodputRow {
	t.Helper()
	i := slices.IndexFunc(d.Goodput, func(r sweep.GoodputRow) bool { return r.Cell == cell && r.Block == block })
	if i < 0 {
		t.Fatalf("there is no goodput of %s in block %d", cell, block)
	}
	return d.Goodput[i]
}

// latency finds a row of the measured latencies.
func latency(t *testing.T, d *sweep.Derived, cell string, block int, metric string) sweep.LatencyRow {
	t.Helper()
	i := slices.IndexFunc(d.Latency, func(r sweep.LatencyRow) bool {
		return r.Cell == cell && r.Block == block && r.Metric == metric && r.Phase == sweep.PhaseMeasure
	})
	if i < 0 {
		t.Fatalf("there is no %s of %s in block %d", metric, cell, block)
	}
	return d.Latency[i]
}

// Sins of the definition: what moves, and what is compared with what.
func TestSinsOfTheDefinition(t *testing.T) {
	for _, s := range []sin{
		{
			name: "twoFactors",
			night: night{top: `factors: batch: {baseline: 16, levels: [8, 4]}`, cell: lines{
				"contract.engine":    `{name: "sim", revision: "1", args: "max-num-seqs": at.batch}`,
				"contract.load.open": `rate: {"16": 40, "8": 50, "4": 40}["\(at.batch)"]`,
			}},
			doubts: []string{"batch=8: many-factors invalid"}, refused: []string{"batch=8"},
			check: func(t *testing.T, m *morning) {
				if row := goodput(t, m.derived, "batch=8", 0); row.Moved != 2 || row.Blocks != 3 {
					t.Errorf("its figures are to stand in the table, with what moved: %+v", row)
				}
			},
		},
		{
			name: "labelOnly",
			night: night{top: `factors: gpu: {baseline: "simulated", levels: ["H200"]}`, cell: lines{
				"contract.hardware": `{gpu: at.gpu, gpus: 1}`,
			}},
			doubts: []string{"gpu=H200: label-only invalid"}, refused: []string{"gpu=H200"},
		},
		{
			name:   "noChange",
			night:  night{top: `factors: temperature: {baseline: 0, levels: [1]}`},
			doubts: []string{"temperature=1: no-change invalid"}, refused: []string{"temperature=1"},
			check: func(t *testing.T, m *morning) {
				if m.summary.Done != 3 {
					t.Errorf("%d trials: what repeats the baseline is not to be run", m.summary.Done)
				}
			},
		},
		{
			name:   "noSLO",
			night:  night{cell: lines{"contract.slo": ""}},
			doubts: []string{"baseline: no-slo suspect"},
			check: func(t *testing.T, m *morning) {
				if row := goodput(t, m.derived, "baseline", 0); row.Attainment != nil || row.GoodputReqS != nil {
					t.Errorf("nothing can be met without a bar: %+v", row)
				}
			},
		},
		{
			name: "otherLengths",
			night: night{top: `factors: use: {baseline: "chat", levels: ["summary"], couples: ["contract.prompt.**", "contract.output.**", "contract.load.**"]}`, cell: lines{
				"contract.prompt.length": `fixed: {chat: 64, summary: 512}[at.use]`,
				"contract.output.length": `fixed: {chat: 8, summary: 4}[at.use]`,
				"contract.load.open":     `rate: {chat: 50, summary: 20}[at.use]`,
			}},
			refused: []string{"use=summary"},
		},
		{
			name: "lengthIsTheFactor",
			night: night{top: `factors: output: {baseline: 8, levels: [16], sets: ["contract.output.length.fixed"]}`,
				cell: lines{"contract.output.length": ""}},
		},
		{
			name: "closedAgainstOpen",
			night: night{top: `factors: load: {baseline: "open", levels: ["closed"], couples: ["contract.load.**"]}`, cell: lines{
				"contract.load.open": "", "contract.load": `{open: open: rate: 50, closed: closed: clients: 4}[at.load]`,
			}},
			refused: []string{"load=closed"}, notes: []string{"load=closed: closed-loop"},
		},
		{
			name: "alias",
			night: night{top: `
	factors: {rate: {baseline: 50, levels: [40]}, batch: {baseline: 16, levels: [8]}}
	grids: both: of: ["rate", "batch"]`, cell: lines{
				"contract.engine":    `{name: "sim", revision: "1", args: "max-num-seqs": at.batch}`,
				"contract.load.open": `rate: at.rate`,
			}},
			notes: []string{"both:rate=40,batch=8: many-factors", "rate=40: simulated"},
			check: func(t *testing.T, m *morning) {
				if m.summary.Done != 4*3 {
					t.Errorf("%d trials of 4 measurements in 3 blocks", m.summary.Done)
				}
				one, other := goodput(t, m.derived, "rate=40", 0), goodput(t, m.derived, "both:rate=40,batch=16", 0)
				if one.Due != other.Due || *one.RequestRate != *other.RequestRate {
					t.Errorf("an alias has other figures: %+v and %+v", one, other)
				}
			},
		},
	} {
		t.Run(s.name, s.test)
	}
}
