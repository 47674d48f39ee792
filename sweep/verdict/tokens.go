package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/analysis"
	"github.com/inference-sweep/sweep/sweep/stats"
)

// checkCache: the share of input tokens that the server took from its cache against the contract's.
func checkCache(j *judged) {
	contract := &j.cell.Cell.Contract
	if j.CachedTokens == sweep.None {
		attached := j.launch == nil || j.launch.Attached
		if j.OK > 0 && (contract.PrefixCache.Enabled || attached) {
			j.raiseAlways(cacheUnverified)
		}
		return
	}
	block, ok := j.observed.number(sweep.ObsBlockSize)
	if !ok || block < 1 {
		block = cacheBlockTokens
	}
	var total, expected, constant float64
	for _, in := range j.Inputs {
		total += float64(in.Counted)
		expected += expectedCached(j.cell, float64(in.Counted), block)
	}
	if total == 0 {
		return
	}
	if contract.Endpoint == "chat" {
		constant = templateTokens(j.Inputs)
	}
	n := float64(len(j.Inputs))
	tolerance := block * n / total
	off := float64(j.CachedTokens)/total - expected/total
	beyondTolerance := max(off-tolerance-constant*n/total, -off-tolerance)
	if severity, ok := beyond(cacheContaminated, beyondTolerance); ok {
		j.raise(cacheContaminated, severity, percent(float64(j.CachedTokens)/total), percent(expected/total), percent(tolerance))
	}
}

// expectedCached is how many tokens of a prompt the contract wants cached: the shared head of a warm cache, to whole
// blocks.
func expectedCached(cell *sweep.PlanCell, inputTokens, block float64) float64 {
	contract := &cell.Cell.Contract
	if !contract.PrefixCache.Enabled || contract.PrefixCache.State != "warm" || contract.Prompt.Shared == nil {
		return 0
	}
	head := min(float64(contract.Prompt.Shared.Tokens), inputTokens)
	return float64(int(head/block)) * block
}

// templateTokens is the constant overhead of a chat template: the least that the server counted beyond what was asked.
func templateTokens(inputs []analysis.Input) float64 {
	if len(inputs) == 0 {
		return 0
	}
	least := inputs[0].Counted - inputs[0].Asked
	for _, in := range inputs {
		least = min(least, in.Counted-in.Asked)
	}
	return float64(min(max(least, 0), mostTemplateTokens))
}

// refusedIDs is the refused field of a server that takes no prompt of token ids, so that prompts are sent as text.
const refusedIDs = "prompt"

// checkInputs: prompts that reached the model at another length than was asked for.
func checkInputs(j *judged) {
	contract := &j.cell.Cell.Contract
	overhead, note := 0.0, ""
	if contract.Endpoint == "chat" {
		if overhead = templateTokens(j.Inputs); overhead > 0 {
			note = fmt.Sprintf(", without the chat template's %.0f", overhead)
		}
	}
	var ratios []float64
	for _, in := range j.Inputs {
		if in.Asked > 0 {
			ratios = append(ratios, (float64(in.Counted)-overhead)/float64(in.Asked))
		}
	}
	if len(ratios) == 0 {
		return
	}
	limit := rules[inputMismatch].suspect
	if contract.Endpoint == "chat" || slices.Contains(j.observed.texts(sweep.ObsRefusedFields), refusedIDs) {
		limit = textMismatch
	}
	slices.Sort(ratios)
	counted := stats.Percentile(ratios, 500)
	if counted-1 > limit || 1-counted > limit {
		j.raise(inputMismatch, sweep.Suspect, counted, note)
	}
}

// checkOutputs: answers of another length than the fixed one that was asked for.
func checkOutputs(j *judged) {
	fixed := j.cell.Cell.Contract.Output.Length.Fixed
	if fixed == 0 || j.LengthsKnown == 0 {
		return
	}
	if severity, ok := beyond(shortOutput, float64(j.LengthsOff)/float64(j.LengthsKnown)); ok {
		j.raise(shortOutput, severity, j.LengthsOff, j.LengthsKnown, fixed)
	}
}

