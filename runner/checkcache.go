package runner

import (
	"context"

	"github.com/inference-sweep/sweep/runner/engine"
	"github.com/inference-sweep/sweep/runner/workload"
	"github.com/inference-sweep/sweep/sweep"
)

// checkCache proves that the server empties its prefix cache where a contract makes its state that way: a prompt that is
// sent twice is found there, and is gone after the reset.
func checkCache(ctx context.Context, s *server, cells []*sweep.PlanCell, out *Checked, c CheckConfig) {
	for _, cell := range cells {
		cache := cell.Cell.Contract.PrefixCache
		switch {
		case !cache.Enabled || cache.By == "salt":
			continue
		case cache.By == "restart" && engine.Attached(&cell.Cell):
			out.add(CheckFail, "cache", `use by: "salt", which needs no restart, or a target that sweep launches`,
				"cell %s: prefixCache.by is restart, and nobody here can restart a server that is up", cell.Name())
			return
		case cache.By == "reset":
			out.reset(ctx, s, cell, c)
			return
		}
	}
}

// reset tries the server's way to empty its cache.
func (c *Checked) reset(ctx context.Context, s *server, cell *sweep.PlanCell, config CheckConfig) {
	const hint = `use by: "salt", or launch the server with the endpoint (vLLM: VLLM_SERVER_DEV_MODE=1)`
	maker, err := workload.New(&cell.Cell, s.dialectFor(cell), config.Nonce())
	if err != nil {
		c.add(CheckFail, "cache", "", "%v", err)
		return
	}
	l := lengths{resetPromptTokens, 1}
	body := maker.Body(sweep.PhaseMeasure, 0, l.input, l.output)
	cached := func() (int64, error) {
		r, err := s.send(ctx, cell, body, l, config)
		if err != nil || r.CachedTokens == sweep.None {
			return 0, err
		}
		return r.CachedTokens, nil
	}
	if _, err := cached(); err != nil {
		c.add(CheckFail, "cache", "", "%v", err)
		return
	}
	before, err := cached()
	if err == nil {
		err = s.ResetCache(ctx)
	}
	if err != nil {
		c.add(CheckFail, "cache", hint, "%v", err)
		return
	}
	after, err := cached()
	switch {
	case err != nil:
		c.add(CheckFail, "cache", "", "%v", err)
	case after > 0:
		c.add(CheckFail, "cache", hint, "the server said that it emptied its cache, and %d of %d prompt tokens were still in it", after, l.input)
	case before == 0:
		c.add(CheckWarn, "cache", "launch it with cached tokens in its usage (vLLM: --enable-prompt-tokens-details)",
			"the server takes the reset, and does not show what was cached: nothing proves it")
	default:
		c.add(CheckOK, "cache", "", "the reset empties it: %d of %d tokens of a repeated prompt were cached before, none after", before, l.input)
	}
}

// resetPromptTokens is several blocks of any prefix cache, and short for any context.
const resetPromptTokens = 128
