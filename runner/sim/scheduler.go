package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

// scheduler decides what each step computes. It is a plain state machine, without goroutines, locks or clocks: begin
// plans a step and says how long it takes, end hands out its tokens.
type scheduler struct {
	cfg     Config
	pool    *blockPool
	waiting []*sequence
	running []*sequence // in the order of their last admission
	step    uint64
	planned []piece
	shapes  map[int]bool
	source  *rand.PCG
	noise   *rand.Rand
	left    int // sequences whose client left since the last step
	counts  counts
}

// piece is what one step computes of one sequence.
type piece struct {
	s      *sequence
	tokens int
}

func newScheduler(cfg Config) *scheduler {
	source := rand.NewPCG(0, 0)
	return &scheduler{
		cfg:    cfg,
		pool:   newBlockPool(cfg.NumGPUBlocks),
		shapes: make(map[int]bool),
		source: source,
		noise:  rand.New(source),
	}
}

func (d *scheduler) submit(s *sequence, now time.Time) {
	s.submitted = now
	d.waiting = append(d.waiting, s)
}

// leave gives up a sequence; its blocks are free from the next step on.
func (d *scheduler) leave(s *sequence) {
	if !s.gone && int(s.produced.Load()) < s.target {
		s.gone = true
		d.left++
	}
}

// begin plans the step that starts now and returns how long it takes, or 0 where there is nothing to do.
func (d *scheduler) begin(now time.Time) time.Duration {
	d.dropLeft()
	d.planned = d.planned[:0]
	budget := d.cfg.MaxNumBatchedTokens
	preempted := d.counts.preemptions
	budget = d.planRunning(budget)
	if d.counts.preemptions == preempted {
		d.planWaiting(budget, now)
	}
	if len(d.planned) == 0 {
		return 0
	}
	d.step++
	return d.cost()
}

func (d *scheduler) dropLeft() {
	if d.left == 0 {
		return
	}
	d.left = 0
	drop := func(s *sequence) bool {
		if s.gone {
			d.pool.release(s.blocks)
			s.blocks = nil
			d.counts.finished[finishAbort]++
		}
		return s.gone
	}
	d.running = slices.DeleteFunc(d.running, drop)
	d.waiting = slices.DeleteFunc(d.waiting, drop)
}

// planRunning gives every running sequence what it needs, preempting the last ones where blocks are short, and returns
// what is left of the budget.
func (d *scheduler) planRunning(budget int) int {
	for i := 0; i < len(d.running); i++ {
		s := d.running[i]
		n := d.pieceOf(s, budget)
		if n == 0 {
			continue
		}
		for d.missing(s, n) > d.pool.free && i < len(d.running) {
			d.preemptLast()
		}
		if i < len(d.running) {
			d.plan(s, n)
			budget -= n
		}
	}
	return max(budget, 0)
}

// pieceOf is how many tokens of a sequence the step can compute, 0 if it has to sit out.
func (d *scheduler) pieceOf(s *sequence, budget int) int {
	n := s.tokens() - s.computed
	switch {
	case n <= budget:
		return n
	case d.cfg.EnableChunkedPrefill:
		return budget
	case n > d.cfg.MaxNumBatchedTokens && !d.prefills():
		return n
	}
	return 0
}

// prefills says whether a prompt is part of the step already.
func (d *scheduler) prefills() bool {
	return slices.ContainsFunc(d.planned, func(p piece) bool { return !p.decodes() })
}

// planWaiting admits sequences, first come first served, until one does not fit.
func (d *scheduler) planWaiting(budget int, now time.Time) {
	for len(d.waiting) > 0 && len(d.running) < d.cfg.MaxNumSeqs && budget > 0 {
		s := d.waiting[0]
		if !d.admit(s, budget) {
			return
		}
		budget -= d.planned[len(d.planned)-1].tokens
		if s.scheduled.IsZero() {
			s.scheduled = now
			d.counts.queued.add(max(0, now.Sub(s.submitted)))
		}
		d.running = append(d.running, s)
		d.waiting = slices.Delete(d.waiting, 0, 1)
	}
}

