package verdict

import (
	"fmt"
	"math"

	"github.com/inference-sweep/sweep/sweep"
)

// The codes of flags.
const (
	manyFactors        = "many-factors"
	noChange           = "no-change"
	labelOnly          = "label-only"
	qualityChanged     = "quality-changed"
	contractDrift      = "contract-drift"
	contractUnverified = "contract-unverified"
	simulated          = "simulated"
	lateSends          = "late-sends"
	rateMissed         = "rate-missed"
	arrivalLaw         = "arrival-law"
	clientLimited      = "client-limited"
	overloaded         = "overloaded"
	noSteadyState      = "no-steady-state"
	coldInWindow       = "cold-in-window"
	drift              = "drift"
	cacheContaminated  = "cache-contaminated"
	cacheUnverified    = "cache-unverified"
	inputMismatch      = "input-mismatch"
	shortOutput        = "short-output"
	tokenSource        = "token-source"
	coalesced          = "coalesced"
	closedLoop         = "closed-loop"
	mixedModels        = "mixed-models"
	errorRate          = "error-rate"
	empty              = "empty"
	fewSamples         = "few-samples"
	fewBlocks          = "few-blocks"
	underpowered       = "underpowered"
	noSLO              = "no-slo"
	qualityUnpinned    = "quality-unpinned"
	coldNotMeasured    = "cold-not-measured"
	extended           = "extended"
	startedBusy        = "started-busy"
	serverRestarted    = "server-restarted"
	throttled          = "throttled"
	drained            = "drained"
	excluded           = "excluded"
)

// A rule is when a flag is raised. A statistic beyond Suspect or Invalid gets that severity; a limit that is not there
// is infinite. Where Always is set, the finding itself is the flag.
type rule struct {
	// least is the fewest requests, gaps or blocks that the test is made on.
	least            int
	suspect, invalid float64
	always           sweep.Severity
	// words is the detail's template.
	words string
	// read is where the failure that the rule is for was met.
	read string
}

var never = math.Inf(1)

// rules is the one place of every limit that is not a definition.
var rules = map[string]rule{
	manyFactors:        {always: sweep.Invalid, words: "observed %s is %s here and %s in the baseline, and factor %s does not list observed.%s"},
	contractDrift:      {always: sweep.Invalid, words: "%s is %s, and %s says %s", read: "BerriAI/litellm#31722"},
	contractUnverified: {always: sweep.Note, words: "nothing that the server offers says whether %s holds"},
	simulated:          {always: sweep.Note, words: "measured on the embedded engine"},

	// The limits of lateness itself are lateLimits; these are the share of requests that may be beyond.
	lateSends: {least: 3, suspect: 0.01, invalid: 0.01, words: "%s", read: "kubernetes-sigs/inference-perf#648"},
	rateMissed: {least: 50, suspect: 0.01, invalid: 0.05,
		words: "sent at %.4g requests/s where %.4g were due: off by %s", read: "vllm-project/vllm#21108"},
	arrivalLaw: {least: 200, suspect: 0.05, invalid: never,
		words: "the %s of what was sent and of what was scheduled differ by D = %.3f (limit %.2f)", read: "vllm-project/vllm#21108"},
	clientLimited: {suspect: 0.70, invalid: 0.90, words: "%s", read: "kubernetes-sigs/inference-perf#648"},

	overloaded: {least: steadyBins, always: sweep.Suspect,
		words: "TTFT rose through the window (Mann–Kendall over %d bins, p = %.2g) and %s of the requests due were completed in it"},
	noSteadyState: {least: 200, always: sweep.Suspect,
		words: "TTFT %s through the window (Mann–Kendall over %d bins, p = %.2g)"},
	coldInWindow: {least: 5, suspect: 2, invalid: never,
		words: "the first %d requests took %s to their first token (median), the rest %s", read: "ROCm/ATOM#302"},
	drift: {least: 6, always: sweep.Suspect,
		words: "%s of the baseline changed by %s from the first %d blocks to the last %d (%s, p = %.2g)", read: "ml-explore/mlx-lm#1010"},

	cacheContaminated: {suspect: never, invalid: 0.01,
		words: "%s of the input tokens came from the cache where the contract expects %s (beyond a tolerance of %s)", read: "vllm-project/vllm#52884"},
	cacheUnverified: {always: sweep.Note, words: "no server word on cached tokens, so the cache's state is the contract's alone"},
	inputMismatch: {suspect: 0.02, invalid: never,
		words: "the server counted %.3g times the input tokens asked for (median%s)", read: "ollama/ollama#17889"},
	shortOutput: {suspect: 0.01, invalid: never, words: "%d of %d answers did not have the %d tokens asked for", read: "vllm-project/vllm#18687"},
	tokenSource: {suspect: 0.01, invalid: never, words: "%s"},
	coalesced:   {suspect: 0.05, invalid: never, words: "%s", read: "dstackai/dstack#4269"},

	closedLoop:  {always: sweep.Note, words: "%d clients, each waiting for its answer: the load falls with the server"},
	mixedModels: {always: sweep.Invalid, words: "%s answered where %s was asked for", read: "BerriAI/litellm#28241"},
	errorRate:   {suspect: 0.01, invalid: never, words: "%d of %d requests failed (%s): latencies are of the rest", read: "ai-dynamo/aiperf#1338"},
	empty:       {suspect: 0.01, invalid: never, words: "%s", read: "ome-projects/ome#781"},

	fewSamples:   {always: sweep.Note, words: "%s", read: "vllm-project/guidellm#243"},
	fewBlocks:    {least: 5, always: sweep.Note, words: "blocks that count: %d; with fewer than %d an interval is wide"},
	underpowered: {always: sweep.Note, words: "smallest difference that %d blocks could show: %s (margin %s)"},
	noSLO:        {always: sweep.Suspect, words: "no latency bar (contract.slo): throughput without one is not a serving result"},
	qualityUnpinned: {always: sweep.Note,
		words: "%s moved, which can change the answers, and their quality was not checked"},
	coldNotMeasured: {always: sweep.Note, words: "the server was already up: its start was not measured"},
	extended:        {always: sweep.Note, words: "%s"},
	excluded:        {always: sweep.Note, words: "trial %d (block %d, attempt %d) was taken out by hand: %s"},
	startedBusy:     {always: sweep.Suspect, words: "requests of others that ran on the server when the trial began: %.0f"},
	serverRestarted: {always: sweep.Suspect, words: "the server was lost and came up anew before the trial, or while it ran"},
	throttled:       {suspect: 0.01, invalid: never, words: "the clocks of the server's GPUs were held back by %s"},
	drained:         {always: sweep.Note, words: "measured requests still open when the tail's load ended, which ran on without it: %.0f"},
}

