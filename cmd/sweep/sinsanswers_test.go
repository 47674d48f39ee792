package main

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// asked lets a request through to the engine with its body changed. What the runner asks on its own account stays.
func asked(change func(body map[string]any)) func(*life, http.Handler) http.Handler {
	return func(_ *life, engine http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Request-Id") != "" {
				var body map[string]any
				json.NewDecoder(r.Body).Decode(&body)
				change(body)
				text, _ := json.Marshal(body)
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			}
			engine.ServeHTTP(w, r)
		})
	}
}

// buffered keeps the engine's answers back until they are whole, headers too, as a proxy does that buffers.
func buffered(_ *life, engine http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		whole := &heldBack{ResponseWriter: w, status: http.StatusOK}
		engine.ServeHTTP(whole, r)
		w.WriteHeader(whole.status)
		w.Write(whole.body.Bytes())
	})
}

type heldBack struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (h *heldBack) Write(text []byte) (int, error) { return h.body.Write(text) }
func (h *heldBack) WriteHeader(status int)         { h.status = status }
func (h *heldBack) Flush()                         {}

// Sins of the answers: what came back is not what the label says.
func TestSinsOfTheAnswers(t *testing.T) {
	for _, s := range []sin{
		{
			name: "shortOutputs",
			night: night{cell: lines{"contract.output.length": "fixed: 128", "contract.load.open": "rate: 10", "measure": "requests: 40"},
				spoil: answers(func(_ *life, a asking) reply {
					out := even(a)
					out.tokens, out.finish = 41, "stop"
					return out
				})},
			doubts: []string{"baseline/*: short-output suspect"},
		},
		{
			name: "shortOutputsOfOneSide",
			night: night{top: `factors: batch: {baseline: 16, levels: [8]}`, cell: lines{
				"contract.engine":        `{name: "sim", revision: "1", args: "max-num-seqs": at.batch}`,
				"contract.output.length": "fixed: 128", "contract.load.open": "rate: 10", "measure": "requests: 40",
			}, spoil: ofOneSide(func(out *reply) { out.tokens, out.finish = 41, "stop" })},
			doubts: []string{"batch=8/*: short-output suspect"},
			check:  flagsOfComparison("batch=8", "short-output"),
		},
		{
			name: "truncatedPrompts",
			night: night{cell: lines{"contract.prompt.length": "fixed: 512"}, spoil: asked(func(body map[string]any) {
				if ids, ok := body["prompt"].([]any); ok {
					body["prompt"] = ids[:len(ids)/4]
				}
			})},
			doubts: []string{"baseline/*: input-mismatch suspect"},
		},
		{
			name: "templateIsNoMismatch",
			night: night{cell: lines{"contract.endpoint": `"chat"`}, spoil: answers(func(_ *life, a asking) reply {
				out := even(a)
				out.input = 64 + 26
				return out
			})},
			check: func(t *testing.T, m *morning) {
				for _, r := range measuredRows(t, m, "baseline", 1) {
					if r.InputAsked != 64 || r.InputTokens != 64+26 {
						t.Fatalf("asked %d, counted %d: the overhead is to be seen", r.InputAsked, r.InputTokens)
					}
				}
			},
		},
		{
			name:   "bufferedStream",
			night:  night{cell: lines{"contract.output.length": "fixed: 16"}, spoil: buffered},
			doubts: []string{"baseline/*: coalesced suspect"},
			check: func(t *testing.T, m *morning) {
				if tpot := latency(t, m.derived, "baseline", 1, "tpot"); *tpot.P50 > .1 {
					t.Errorf("TPOT p50 %v ms: the figures are to stay as they came", *tpot.P50)
				}
			},
		},
		{
			name: "streamInBursts",
			night: night{cell: lines{"contract.output.length": "fixed: 200", "contract.load.open": "rate: 5", "measure": "requests: 30", "tail": `"4s"`},
				spoil: func(*life, http.Handler) http.Handler { return bursts(64, 10*ms) }},
			doubts: []string{"baseline/*: coalesced suspect"},
		},
		{
			name: "aThirdFails",
			night: night{cell: lines{"measure": "requests: 100"}, spoil: answers(func(_ *life, a asking) reply {
				if !a.probe && a.n%3 == 0 {
					return reply{status: 503, says: "overloaded"}
				}
				return even(a)
			})},
			doubts: []string{"baseline/*: error-rate suspect"},
			check: func(t *testing.T, m *morning) {
				row := latency(t, m.derived, "baseline", 0, "ttft")
				whole := goodput(t, m.derived, "baseline", 0)
				if row.N != whole.OK || whole.Due != 300 || whole.Failed < 98 || whole.Failed > 102 {
					t.Errorf("latencies of %d, %d due, %d failed", row.N, whole.Due, whole.Failed)
				}
				if failed := float64(whole.Failed) / float64(whole.Due); *row.ErrorShare != failed || math.Abs(*whole.Attainment-(1-failed)) > 1e-12 {
					t.Errorf("error share %v, attainment %v; %d of %d failed", *row.ErrorShare, *whole.Attainment, whole.Failed, whole.Due)
				}
				if *row.Min < 40 {
					t.Errorf("least TTFT %v ms: a failure is in the latencies", *row.Min)
				}
			},
		},
		{
			name: "emptyAnswers",
			night: night{spoil: answers(func(_ *life, a asking) reply {
				out := even(a)
				if !a.probe && a.n%10 == 0 {
					out.tokens = 0
				}
				return out
			})},
			doubts: []string{"baseline/*: empty suspect", "baseline/*: error-rate suspect"},
		},
		{
			name: "cutAtThreeSeconds",
			night: night{cell: lines{"contract.output.length": "fixed: 400", "contract.load.open": "rate: 5", "measure": "requests: 40", "tail": `"6s"`},
				blocks: 2, spoil: answers(func(_ *life, a asking) reply {
					out := reply{first: 100 * ms, step: 10 * ms, tokens: a.output}
					if a.n%2 == 0 && !a.probe {
						out.tokens, out.cut = 290, true
					}
					return out
				})},
			doubts: []string{"baseline/*: error-rate suspect"},
			check: func(t *testing.T, m *morning) {
				for _, r := range measuredRows(t, m, "baseline", 1) {
					cut := r.Status == sweep.RequestFailed
					if cut && (r.Error != sweep.ErrTruncated || r.Chunks != 290 || r.EndNS < int64(2900*ms)) {
						t.Errorf("%s after %d events and %d ms", r.Error, r.Chunks, r.EndNS/1e6)
					}
				}
			},
		},
		{
			name: "anotherModelAnswers",
			night: night{spoil: answers(func(_ *life, a asking) reply {
				out := even(a)
				if a.n%2 == 0 {
					out.model = "tiny/fallback"
				}
				return out
			})},
			doubts: []string{"baseline/*: mixed-models invalid"},
		},
		{
			name: "anotherModelAnswersBehindAGateway",
			night: night{spoil: answers(func(_ *life, a asking) reply {
				out := even(a)
				if a.n%2 == 0 {
					out.served = "tiny/fallback"
				}
				return out
			})},
			doubts: []string{"baseline/*: mixed-models invalid"},
		},
		{
			name: "nobodyCounts",
			night: night{cell: lines{"contract.slo": `{ttft: "10s", tpot: "1s"}`}, spoil: answers(func(_ *life, a asking) reply {
				out := even(a)
				out.uncounted = true
				return out
			})},
			doubts: []string{"baseline/*: token-source suspect"},
			check: func(t *testing.T, m *morning) {
				row, tpot := goodput(t, m.derived, "baseline", 0), latency(t, m.derived, "baseline", 0, "tpot")
				if row.OutputRate != nil || *row.Attainment != 0 || tpot.P50 != nil || tpot.N != 0 {
					t.Errorf("output rate %v, attainment %v, %d TPOTs: there are no counts to make them of", row.OutputRate, *row.Attainment, tpot.N)
				}
			},
		},
		{
			name: "unequalSources",
			night: night{top: `factors: batch: {baseline: 16, levels: [8]}`, cell: lines{
				"contract.engine": `{name: "sim", revision: "1", args: "max-num-seqs": at.batch}`,
			}, spoil: uncountedSide},
			doubts: []string{"batch=8: token-source suspect"},
			check:  flagsOfComparison("batch=8", "token-source"),
		},
		{
			name:  "fewSamples",
			night: night{blocks: 5, cell: lines{"measure": "requests: 50"}},
			notes: []string{"baseline: few-samples"},
			check: func(t *testing.T, m *morning) {
				if row := latency(t, m.derived, "baseline", 1, "ttft"); row.P99 != nil || row.P95 != nil || row.P90 == nil || row.N != 50 ||
					!slices.Contains(row.Flags, "few-samples") {
					t.Errorf("of 50 values: %+v", row)
				}
				if row := latency(t, m.derived, "baseline", 0, "ttft"); row.P95 == nil || row.P99 != nil || row.N != 250 {
					t.Errorf("of 250 values: %+v", row)
				}
			},
		},
	} {
		t.Run(s.name, s.test)
	}
}

