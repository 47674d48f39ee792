// Package sim is the embedded engine: a seeded model of a continuous-batching language model server behind the real
// wire, so that a sweep runs on a machine without a GPU and, in tests, in virtual time.
//
// # The model
//
// A request spends FrontEnd outside the scheduler (tokenising; not a queue: any number do so at once), waits first come
// first served until fewer than MaxNumSeqs run and its blocks fit, and is then computed in steps. One step computes one
// token of every running sequence whose prompt is done, and up to MaxNumBatchedTokens tokens in all, the rest being
// pieces of prompts. It takes
//
//	(StepBase + StepPerSeq × decoding sequences + StepPerPromptToken × prompt tokens) × (1 + Jitter × z)
//	  + CompilePenalty × shapes met for the first time
//
// where z is a normal deviate, drawn from Seed and the step's number and cut at ±3, and a shape is a prompt length
// rounded up to a power of two, 16 or more. The step that completes a prompt yields the first token. While there is
// work, a step begins when the one before should have ended, so that late timers do not add up; after a rest, a microsecond
// after the first arrival, so that a burst is one batch.
//
// Keys and values live in NumGPUBlocks blocks of BlockSize tokens. Full blocks are found again by the hash of their tokens
// and of all before them (and of cache_salt); cached tokens skip the prefill, except that at least one is always
// computed. Freed blocks are reused least recently used first. When none is left, the sequence that came last loses its
// blocks, returns to the head of the queue and is computed anew.
//
// Answers are words made from a hash of seed, prompt and position. With ignore_eos an answer has max_tokens tokens; without, it
// ends by itself after some number of tokens up to that and to 256, all equally likely. A word of text is one token,
// whatever the word; a chat has four more a message and three in front of the answer.
//
// # What it does not claim
//
// It is no performance model of any real GPU, engine or language model: attention does not grow with context, a step
// does not wait for memory, and its constants were chosen for a short demonstration with a visible knee. It shows
// queueing, batching, caching and cold starts of the right kind, not of a right size. It compiles nothing, samples
// nothing, reads no weights, and does not look at stop strings or log probabilities.
//
// The package knows nothing of sweeps, contracts or clients: it imports nothing of this module. Start at Server.Serve.
package sim