// lateLimits are how late a send may be: the greater of a time and a share of the median TTFT.
var lateLimits = map[sweep.Severity]struct{ floorNS, ofTTFT float64 }{
	sweep.Suspect: {1e6, 0.05},
	sweep.Invalid: {5e6, 0.10},
}

// Limits beside those of rules.
const (
	unsentShare        = 0.01  // late-sends: more unsent than this is invalid
	gapStepNS          = 1e6   // arrival-law: gaps are compared in steps of this
	countedAbovePerS   = 500.0 // arrival-law: above this rate counts are compared instead
	countBinNS         = 10e6  // arrival-law: in bins of this
	floorShare         = 0.05  // client-limited: the null server's TTFT against the median
	steadyBins         = 20    // overloaded, no-steady-state
	trendP             = 1e-4
	mostCorrelation    = 2.7  // no-steady-state: (6.132 ÷ 3.719)², the Z of 20 rising bins over that of trendP
	completedShare     = 0.95 // overloaded: fewer completions than this
	coldShare          = 0.05 // cold-in-window: the part of the window that is its start
	warmPerMille       = 100  // cold-in-window: the fastest part of the warm-up
	driftP             = 1e-4 // drift: enough alone
	driftPWithSize     = 0.01 // drift: enough beside a change of more than driftSize
	driftSize          = 0.10
	mostTemplateTokens = 64   // input-mismatch: a constant overhead of a chat template
	textMismatch       = 0.25 // input-mismatch: for prompts sent as text
	cacheBlockTokens   = 16   // cache-contaminated: where the server does not say its own
	detectPower        = 0.8  // underpowered
	detectAlpha        = 0.05 // underpowered
)

// beyond is the severity of a statistic under a code's rule, if any.
func beyond(code string, x float64) (sweep.Severity, bool) {
	switch r := rules[code]; {
	case x > r.invalid:
		return sweep.Invalid, true
	case x > r.suspect:
		return sweep.Suspect, true
	}
	return "", false
}

// flagged is a flag in its rule's words.
func flagged(code string, severity sweep.Severity, args ...any) sweep.Flag {
	return sweep.Flag{Code: code, Severity: severity, Detail: fmt.Sprintf(rules[code].words, args...)}
}

// percent writes a share.
func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

// ms writes nanoseconds as milliseconds.
func ms(ns float64) string { return fmt.Sprintf("%.3g ms", ns/1e6) }
