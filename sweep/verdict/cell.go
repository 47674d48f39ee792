package verdict

import (
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// cellFlags are the flags of a cell as such that its plan alone decides, under its own name.
func cellFlags(plan *sweep.Plan, cell *sweep.PlanCell) []sweep.Flag {
	flags := slices.Clone(cell.Flags)
	add := func(code string, args ...any) {
		if !hasCode(flags, code) {
			flags = append(flags, flagged(code, rules[code].always, args...))
		}
	}
	c := &cell.Cell
	if isEmbedded(c) {
		add(simulated)
	}
	if closed := c.Contract.Load.Closed; closed != nil {
		add(closedLoop, closed.Clients)
	}
	if c.Contract.SLO == nil {
		add(noSLO)
	}
	if moved := changesQuality(cell); len(moved) > 0 {
		add(qualityUnpinned, strings.Join(moved, ", "))
	}
	for i := range flags {
		flags[i].Cell, flags[i].Block = cell.Name(), 0
	}
	return flags
}

// Leaves that can change what the model answers. Of an engine's options those that only schedule cannot.
var (
	qualityLeaves = []string{
		"contract.model.**", "contract.precision.**", "contract.sampling.**", "contract.engine.name", "contract.engine.revision",
		"contract.engine.image", "contract.engine.args.**", "contract.request.**", "server.command.**",
	}
	schedulingArgs = []string{
		"max-num-seqs", "max-num-batched-tokens", "max-num-partial-prefills", "max-running-requests", "max-batch-size", "max-num-tokens",
		"max-prefill-tokens", "chunked-prefill-size", "enable-chunked-prefill", "no-enable-chunked-prefill", "gpu-memory-utilization",
		"mem-fraction-static", "kv-cache-free-gpu-memory-fraction", "block-size", "page-size", "swap-space", "scheduling-policy", "schedule-policy",
		"schedule-conservativeness", "stream-interval", "num-scheduler-steps", "async-scheduling", "api-server-count", "enable-prefix-caching",
		"no-enable-prefix-caching", "disable-radix-cache", "parallel", "batch-size", "ubatch-size", "cont-batching", "threads", "enforce-eager",
	}
)

func changesQuality(cell *sweep.PlanCell) []string {
	if isEmbedded(&cell.Cell) {
		return nil // it answers with nothing that has a quality
	}
	var moved []string
	for _, m := range cell.Moved {
		arg, isArg := strings.CutPrefix(m.Path, "contract.engine.args.")
		if matches(qualityLeaves, m.Path) && !(isArg && slices.Contains(schedulingArgs, arg)) {
			moved = append(moved, m.Path)
		}
	}
	return moved
}

// withObserved adds to a cell's flags what its trials showed: a label that turned out to have moved something after all,
// and an observed leaf that moved and that its factor does not account for.
func withObserved(plan *sweep.Plan, cell *sweep.PlanCell, flags []sweep.Flag, moves []sweep.Move) []sweep.Flag {
	if len(moves) > 0 {
		flags = slices.DeleteFunc(flags, func(f sweep.Flag) bool { return f.Code == labelOnly })
	}
	for _, m := range moves {
		if !mayMove(plan, cell, m.Path) {
			f := flagged(manyFactors, rules[manyFactors].always, m.Path, m.To, m.From, cell.Factor(), m.Path)
			f.Cell = cell.Name()
			flags = append(flags, f)
		}
	}
	return flags
}

func hasCode(flags []sweep.Flag, code string) bool {
	return slices.ContainsFunc(flags, func(f sweep.Flag) bool { return f.Code == code })
}

// refusing are the codes of a cell as such that leave its figures in every table and its comparisons refused.
var refusing = []string{manyFactors, labelOnly, noChange, qualityChanged}

func refuses(flags []sweep.Flag) bool {
	return slices.ContainsFunc(flags, func(f sweep.Flag) bool {
		return f.Severity == sweep.Invalid && slices.Contains(refusing, f.Code)
	})
}
