package cue

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"cuelang.org/go/cue"

	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/sweep"
)

// A cellCheck goes through the cells of one sweep for what the schema cannot say, or cannot say well. One mistake in
// many cells is one problem.
type cellCheck struct {
	*reader
	definition *sweep.Definition
	index      int
	cell       *sweep.Cell
	traces     map[string][]float64
	failed     map[string]error
	found      Errors
	at         map[string]int
}

func (c *cellCheck) all() {
	c.failed, c.at = map[string]error{}, map[string]int{}
	for i := range c.definition.Cells {
		c.index, c.cell = i, &c.definition.Cells[i]
		c.durations()
		c.window()
		c.lengths()
		c.prefixCache()
		c.load()
		c.request()
		c.bars()
	}
}

func (c *cellCheck) problems() Errors { return c.found }

// report notes a problem at a leaf of the cell at hand.
func (c *cellCheck) report(path, message, hint string) {
	names := strings.Split(path, ".")
	written, _ := c.outline.findLeaf(c.definition.Name, names)
	value := c.root.LookupPath(cue.MakePath(append([]cue.Selector{
		cue.Str(c.definition.Name), cue.Str("plan"), cue.Str("cells"), cue.Index(c.index),
	}, selectors(names)...)...))
	p := Problem{File: c.name, Path: path, Message: message, Hint: hint}.at(c.posOf(value, written))
	key := fmt.Sprintf("%s:%d:%d:%s:%s", p.File, p.Line, p.Col, path, hint)
	if i, ok := c.at[key]; ok {
		c.found[i].Cells++
		return
	}
	p.Cells = 1
	c.at[key] = len(c.found)
	c.found = append(c.found, p)
}

func selectors(names []string) []cue.Selector {
	all := make([]cue.Selector, len(names))
	for i, name := range names {
		all[i] = cue.Str(name)
	}
	return all
}

// durations checks that times pass: a pause, the tail and the grace may be none at all.
func (c *cellCheck) durations() {
	cell := c.cell
	positive := map[string]string{
		"measure.duration": string(cell.Measure.Duration),
		"warmup.duration":  string(cell.Warmup.Duration),
		"timeout.ready":    cell.Timeout.Ready,
		"timeout.connect":  cell.Timeout.Connect,
		"timeout.idle":     cell.Timeout.Idle,
		"timeout.noToken":  cell.Timeout.NoToken,
		"timeout.total":    cell.Timeout.Total,
		"timeout.stop":     cell.Timeout.Stop,
		"tail":             cell.Tail,
		"timeout.grace":    cell.Timeout.Grace,
	}
	if slo := cell.Contract.SLO; slo != nil {
		positive["contract.slo.ttft"] = string(slo.Ttft)
		positive["contract.slo.tpot"] = string(slo.Tpot)
		positive["contract.slo.e2e"] = string(slo.E2e)
	}
	if closed := cell.Contract.Load.Closed; closed != nil {
		positive["contract.load.closed.think"] = string(closed.Think)
	}
	for _, path := range slices.Sorted(maps.Keys(positive)) {
		if positive[path] == "" {
			continue
		}
		d, err := time.ParseDuration(positive[path])
		mayBeNone := path == "tail" || path == "timeout.grace" || path == "contract.load.closed.think"
		switch {
		case err != nil:
			c.report(path, "invalid value "+strconv.Quote(positive[path])+" (not a duration)", writeDuration(positive[path], strings.Split(path, ".")))
		case d < 0 || d == 0 && !mayBeNone:
			c.report(path, "a duration is positive, not "+positive[path], c.insteadOfNone(path))
		}
	}
}

func (c *cellCheck) insteadOfNone(path string) string {
	if path == "warmup.duration" {
		return "requests: 0 is no warm-up"
	}
	return ""
}

// window checks what the measured window and the warm-up go by.
func (c *cellCheck) window() {
	measure, warmup := c.cell.Measure, c.cell.Warmup
	if measure.MinRequests > 0 && measure.Duration == "" {
		c.report("measure.minRequests", "goes with a duration", "requests alone already says how many")
	}
	if warmup.Until != "" && warmup.Duration == "" {
		c.report("warmup.until", `"steady" needs a duration as its bound`, `add duration: "2m"`)
	}
	if c.cell.Contract.Load.Burst != nil && measure.Duration != "" {
		c.report("measure.duration", "a burst is measured by requests", "write measure: requests: 100")
	}
}

