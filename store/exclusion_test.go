package store_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
)

// A trial can be taken out and put back: what counts is the last word, and all of them stay.
func TestExclude(t *testing.T) {
	db, sitting := begun(t)
	w := db.NewWriter()
	end := func(block int, status string) int64 {
		trial := startTrial(t, db, sitting, "baseline", digestBase, block, 1)
		must(t, w.Put(trial.ID, okRequest(1)))
		trial.Status = status
		must(t, w.FinishTrial(trial, nil))
		return trial.ID
	}
	done, failed := end(1, sweep.StatusDone), end(2, sweep.StatusFailed)
	must(t, w.Close())
	must(t, db.PutDerived("s", &sweep.Derived{AnalysisVersion: 1}))

	got, err := db.Exclude([]int64{done}, true, "the fan failed", testTime)
	must(t, err)
	if got[0].Status != sweep.StatusExcluded || got[0].Reason != "the fan failed" {
		t.Errorf("%+v", got)
	}
	if stale, err := db.Stale("s", 1); err != nil || !stale {
		t.Errorf("what was derived with it is stale: %t, %v", stale, err)
	}
	facts, err := db.Facts(done)
	must(t, err)
	trials, err := db.Trials("s")
	must(t, err)
	finished, err := db.Finished("s")
	must(t, err)
	for name, status := range map[string]string{"facts": facts.Record.Status, "trials": trials[0].Status, "finished": finished[0].Status} {
		if status != sweep.StatusExcluded {
			t.Errorf("%s say %s", name, status)
		}
	}
	if rows := rowsOf(t, db, done); len(rows) != 1 {
		t.Errorf("its requests are gone: %d", len(rows))
	}

	for name, do := range map[string]func() ([]sweep.TrialRecord, error){
		"twice":         func() ([]sweep.TrialRecord, error) { return db.Exclude([]int64{done}, true, "again", testTime) },
		"a failed one":  func() ([]sweep.TrialRecord, error) { return db.Exclude([]int64{failed}, true, "why not", testTime) },
		"back, not out": func() ([]sweep.TrialRecord, error) { return db.Exclude([]int64{failed}, false, "", testTime) },
	} {
		if _, err := do(); !errors.Is(err, store.ErrNotExcludable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := db.Exclude([]int64{99}, true, "no such trial", testTime); !errors.Is(err, store.ErrNoTrial) {
		t.Errorf("a trial that does not exist: %v", err)
	}

	got, err = db.Exclude([]int64{done}, false, "the fan was fine", testTime)
	must(t, err)
	if got[0].Status != sweep.StatusDone || got[0].Reason != "" {
		t.Errorf("put back: %+v", got)
	}
	// One that cannot be leaves the others alone.
	for _, wrong := range []int64{99, failed} {
		if records, err := db.Exclude([]int64{done, wrong}, true, "all or nothing", testTime); err == nil || records != nil {
			t.Errorf("excluding %d with it: %v", wrong, records)
		}
	}
	if record, err := db.Trial(done); err != nil || record.Status != sweep.StatusDone {
		t.Errorf("half of it was done: %+v, %v", record, err)
	}
	_, rows, err := db.View("exclusion", "s")
	must(t, err)
	var reasons []any
	for row, err := range rows {
		must(t, err)
		reasons = append(reasons, row[6])
	}
	if len(reasons) != 2 || reasons[0] != "the fan failed" || reasons[1] != "the fan was fine" {
		t.Errorf("the words on it are %v", reasons)
	}
}

func TestExclusionsSurvive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	db, err := store.Open(path, store.Options{})
	must(t, err)
	sitting := begin(t, db, testPlan())
	w := db.NewWriter()
	trial := startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
	trial.Status = sweep.StatusDone
	must(t, w.FinishTrial(trial, nil))
	must(t, w.Close())
	_, err = db.Exclude([]int64{trial.ID}, true, "heat", testTime)
	must(t, err)
	must(t, db.Close())
	again := open(t, path, store.Options{ReadOnly: true})
	if record, err := again.Trial(trial.ID); err != nil || record.Status != sweep.StatusExcluded {
		t.Errorf("%+v, %v", record, err)
	}
	if _, err := again.Exclude([]int64{trial.ID}, false, "", testTime); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("written to a database that is read only: %v", err)
	}
}
