package sim

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// exact is the default configuration without noise and compilation, so that times are sums.
func exact() Config {
	cfg := Default()
	cfg.Jitter, cfg.CompilePenalty = 0, 0
	return cfg
}

func fresh(n int) []int32 {
	return prompt(rand.New(rand.NewPCG(rand.Uint64(), 0)), n)
}

func TestOneRequestTakesWhatTheFormulaSays(t *testing.T) {
	inBubble(t, exact(), func(s *Server) {
		o := play(s, sequenceOf(s, fresh(128), 16), time.Now())
		if want := 40*time.Millisecond + gather + 3*time.Millisecond + 1280*time.Microsecond; o.ttft != want {
			t.Errorf("first token after %v, want %v", o.ttft, want)
		}
		if want := 3100 * time.Microsecond; o.tpot != want {
			t.Errorf("a token every %v, want %v", o.tpot, want)
		}
	})
}

// A burst shows the throughput of a full batch, and that what does not fit in it waits.
func TestBatchLimit(t *testing.T) {
	for _, limit := range []int{1, 4, 16} {
		cfg := exact()
		cfg.MaxNumSeqs, cfg.StepPerPromptToken = limit, 0
		inBubble(t, cfg, func(s *Server) {
			const requests, tokens = 32, 10
			start := time.Now()
			var last time.Duration
			var all sync.WaitGroup
			for range requests {
				all.Go(func() { play(s, sequenceOf(s, fresh(8), tokens), start) })
			}
			time.Sleep(cfg.FrontEnd + cfg.StepBase/2)
			if m := s.engine.snapshot(); m.running != limit || m.waiting != requests-limit {
				t.Errorf("limit %d: %d running and %d waiting", limit, m.running, m.waiting)
			}
			all.Wait()
			last = time.Since(start)
			first := cfg.StepBase
			others := (cfg.StepBase + time.Duration(limit)*cfg.StepPerSeq) * (tokens - 1)
			if want := cfg.FrontEnd + gather + time.Duration(requests/limit)*(first+others); last != want {
				t.Errorf("limit %d: the burst took %v, want %v", limit, last, want)
			}
		})
	}
}

func TestFirstComeFirstServed(t *testing.T) {
	cfg := exact()
	cfg.MaxNumSeqs = 2
	inBubble(t, cfg, func(s *Server) {
		var mu sync.Mutex
		var order []int
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Microsecond)
				play(s, sequenceOf(s, fresh(10+100*(i%3)), 5), time.Now())
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
			})
		}
		all.Wait()
		for i, got := range order {
			if got/2 != i/2 { // the two of a batch end together
				t.Fatalf("ended in the order %v", order)
			}
		}
	})
}

func TestPrefixCacheHitsWholeBlocks(t *testing.T) {
	head := fresh(2048)
	with := func(shared, length int) []int32 { return append(slices.Clone(head[:shared]), fresh(length-shared)...) }
	for _, c := range []struct {
		name   string
		prompt []int32
		salt   string
		off    bool
		cached int
	}{
		{name: "nothing shared", prompt: fresh(1024)},
		{name: "whole blocks shared", prompt: with(896, 1024), cached: 896},
		{name: "part of a block shared", prompt: with(900, 1024), cached: 896},
		{name: "less than a block shared", prompt: with(15, 1024)},
		{name: "all shared: the last token is computed", prompt: head[:1024], cached: 1008},
		{name: "a block and a token", prompt: head[:17], cached: 16},
		{name: "one block is the whole prompt", prompt: head[:16]},
		{name: "the same blocks later on", prompt: head[16:1024]},
		{name: "another salt", prompt: head[:1024], salt: "x"},
		{name: "caching off", prompt: head[:1024], off: true},
	} {
		cfg := exact()
		cfg.EnablePrefixCaching = !c.off
		inBubble(t, cfg, func(s *Server) {
			play(s, sequenceOf(s, head, 2), time.Now())
			before := s.engine.snapshot()
			q := sequenceOf(s, c.prompt, 2)
			q.salt = c.salt
			o := play(s, q, time.Now())
			if q.cached != c.cached {
				t.Errorf("%s: %d tokens cached, want %d", c.name, q.cached, c.cached)
			}
			computed := time.Duration(len(c.prompt)-c.cached) * cfg.StepPerPromptToken
			if want := cfg.FrontEnd + gather + cfg.StepBase + computed; o.ttft != want {
				t.Errorf("%s: first token after %v, want %v", c.name, o.ttft, want)
			}
			after := s.engine.snapshot()
			queries, hits := after.cacheQueries-before.cacheQueries, after.cacheHits-before.cacheHits
			if want := len(c.prompt); c.off && queries != 0 || !c.off && queries != want || hits != c.cached {
				t.Errorf("%s: %d hits of %d queries counted", c.name, hits, queries)
			}
		})
	}
}