// ofOneSide spoils the answers of the launches with the smaller batch.
func ofOneSide(spoiled func(*reply)) func(*life, http.Handler) http.Handler {
	return answers(func(l *life, a asking) reply {
		out := even(a)
		if l.batch == 8 && !a.probe {
			spoiled(&out)
		}
		return out
	})
}

// uncountedSide leaves the usage out of the answers of the launches with the smaller batch; their token ids stay.
func uncountedSide(l *life, engine http.Handler) http.Handler {
	if l.batch != 8 {
		return engine
	}
	return asked(func(body map[string]any) { delete(body, "stream_options") })(l, engine)
}

// bursts sends tokens made at even steps in lumps of single-token events, each in one flush.
func bursts(lump int, step time.Duration) http.Handler {
	f := &fake{}
	f.answer = func(a asking) reply { return reply{first: 100 * ms, step: step, tokens: a.output, burst: lump} }
	return f
}

// flagsOfComparison holds that every comparison of a cell carries a code.
func flagsOfComparison(cell, code string) func(*testing.T, *morning) {
	return func(t *testing.T, m *morning) {
		for _, r := range m.derived.Comparison {
			if r.Cell == cell && !slices.Contains(r.Flags, code) {
				t.Errorf("%s against %s: %v, without %s", r.Metric, r.Reference, r.Flags, code)
			}
		}
	}
}

// trialRows are the requests of one trial, by its cell and block.
func trialRows(t *testing.T, m *morning, cell string, block int) (sweep.TrialRecord, []*sweep.Request) {
	t.Helper()
	records, err := m.db.Trials(m.plan.Name)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(records, func(r sweep.TrialRecord) bool { return r.Cell == cell && r.Block == block })
	if i < 0 {
		t.Fatalf("there is no trial of %s in block %d", cell, block)
	}
	facts, err := m.db.Facts(records[i].ID)
	if err != nil {
		t.Fatal(err)
	}
	var rows []*sweep.Request
	for r, err := range facts.Rows {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return facts.Record, rows
}

func measuredRows(t *testing.T, m *morning, cell string, block int) []*sweep.Request {
	t.Helper()
	_, rows := trialRows(t, m, cell, block)
	return slices.DeleteFunc(rows, func(r *sweep.Request) bool { return r.Phase != sweep.PhaseMeasure })
}
