package store

import (
	"database/sql"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/inference-sweep/sweep/sweep"
)

// finishing is the trial whose finish is being written, and the connection whose transaction does it: what that trial
// is derived from is in this transaction and nowhere else yet.
type finishing struct {
	now atomic.Pointer[finishingTrial]
}

type finishingTrial struct {
	trial int64
	conn  *sql.Conn
}

// Facts is everything recorded of one attempt at a trial. Rows reads from the database as it is ranged over, in the
// order of Seq, each time anew; every request is a fresh value that the caller may keep. Inside the function given to
// FinishTrial it sees that trial as it is being finished.
func (db *DB) Facts(trialID int64) (sweep.TrialFacts, error) { return db.facts(trialID, db.requests) }

// FactsForFigures is Facts for who makes figures and flags of many requests. Its rows know what these are made from, and
// nothing more: the rest is as if it did not exist. All are one value, used again: a row is valid until the next one, its
// chunk log too.
func (db *DB) FactsForFigures(trialID int64) (sweep.TrialFacts, error) {
	return db.facts(trialID, db.figureRequests)
}

func (db *DB) facts(trialID int64, rows func(int64) iter.Seq2[*sweep.Request, error]) (facts sweep.TrialFacts, err error) {
	defer func() {
		if err != nil {
			facts, err = sweep.TrialFacts{}, fmt.Errorf("facts of trial %d: %w", trialID, err)
		}
	}()
	q := db.sourceOf(trialID)
	if facts.Record, err = trialFrom(q, trialID); err != nil {
		return facts, err
	}
	if facts.Launch, err = launchFrom(q, facts.Record.Launch); err != nil {
		return facts, err
	}
	facts.Observations, err = selectAll(q, "raw_observation", observationColumns, "WHERE trial = ? ORDER BY rowid", trialID)
	facts.Rows = rows(trialID)
	return facts, err
}

const inOrder = "WHERE trial = ? ORDER BY seq"

func (db *DB) requests(trialID int64) iter.Seq2[*sweep.Request, error] {
	return func(yield func(*sweep.Request, error) bool) {
		for r, err := range stream(db.sourceOf(trialID), "raw_request", requestColumns, inOrder, trialID) {
			if !yield(r, err) {
				return
			}
		}
	}
}

func (db *DB) figureRequests(trialID int64) iter.Seq2[*sweep.Request, error] {
	return func(yield func(*sweep.Request, error) bool) {
		r := sweep.NewRequest()
		columns := figureColumns(r)
		into := values(columns)
		for err := range scan(db.sourceOf(trialID), "raw_request", names(columns), func() []any { return into }, inOrder, trialID) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// sourceOf is where a trial's rows are read from.
func (db *DB) sourceOf(trialID int64) queryer {
	if f := db.finish.now.Load(); f != nil && f.trial == trialID {
		return f.conn
	}
	return db.readers
}

// Samples are the readings of a trial's metrics, in the order in which they came.
func (db *DB) Samples(trialID int64) ([]sweep.Sample, error) {
	return selectAll(db.sourceOf(trialID), "raw_sample", sampleColumns, "WHERE trial = ? ORDER BY rowid", trialID)
}

// Text is the kept answer of one request, or "" where it was not kept.
func (db *DB) Text(trialID, seq int64) (string, error) {
	type answer struct{ text string }
	found, err := selectAll(db.readers, "raw_answer", func(a *answer) []column { return []column{{"text", text{&a.text}}} },
		"WHERE trial = ? AND seq = ?", trialID, seq)
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0].text, nil
}
