package runner

import "github.com/inference-sweep/sweep/sweep"

// EventKind says what a progress event is about.
type EventKind int

// The kinds of progress events.
const (
	LaunchStarted EventKind = iota
	LaunchReady
	TrialStarted
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
	Requests     int64 // that have ended in the running trial
	Summary      Summary
}