// lengths checks token counts, and reads the recorded ones.
func (c *cellCheck) lengths() {
	prompt := c.cell.Contract.Prompt
	shortest := c.distribution("contract.prompt.length", prompt.Length)
	c.distribution("contract.output.length", c.cell.Contract.Output.Length)
	if prompt.IDs.From >= prompt.IDs.To {
		c.report("contract.prompt.ids", fmt.Sprintf("no token id is in it: from %d is not below to %d", prompt.IDs.From, prompt.IDs.To), "")
	}
	if prompt.Shared != nil && shortest > 0 && int64(prompt.Shared.Tokens) >= shortest {
		c.report("contract.prompt.shared.tokens",
			fmt.Sprintf("%d shared tokens leave nothing of a prompt of %d", prompt.Shared.Tokens, shortest),
			"a prompt is the shared head and at least one token of its own")
	}
}

// distribution checks one distribution of lengths and returns the shortest it gives, or its median where it has no
// shortest, or 0 where it is not known.
func (c *cellCheck) distribution(path string, l schema.Lengths) int64 {
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

// prefixCache refuses a warm cache that nothing warms.
func (c *cellCheck) prefixCache() {
	cache := c.cell.Contract.PrefixCache
	if cache.State != "warm" {
		return
	}
	switch {
	case !cache.Enabled:
		c.report("contract.prefixCache.state", "a cache that is off is never warm", "write enabled: true")
	case c.cell.Contract.Prompt.Shared == nil:
		c.report("contract.prefixCache.state", "warm needs a head that prompts share", "write prompt: shared: tokens: 896")
	case cache.By != "salt":
		c.report("contract.prefixCache.by", "a warm cache is made by salt, not by "+cache.By, "leave by out")
	}
}

// load checks what belongs to the arrival process.
func (c *cellCheck) load() {
	open := c.cell.Contract.Load.Open
	if open == nil {
		return
	}
	if open.Shape != nil && open.Arrival != "gamma" {
		c.report("contract.load.open.shape", "belongs to gamma arrivals, and these are "+open.Arrival, `write arrival: "gamma"`)
	}
	if open.Trace == "" {
		return
	}
	if open.Arrival != "trace" {
		c.report("contract.load.open.trace", "belongs to trace arrivals, and these are "+open.Arrival, `write arrival: "trace"`)
		return
	}
	c.trace("contract.load.open.trace", open.Trace, true)
}

// named says where the contract names what a field of the request body would override.
var named = map[string]string{
	"model": "contract.model", "prompt": "contract.prompt", "messages": "contract.prompt",
	"max_tokens": "contract.output.length", "max_completion_tokens": "contract.output.length",
	"temperature": "contract.sampling.temperature", "top_p": "contract.sampling.topP", "top_k": "contract.sampling.topK",
	"min_p": "contract.sampling.minP", "seed": "contract.sampling.seed", "stop": "contract.sampling.stop",
	"ignore_eos": "contract.sampling.ignoreEOS",
}

// request refuses fields that would change what is measured behind the contract's back.
func (c *cellCheck) request() {
	if c.cell.Contract.Request == nil {
		return
	}
	for _, field := range slices.Sorted(maps.Keys(c.cell.Contract.Request.Extra)) {
		path := "contract.request.extra." + field
		switch {
		case field == "stream":
			c.report(path, "is not this place's to set", "write contract.streaming")
		case field == "n" || field == "best_of":
			c.report(path, "is not to be set: a request has one answer", "leave it out")
		case named[field] != "":
			c.report(path, "has a name in the contract", "write "+named[field])
		}
	}
}

// bars refuses bars on times that an answer in one piece does not have.
func (c *cellCheck) bars() {
	slo := c.cell.Contract.SLO
	if slo == nil || c.cell.Contract.Streaming {
		return
	}
	if slo.Ttft != "" {
		c.report("contract.slo.ttft", "has no meaning with streaming: false", "write e2e, or stream")
	}
	if slo.Tpot != "" {
		c.report("contract.slo.tpot", "has no meaning with streaming: false", "write e2e, or stream")
	}
}
