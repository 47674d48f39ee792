package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
)

// Failed requests are counted by what happened to them: of the last attempt, whatever the trial's own status, and
// without what a tail cut.
func TestErrors(t *testing.T) {
	db, sitting := begun(t)
	failed := func(seq int64, phase sweep.Phase, kind, message string, status int64) *sweep.Request {
		r := failedRequest(seq)
		r.Phase, r.Error, r.ErrorMessage, r.HTTPStatus = phase, kind, message, status
		return r
	}
	w := db.NewWriter()
	put := func(cell, digest string, block int, end string, rows ...*sweep.Request) {
		trial := startTrial(t, db, sitting, cell, digest, block, 1)
		for _, r := range rows {
			must(t, w.Put(trial.ID, r))
		}
		trial.Status = end
		must(t, w.FinishTrial(trial, nil))
	}
	put("baseline", digestBase, 1, sweep.StatusFailed, failed(1, sweep.PhaseMeasure, sweep.ErrTimeout, "of an attempt before", sweep.None))
	put("baseline", digestBase, 1, sweep.StatusDone, okRequest(1),
		failed(2, sweep.PhaseWarmup, sweep.ErrHTTP, "too long", 400), failed(3, sweep.PhaseMeasure, sweep.ErrHTTP, "too long", 400),
		failed(4, sweep.PhaseMeasure, sweep.ErrHTTP, "slow down", 429), failed(5, sweep.PhaseMeasure, sweep.ErrHTTP, "too long", 400),
		failed(6, sweep.PhaseTail, sweep.ErrCancelled, "", sweep.None))
	put("baseline", digestBase, 2, sweep.StatusDone, okRequest(1))
	put("mode=closed", digestClosed, 1, sweep.StatusFailed, failed(1, sweep.PhaseMeasure, sweep.ErrReset, "", sweep.None))
	put("gone", "sha256:gone", 1, sweep.StatusDone, failed(1, sweep.PhaseMeasure, sweep.ErrReset, "of no cell of the plan", sweep.None))
	must(t, w.Close())

	got, err := db.Errors("s")
	must(t, err)
	want := []store.ErrorCount{
		{Cell: "baseline", Block: 1, Phase: sweep.PhaseWarmup, Error: sweep.ErrHTTP, HTTPStatus: 400, Count: 1, Message: "too long"},
		{Cell: "baseline", Block: 1, Phase: sweep.PhaseMeasure, Error: sweep.ErrHTTP, HTTPStatus: 400, Count: 2, Message: "too long"},
		{Cell: "baseline", Block: 1, Phase: sweep.PhaseMeasure, Error: sweep.ErrHTTP, HTTPStatus: 429, Count: 1, Message: "slow down"},
		{Cell: "mode=closed", Block: 1, Phase: sweep.PhaseMeasure, Error: sweep.ErrReset, HTTPStatus: sweep.None, Count: 1},
	}
	order := cmp.Transformer("sorted", func(rows []store.ErrorCount) map[store.ErrorCount]bool {
		set := map[store.ErrorCount]bool{}
		for _, r := range rows {
			set[r] = true
		}
		return set
	})
	if diff := cmp.Diff(want, got, order); diff != "" || len(got) != len(want) {
		t.Errorf("want, got:\n%s", diff)
	}
}