// admit looks a sequence up in the prefix cache and plans its first piece, if there is room for it.
func (d *scheduler) admit(s *sequence, budget int) bool {
	found, idle := s.blocks[:0], 0
	if d.cfg.EnablePrefixCaching {
		whole := (s.tokens() - 1) / d.cfg.BlockSize
		s.hash(whole, &d.cfg)
		found, idle = d.pool.find(found, s.hashes[:whole])
	}
	s.computed = len(found) * d.cfg.BlockSize
	n := d.pieceOf(s, budget)
	if n == 0 || blocksFor(s.computed+n, d.cfg.BlockSize)-len(found) > d.pool.free-idle {
		s.computed = 0
		return false
	}
	d.pool.hold(found)
	s.blocks = found
	if !s.looked {
		s.looked = true
		s.cached = s.computed
		if d.cfg.EnablePrefixCaching {
			d.counts.cacheQueries += len(s.prompt)
			d.counts.cacheHits += s.cached
		}
	}
	d.plan(s, n)
	return true
}

// missing is how many blocks a sequence lacks to compute n more tokens.
func (d *scheduler) missing(s *sequence, n int) int {
	return blocksFor(s.computed+n, d.cfg.BlockSize) - len(s.blocks)
}

// plan takes the blocks for n more tokens of a sequence and makes them part of the step.
func (d *scheduler) plan(s *sequence, n int) {
	s.blocks = d.pool.alloc(s.blocks, d.missing(s, n))
	full := s.computed / d.cfg.BlockSize
	s.computed += n
	if d.cfg.EnablePrefixCaching {
		s.hash(s.computed/d.cfg.BlockSize, &d.cfg)
		for ; full < s.computed/d.cfg.BlockSize; full++ {
			d.pool.name(s.blocks[full], s.hashes[full])
		}
	}
	d.planned = append(d.planned, piece{s, n})
}

// preemptLast takes the blocks of the sequence admitted last and sends it back to the head of the queue.
func (d *scheduler) preemptLast() {
	s := d.running[len(d.running)-1]
	d.running = d.running[:len(d.running)-1]
	d.pool.release(s.blocks)
	s.blocks, s.computed = s.blocks[:0], 0
	d.waiting = slices.Insert(d.waiting, 0, s)
	d.counts.preemptions++
}

// decodes says whether the piece is the next token of an answer rather than part of a prompt.
func (p piece) decodes() bool { return p.tokens == 1 && p.s.produced.Load() > 0 }

// cost is how long the planned step takes.
func (d *scheduler) cost() time.Duration {
	took, compiled := d.cfg.StepBase, time.Duration(0)
	for _, p := range d.planned {
		if p.decodes() {
			took += d.cfg.StepPerSeq
			continue
		}
		took += time.Duration(p.tokens) * d.cfg.StepPerPromptToken
		if shape := p.s.shape(); !d.shapes[shape] {
			d.shapes[shape] = true
			compiled += d.cfg.CompilePenalty
		}
	}
	d.source.Seed(uint64(d.cfg.Seed), d.step)
	z := min(max(d.noise.NormFloat64(), -3), 3)
	return time.Duration(float64(took)*(1+d.cfg.Jitter*z)) + compiled
}

// end hands out the tokens of the planned step, which is over now.
func (d *scheduler) end(now time.Time) {
	finished := false
	for _, p := range d.planned {
		s := p.s
		if s.gone || s.computed < s.tokens() {
			continue
		}
		d.produce(s, now)
		finished = finished || int(s.produced.Load()) == s.target
	}
	d.planned = d.planned[:0]
	if finished {
		d.running = slices.DeleteFunc(d.running, func(s *sequence) bool { return int(s.produced.Load()) == s.target })
	}
}

// produce gives a sequence its next token, and its blocks back with the last.
func (d *scheduler) produce(s *sequence, now time.Time) {
	n := int(s.produced.Load()) + 1
	if n == 1 {
		s.first = now
		d.counts.promptTokens += len(s.prompt)
		d.counts.firstToken.add(now.Sub(s.received))
	}
	d.counts.generationTokens++
	if n == s.target {
		s.last = now
		d.pool.release(s.blocks)
		s.blocks = nil
		d.counts.total.add(now.Sub(s.received))
		d.counts.finished[s.finish()]++
	}
	s.produced.Store(int64(n))
	if s.event(n) {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

func (s *sequence) finish() finish {
	if s.stops {
		return finishStop
	}
	return finishLength
}
