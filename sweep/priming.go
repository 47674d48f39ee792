package sweep

// headsAtOnce is how many heads a trial sends at a time before its load: enough not to wait for each alone, and too few to
// fill any server's queue. They are different prompts, and nothing of them is measured, so that their order does not matter.
const headsAtOnce = 4

// Heads is how many prompts a trial sends before its load so that the window finds their heads in the prefix cache: one a
// group where the cache is to be warm, else none.
func (c *Cell) Heads() int {
	cache, shared := c.Contract.PrefixCache, c.Contract.Prompt.Shared
	if !cache.Enabled || cache.State != "warm" || shared == nil {
		return 0
	}
	return int(shared.Groups)
}

// HeadsAtOnce is how many of the heads are on their way at a time, at least 1: never more than the load itself may have in
// flight, since a server may refuse more than it was made for.
func (c *Cell) HeadsAtOnce() int {
	most := int64(headsAtOnce)
	switch load := c.Contract.Load; {
	case load.Closed != nil:
		most = min(most, int64(load.Closed.Clients))
	case load.Open != nil && load.Open.MaxInFlight > 0:
		most = min(most, int64(load.Open.MaxInFlight))
	case load.Burst != nil:
		most = min(most, int64(c.Measure.Requests))
	}
	return max(int(most), 1)
}

// expectedPrimingS is how long a trial is expected to take for its heads, in seconds. Each is a prompt with an answer of one
// token, and they follow each other as the requests of a closed loop do.
func expectedPrimingS(c *Cell) float64 {
	heads, atOnce := float64(c.Heads()), float64(c.HeadsAtOnce())
	switch {
	case heads == 0:
		return 0
	case c.Target == "sim":
		return heads / simClosedRatePerS(c.Contract.Engine.Args, float64(c.Contract.Prompt.Shared.Tokens), 1, min(heads, atOnce), 0)
	}
	return heads * (guessedTTFTS + guessedTokenS) / min(heads, atOnce)
}
