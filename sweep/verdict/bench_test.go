package verdict_test

import (
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/verdict"
)

var nightRequests = flag.Int("requests", 1_000_000, "requests of the night that BenchmarkNight derives")

const (
	nightCells  = 10
	nightBlocks = 10
)

// longNight yields one trial's requests, of 8 tokens each, all of them one row used again; each calls seen.
func longNight(seed uint64, n int, seen func()) iter.Seq2[*sweep.Request, error] {
	return func(yield func(*sweep.Request, error) bool) {
		random := rand.New(rand.NewPCG(seed, 1))
		r := answer(sweep.PhaseMeasure, 0, 0, 50, 4, 8)
		log := slices.Clone(r.ChunkLog)
		for i := range n {
			r.Seq, r.DueNS = int64(i), int64(i)*10*msNS
			r.SentNS = r.DueNS + random.Int64N(msNS/5)
			r.QueueNS = r.SentNS - r.DueNS
			r.FirstTokenNS = int64(40+20*random.Float64()) * msNS
			r.AnswerNS, r.LastTokenNS = r.FirstTokenNS, r.FirstTokenNS+28*msNS+random.Int64N(msNS)
			r.EndNS, r.ChunkLog = r.LastTokenNS, log
			if i%10_000 == 0 {
				seen()
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// BenchmarkNight derives a whole night. Beside the time it gives the most memory that was in use, and how long it took
// against one sorted scan: ranging over the same rows and sorting, trial by trial, the seven times that each has.
func BenchmarkNight(b *testing.B) {
	var cells []sweep.Cell
	for c := range nightCells {
		name, factor := sweep.Baseline, ""
		if c > 0 {
			name, factor = fmt.Sprintf("rate=%d", c), "rate"
		}
		cells = append(cells, cellJSON(b, name, factor, c, nil, edits{"contract.load.open.rate": 100 + c}))
	}
	plan := planOf(b, cells)
	each := *nightRequests / (nightCells * nightBlocks)
	most := uint64(0)
	watch := func() {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapInuse)
	}
	var trials []sweep.TrialFacts
	for block := 1; block <= nightBlocks; block++ {
		for i := range plan.Cells {
			f := facts(plan, &plan.Cells[i], block, nil)
			f.Rows = longNight(uint64(f.Record.ID), each, watch)
			f.Record.T0NS, f.Record.T1NS, f.Record.EndNS = 0, int64(each)*10*msNS, int64(each)*10*msNS
			trials = append(trials, f)
		}
	}
	var derivations, scans []float64
	for b.Loop() {
		runtime.GC()
		start := time.Now()
		if _, err := verdict.Derive(plan, trials); err != nil {
			b.Fatal(err)
		}
		derivations = append(derivations, time.Since(start).Seconds())
		start = time.Now()
		for _, f := range trials {
			sortTimes(f)
		}
		scans = append(scans, time.Since(start).Seconds())
	}
	slices.Sort(derivations)
	slices.Sort(scans)
	middle := len(scans) / 2
	b.ReportMetric(float64(*nightRequests)/derivations[middle], "requests/s")
	b.ReportMetric(derivations[middle]/scans[middle], "×scan")
	b.ReportMetric(float64(most)/(1<<20), "MiB")
}

// sortTimes sorts everything that a trial has percentiles of, but for the gaps.
func sortTimes(f sweep.TrialFacts) {
	var times [7][]float64
	for r := range f.Rows {
		tpot, _ := r.TPOTNS()
		for i, x := range [7]float64{float64(r.FirstTokenNS), float64(r.FromDueNS(r.FirstTokenNS)), tpot, float64(r.LastTokenNS),
			float64(r.FromDueNS(r.LastTokenNS)), float64(r.QueueNS), float64(r.AnswerNS)} {
			times[i] = append(times[i], x)
		}
	}
	for i := range times {
		slices.Sort(times[i])
	}
}
