package main

import (
	"errors"
	"io/fs"
	"runtime"
	"sync"

	"github.com/inference-sweep/sweep/runner"
	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/report"
	"github.com/inference-sweep/sweep/sweep/verdict"
)

// recording hands the runner's facts to the store, and what is derived of a trial to whoever shows progress.
type recording struct {
	db   *store.DB
	w    *store.Writer
	plan *sweep.Plan

	mu   sync.Mutex
	last *sweep.TrialDerived
}

func newRecording(db *store.DB, w *store.Writer, p *sweep.Plan) *recording {
	return &recording{db: db, w: w, plan: p}
}

func (r *recording) recorder() runner.Recorder {
	return runner.Recorder{
		StartLaunch: r.db.StartLaunch, UpdateLaunch: r.db.UpdateLaunch, StartTrial: r.db.StartTrial,
		Put: r.w.Put, Observe: r.w.Observe, FinishTrial: r.finish,
	}
}

// finish stores a trial's end together with what is derived of it.
func (r *recording) finish(record *sweep.TrialRecord) error {
	return r.w.FinishTrial(record, func() (*sweep.TrialDerived, error) {
		facts, err := r.db.Facts(record.ID)
		if err != nil {
			return nil, err
		}
		facts.Record = *record
		derived, err := verdict.DeriveTrial(r.plan, facts)
		r.mu.Lock()
		r.last = derived
		r.mu.Unlock()
		return derived, err
	})
}

// lastDerived is what was derived of the trial that ended last.
func (r *recording) lastDerived() *sweep.TrialDerived {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// derive makes a sweep's derived rows from its facts and stores them.
func derive(db *store.DB, p *sweep.Plan) (*sweep.Derived, error) {
	derived, err := deriveOnly(db, p)
	if err != nil {
		return nil, err
	}
	return derived, db.PutDerived(p.Name, derived)
}

// deriveOnly makes a sweep's derived rows from its facts, by the bars of the plan that it is given.
func deriveOnly(db *store.DB, p *sweep.Plan) (*sweep.Derived, error) {
	records, err := db.Trials(p.Name)
	if err != nil {
		return nil, err
	}
	facts := make([]sweep.TrialFacts, 0, len(records))
	for _, record := range records {
		f, err := db.Facts(record.ID)
		if err != nil {
			return nil, err
		}
		facts = append(facts, f)
	}
	return verdict.Derive(p, facts)
}

// printTables prints reports of one sweep, one below the other.
func (a *app) printTables(db *store.DB, p *sweep.Plan, derived *sweep.Derived, kinds []string) error {
	in, err := reportInput(db, p, derived)
	if err != nil {
		return err
	}
	for i, kind := range kinds {
		table, err := report.Build(kind, in)
		if err != nil {
			return err
		}
		if i > 0 {
			a.stdout.Write([]byte("\n"))
		}
		if err := report.Write(a.stdout, table, "table", a.tableOptions()); err != nil {
			return err
		}
	}
	return nil
}

func reportInput(db *store.DB, p *sweep.Plan, derived *sweep.Derived) (report.Input, error) {
	in := report.Input{Plan: p, Derived: derived}
	var err error
	if in.Trials, err = db.Trials(p.Name); err != nil {
		return in, err
	}
	in.Launches, err = db.Launches(p.Name)
	return in, err
}

// storeHint says what to do about a database that cannot be opened.
func storeHint(err error) error {
	var locked *store.LockedError
	switch {
	case errors.As(err, &locked):
		return &hintError{err, "wait for it, or give another database with --db FILE"}
	case isMissing(err):
		return &hintError{err, "sweep run FILE makes one; --db FILE or $SWEEP_DB names another"}
	}
	return err
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// provenance is what else is worth knowing of the machine that measures.
func provenance(b build) map[string]string {
	known := map[string]string{"go": b.Go, "os": runtime.GOOS, "arch": runtime.GOARCH}
	for _, l := range b.Libraries {
		known["library "+l[0]] = l[1]
	}
	return known
}
