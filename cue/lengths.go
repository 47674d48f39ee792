package cue

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"

	"github.com/inference-sweep/sweep/schema"
)

const (
	// maxTokens is more than any model takes, and little enough to make a prompt of.
	maxTokens = 10_000_000
	// maxTokenID is far beyond any vocabulary.
	maxTokenID = 10_000_000
	// widestSigma is the widest lognormal: a draw in forty is 20,000 times the median there.
	widestSigma = 5
)

// lengths checks token counts, and reads the recorded ones.
func (c *cellCheck) lengths() {
	prompt := c.cell.Contract.Prompt
	shortest := c.distribution("contract.prompt.length", prompt.Length)
	c.distribution("contract.output.length", c.cell.Contract.Output.Length)
	if prompt.IDs.From >= prompt.IDs.To {
		c.report("contract.prompt.ids", fmt.Sprintf("no token id is in it: from %d is not below to %d", prompt.IDs.From, prompt.IDs.To), "")
	}
	if prompt.IDs.To > maxTokenID {
		c.report("contract.prompt.ids.to", fmt.Sprintf("%d: no model's vocabulary has more than %d tokens", prompt.IDs.To, maxTokenID), "write the size of the model's vocabulary, or less")
	}
	if prompt.Shared != nil && prompt.Shared.Tokens > maxTokens {
		c.tooLong("contract.prompt.shared.tokens", int64(prompt.Shared.Tokens))
	} else if prompt.Shared != nil && shortest > 0 && int64(prompt.Shared.Tokens) >= shortest {
		c.report("contract.prompt.shared.tokens",
			fmt.Sprintf("%d shared tokens leave nothing of a prompt of %d", prompt.Shared.Tokens, shortest),
			"a prompt is the shared head and at least one token of its own")
	}
}

// distribution checks one distribution of lengths and returns the shortest it gives, or its median where it has no
// shortest, or 0 where it is not known.
func (c *cellCheck) distribution(path string, l schema.Lengths) int64 {
	c.bounded(path, l)
	switch {
	case l.Uniform != nil:
		if l.Uniform.Min > l.Uniform.Max {
			c.report(path+".uniform", fmt.Sprintf("min %d is above max %d", l.Uniform.Min, l.Uniform.Max), "")
		}
		return int64(l.Uniform.Min)
	case l.Lognormal != nil:
		if l.Lognormal.Max > 0 && l.Lognormal.Max < l.Lognormal.Median {
			c.report(path+".lognormal", fmt.Sprintf("max %d is below median %d", l.Lognormal.Max, l.Lognormal.Median), "")
		}
		return int64(l.Lognormal.Median)
	case l.Trace != "":
		if lengths := c.trace(path+".trace", l.Trace, false); len(lengths) > 0 {
			return int64(slices.Min(lengths))
		}
		return 0
	}
	return int64(l.Fixed)
}

// bounded refuses distributions with draws that no model takes and no client can make.
func (c *cellCheck) bounded(path string, l schema.Lengths) {
	c.tooLong(path+".fixed", int64(l.Fixed))
	if l.Uniform != nil {
		c.tooLong(path+".uniform.max", int64(l.Uniform.Max))
	}
	if l.Lognormal == nil {
		return
	}
	path += ".lognormal"
	median, sigma := float64(l.Lognormal.Median), l.Lognormal.Sigma
	switch reach := median * math.Exp(4*sigma); {
	case l.Lognormal.Median > maxTokens:
		c.tooLong(path+".median", int64(l.Lognormal.Median))
	case sigma > widestSigma:
		c.report(path+".sigma", fmt.Sprintf("%v is more than %d", sigma, widestSigma), "sigma is of the logarithm: at 1, two draws in three are within a factor of 2.7 of the median")
	case l.Lognormal.Max > 0:
		c.tooLong(path+".max", int64(l.Lognormal.Max))
	case reach > maxTokens:
		c.report(path, fmt.Sprintf("reaches lengths of %.1g tokens and more: no model takes over %d", reach, maxTokens), "give it a max")
	}
}

func (c *cellCheck) tooLong(path string, tokens int64) {
	if tokens > maxTokens {
		c.report(path, fmt.Sprintf("%d tokens: no model takes more than %d", tokens, maxTokens), "")
	}
}

// trace reads a recording once, and reports in each cell that it cannot be used.
func (c *cellCheck) trace(path, name string, arrivals bool) []float64 {
	key := name + strconv.FormatBool(arrivals)
	if _, tried := c.failed[key]; !tried {
		numbers, err := readTrace(c.dir, name, arrivals)
		c.failed[key] = err
		var inside Errors
		if errors.As(err, &inside) {
			c.found = append(c.found, inside...)
		}
		if err == nil {
			c.traces[name] = numbers
		}
	}
	if err := c.failed[key]; errors.Is(err, fs.ErrNotExist) {
		c.report(path, "there is no file "+name, "a trace's path starts at the definition's folder")
	} else if err != nil && !errors.As(err, new(Errors)) {
		c.report(path, err.Error(), "")
	}
	if c.failed[key] != nil {
		return nil
	}
	return c.traces[name]
}
