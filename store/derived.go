package store

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/inference-sweep/sweep/sweep"
)

// derivedTables are those whose rows PutDerived replaces; derived_trial is apart, see putTrials.
var derivedTables = append([]string{"derived_variance", "derived_comparison"}, blockTables...)

// blockTables are those that have rows of single blocks.
var blockTables = []string{"derived_latency", "derived_settling", "derived_goodput", "derived_flag"}

// PutDerived replaces the sweep's derived rows in one transaction, and remembers what they were made from: everything
// that was stored when it was called. Only the rows of trials that d does not name stay, as evidence beside them.
func (db *DB) PutDerived(sweepName string, d *sweep.Derived) error {
	key := derivedKey(&sweepName, &d.AnalysisVersion)
	err := db.update(durable, func(c *sql.Conn) error {
		if err := clearDerived(c, sweepName); err != nil {
			return err
		}
		err := errors.Join(
			putTrials(c, key, d.Trials),
			insertAll(c, "derived_latency", key, d.Latency, latencyColumns),
			insertAll(c, "derived_settling", key, d.Settling, settlingColumns),
			insertAll(c, "derived_goodput", key, d.Goodput, goodputColumns),
			insertAll(c, "derived_variance", key, d.Variance, varianceColumns),
			insertAll(c, "derived_comparison", key, d.Comparison, comparisonColumns),
			insertAll(c, "derived_flag", key, d.Flags, flagColumns),
		)
		if err != nil {
			return err
		}
		_, err = c.ExecContext(background, `INSERT OR REPLACE INTO derived_state (sweep, analysis_version, changes)
			SELECT sweep, ?, changes FROM raw_sweep WHERE sweep = ?`, d.AnalysisVersion, sweepName)
		return err
	})
	if err != nil {
		return fmt.Errorf("store the derived rows of %s: %w", sweepName, err)
	}
	return nil
}

func derivedKey(sweepName *string, version *int) []column {
	return []column{{"sweep", text{sweepName}}, {"analysis_version", count{version}}}
}

// putTrials stores trials' derived rows in place of older ones, at the end of the list.
func putTrials(c *sql.Conn, key []column, rows []sweep.TrialRow) error {
	for i := range rows {
		if _, err := c.ExecContext(background, "DELETE FROM derived_trial WHERE trial = ?", rows[i].Trial); err != nil {
			return err
		}
	}
	listed := 1
	return insertAll(c, "derived_trial", append(key[:len(key):len(key)], column{"listed", count{&listed}}), rows, derivedTrialColumns)
}

// putTrialDerived stores what one trial decides alone. Rows that the same cells had for this block, from an attempt
// before, give way, unless that one is done and this one is not; a baseline that only pairs other cells (copy 3 and up)
// takes nothing from the one that counts.
func putTrialDerived(c *sql.Conn, t *sweep.TrialRecord, d *sweep.TrialDerived) error {
	name := t.Sweep
	key := derivedKey(&name, &d.AnalysisVersion)
	if counts, err := nowCounts(c, t); err != nil || !counts {
		return errors.Join(err, putTrials(c, key, []sweep.TrialRow{d.Row}))
	}
	if t.Copy < 3 {
		if err := clearBlocks(c, name, t, d); err != nil {
			return err
		}
	}
	return errors.Join(
		putTrials(c, key, []sweep.TrialRow{d.Row}),
		insertAll(c, "derived_latency", key, d.Latency, latencyColumns),
		insertAll(c, "derived_settling", key, d.Settling, settlingColumns),
		insertAll(c, "derived_goodput", key, d.Goodput, goodputColumns),
		insertAll(c, "derived_flag", key, d.Flags, flagColumns),
	)
}

// nowCounts says that of all attempts at its trial this one counts: it is done, or no other is.
func nowCounts(c *sql.Conn, t *sweep.TrialRecord) (counts bool, err error) {
	err = c.QueryRowContext(background, `SELECT ? = ? OR NOT EXISTS (SELECT 1 FROM `+attempts+`
		WHERE sweep = ? AND digest = ? AND block = ? AND copy = ? AND status = ? AND trial <> ?)`,
		t.Status, sweep.StatusDone, t.Sweep, t.Digest, t.Block, t.Copy, sweep.StatusDone, t.ID).Scan(&counts)
	return counts, err
}

