package store

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/inference-sweep/sweep/sweep"
)

// Finished is what an earlier sitting left of one attempt at a trial.
type Finished struct {
	sweep.FinishedTrial
	Attempt int
	Reason  string // why it failed or is blocked
}

// counting picks the rows of a sweep from its last fresh start on.
const counting = "WHERE sweep = ? AND sitting >= coalesce((SELECT since FROM raw_sweep WHERE sweep = ?), 0) "

// Finished lists every attempt that has ended, whatever became of it, from the last fresh start on.
func (db *DB) Finished(sweepName string) ([]Finished, error) {
	trials, err := db.Trials(sweepName)
	var ended []Finished
	for _, t := range trials {
		if t.Status == sweep.StatusRunning {
			continue
		}
		f := sweep.FinishedTrial{Key: t.Key, Sitting: t.Sitting, Status: t.Status}
		ended = append(ended, Finished{f, t.Attempt, t.Reason})
	}
	return ended, err
}

// Trials lists the attempts at a sweep's trials in the order in which they began, from the last fresh start on: those
// of digests that the current plan does not have too, under the name that each was recorded with.
func (db *DB) Trials(sweepName string) ([]sweep.TrialRecord, error) {
	return selectAll(db.readers, attempts, trialColumns, counting+"ORDER BY trial", sweepName, sweepName)
}

// ErrNoTrial is returned for a trial that the database does not hold.
var ErrNoTrial = errors.New("no trial")

// Trial is one attempt at a trial.
func (db *DB) Trial(id int64) (sweep.TrialRecord, error) { return trialFrom(db.readers, id) }

func trialFrom(q queryer, id int64) (sweep.TrialRecord, error) {
	found, err := selectAll(q, attempts, trialColumns, "WHERE trial = ?", id)
	if err != nil {
		return sweep.TrialRecord{}, err
	}
	if len(found) == 0 {
		return sweep.TrialRecord{}, fmt.Errorf("there is %w %d", ErrNoTrial, id)
	}
	return found[0], nil
}

// StartTrial stores an attempt at a trial and sets its ID and Attempt. An empty Status means running; a trial that
// never began is stored with the status it has. Launch, node, times, hash, model, status and reason may change until
// FinishTrial.
func (db *DB) StartTrial(t *sweep.TrialRecord) error {
	if t.Status == "" {
		t.Status = sweep.StatusRunning
	}
	err := db.update(ordinary, func(c *sql.Conn) error {
		t.ID = 0
		err := c.QueryRowContext(background, `SELECT coalesce(max(attempt), 0) + 1 FROM raw_trial
			WHERE sweep = ? AND digest = ? AND block = ? AND copy = ?`, t.Sweep, t.Digest, t.Block, t.Copy).Scan(&t.Attempt)
		if err != nil {
			return err
		}
		id, err := insertOne(c, "raw_trial", trialColumns(t))
		if err != nil {
			return err
		}
		t.ID = id
		return moved(c, t.Sweep)
	})
	if err != nil {
		return fmt.Errorf("start trial %s of block %d: %w", t.Cell, t.Block, err)
	}
	return nil
}

// endTrial stores a trial's changes.
func endTrial(c *sql.Conn, t *sweep.TrialRecord) error {
	if err := updateOne(c, "raw_trial", trialLife(t), "trial = ?", t.ID); err != nil {
		return err
	}
	return moved(c, t.Sweep)
}

// moved says that what a sweep's derived rows are made from is not what it was.
func moved(c *sql.Conn, sweepName string) error {
	_, err := c.ExecContext(background, "UPDATE raw_sweep SET changes = changes + 1 WHERE sweep = ?", sweepName)
	return err
}

// StartLaunch stores a launch and sets its ID. Where Ordinal is 0 it is the sweep's next.
func (db *DB) StartLaunch(l *sweep.Launch) error {
	err := db.update(ordinary, func(c *sql.Conn) error {
		l.ID = 0
		if l.Ordinal == 0 {
			err := c.QueryRowContext(background, "SELECT coalesce(max(ordinal), 0) + 1 FROM raw_launch WHERE sweep = ?", l.Sweep).
				Scan(&l.Ordinal)
			if err != nil {
				return err
			}
		}
		id, err := insertOne(c, "raw_launch", launchColumns(l))
		if err != nil {
			return err
		}
		l.ID = id
		return moved(c, l.Sweep)
	})
	if err != nil {
		return fmt.Errorf("start a launch on %s: %w", l.Target, err)
	}
	return nil
}

// UpdateLaunch stores what has changed in a launch since it was stored.
func (db *DB) UpdateLaunch(l *sweep.Launch) error {
	err := db.update(ordinary, func(c *sql.Conn) error {
		if err := updateOne(c, "raw_launch", launchLife(l), "launch = ?", l.ID); err != nil {
			return err
		}
		return moved(c, l.Sweep)
	})
	if err != nil {
		return fmt.Errorf("update launch %d: %w", l.ID, err)
	}
	return nil
}

// Launches lists a sweep's launches in their order, from the last fresh start on. What was observed comes back as
// int64, float64, string, bool, []any and map[string]any.
func (db *DB) Launches(sweepName string) ([]sweep.Launch, error) {
	return selectAll(db.readers, "raw_launch", launchColumns, counting+"ORDER BY launch", sweepName, sweepName)
}

var errNoLaunch = errors.New("its launch is not in the database")

func launchFrom(q queryer, id int64) (*sweep.Launch, error) {
	if id == 0 {
		return nil, nil
	}
	found, err := selectAll(q, "raw_launch", launchColumns, "WHERE launch = ?", id)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errNoLaunch
	}
	return &found[0], nil
}
