package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Any mixture of arrivals and departures keeps the books: blocks are held or free, steps stay within their limits, and
// every sequence that is not given up gets exactly its tokens.
func TestSchedulerKeepsItsBooks(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		cfg := exact()
		cfg.MaxNumSeqs = 1 + r.IntN(8)
		cfg.MaxNumBatchedTokens = cfg.MaxNumSeqs + r.IntN(64)
		cfg.BlockSize = 1 + r.IntN(16)
		cfg.MaxModelLen = 200
		cfg.NumGPUBlocks = blocksFor(200, cfg.BlockSize) + r.IntN(20)
		cfg.EnablePrefixCaching = r.IntN(4) > 0
		cfg.EnableChunkedPrefill = r.IntN(4) > 0
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		d := newScheduler(cfg)
		var all []*sequence
		now := time.Now()
		for step := range 3000 {
			if len(all) < 60 && r.IntN(3) == 0 {
				q := sequenceOf(s, prompt(rand.New(rand.NewPCG(r.Uint64N(4), 0)), 1+r.IntN(150)), 1+r.IntN(50))
				all = append(all, q)
				d.submit(q, now)
			}
			if len(all) > 0 && r.IntN(50) == 0 {
				d.leave(all[r.IntN(len(all))])
			}
			took := d.begin(now)
			checkBooks(t, d)
			now = now.Add(took)
			d.end(now)
			if took == 0 && len(all) == 60 {
				break
			}
			if step == 2999 {
				t.Fatalf("seed %d: not at rest after %d steps", seed, step+1)
			}
		}
		for _, q := range all {
			if n := int(q.produced.Load()); !q.gone && n != q.target || n > q.target {
				t.Errorf("seed %d: a sequence has %d tokens of %d", seed, n, q.target)
			}
		}
		if d.pool.free != d.pool.total() || len(d.running)+len(d.waiting) != 0 {
			t.Errorf("seed %d: at rest, %d of %d blocks are free, %d run, %d wait", seed, d.pool.free, d.pool.total(), len(d.running), len(d.waiting))
		}
	}
}

func checkBooks(t *testing.T, d *scheduler) {
	t.Helper()
	holders := make(map[int32]int32)
	for _, s := range d.running {
		if have, need := len(s.blocks), blocksFor(s.computed, d.cfg.BlockSize); have != need {
			t.Fatalf("a sequence with %d tokens computed holds %d blocks, want %d", s.computed, have, need)
		}
		for _, id := range s.blocks {
			holders[id]++
		}
	}
	free := 0
	for id := range d.pool.blocks[:d.pool.total()] {
		if got, want := d.pool.blocks[id].holders, holders[int32(id)]; got != want {
			t.Fatalf("block %d has %d holders, want %d", id, got, want)
		} else if got == 0 {
			free++
		}
	}
	if free != d.pool.free {
		t.Fatalf("%d blocks are free, the pool says %d", free, d.pool.free)
	}
	tokens := 0
	for _, p := range d.planned {
		tokens += p.tokens
	}
	if d.cfg.EnableChunkedPrefill && tokens > d.cfg.MaxNumBatchedTokens {
		t.Fatalf("a step computes %d tokens, the limit is %d", tokens, d.cfg.MaxNumBatchedTokens)
	}
	if len(d.running) > d.cfg.MaxNumSeqs {
		t.Fatalf("%d sequences run, the limit is %d", len(d.running), d.cfg.MaxNumSeqs)
	}
}

func TestJitterIsAsWideAsAsked(t *testing.T) {
	cfg := exact()
	cfg.Jitter = 0.05
	d := newScheduler(cfg)
	var factors []float64
	for range 4000 {
		d.step++
		factors = append(factors, float64(d.cost())/float64(cfg.StepBase))
	}
	var sum, squares float64
	for _, f := range factors {
		sum += f
		squares += (f - 1) * (f - 1)
	}
	n := float64(len(factors))
	if mean := sum / n; mean < 0.997 || mean > 1.003 {
		t.Errorf("mean factor %v", mean)
	}
	if variance := squares / n; variance < 0.045*0.045 || variance > 0.055*0.055 {
		t.Errorf("variance %v, want about %v", variance, 0.05*0.05)
	}
	if least := slices.Min(factors); least < 0.85-1e-6 {
		t.Errorf("a step took %v of its mean; noise is cut at three deviations", least)
	}
}
