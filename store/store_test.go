package store_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
)

// The plan that most tests use: a baseline under an open loop with every bar, an alias of it with a laxer SLO, and a
// closed loop without any SLO.
const (
	digestBase   = "sha256:base"
	digestClosed = "sha256:closed"
)

func testCell(name, factor, level, load, slo string) sweep.Cell {
	raw := fmt.Sprintf(`{"cell":%q,"factor":%s,"level":%s,"at":{"rate":%s,"note":"a<b"},"target":"sim","contract":{"load":%s%s},
		"server":{"port":8000,"restart":"block"},"measure":{"requests":10},"warmup":{"requests":2},"tail":"1s","timeout":{},"errorLimit":0.5}`,
		name, factor, level, level, load, slo)
	var c sweep.Cell
	if err := json.Unmarshal([]byte(raw), &c); err != nil {
		panic(err)
	}
	return c
}

func testPlan() *sweep.Plan {
	const bars = `,"slo":{"ttft":"100ms","tpot":"10ms","e2e":"1s","attainment":0.99}`
	p := &sweep.Plan{Definition: sweep.Definition{Name: "s", Blocks: 3, Seed: 1, AA: true,
		Sources: []sweep.Source{{Path: "s.cue", Text: "s: #Sweep & {}"}}, Tags: []string{"a=b"},
		Traces: map[string][]float64{"gaps.txt": {0.5, 1.25}}}}
	p.Cells = []sweep.PlanCell{
		{Cell: testCell("baseline", "null", "null", `{"open":{"rate":8.0,"arrival":"poisson"}}`, bars), Digest: digestBase},
		{Cell: testCell("rate=8", `"rate"`, "8.0", `{"open":{"rate":8.0,"arrival":"poisson"}}`, `,"slo":{"ttft":"1s","attainment":0.9}`),
			Digest: digestBase, AliasOf: "baseline", Moved: []sweep.Move{{Path: "contract.x", To: "y"}}},
		{Cell: testCell("mode=closed", `"mode"`, `"closed"`, `{"closed":{"clients":4}}`, ""), Digest: digestClosed,
			Moved: []sweep.Move{{Path: "contract.load.closed.clients", To: 4.0}, {Path: "contract.load.open.rate", From: 8.0}}},
	}
	p.Trials = []sweep.Trial{{Key: sweep.Key{Digest: digestBase, Block: 1, Copy: 1}, Cell: "baseline", Order: 1}}
	return p
}

var testTime = time.Date(2026, 3, 1, 12, 30, 15, 123456000, time.UTC)

func open(t testing.TB, path string, o store.Options) *store.DB {
	t.Helper()
	db, err := store.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

// begun is a new database with a sitting of the test plan.
func begun(t testing.TB) (*store.DB, int64) {
	t.Helper()
	db := open(t, filepath.Join(t.TempDir(), "sweep.db"), store.Options{})
	return db, begin(t, db, testPlan())
}

func begin(t testing.TB, db *store.DB, p *sweep.Plan) int64 {
	t.Helper()
	id, err := db.BeginSitting(store.Sitting{Sweep: p.Name, Argv: "sweep run s.cue", Version: "v1", Commit: "abc", Host: "h",
		StartedAt: testTime, Provenance: map[string]string{"go": "go1.26"}}, p)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func startTrial(t testing.TB, db *store.DB, sitting int64, cell, digest string, block, copy int) *sweep.TrialRecord {
	t.Helper()
	r := &sweep.TrialRecord{Sweep: "s", Cell: cell, Key: sweep.Key{Digest: digest, Block: block, Copy: copy}, Sitting: sitting,
		OrderIndex: block, StartedAt: testTime, Nonce: "00ff", T0NS: sweep.None, T1NS: sweep.None, EndNS: sweep.None}
	if err := db.StartTrial(r); err != nil {
		t.Fatal(err)
	}
	return r
}

// okRequest met every bar of the test plan's baseline.
func okRequest(seq int64) *sweep.Request {
	return &sweep.Request{Seq: seq, Phase: sweep.PhaseMeasure, RequestID: fmt.Sprintf("r%d", seq),
		DueNS: 10e6 * seq, SentNS: 10e6*seq + 1e6, QueueNS: 5e5, DialNS: 25e4, ConnNew: true,
		WrittenNS: 1e5, TTFBNS: 2e7, FirstTokenNS: 3e7, AnswerNS: 4e7, LastTokenNS: 12e7, EndNS: 13e7, ServerQueueNS: 1e6,
		InputAsked: 128, InputTokens: 130, InputSource: "usage", OutputAsked: 11, OutputTokens: 11, OutputSource: "usage",
		FirstTokens: 1, CachedTokens: 0, ReasoningTokens: 2, Chunks: 11,
		Status: sweep.RequestOK, HTTPStatus: 200, RetryAfterNS: sweep.None, FinishReason: "length", ResponseModel: "toy",
		Marks: []string{"no-done", "ttft-by-usage"}, ChunkLog: []byte{1, 2, 3}, Text: "an answer"}
}

// failedRequest was never sent: nearly nothing of it exists.
func failedRequest(seq int64) *sweep.Request {
	const none = sweep.None
	return &sweep.Request{Seq: seq, Phase: sweep.PhaseMeasure, DueNS: 10e6 * seq, SentNS: none, QueueNS: none, DialNS: none, WrittenNS: none, TTFBNS: none,
		FirstTokenNS: none, AnswerNS: none, LastTokenNS: none, EndNS: none, ServerQueueNS: none, InputAsked: none,
		InputTokens: none, OutputAsked: none, OutputTokens: none, FirstTokens: none, CachedTokens: none,
		ReasoningTokens: none, Chunks: none, Status: sweep.RequestFailed, Error: sweep.ErrNotSent, ErrorMessage: "no slot",
		HTTPStatus: none, RetryAfterNS: none}
}

func rowsOf(t testing.TB, db *store.DB, trial int64) []*sweep.Request {
	t.Helper()
	facts, err := db.Facts(trial)
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
	return rows
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func compact(t testing.TB, raw json.RawMessage) string {
	t.Helper()
	var out bytes.Buffer
	must(t, json.Compact(&out, raw))
	return out.String()
}
