package report

import "github.com/inference-sweep/sweep/sweep"

// meaning is a flag in words, for a reader who has never seen it, and its mildest severity.
type meaning struct {
	severity sweep.Severity
	text     string
}

// glossary says what each flag means. order is that of its entries in the legend.
var glossary = map[string]meaning{
	"many-factors":        {sweep.Invalid, "more moved than the factor declares: the difference has no single cause"},
	"no-change":           {sweep.Invalid, "this level moved nothing: it is the baseline under another name, not run again"},
	"label-only":          {sweep.Invalid, "moved on paper, but neither in the server's command, nor in the requests, nor in what was observed"},
	"quality-changed":     {sweep.Invalid, "the answers changed with the setting: a win that degrades the answers is none"},
	"contract-drift":      {sweep.Invalid, "what was observed contradicts the contract, or changed between trials"},
	"mixed-models":        {sweep.Invalid, "another model answered than was asked for, or more than one"},
	"late-sends":          {sweep.Suspect, "requests left the client later than due, for reasons of the client's own"},
	"rate-missed":         {sweep.Suspect, "the rate that was sent is not the rate that was due"},
	"client-limited":      {sweep.Suspect, "the client itself was near its limit: part of the figures may be its own"},
	"overloaded":          {sweep.Suspect, "waiting grew through the window and completions fell behind: the figures depend on how long it ran"},
	"directional":         {sweep.Suspect, "no full contract behind it: it shows a direction, not a value to compare"},
	"arrival-law":         {sweep.Suspect, "the gaps between sends do not follow the scheduled ones"},
	"no-steady-state":     {sweep.Suspect, "TTFT had a trend through the window"},
	"cold-in-window":      {sweep.Suspect, "the window's first requests were far slower than the rest: the warm-up was too short"},
	"drift":               {sweep.Suspect, "the baseline changed between the first half of the blocks and the second"},
	"cache-contaminated":  {sweep.Suspect, "the observed share of cached tokens is not what the contract says"},
	"input-mismatch":      {sweep.Suspect, "the server counted other input lengths than were asked for"},
	"short-output":        {sweep.Suspect, "answers had other lengths than the fixed one that was asked for"},
	"token-source":        {sweep.Suspect, "tokens that nobody counted, or counted in different ways"},
	"coalesced":           {sweep.Suspect, "tokens arrived in lumps, sent so or read late by a busy client (sweep doctor tells): the gaps between chunks are not token times"},
	"error-rate":          {sweep.Suspect, "requests failed: latencies are of the survivors; attainment and goodput count all that were due"},
	"empty":               {sweep.Suspect, "answers came without any output"},
	"no-slo":              {sweep.Suspect, "no latency bar: throughput alone is not a serving result"},
	"started-busy":        {sweep.Suspect, "the server had other requests when the trial began"},
	"server-restarted":    {sweep.Suspect, "the server came up anew before the trial, or while it ran"},
	"throttled":           {sweep.Suspect, "the accelerator was slowed down by heat, or by its power supply"},
	"simulated":           {sweep.Note, "measured on the embedded engine, a simulation: no hardware behind it"},
	"closed-loop":         {sweep.Note, "a closed loop slows down with the server: it does not show what open traffic would meet"},
	"contract-unverified": {sweep.Note, "the server offers nothing to check a moved setting against"},
	"cache-unverified":    {sweep.Note, "the state of the prefix cache could not be observed"},
	"few-samples":         {sweep.Note, "too few requests for a percentile, which is left empty"},
	"few-blocks":          {sweep.Note, "fewer than 5 blocks: intervals are wide and lean on the assumed distribution"},
	"underpowered":        {sweep.Note, "the smallest difference that could be detected is above the margin"},
	"quality-unpinned":    {sweep.Note, "a setting moved that can change the answers, and their quality was not checked"},
	"cold-not-measured":   {sweep.Note, "the server was already up: its start was not measured"},
	"extended":            {sweep.Note, "cells were measured in another sitting than the baseline: paired with a fresh baseline of that sitting, or with none"},
	"excluded":            {sweep.Note, "somebody took trials of the cell out of the tables, for the reason given"},
	"drained":             {sweep.Note, "requests that were still open when the load ended ran on without new load"},
}

// order is the order of codes within one severity.
var order = []string{
	"many-factors", "no-change", "label-only", "quality-changed", "contract-drift", "mixed-models", "directional",
	"overloaded", "error-rate", "empty", "no-steady-state", "cold-in-window", "drift", "late-sends", "rate-missed",
	"arrival-law", "client-limited", "cache-contaminated", "input-mismatch", "short-output", "token-source", "coalesced",
	"no-slo", "started-busy", "server-restarted", "throttled", "simulated", "closed-loop", "contract-unverified",
	"cache-unverified", "few-blocks", "quality-unpinned", "cold-not-measured", "extended", "excluded", "drained",
	// Of few tables, so that the letters of the others have no gaps.
	"underpowered", "few-samples",
}