// clearBlocks deletes the rows of every cell and block that d has rows of, and of the trial's own.
func clearBlocks(c *sql.Conn, sweepName string, t *sweep.TrialRecord, d *sweep.TrialDerived) error {
	type place struct {
		cell  string
		block int
	}
	places := map[place]bool{{t.Cell, t.Block}: true}
	for _, r := range d.Latency {
		places[place{r.Cell, r.Block}] = true
	}
	for _, r := range d.Settling {
		places[place{r.Cell, r.Block}] = true
	}
	for _, r := range d.Goodput {
		places[place{r.Cell, r.Block}] = true
	}
	for _, f := range d.Flags {
		places[place{f.Cell, f.Block}] = true
	}
	for p := range places {
		for _, table := range blockTables {
			_, err := c.ExecContext(background, "DELETE FROM "+table+" WHERE sweep = ? AND cell IS ? AND block IS ?",
				sweepName, maybeText{&p.cell}, block{&p.block})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// dropOutdated deletes the derived rows of cells that are no longer what the rows were made from: another digest or
// another SLO than in the plan before, or compared with such a cell. everything is for a sweep that begins anew.
func dropOutdated(c *sql.Conn, sweepName string, everything bool) error {
	if everything {
		return clearDerived(c, sweepName)
	}
	const outdated = ` NOT IN (SELECT new.cell FROM raw_sweep AS s
		JOIN raw_cell AS new ON new.plan = s.plan
		JOIN raw_cell AS old ON old.plan = (SELECT max(plan) FROM raw_plan WHERE sweep = ?1 AND plan < s.plan)
		WHERE s.sweep = ?1 AND new.cell = old.cell AND new.digest = old.digest
		  AND json_extract(new.contract, '$.slo') IS json_extract(old.contract, '$.slo'))`
	const cell = "CASE cell WHEN '" + sweep.TwinName + "' THEN '" + sweep.Baseline + "' ELSE cell END"
	for _, table := range derivedTables {
		query := "DELETE FROM " + table + " WHERE sweep = ?1 AND (" + cell + outdated
		if table == "derived_comparison" {
			query += " OR reference" + outdated
		}
		if _, err := c.ExecContext(background, query+")", sweepName); err != nil {
			return err
		}
	}
	return nil
}

// clearDerived empties the derived tables of a sweep; the rows of trials stay, but no longer belong to what is derived.
func clearDerived(c *sql.Conn, sweepName string) error {
	for _, table := range derivedTables {
		if _, err := c.ExecContext(background, "DELETE FROM "+table+" WHERE sweep = ?", sweepName); err != nil {
			return err
		}
	}
	_, err := c.ExecContext(background, "UPDATE derived_trial SET listed = 0 WHERE sweep = ?", sweepName)
	return err
}

// Derived reads the sweep's derived rows, in the order in which they were stored.
func (db *DB) Derived(sweepName string) (*sweep.Derived, error) {
	d := new(sweep.Derived)
	const rest = "WHERE sweep = ? ORDER BY rowid"
	var errs [8]error
	d.Trials, errs[0] = selectAll(db.readers, "derived_trial", derivedTrialColumns, "WHERE listed AND sweep = ? ORDER BY trial", sweepName)
	d.Latency, errs[1] = selectAll(db.readers, "derived_latency", latencyColumns, rest, sweepName)
	d.Goodput, errs[2] = selectAll(db.readers, "derived_goodput", goodputColumns, rest, sweepName)
	d.Variance, errs[3] = selectAll(db.readers, "derived_variance", varianceColumns, rest, sweepName)
	d.Comparison, errs[4] = selectAll(db.readers, "derived_comparison", comparisonColumns, rest, sweepName)
	d.Flags, errs[5] = selectAll(db.readers, "derived_flag", flagColumns, rest, sweepName)
	d.Settling, errs[6] = selectAll(db.readers, "derived_settling", settlingColumns, rest, sweepName)
	err := db.readers.QueryRowContext(background, "SELECT analysis_version FROM derived_state WHERE sweep = ?", sweepName).
		Scan(&d.AnalysisVersion)
	if !errors.Is(err, sql.ErrNoRows) {
		errs[7] = err
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("derived rows of %s: %w", sweepName, err)
	}
	return d, nil
}

// Stale says that the sweep's derived rows are not those that this analysis would make of what is stored: facts, plan
// or version have moved since PutDerived, or it was never called.
func (db *DB) Stale(sweepName string, analysisVersion int) (bool, error) {
	var fresh bool
	err := db.readers.QueryRowContext(background, `SELECT d.analysis_version = ? AND d.changes = s.changes
		FROM raw_sweep AS s JOIN derived_state AS d ON d.sweep = s.sweep WHERE s.sweep = ?`, analysisVersion, sweepName).Scan(&fresh)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	if err != nil {
		return true, fmt.Errorf("derived state of %s: %w", sweepName, err)
	}
	return !fresh, nil
}
