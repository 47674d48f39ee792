package store

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// attempts is the view of raw_trial that says what counts: an excluded trial's status and reason are those of its
// exclusion.
const attempts = "_attempt"

// Exclude takes done trials out of the tables, or puts them back, and remembers why: all of them, or none and an error.
// Nothing is deleted or changed; what is derived of their sweeps is out of date from then on. It returns the trials as they
// then read.
func (db *DB) Exclude(trials []int64, out bool, reason string, at time.Time) ([]sweep.TrialRecord, error) {
	var records []sweep.TrialRecord
	err := db.update(durable, func(c *sql.Conn) error {
		records = nil
		for _, id := range trials {
			record, err := exclude(c, id, out, reason, at.UTC())
			if errors.Is(err, ErrNoTrial) {
				return err
			}
			if err != nil {
				return fmt.Errorf("trial %d: %w", id, err)
			}
			records = append(records, record)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

func exclude(c *sql.Conn, id int64, out bool, reason string, at time.Time) (sweep.TrialRecord, error) {
	record, err := trialFrom(c, id)
	if err != nil {
		return record, err
	}
	if err := excludable(record, out); err != nil {
		return record, err
	}
	_, err = insertOne(c, "raw_exclusion", []column{
		{"trial", integer{&id}}, {"excluded", boolean{&out}}, {"reason", text{&reason}}, {"at", stamp{&at}},
	})
	if err != nil {
		return record, err
	}
	if record, err = trialFrom(c, id); err != nil {
		return record, err
	}
	return record, moved(c, record.Sweep)
}

// ErrNotExcludable is what excluding a trial returns that is in no table anyway, and putting back one that is in them.
var ErrNotExcludable = errors.New("nothing to change")

func excludable(record sweep.TrialRecord, out bool) error {
	switch {
	case out && record.Status == sweep.StatusDone || !out && record.Status == sweep.StatusExcluded:
		return nil
	case !out:
		return fmt.Errorf("it is not excluded: %w", ErrNotExcludable)
	}
	return fmt.Errorf("it is %s, so it is in no table: %w", record.Status, ErrNotExcludable)
}