// A second turn, whose prompt is the first turn's with its answer, finds the answer's blocks too.
func TestPrefixCacheHoldsAnswers(t *testing.T) {
	inBubble(t, exact(), func(s *Server) {
		first := sequenceOf(s, fresh(32), 33)
		play(s, first, time.Now())
		turn := slices.Clone(first.prompt)
		for i := range first.target {
			turn = append(turn, first.answer(i, s.cfg.VocabSize))
		}
		second := sequenceOf(s, append(turn, fresh(10)...), 2)
		play(s, second, time.Now())
		if want := 64; second.cached != want {
			t.Errorf("%d tokens cached, want %d", second.cached, want)
		}
	})
}

func TestPrefixCacheForgetsLeastRecentlyUsed(t *testing.T) {
	cfg := exact()
	cfg.MaxModelLen, cfg.NumGPUBlocks = 160, 10
	inBubble(t, cfg, func(s *Server) {
		cachedOf := func(p []int32) int {
			q := sequenceOf(s, p, 1)
			play(s, q, time.Now())
			return q.cached
		}
		a, b, c := fresh(65), fresh(65), fresh(65) // five blocks each, four of them full
		cachedOf(a)
		cachedOf(b)
		if got := cachedOf(a); got != 64 {
			t.Errorf("%d tokens of the first prompt are left, want 64", got)
		}
		cachedOf(c) // takes what was of no use to anyone, then the end of b
		if got := cachedOf(a); got != 64 {
			t.Errorf("%d tokens of the prompt used last are left, want 64", got)
		}
		if got := cachedOf(b); got >= 64 {
			t.Errorf("%d tokens of the prompt used first are left, want less", got)
		}
	})
}

func TestResetPrefixCache(t *testing.T) {
	inBubble(t, exact(), func(s *Server) {
		p := fresh(64)
		done := make(chan outcome)
		go func() { done <- play(s, sequenceOf(s, p, 50), time.Now()) }()
		time.Sleep(60 * time.Millisecond)
		if s.engine.resetPrefixCache() {
			t.Error("reset while blocks were in use")
		}
		<-done
		if !s.engine.resetPrefixCache() {
			t.Error("not reset at rest")
		}
		q := sequenceOf(s, p, 1)
		play(s, q, time.Now())
		if q.cached != 0 {
			t.Errorf("%d tokens cached after the reset", q.cached)
		}
	})
}

// Two sequences that together outgrow the cache: the later one loses its blocks, waits, and still gives every token.
func TestPreemption(t *testing.T) {
	cfg := exact()
	cfg.MaxModelLen, cfg.NumGPUBlocks, cfg.EnablePrefixCaching = 128, 10, false
	inBubble(t, cfg, func(s *Server) {
		var all sync.WaitGroup
		var early, late outcome
		all.Go(func() { early = play(s, sequenceOf(s, fresh(60), 60), time.Now()) })
		all.Go(func() {
			time.Sleep(time.Millisecond)
			late = play(s, sequenceOf(s, fresh(60), 60), time.Now())
		})
		all.Wait()
		if n := s.engine.snapshot().preemptions; n != 1 {
			t.Errorf("%d preemptions, want 1", n)
		}
		if alone := cfg.StepBase + 2*cfg.StepPerSeq; early.tpot > alone {
			t.Errorf("the early sequence took %v a token, more than %v: it was disturbed", early.tpot, alone)
		}
		if late.tpot < early.tpot*5/4 {
			t.Errorf("the late sequence took %v a token, the early one %v: preemption cost nothing", late.tpot, early.tpot)
		}
		if m := s.engine.snapshot(); m.usage != 0 || m.finished[finishLength] != 2 || m.generationTokens != 120 {
			t.Errorf("afterwards: %+v", m)
		}
	})
}

func TestCompilePenaltyOnceAShape(t *testing.T) {
	cfg := exact()
	cfg.CompilePenalty = 100 * time.Millisecond
	inBubble(t, cfg, func(s *Server) {
		for _, c := range []struct {
			length int
			pays   bool
		}{{128, true}, {128, false}, {100, false}, {65, false}, {64, true}, {129, true}, {256, false}, {1, true}, {16, false}} {
			o := play(s, sequenceOf(s, fresh(c.length), 2), time.Now())
			if paid := o.ttft > cfg.FrontEnd+cfg.CompilePenalty; paid != c.pays {
				t.Errorf("prompt of %d: first token after %v, compiled is %v, want %v", c.length, o.ttft, paid, c.pays)
			}
		}
	})
}

