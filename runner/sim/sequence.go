package sim

import (
	"sync/atomic"
	"time"
)

// sequence is one request as the scheduler sees it. The fields above the line are set before it is submitted and do not change; those
// below belong to the scheduler, but its owner may read them once produced has reached target.
type sequence struct {
	number   uint64 // among the requests of this launch, from 1
	prompt   []int32
	salt     string
	seed     uint64 // decides the answer's tokens
	target   int    // how many tokens the answer has
	stops    bool   // the last of them is the end of sequence; otherwise it is cut there
	interval int    // tokens an event
	received time.Time
	wake     chan struct{} // of capacity 1: an event is due

	produced atomic.Int64

	// ---

	submitted time.Time
	scheduled time.Time // first put into a step; not changed by a preemption
	first     time.Time // end of the step that yielded the first token
	last      time.Time

	looked   bool // the prefix cache was asked once
	cached   int  // prompt tokens found in the prefix cache then
	computed int  // tokens whose keys and values are in blocks, those of the step under way included
	blocks   []int32
	hashes   []uint64 // of the full blocks, as far as needed so far
	gone     bool     // its client left
}

// tokens is how many tokens the sequence has, each to be computed before the next can be.
func (s *sequence) tokens() int { return len(s.prompt) + int(s.produced.Load()) }

// token returns the i-th token of prompt and answer.
func (s *sequence) token(i int, vocab int) int32 {
	if i < len(s.prompt) {
		return s.prompt[i]
	}
	return s.answer(i-len(s.prompt), vocab)
}

// answer returns the i-th token of the answer.
func (s *sequence) answer(i int, vocab int) int32 {
	if s.stops && i == s.target-1 {
		return tokenEOS
	}
	return wordFor(mix(s.seed, uint64(i)), vocab)
}

// event says whether an event is sent once n tokens are there: at the first, at every further interval, at the last.
func (s *sequence) event(n int) bool {
	return n == s.target || (n-1)%s.interval == 0
}

// hash extends the chain of hashes to the first n blocks.
func (s *sequence) hash(n int, cfg *Config) {
	for i := len(s.hashes); i < n; i++ {
		var h uint64
		if i > 0 {
			h = s.hashes[i-1]
		} else {
			for j := range len(s.salt) {
				h = mix(h, uint64(s.salt[j]))
			}
		}
		for j := i * cfg.BlockSize; j < (i+1)*cfg.BlockSize; j++ {
			h = mix(h, uint64(s.token(j, cfg.VocabSize)))
		}
		s.hashes = append(s.hashes, h)
	}
}

// shape is the bucket of prompt lengths that are compiled together.
func (s *sequence) shape() int {
	bucket := 16
	for bucket < len(s.prompt) {
		bucket *= 2
	}
	return bucket
}
