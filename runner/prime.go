package runner

import (
	"context"
	"sync"

	"github.com/inference-sweep/sweep/sweep"
)

// prime fills the prefix cache with the head of each group, a few at a time.
func (x *trial) prime(ctx context.Context) error {
	heads := x.cell.Cell.Heads()
	if heads == 0 {
		return nil
	}
	tokens := int64(x.cell.Cell.Contract.Prompt.Shared.Tokens)
	var (
		mu         sync.Mutex // of all below
		group, out int
		workers    sync.WaitGroup
	)
	next := func() (g int, r *sweep.Request) {
		mu.Lock()
		defer mu.Unlock()
		if group == heads || ctx.Err() != nil {
			return 0, nil
		}
		group++
		return group - 1, x.row(sweep.PhaseWarmup, tokens, 1)
	}
	ended := func() {
		mu.Lock()
		defer mu.Unlock()
		out++
		x.Progress(Event{Kind: HeadPrimed, Trial: x.record, Index: x.index, Total: x.total, Primed: out, Heads: heads, Summary: x.summary})
	}
	for range min(x.cell.Cell.HeadsAtOnce(), heads) {
		workers.Go(func() {
			for g, r := next(); r != nil; g, r = next() {
				x.send(ctx, x.maker.Priming(g), r)
				x.keep(r)
				ended()
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}
