package analysis_test

import (
	"iter"
	"math"
	"testing"

	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/analysis"
)

const msNS = 1_000_000

// openCell is an open-loop cell with 2 GPUs and an SLO of TTFT 150 ms and TPOT 10 ms, changed by each of the changes.
func openCell(changes ...func(*sweep.PlanCell)) *sweep.PlanCell {
	c := &sweep.PlanCell{Digest: "d"}
	c.Cell.Cell.Cell = sweep.Baseline
	c.Cell.Contract.Streaming = true
	c.Cell.Contract.Load.Open = &schema.Open{Rate: 10, Arrival: "poisson"}
	c.Cell.Contract.Hardware.Gpus = 2
	c.Cell.Contract.SLO = &schema.SLO{Ttft: "150ms", Tpot: "10ms"}
	for _, change := range changes {
		change(c)
	}
	return c
}

func closed(c *sweep.PlanCell) {
	c.Cell.Contract.Load = schema.Load{Closed: &schema.Closed{Clients: 4}}
}

func burst(c *sweep.PlanCell) { c.Cell.Contract.Load = schema.Load{Burst: &schema.Burst{}} }

func slo(bars *schema.SLO) func(*sweep.PlanCell) {
	return func(c *sweep.PlanCell) { c.Cell.Contract.SLO = bars }
}

// answered is a measured request that was due at dueMS, left at once, and got 16 tokens: the first after 100 ms, one
// every 10 ms.
func answered(dueMS int64, changes ...func(*sweep.Request)) *sweep.Request {
	r := sweep.NewRequest()
	r.Phase, r.Status = sweep.PhaseMeasure, sweep.RequestOK
	r.DueNS, r.SentNS, r.QueueNS, r.DialNS = dueMS*msNS, dueMS*msNS, 0, 0
	stream(r, 100, 10, 16)
	for _, change := range changes {
		change(r)
	}
	return r
}

// stream gives a request an answer of n one-token events.
func stream(r *sweep.Request, firstMS, gapMS, n int64) {
	r.ChunkLog = nil
	prev := int64(0)
	for i := range n {
		at := (firstMS + i*gapMS) * msNS
		r.ChunkLog = sweep.AppendChunk(r.ChunkLog, prev, sweep.Chunk{AtNS: at, Tokens: 1})
		prev = at
	}
	r.FirstTokenNS, r.AnswerNS, r.LastTokenNS, r.EndNS = firstMS*msNS, firstMS*msNS, prev, prev+msNS
	r.OutputTokens, r.OutputSource, r.Chunks, r.FirstTokens = n, "usage", n, 1
	r.InputTokens = 128
}

func tokens(firstMS, gapMS, n int64) func(*sweep.Request) {
	return func(r *sweep.Request) { stream(r, firstMS, gapMS, n) }
}

func sentLate(ms int64) func(*sweep.Request) {
	return func(r *sweep.Request) { r.SentNS, r.QueueNS = r.DueNS+ms*msNS, ms*msNS }
}

func inPhase(p sweep.Phase) func(*sweep.Request) {
	return func(r *sweep.Request) { r.Phase = p }
}

func uncounted(r *sweep.Request) {
	r.OutputTokens, r.OutputSource = sweep.None, ""
	var log []byte
	prev := int64(0)
	for c := range sweep.Chunks(r.ChunkLog) {
		log = sweep.AppendChunk(log, prev, sweep.Chunk{AtNS: c.AtNS, Tokens: sweep.None})
		prev = c.AtNS
	}
	r.ChunkLog = log
}

// failed turns a request into one that ended after ms with an error.
func failed(kind string, ms int64) func(*sweep.Request) {
	return func(r *sweep.Request) {
		due, sent, phase := r.DueNS, r.SentNS, r.Phase
		*r = *sweep.NewRequest()
		r.DueNS, r.SentNS, r.QueueNS, r.Phase = due, sent, 0, phase
		r.Status, r.Error, r.EndNS = sweep.RequestFailed, kind, ms*msNS
	}
}

func unsent(r *sweep.Request) {
	failed(sweep.ErrNotSent, 0)(r)
	r.SentNS, r.EndNS = sweep.None, sweep.None
}

func rows(rs ...*sweep.Request) iter.Seq2[*sweep.Request, error] {
	return func(yield func(*sweep.Request, error) bool) {
		for i, r := range rs {
			r.Seq = int64(i)
			if !yield(r, nil) {
				return
			}
		}
	}
}

// window makes facts of a done trial measured in [fromMS, toMS).
func window(fromMS, toMS int64, rs ...*sweep.Request) sweep.TrialFacts {
	return sweep.TrialFacts{
		Record: sweep.TrialRecord{
			ID: 1, Cell: sweep.Baseline, Key: sweep.Key{Digest: "d", Block: 1, Copy: 1}, Status: sweep.StatusDone,
			T0NS: fromMS * msNS, T1NS: toMS * msNS, EndNS: toMS * msNS,
		},
		Rows: rows(rs...),
	}
}

func summarise(t *testing.T, cell *sweep.PlanCell, f sweep.TrialFacts, aliases ...*sweep.PlanCell) *analysis.Trial {
	t.Helper()
	trial, err := analysis.Summarise(cell, f, aliases...)
	if err != nil {
		t.Fatal(err)
	}
	return trial
}

// latency is the measured row of one metric.
func latency(t *testing.T, trial *analysis.Trial, metric string) sweep.LatencyRow {
	t.Helper()
	for _, row := range trial.LatencyRows(trial.Names[0].Name, 1) {
		if row.Phase == sweep.PhaseMeasure && row.Metric == metric {
			return row
		}
	}
	t.Fatalf("no row of %s", metric)
	return sweep.LatencyRow{}
}

// same compares a figure that may not exist; want NaN says that it must not.
func same(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	switch {
	case got == nil && !math.IsNaN(want):
		t.Errorf("%s is NULL, want %v", what, want)
	case got != nil && math.IsNaN(want):
		t.Errorf("%s = %v, want NULL", what, *got)
	case got != nil && math.Abs(*got-want) > 1e-9*math.Max(1, math.Abs(want)):
		t.Errorf("%s = %v, want %v", what, *got, want)
	}
}

var null = math.NaN()
