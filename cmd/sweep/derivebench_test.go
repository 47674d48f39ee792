package main

import (
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
)

var requests = flag.Int("requests", 100_000, "stored requests that BenchmarkDerive derives from")

const trialRequests = 10_000

// stored makes a database of trials of 10,000 requests with 16 tokens each, as a night leaves it.
func stored(b *testing.B, path string) *sweep.Plan {
	b.Helper()
	n := night{blocks: max(*requests/trialRequests, 1)}
	p := n.plan(b, "stored")
	db, err := store.Open(path, store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	sitting, err := db.BeginSitting(store.Sitting{Sweep: p.Name, StartedAt: time.Now()}, p)
	if err != nil {
		b.Fatal(err)
	}
	launch := &sweep.Launch{Sweep: p.Name, Sitting: sitting, Ordinal: 1, Target: "sim", Observed: map[string]any{sweep.ObsEngineVersion: "1"}}
	if err := db.StartLaunch(launch); err != nil {
		b.Fatal(err)
	}
	w := db.NewWriter()
	random := rand.New(rand.NewPCG(1, 1))
	for _, t := range p.Trials {
		record := &sweep.TrialRecord{Sweep: p.Name, Cell: t.Cell, Key: t.Key, Sitting: sitting, OrderIndex: t.Order, Launch: launch.ID,
			StartedAt: time.Now(), Nonce: "00", Status: sweep.StatusRunning, T0NS: 0, T1NS: int64(trialRequests * 20 * ms), EndNS: int64(trialRequests * 20 * ms)}
		if err := db.StartTrial(record); err != nil {
			b.Fatal(err)
		}
		for seq := range int64(trialRequests) {
			if err := w.Put(record.ID, storedRequest(random, seq)); err != nil {
				b.Fatal(err)
			}
		}
		record.Status = sweep.StatusDone
		if err := w.FinishTrial(record, nil); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return p
}

func storedRequest(random *rand.Rand, seq int64) *sweep.Request {
	r := sweep.NewRequest()
	r.Seq, r.Phase, r.RequestID, r.Status, r.HTTPStatus = seq, sweep.PhaseMeasure, fmt.Sprintf("%032x-%d", seq, seq), sweep.RequestOK, 200
	r.DueNS = seq * int64(20*ms)
	r.SentNS, r.QueueNS, r.DialNS = r.DueNS+random.Int64N(200_000), random.Int64N(100_000), 0
	r.WrittenNS, r.TTFBNS, r.FirstTokenNS = 30_000+random.Int64N(20_000), int64(40*ms), int64(45*ms)+random.Int64N(int64(20*ms))
	at, prev := r.FirstTokenNS, int64(0)
	for range 16 {
		r.ChunkLog = sweep.AppendChunk(r.ChunkLog, prev, sweep.Chunk{AtNS: at, Tokens: 1})
		prev, at = at, at+int64(4*ms)+random.Int64N(int64(ms))
	}
	r.AnswerNS, r.LastTokenNS, r.EndNS, r.ServerQueueNS = r.FirstTokenNS, prev, prev+100_000, random.Int64N(1_000_000)
	r.InputAsked, r.InputTokens, r.InputSource, r.OutputAsked, r.OutputTokens, r.OutputSource = 128, 128, "usage", 16, 16, "usage"
	r.FirstTokens, r.CachedTokens, r.ReasoningTokens, r.Chunks, r.FinishReason, r.ResponseModel = 1, 0, 0, 16, "length", "sim/small"
	return r
}

// sortedScan reads every column of every request in the order of trial and sequence, as plainly as database/sql allows.
func sortedScan(b *testing.B, path string) int {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT * FROM raw_request ORDER BY trial, seq")
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		b.Fatal(err)
	}
	into := make([]any, len(types))
	for i, t := range types {
		switch t.DatabaseTypeName() {
		case "INTEGER":
			into[i] = new(sql.NullInt64)
		case "BLOB":
			into[i] = new([]byte)
		default:
			into[i] = new(sql.NullString)
		}
	}
	n := 0
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			b.Fatal(err)
		}
		n++
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkDerive derives a sweep from its stored requests, and beside it reads the same rows once, sorted: a report is to
// take no more than half as long again. Both are timed in turns, and the ratio is of the medians.
func BenchmarkDerive(b *testing.B) {
	path := filepath.Join(b.TempDir(), "sweep.db")
	p := stored(b, path)
	var scans, derivations []float64
	for b.Loop() {
		start := time.Now()
		if n := sortedScan(b, path); n != len(p.Trials)*trialRequests {
			b.Fatalf("%d rows", n)
		}
		scans = append(scans, time.Since(start).Seconds())
		runtime.GC()
		start = time.Now()
		db, err := store.Open(path, store.Options{ReadOnly: true})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := deriveOnly(db, p); err != nil {
			b.Fatal(err)
		}
		derivations = append(derivations, time.Since(start).Seconds())
		db.Close()
		runtime.GC()
	}
	slices.Sort(scans)
	slices.Sort(derivations)
	scan, derive := scans[len(scans)/2], derivations[len(derivations)/2]
	b.ReportMetric(float64(len(p.Trials)*trialRequests)/derive, "requests/s")
	b.ReportMetric(derive/scan, "×scan")
}
