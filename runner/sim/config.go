package sim

import (
	"fmt"
	"time"
)

// Version is what /version answers: the revision of the model in this package. It changes with every change that moves
// a figure.
const Version = "1"

// Config is what a launch decides. Fields that vLLM has an option for are named after it (MaxNumSeqs is
// --max-num-seqs). Default returns the defaults; New refuses what cannot be served.
type Config struct {
	// Model is the model's id. Default "sim/small".
	Model string
	// ServedModelName is the name that requests ask for and answers carry; empty means Model.
	ServedModelName string
	// Revision is the model's commit, shown as the root in /v1/models; empty shows Model there.
	Revision string

	// MaxNumSeqs is how many sequences run at once. Default 256.
	MaxNumSeqs int
	// MaxNumBatchedTokens is how many tokens, of prompts and of answers, one step computes; not under MaxNumSeqs.
	// Default 2048.
	MaxNumBatchedTokens int
	// MaxModelLen is the context length: prompt and answer, in tokens. Default 32768.
	MaxModelLen int
	// BlockSize is how many tokens a block of the key-value cache holds. Default 16.
	BlockSize int
	// NumGPUBlocks (--num-gpu-blocks-override) is how many such blocks there are; one sequence of MaxModelLen has to fit. Default 8192.
	NumGPUBlocks int
	// EnablePrefixCaching keeps full blocks for later prompts that begin alike. Default true.
	EnablePrefixCaching bool
	// EnableChunkedPrefill splits prompts over steps. Without it a prompt is computed whole: in a step that has room for it, or
	// one without other prompts where it is longer than MaxNumBatchedTokens. Default true.
	EnableChunkedPrefill bool
	// StreamInterval is how many tokens one streamed event carries; the first token is always sent alone. A request may
	// ask for more, not for less. Default 1.
	StreamInterval int
	// MaxNumQueuedReqs refuses a request with 503 while so many wait in the scheduler; 0 refuses none. Default 0.
	MaxNumQueuedReqs int

	// APIKey, if not empty, is required as a bearer token under /v1.
	APIKey string
	// EnablePromptTokensDetails shows the cached tokens of a prompt in its usage. Default true.
	EnablePromptTokensDetails bool
	// EnableForceIncludeUsage puts a usage on every event, asked for or not. Default false.
	EnableForceIncludeUsage bool
	// EnablePerRequestMetrics adds the server's own times of a request to its usage event. Default true.
	EnablePerRequestMetrics bool
	// EnableRequestIDHeaders returns a request's X-Request-Id as a header of the answer. Default false.
	EnableRequestIDHeaders bool

	// VocabSize is the number of token ids, from 0. Default 131072.
	VocabSize int
	// FrontEnd is what a request spends before the scheduler sees it. Default 40 ms.
	FrontEnd time.Duration
	// StepBase is a step's fixed part. Default 3 ms.
	StepBase time.Duration
	// StepPerSeq is added for each sequence that decodes a token in the step. Default 100 µs.
	StepPerSeq time.Duration
	// StepPerPromptToken is added for each prompt token computed in the step. Default 10 µs.
	StepPerPromptToken time.Duration
	// Startup is the time from Serve until requests are accepted; 503 until then. Default 200 ms.
	Startup time.Duration
	// CompilePenalty is added to the step in which a prompt of a new shape is first computed. Default 100 ms.
	CompilePenalty time.Duration
	// Jitter is the relative standard deviation of a step's time, 0 to 0.3. Default 0.02.
	Jitter float64
	// Seed decides jitter and answers. Default 0.
	Seed int64
}

// Default returns the configuration of a launch without options.
func Default() Config {
	return Config{
		Model:                     "sim/small",
		MaxNumSeqs:                256,
		MaxNumBatchedTokens:       2048,
		MaxModelLen:               32768,
		BlockSize:                 16,
		NumGPUBlocks:              8192,
		EnablePrefixCaching:       true,
		EnableChunkedPrefill:      true,
		StreamInterval:            1,
		EnablePromptTokensDetails: true,
		EnablePerRequestMetrics:   true,
		VocabSize:                 131072,
		FrontEnd:                  40 * time.Millisecond,
		StepBase:                  3 * time.Millisecond,
		StepPerSeq:                100 * time.Microsecond,
		StepPerPromptToken:        10 * time.Microsecond,
		Startup:                   200 * time.Millisecond,
		CompilePenalty:            100 * time.Millisecond,
		Jitter:                    0.02,
	}
}

func (c Config) check() error {
	for _, f := range []struct {
		flag       string
		value, min int
	}{
		{"max-num-seqs", c.MaxNumSeqs, 1},
		{"max-num-batched-tokens", c.MaxNumBatchedTokens, 1},
		{"max-model-len", c.MaxModelLen, 2},
		{"block-size", c.BlockSize, 1},
		{"num-gpu-blocks-override", c.NumGPUBlocks, 1},
		{"stream-interval", c.StreamInterval, 1},
		{"max-num-queued-reqs", c.MaxNumQueuedReqs, 0},
		{"vocab-size", c.VocabSize, 2 * firstWord},
	} {
		if f.value < f.min {
			return fmt.Errorf("%s is %d; it has to be at least %d", f.flag, f.value, f.min)
		}
	}
	for _, f := range []struct {
		flag  string
		value time.Duration
	}{
		{"front-end", c.FrontEnd},
		{"step-per-seq", c.StepPerSeq},
		{"step-per-prompt-token", c.StepPerPromptToken},
		{"startup", c.Startup},
		{"compile-penalty", c.CompilePenalty},
	} {
		if f.value < 0 {
			return fmt.Errorf("%s is %v; it cannot be negative", f.flag, f.value)
		}
	}
	return c.checkTogether()
}

func (c Config) checkTogether() error {
	switch {
	case c.Model == "":
		return fmt.Errorf("model is empty")
	case c.StepBase <= 0:
		return fmt.Errorf("step-base is %v; a step has to take some time", c.StepBase)
	case !(c.Jitter >= 0 && c.Jitter <= 0.3):
		return fmt.Errorf("jitter is %v; it has to be between 0 and 0.3", c.Jitter)
	case c.MaxNumBatchedTokens < c.MaxNumSeqs:
		return fmt.Errorf("max-num-batched-tokens (%d) is less than max-num-seqs (%d): a step could not decode every sequence",
			c.MaxNumBatchedTokens, c.MaxNumSeqs)
	case c.NumGPUBlocks < blocksFor(c.MaxModelLen, c.BlockSize):
		return fmt.Errorf("num-gpu-blocks-override (%d) of block-size %d hold %d tokens, less than max-model-len (%d): one sequence could not fit",
			c.NumGPUBlocks, c.BlockSize, c.NumGPUBlocks*c.BlockSize, c.MaxModelLen)
	}
	return nil
}

// servedName is the name that requests have to ask for.
func (c Config) servedName() string {
	if c.ServedModelName != "" {
		return c.ServedModelName
	}
	return c.Model
}

// blocksFor is how many blocks of the given size hold that many tokens.
func blocksFor(tokens, size int) int { return (tokens + size - 1) / size }
