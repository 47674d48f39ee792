package main

import (
	"errors"
	"io/fs"
	"maps"
	"runtime"
	"strings"
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
		facts, err := r.db.FactsForFigures(record.ID)
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
		f, err := db.FactsForFigures(record.ID)
		if err != nil {
			return nil, err
		}
		facts = append(facts, f)
	}
	return verdict.Derive(p, facts)
}

// printTables prints reports of one sweep, one below the other, with one legend.
func (a *app) printTables(db *store.DB, p *sweep.Plan, derived *sweep.Derived, kinds []string) error {
	in, err := reportInput(db, p, derived)
	if err != nil {
		return err
	}
	var commands []string
	for _, kind := range kinds {
		commands = append(commands, a.reportCommand(kind, p.Name))
	}
	in.Command = strings.Join(commands, "; ")
	var tables []*report.Table
	for _, kind := range kinds {
		table, err := report.Build(kind, in)
		if err != nil {
			return err
		}
		tables = append(tables, table)
	}
	return report.WriteTogether(a.stdout, tables, "table", a.tableOptions())
}

// reportCommand prints a table again.
func (a *app) reportCommand(kind, name string) string {
	return a.command("sweep", "report", kind, "--sweep", name)
}

func reportInput(db *store.DB, p *sweep.Plan, derived *sweep.Derived) (report.Input, error) {
	in := report.Input{Plan: p, Derived: derived}
	var err error
	if in.Trials, err = db.Trials(p.Name); err != nil {
		return in, err
	}
	if in.Launches, err = db.Launches(p.Name); err != nil {
		return in, err
	}
	failed, err := db.Errors(p.Name)
	if err != nil {
		return in, err
	}
	for _, e := range failed {
		in.Errors = append(in.Errors, report.ErrorCount(e))
	}
	in.Provenance, err = provenanceOf(db, p.Name)
	return in, err
}

// provenanceOf is where a sweep's figures come from: what its last sitting recorded, and the database.
func provenanceOf(db *store.DB, name string) (map[string]string, error) {
	sittings, err := db.Sittings(name)
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	if len(sittings) > 0 {
		maps.Copy(known, sittings[len(sittings)-1].Provenance)
	}
	known["database"] = db.Path()
	return known, nil
}

// storeHint says what to do about a database that cannot be opened.
func storeHint(err error) error {
	var (
		locked *store.LockedError
		folder *store.FolderError
		noFile *store.NoFileError
	)
	switch {
	case errors.As(err, &locked):
		return &hintError{err, "wait for it, or give another database with --db FILE"}
	case errors.As(err, &folder):
		return &hintError{err, "mkdir -p " + folder.Folder + " makes it; --db FILE or $SWEEP_DB names another place"}
	case errors.As(err, &noFile):
		return &hintError{err, "--db FILE or $SWEEP_DB names a file, which may be one that does not exist yet"}
	case isMissing(err):
		return &hintError{err, "sweep run FILE makes one; --db FILE or $SWEEP_DB names another"}
	}
	return err
}

// movedHint says what to do about a database that was taken away while a run wrote to it.
func movedHint(err error) error {
	if moved := (*store.MovedError)(nil); errors.As(err, &moved) {
		return &hintError{moved, "leave it where it is until the run has ended; the same command measures what is missing"}
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