// checkSources: answers whose tokens nobody counted, or that were counted as more than they can have.
func checkSources(j *judged) {
	if j.OK == 0 {
		return
	}
	if severity, ok := beyond(tokenSource, float64(j.Uncounted)/float64(j.OK)); ok {
		j.raise(tokenSource, severity, fmt.Sprintf("nobody counted the output tokens of %d of %d answers", j.Uncounted, j.OK))
	}
	over := float64(j.Overcounted) / float64(j.OK)
	if j.OutputTokens > 0 {
		over = max(over, j.OverTokens/j.OutputTokens)
	}
	if severity, ok := beyond(tokenSource, over); ok {
		j.raise(tokenSource, severity, fmt.Sprintf("%d of %d answers were counted as more tokens than their requests allowed, by %.3g in all: whatever was counted is not what was generated",
			j.Overcounted, j.OK, j.OverTokens))
	}
}

// checkGaps: events that arrived together, or that are read as tokens without being them.
func checkGaps(j *judged) {
	if j.Gaps > 0 {
		if severity, ok := beyond(coalesced, float64(j.TinyGaps)/float64(j.Gaps)); ok {
			j.raise(coalesced, severity, fmt.Sprintf("%s of the gaps between events are under 20 µs: the stream came in lumps or was read late by a busy client, and TTFT and gaps are not the server's",
				percent(float64(j.TinyGaps)/float64(j.Gaps))))
			return
		}
	}
	judgedByGap := slices.ContainsFunc(j.plan.Judge.Metrics, func(m string) bool { return strings.HasPrefix(m, "gap_") })
	if !judgedByGap || j.Chunks == 0 {
		return
	}
	tokens := j.OutputTokens / float64(j.Chunks)
	if severity, ok := beyond(coalesced, tokens-1); ok {
		j.raise(coalesced, severity, fmt.Sprintf("%.3g tokens an event: a gap is not a token's time", tokens))
	}
}

// checkModels: another model than was asked for, or more than one.
func checkModels(j *judged) {
	asked := askedModels(&j.cell.Cell)
	answered := slices.Sorted(maps.Keys(j.ResponseModels))
	strange := slices.DeleteFunc(slices.Clone(answered), func(model string) bool {
		return sameModel(asked, model, j.observed)
	})
	if len(answered) > 1 || len(strange) > 0 {
		j.raiseAlways(mixedModels, strings.Join(answered, " and "), strings.Join(asked, " or "))
	}
}

// checkErrors: failures, without which latencies are those of the survivors.
func checkErrors(j *judged) {
	if j.Due == 0 {
		if j.Record.Status == sweep.StatusDone {
			j.raise(empty, sweep.Suspect, "no request was due in the window")
		}
		return
	}
	failed := float64(j.Failed) / float64(j.Due)
	if severity, ok := beyond(errorRate, failed); ok {
		j.raise(errorRate, severity, j.Failed, j.Due, percent(failed))
	}
	if severity, ok := beyond(empty, float64(j.Empty)/float64(j.Due)); ok {
		j.raise(empty, severity, fmt.Sprintf("%d of %d answers came without any output", j.Empty, j.Due))
	}
}

// checkServer: what happened to the server.
func checkServer(j *judged) {
	if others, ok := j.observed.number(sweep.ObsBusyAtStart); ok && others > 0 {
		j.raiseAlways(startedBusy, others)
	}
	if slices.Contains(j.observed.texts(sweep.ObsRestarted), "true") {
		j.raiseAlways(serverRestarted)
	}
}

// checkNotes: what a reader should know of an honest trial.
func checkNotes(j *judged) {
	if open, ok := j.observed.number(sweep.ObsDrained); ok && open > 0 {
		j.raiseAlways(drained, open)
	}
	if j.launch == nil || j.launch.Attached {
		j.raiseAlways(coldNotMeasured)
	}
}
