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

// Exclude takes a done trial out of the tables, or puts it back, and remembers why. Nothing is deleted or changed; what is
// derived of its sweep is out of date from then on. It returns the trial as it then reads.
func (db *DB) Exclude(trialID int64, out bool, reason string, at time.Time) (sweep.TrialRecord, error) {
	var record sweep.TrialRecord
	err := db.update(durable, func(c *sql.Conn) error {
		var err error
		if record, err = trialFrom(c, trialID); err != nil {
			return err
		}
		if err := excludable(record, out); err != nil {
			return err
		}
		at = at.UTC()
		_, err = insertOne(c, "raw_exclusion", []column{
			{"trial", integer{&trialID}}, {"excluded", boolean{&out}}, {"reason", text{&reason}}, {"at", stamp{&at}},
		})
		if err != nil {
			return err
		}
		if record, err = trialFrom(c, trialID); err != nil {
			return err
		}
		return moved(c, record.Sweep)
	})
	if err != nil {
		return record, fmt.Errorf("trial %d: %w", trialID, err)
	}
	return record, nil
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
