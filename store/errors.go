package store

import (
	"errors"
	"fmt"

	"github.com/inference-sweep/sweep/sweep"
	sqlite3 "modernc.org/sqlite/lib"
)

// WriteRefused says that the operating system did not let SQLite write to a file of the database, or make it longer, for
// another reason than a full disk: the file is as large as it may be, a quota is used up, or the disk fails.
func WriteRefused(err error) bool {
	switch sqliteCode(err) {
	case sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC, sqlite3.SQLITE_IOERR_TRUNCATE,
		sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMMAP:
		full := (*SpaceError)(nil)
		return !errors.As(err, &full)
	}
	return false
}

// ErrorCount is how many requests of one cell's block failed in one way.
type ErrorCount struct {
	Cell       string // the measurement's first name; the twin's is its own
	Block      int
	Phase      sweep.Phase
	Error      string
	HTTPStatus int64 // or sweep.None
	Count      int64
	Message    string // of one of them
}

// Errors counts the failed requests of a sweep's trials, from the last fresh start on: of the last attempt at each trial
// of the current plan, whatever became of it. What was cut at the end of a tail did not fail.
func (db *DB) Errors(sweepName string) ([]ErrorCount, error) {
	rows, err := db.readers.QueryContext(background, `
		SELECT j.cell, j.block, r.phase, r.error, r.http_status, count(*), coalesce(min(r.error_message), '')
		FROM _judged AS j JOIN _attempt AS t ON t.trial = j.trial JOIN raw_request AS r ON r.trial = j.trial
		WHERE j.sweep = ?1 AND r.status = 'failed' AND r.error IS NOT NULL
		  AND NOT (r.phase = 'tail' AND r.error = 'cancelled')
		  AND t.sitting >= (SELECT since FROM raw_sweep WHERE sweep = ?1)
		  AND t.digest IN (SELECT c.digest FROM raw_sweep AS s JOIN raw_cell AS c ON c.plan = s.plan WHERE s.sweep = ?1)
		  AND t.status <> 'excluded'
		  AND t.attempt = (SELECT max(o.attempt) FROM _attempt AS o
		    WHERE o.status <> 'excluded' AND o.sweep = t.sweep AND o.digest = t.digest AND o.block = t.block AND o.copy = t.copy)
		GROUP BY 1, 2, 3, 4, 5 ORDER BY min(t.order_index), 2, min(r.seq)`, sweepName)
	if err != nil {
		return nil, fmt.Errorf("count the errors of %s: %w", sweepName, err)
	}
	defer rows.Close()
	var counts []ErrorCount
	for rows.Next() {
		var c ErrorCount
		var phase string
		if err := rows.Scan(&c.Cell, &c.Block, &phase, &c.Error, maybeInt{&c.HTTPStatus}, &c.Count, &c.Message); err != nil {
			return nil, fmt.Errorf("count the errors of %s: %w", sweepName, err)
		}
		c.Phase = sweep.Phase(phase)
		counts = append(counts, c)
	}
	return counts, rows.Err()
}