// A long prompt arrives while a sequence decodes: in chunks it slows each of a few steps, whole it stalls one.
func TestChunkedPrefill(t *testing.T) {
	for _, c := range []struct {
		chunked bool
		longest time.Duration // between two tokens of the decoding sequence
	}{
		{true, 3*time.Millisecond + 100*time.Microsecond + 2047*10*time.Microsecond},
		{false, 3*time.Millisecond + 100*time.Microsecond + 5000*10*time.Microsecond},
	} {
		cfg := exact()
		cfg.EnableChunkedPrefill = c.chunked
		inBubble(t, cfg, func(s *Server) {
			var all sync.WaitGroup
			all.Go(func() {
				time.Sleep(10 * time.Millisecond)
				play(s, sequenceOf(s, fresh(5000), 2), time.Now())
			})
			var longest time.Duration
			last := time.Now()
			s.generate(context.Background(), sequenceOf(s, fresh(16), 100), func(tokens int) bool {
				if tokens > 1 {
					longest = max(longest, time.Since(last))
				}
				last = time.Now()
				return true
			})
			all.Wait()
			if longest != c.longest {
				t.Errorf("chunked is %v: the longest gap was %v, want %v", c.chunked, longest, c.longest)
			}
		})
	}
}

func TestLeavingFreesTheSlotAtTheNextStep(t *testing.T) {
	cfg := exact()
	cfg.MaxNumSeqs = 1
	inBubble(t, cfg, func(s *Server) {
		ctx, leave := context.WithCancel(context.Background())
		var all sync.WaitGroup
		all.Go(func() { s.generate(ctx, sequenceOf(s, fresh(16), 1000), func(int) bool { return true }) })
		time.Sleep(time.Millisecond)
		all.Go(func() { s.generate(ctx, sequenceOf(s, fresh(16), 1000), func(int) bool { return true }) })
		time.Sleep(time.Millisecond)
		start := time.Now()
		var o outcome
		all.Go(func() { o = play(s, sequenceOf(s, fresh(16), 2), start) })
		time.Sleep(500 * time.Millisecond)
		if m := s.engine.snapshot(); m.running != 1 || m.waiting != 2 {
			t.Errorf("%d running and %d waiting, want 1 and 2", m.running, m.waiting)
		}
		leave() // the running one and the one in front in the queue
		all.Wait()
		if o.ttft < 500*time.Millisecond || o.ttft > 510*time.Millisecond {
			t.Errorf("first token of the third after %v; the others left after 500ms", o.ttft)
		}
		if m := s.engine.snapshot(); m.finished[finishAbort] != 2 || m.usage != 0 {
			t.Errorf("afterwards: %+v", m)
		}
	})
}

func TestEqualSeedsEqualTimes(t *testing.T) {
	trial := func(seed int64) (out []outcome) {
		cfg := Default()
		cfg.MaxNumSeqs, cfg.Seed = 8, seed
		inBubble(t, cfg, func(s *Server) { out = openLoop(s, 100, 7) })
		return out
	}
	a, b, c := trial(1), trial(1), trial(2)
	if !reflect.DeepEqual(a, b) {
		t.Error("two runs with one seed differ")
	}
	if reflect.DeepEqual(a, c) {
		t.Error("runs with two seeds agree in every time")
	}
}

func TestStepsFollowTheirSchedule(t *testing.T) {
	at := time.Now()
	for _, c := range []struct {
		name string
		at   time.Time
		now  time.Time
		want time.Time
	}{
		{"on time", at, at, at},
		{"the timer was late", at, at.Add(3 * time.Millisecond), at},
		{"the process was stopped", at, at.Add(time.Minute), at.Add(time.Minute)},
	} {
		if got := startOf(c.at, c.now); !got.Equal(c.want) {
			t.Errorf("%s: starts %v later", c.name, got.Sub(at))
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no sequences":             func(c *Config) { c.MaxNumSeqs = 0 },
		"batch under sequences":    func(c *Config) { c.MaxNumBatchedTokens = 255 },
		"context over the cache":   func(c *Config) { c.NumGPUBlocks = 2047 },
		"no time a step":           func(c *Config) { c.StepBase = 0 },
		"negative front end":       func(c *Config) { c.FrontEnd = -1 },
		"wild jitter":              func(c *Config) { c.Jitter = 1 },
		"no model":                 func(c *Config) { c.Model = "" },
		"no interval":              func(c *Config) { c.StreamInterval = 0 },
		"vocabulary without words": func(c *Config) { c.VocabSize = firstWord },
	} {
		cfg := Default()
		change(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := New(Default()); err != nil {
		t.Error(err)
	}
}

// Everything ends with the context: a goroutine left over would keep the bubble from ending.
func TestServeLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Default())
		if err != nil {
			t.Fatal(err)
		}
		p := NewPipe()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- s.Serve(ctx, p) }()
		conn, err := p.Dial(ctx, "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		time.Sleep(s.cfg.Startup)
		go conn.Write([]byte(rawPost("/v1/completions", `{"prompt":"a","max_tokens":30000,"ignore_eos":true,"stream":true}`)))
		buf := make([]byte, 4096)
		for range 5 {
			if _, err := conn.Read(buf); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if _, err := p.Dial(t.Context(), "", ""); err == nil {
			t.Error("dialled a server that has ended")
		}
	})
}
