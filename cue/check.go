package cue

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"cuelang.org/go/cue"

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
		c.words()
		c.target()
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

// longestDuration bounds each step: sums of a few of them are still times.
const longestDuration = 365 * 24 * time.Hour

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
		case d > longestDuration:
			c.report(path, "is longer than a year: "+positive[path], "")
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

// prefixCache refuses a warm cache that nothing warms, and a cold one that the first request warms for the rest.
func (c *cellCheck) prefixCache() {
	cache, shared := c.cell.Contract.PrefixCache, c.cell.Contract.Prompt.Shared
	if cache.Enabled && cache.State == "cold" && cache.By != "salt" && shared != nil {
		c.report("contract.prefixCache.by", "cold by "+cache.By+" contradicts prompt.shared: after a group's first request its head is in the cache",
			`write by: "salt", or leave prompt.shared out`)
	}
	if cache.State != "warm" {
		return
	}
	switch {
	case !cache.Enabled:
		c.report("contract.prefixCache.state", "a cache that is off is never warm", "write enabled: true")
	case shared == nil:
		c.report("contract.prefixCache.state", "warm needs a head that prompts share", "write prompt: shared: tokens: 896")
	case cache.By != "salt":
		c.report("contract.prefixCache.by", "a warm cache is made by salt, not by "+cache.By, "leave by out")
	}
}

// leastShape is the least shape of gamma arrivals: the gaps' coefficient of variation is 32 there.
const leastShape = 0.001

// load checks what belongs to the arrival process.
func (c *cellCheck) load() {
	open := c.cell.Contract.Load.Open
	if open == nil {
		return
	}
	if open.Shape != nil && open.Arrival != "gamma" {
		c.report("contract.load.open.shape", "belongs to gamma arrivals, and these are "+open.Arrival, `write arrival: "gamma"`)
	}
	if open.Shape != nil && *open.Shape < leastShape {
		c.report("contract.load.open.shape", fmt.Sprintf("%v makes nearly all gaps 0 and a few endless", *open.Shape),
			fmt.Sprintf("a shape is %v or more: at 0.01 the gaps' coefficient of variation is 10", leastShape))
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
