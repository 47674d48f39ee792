package runner

import "github.com/inference-sweep/sweep/sweep"

// EventKind says what a progress event is about.
type EventKind int

// The kinds of progress events.
const (
	LaunchStarted EventKind = iota
	LaunchReady
	TrialStarted
	HeadPrimed // a head that prompts share was sent, before the load, so that it is in the prefix cache: one call at a time
	RequestEnded
	TrialEnded
)

// Event is something that whoever watches a run may want to show. Only the fields that its kind has are set.
type Event struct {
	Kind   EventKind
	Trial  *sweep.TrialRecord
	Launch *sweep.Launch
	// Index counts trials from 0 in this run, and Total is how many there are.
	Index, Total int
	Requests     int64 // that have ended in the running trial, heads apart
	Primed       int   // heads that were sent, of Heads
	Heads        int
	Summary      Summary
}
