package analysis_test

import (
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/analysis"
)

// mixedOK are n measured requests that ended ok, with varying times.
func mixedOK(n int) []*sweep.Request {
	var rs []*sweep.Request
	for r := range synthetic(n) {
		copied := *r
		rs = append(rs, &copied)
	}
	return rs
}

// synthetic yields n measured requests of 8 tokens, one row used again and again.
func synthetic(n int) iter.Seq2[*sweep.Request, error] {
	return func(yield func(*sweep.Request, error) bool) {
		rng := rand.New(rand.NewPCG(1, 1))
		r := answered(0, tokens(100, 10, 8))
		due := int64(0)
		for i := range n {
			due += int64(rng.ExpFloat64() * msNS)
			r.Seq, r.DueNS, r.SentNS = int64(i), due, due+rng.Int64N(msNS)
			r.QueueNS = r.SentNS - r.DueNS
			r.FirstTokenNS = 50*msNS + int64(rng.ExpFloat64()*50*msNS)
			r.AnswerNS = r.FirstTokenNS
			r.LastTokenNS = r.FirstTokenNS + 70*msNS + rng.Int64N(20*msNS)
			r.EndNS = r.LastTokenNS
			if !yield(r, nil) {
				return
			}
		}
	}
}

const million = 1_000_000

// BenchmarkSummarise makes all figures of a million requests; its measure is one sort of the same values.
func BenchmarkSummarise(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		f := window(0, 2*million)
		f.Rows = synthetic(million)
		trial, err := analysis.Summarise(openCell(), f)
		if err != nil {
			b.Fatal(err)
		}
		trial.LatencyRows("baseline", 1)
	}
}

// BenchmarkRows is what reading the synthetic rows costs by itself.
func BenchmarkRows(b *testing.B) {
	for b.Loop() {
		for range synthetic(million) {
		}
	}
}

// BenchmarkSort sorts the values that BenchmarkSummarise has percentiles of: seven times a request.
func BenchmarkSort(b *testing.B) {
	var values [7][]float64
	for r := range synthetic(million) {
		tpot, _ := r.TPOTNS()
		for i, x := range [7]float64{float64(r.FirstTokenNS), float64(r.FromDueNS(r.FirstTokenNS)), tpot, float64(r.LastTokenNS),
			float64(r.FromDueNS(r.LastTokenNS)), float64(r.QueueNS), float64(r.AnswerNS)} {
			values[i] = append(values[i], x)
		}
	}
	for b.Loop() {
		for i := range values {
			slices.Sort(slices.Clone(values[i]))
		}
	}
}
