package sim

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// outcome is what an open-loop client sees of one request.
type outcome struct {
	ttft, tpot time.Duration // ttft from the due time
}

// openLoop plays a trial against a running engine: Poisson arrivals of 128-token prompts with 16-token answers, 400 ms of
// warm-up, then at least 1.8 s and 59 requests, load kept up until the last of those has ended. It returns the latter.
func openLoop(s *Server, rate float64, seed uint64) []outcome {
	const warmup, window, least, tail = 400 * time.Millisecond, 1800 * time.Millisecond, 59, 1500 * time.Millisecond
	r := rand.New(rand.NewPCG(seed, 1))
	start := time.Now()
	var measured, others sync.WaitGroup
	var results []*outcome
	done := make(chan struct{})
	closing := sync.OnceFunc(func() { go func() { measured.Wait(); close(done) }() })
	for due := start; ; {
		due = due.Add(time.Duration(r.ExpFloat64() / rate * 1e9))
		at := due.Sub(start)
		ended := at >= warmup+window && len(results) >= least
		if ended {
			closing()
		}
		select {
		case <-done:
			others.Wait()
			out := make([]outcome, len(results))
			for i, o := range results {
				out[i] = *o
			}
			return out
		case <-time.After(time.Until(due)):
		}
		if at > warmup+window+tail {
			<-done
			continue
		}
		o, group := new(outcome), &others
		if at >= warmup && !ended {
			results, group = append(results, o), &measured
		}
		q := sequenceOf(s, prompt(r, 128), 16)
		group.Go(func() { *o = play(s, q, due) })
	}
}

// play has a sequence computed and keeps the times of its tokens.
func play(s *Server, q *sequence, due time.Time) outcome {
	var o outcome
	first := due
	s.generate(context.Background(), q, func(tokens int) bool {
		if tokens == 1 {
			first = time.Now()
			o.ttft = first.Sub(due)
		}
		if tokens == q.target && q.target > 1 {
			o.tpot = time.Since(first) / time.Duration(q.target-1)
		}
		return true
	})
	return o
}

func prompt(r *rand.Rand, n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = 1000 + r.Int32N(3000)
	}
	return ids
}

func sequenceOf(s *Server, prompt []int32, tokens int) *sequence {
	q, refused := s.sequence(&asked{IgnoreEOS: true, Stream: true}, prompt, tokens, time.Now())
	if refused != nil {
		panic(refused.message)
	}
	return q
}

// inBubble runs f against the engine of a server, without its wire, in virtual time.
func inBubble(t *testing.T, cfg Config, f func(s *Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var engine sync.WaitGroup
		engine.Go(func() { s.engine.run(ctx) })
		f(s)
		cancel()
		engine.Wait()
	})
}

// The demonstration's picture, and the reason for the defaults: a batch limit of 4 is overloaded at 100 requests a second,
// 8 and 16 bear it; 16 bears 150 and not 200. Figures are means over blocks, of the 95th percentile the geometric one.
func TestDemonstration(t *testing.T) {
	for _, c := range []struct {
		batch           int
		rate            float64
		attainment, p95 float64 // p95 of the time to first token, in ms
	}{
		{4, 100, 0, 1000},
		{8, 100, 1, 98},
		{16, 100, 1, 52},
		{16, 150, 1, 74},
		{16, 200, 0.22, 366},
	} {
		const blocks = 20
		cfg := Default()
		cfg.MaxNumSeqs, cfg.EnablePrefixCaching = c.batch, false
		var attainment, p95 float64
		for block := range uint64(blocks) {
			cfg.Seed = int64(block)
			inBubble(t, cfg, func(s *Server) {
				play(s, sequenceOf(s, prompt(rand.New(rand.NewPCG(0, 0)), 128), 16), time.Now())
				share, tail := judge(openLoop(s, c.rate, block))
				attainment += share / blocks
				p95 += math.Log(tail) / blocks
			})
		}
		p95 = math.Exp(p95)
		t.Logf("batch %d, rate %v: attainment %.3f, TTFT p95 %.1f ms", c.batch, c.rate, attainment, p95)
		if math.Abs(attainment-c.attainment) > 0.1 || math.Abs(p95/c.p95-1) > 0.25 {
			t.Errorf("batch %d, rate %v: attainment %.3f, TTFT p95 %.1f ms; want %.2f, %.0f ms",
				c.batch, c.rate, attainment, p95, c.attainment, c.p95)
		}
	}
}

// judge returns the share of requests within the bars and the 95th percentile of the time to first token in ms.
func judge(all []outcome) (attainment, p95 float64) {
	met := 0
	var ttfts []float64
	for _, o := range all {
		ttfts = append(ttfts, float64(o.ttft)/1e6)
		if o.ttft <= 150*time.Millisecond && o.tpot <= 10*time.Millisecond {
			met++
		}
	}
	slices.Sort(ttfts)
	return float64(met) / float64(len(all)), ttfts[(len(ttfts)*95+99)/100-1]
}
