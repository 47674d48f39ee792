// Package runner runs trials in their order: it launches or attaches to the server that a trial needs, lets it start
// cold, warms it up, measures, keeps up the load until the window's last request has ended, and goes on to the next.
//
// It records facts only. It knows nothing of figures, flags or verdicts, of databases (a Recorder takes the facts), nor
// of how a definition is written.
package runner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/inference-sweep/sweep/runner/engine"
	"github.com/inference-sweep/sweep/runner/load"
	"github.com/inference-sweep/sweep/runner/target"
	"github.com/inference-sweep/sweep/sweep"
)

// Recorder is where facts go. An error from any of its functions ends the run: load that nobody records is worth nothing.
type Recorder struct {
	StartLaunch  func(*sweep.Launch) error
	UpdateLaunch func(*sweep.Launch) error
	StartTrial   func(*sweep.TrialRecord) error
	Put          func(trial int64, r *sweep.Request) error
	Observe      func(sweep.Observation) error
	FinishTrial  func(*sweep.TrialRecord) error
}

// Config is what a run needs besides its plan.
type Config struct {
	Record Recorder
	Target target.Deps
	// Dial connects the measuring clients; nil is a plain dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// NewWaiter makes the timer of a trial's dispatcher; nil sleeps as time.Sleep does, which virtual time needs.
	NewWaiter func() (*load.Waiter, error)
	// Nonce draws the seed of a trial's text, in hex.
	Nonce func() string
	// Replay gives the seed of a trial that is run again with the text that it had; empty draws a new one, as for all
	// trials where it is nil.
	Replay func(sweep.Trial) string
	// MayStart says whether a trial may still be started; nil lets all. Those it refuses are left over.
	MayStart func(sweep.Trial) bool
	Progress func(Event)
	KeepText bool
	// FloorNS is the time to first token that is this client's own, against a server that answers at once; 0 where it
	// was not measured.
	FloorNS int64
	Sitting int64
	Node    string
}

// Summary counts how the trials of a run ended.
type Summary struct {
	Done, Failed, Blocked, Interrupted, Left int
	// Needless are fresh baselines that were not run, because nothing was measured that they could pair.
	Needless int
	// Unreached is a server that was to be up already and could not be connected to, by its target; empty where there was
	// none.
	Unreached string
}

// runner is one run in progress.
type runner struct {
	Config
	plan    *sweep.Plan
	server  *server           // the one that is up, or nil
	crashes map[string]*crash // by setting
	ordinal int
	total   int
	summary Summary
}

// Run runs trials in the order given. A trial that fails does not end the run; the error is of the environment (the
// recorder) or of the context.
func Run(ctx context.Context, plan *sweep.Plan, trials []sweep.Trial, c Config) (Summary, error) {
	if c.Progress == nil {
		c.Progress = func(Event) {}
	}
	if c.NewWaiter == nil {
		c.NewWaiter = func() (*load.Waiter, error) { return &load.Waiter{}, nil }
	}
	r := &runner{Config: c, plan: plan, crashes: map[string]*crash{}, total: len(trials)}
	err := r.all(ctx, trials)
	if stopErr := r.stop(context.WithoutCancel(ctx)); err == nil {
		err = stopErr
	}
	ended := r.summary.Done + r.summary.Failed + r.summary.Blocked + r.summary.Interrupted + r.summary.Needless
	r.summary.Left = len(trials) - ended
	return r.summary, err
}

func (r *runner) all(ctx context.Context, trials []sweep.Trial) error {
	tried, done := map[int]bool{}, map[int]bool{} // blocks in which something was to be paired, and in which something can be
	for i, t := range trials {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if t.Pairs() && tried[t.Block] && !done[t.Block] && !more(trials[i+1:], t.Block) {
			r.summary.Needless++
			continue
		}
		if r.MayStart != nil && !r.MayStart(t) {
			continue
		}
		before := r.summary.Done
		if err := r.one(ctx, t, i); err != nil {
			return err
		}
		tried[t.Block] = tried[t.Block] || !t.Pairs()
		done[t.Block] = done[t.Block] || r.summary.Done > before
	}
	return nil
}

// more says that trials has something of a block besides fresh baselines.
func more(trials []sweep.Trial, block int) bool {
	return slices.ContainsFunc(trials, func(t sweep.Trial) bool { return t.Block == block && !t.Pairs() })
}

// one runs a trial, whatever becomes of it.
func (r *runner) one(ctx context.Context, t sweep.Trial, index int) error {
	cell := r.plan.CellNamed(t.Cell)
	if c := r.crashes[t.Setting]; c != nil && c.times >= maxCrashes {
		return r.skip(t, sweep.StatusBlocked, fmt.Sprintf("its server failed %d times in this run, at last: %s", maxCrashes, c.last))
	}
	if err := r.need(ctx, cell, t); err != nil {
		if errors.Is(err, errRecorder) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r.crashed(cell, t, err)
		return r.skip(t, sweep.StatusFailed, err.Error())
	}
	return r.trial(ctx, cell, t, index)
}

// maxCrashes is how often a setting's server may fail before the rest of its trials are blocked.
const maxCrashes = 3

// crash is how often a setting's server failed since it last did not, and why the last time.
type crash struct {
	times int
	last  string
}

func (r *runner) crashed(cell *sweep.PlanCell, t sweep.Trial, err error) {
	if r.crashes[t.Setting] == nil {
		r.crashes[t.Setting] = &crash{}
	}
	r.crashes[t.Setting].times++
	r.crashes[t.Setting].last = err.Error()
	if dial := (*net.OpError)(nil); engine.Attached(&cell.Cell) && errors.As(err, &dial) && dial.Op == "dial" {
		r.summary.Unreached = cell.Cell.Target
	}
}

// skip records a trial that never got to send anything.
func (r *runner) skip(t sweep.Trial, status, reason string) error {
	record := r.record(t)
	record.Status, record.Reason = status, reason
	if err := r.start(record); err != nil {
		return err
	}
	return r.finish(record)
}

// record starts the record of a trial.
func (r *runner) record(t sweep.Trial) *sweep.TrialRecord {
	record := &sweep.TrialRecord{
		Sweep: r.plan.Name, Cell: t.Cell, Key: t.Key, Sitting: r.Sitting, OrderIndex: t.Order, Node: r.Node,
		StartedAt: time.Now(), Status: sweep.StatusRunning, T0NS: sweep.None, T1NS: sweep.None, EndNS: sweep.None,
	}
	if r.server != nil {
		record.Launch = r.server.Launch.ID
	}
	return record
}

func (r *runner) start(record *sweep.TrialRecord) error { return recorded(r.Record.StartTrial(record)) }

// finish records a trial's end and counts it.
func (r *runner) finish(record *sweep.TrialRecord) error {
	if err := recorded(r.Record.FinishTrial(record)); err != nil {
		return err
	}
	switch record.Status {
	case sweep.StatusDone:
		r.summary.Done++
		delete(r.crashes, r.setting(record))
	case sweep.StatusBlocked:
		r.summary.Blocked++
	case sweep.StatusInterrupted:
		r.summary.Interrupted++
	default:
		r.summary.Failed++
	}
	r.Progress(Event{Kind: TrialEnded, Trial: record, Total: r.total, Summary: r.summary})
	return nil
}

func (r *runner) setting(record *sweep.TrialRecord) string {
	return r.plan.CellNamed(record.Cell).Setting
}

// errRecorder marks an error of the recorder, which ends the run.
var errRecorder = errors.New("recording")

func recorded(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errRecorder, err)
}
