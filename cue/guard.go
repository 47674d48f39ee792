package cue

import (
	"errors"
	"fmt"
	"runtime/metrics"
	"time"
)

// The bounds of an evaluation where Options name none.
const (
	defaultTimeout      = 30 * time.Second
	defaultMaxHeapBytes = 2 << 30
)

// ErrGivenUp is part of the error of an evaluation that went past a bound of Options.
var ErrGivenUp = errors.New("was given up: fewer cells or shorter lists")

// bounded runs evaluate within the options' time and heap. CUE cannot be interrupted: past a bound the evaluation is
// left to itself, and the program had better end. A panic of the evaluator is an error like the others.
func bounded[T any](o Options, evaluate func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		var out outcome
		defer func() {
			if cause := recover(); cause != nil {
				out.err = fmt.Errorf("the CUE evaluator broke on this file: %v", cause)
			}
			done <- out
		}()
		out.value, out.err = evaluate()
	}()

	limit := time.NewTimer(o.Timeout)
	defer limit.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	var none T
	for {
		select {
		case out := <-done:
			return out.value, out.err
		case <-limit.C:
			return none, fmt.Errorf("the evaluation took longer than %v and %w", o.Timeout, ErrGivenUp)
		case <-look.C:
			if heapBytes() > o.MaxHeapBytes {
				return none, fmt.Errorf("the evaluation took more than %d MiB of memory and %w", o.MaxHeapBytes>>20, ErrGivenUp)
			}
		}
	}
}

// heapBytes is the memory that objects on the heap take.
func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
