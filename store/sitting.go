package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// Sitting is one uninterrupted pass over a sweep. Argv, Version, Commit and Host go into its provenance as well.
type Sitting struct {
	ID        int64 // given by the store
	Sweep     string
	Argv      string // as it would be typed
	Version   string
	Commit    string
	Host      string
	StartedAt time.Time
	// Fresh begins the sweep anew: what older sittings left no longer counts.
	Fresh bool
	// Provenance is whatever else is to be remembered of it, by key.
	Provenance map[string]string
}

func sittingColumns(s *Sitting) []column {
	return []column{
		{"sitting", maybeID{&s.ID}},
		{"sweep", text{&s.Sweep}},
		{"argv", text{&s.Argv}},
		{"version", text{&s.Version}},
		{"revision", text{&s.Commit}},
		{"host", text{&s.Host}},
		{"started_at", stamp{&s.StartedAt}},
		{"fresh", boolean{&s.Fresh}},
	}
}

// BeginSitting stores the plan, makes it the sweep's current one and returns the sitting's id. Derived rows of cells
// that are no longer what they were are dropped: PutDerived makes them again.
func (db *DB) BeginSitting(s Sitting, plan *sweep.Plan) (int64, error) {
	body, err := compactJSON(plan)
	if err != nil {
		return 0, fmt.Errorf("store the plan of %s: %w", s.Sweep, err)
	}
	s.StartedAt = s.StartedAt.UTC()
	err = db.update(durable, func(c *sql.Conn) error {
		s.ID = 0
		id, changed, err := currentPlan(c, s.Sweep, body)
		if err != nil {
			return err
		}
		if changed {
			if id, err = insertPlan(c, s.Sweep, body, plan); err != nil {
				return err
			}
		}
		planID := column{"plan", integer{&id}}
		if s.ID, err = insertOne(c, "raw_sitting", append(sittingColumns(&s), planID)); err != nil {
			return err
		}
		if err := insertProvenance(c, s.ID, db.provenance(s, plan)); err != nil {
			return err
		}
		return makeCurrent(c, s, id, changed)
	})
	if err != nil {
		return 0, fmt.Errorf("begin a sitting of %s: %w", s.Sweep, err)
	}
	return s.ID, nil
}

// currentPlan is the id of a sweep's current plan, and whether body is another one.
func currentPlan(c *sql.Conn, name, body string) (id int64, changed bool, err error) {
	var current string
	err = c.QueryRowContext(background, `SELECT p.plan, p.body FROM raw_sweep AS s JOIN raw_plan AS p ON p.plan = s.plan
		WHERE s.sweep = ?`, name).Scan(&id, &current)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, true, nil
	}
	return id, current != body, err
}

// makeCurrent points the sweep at its plan, and at the sitting from which on trials count.
func makeCurrent(c *sql.Conn, s Sitting, plan int64, changed bool) error {
	since := int64(0)
	if s.Fresh {
		since = s.ID
	}
	_, err := c.ExecContext(background, `INSERT INTO raw_sweep (sweep, plan, since, changes) VALUES (?1, ?2, ?3, 1)
		ON CONFLICT (sweep) DO UPDATE SET plan = ?2, since = max(since, ?3), changes = changes + ?4`,
		s.Sweep, plan, since, changed || s.Fresh)
	if err != nil {
		return err
	}
	if changed || s.Fresh {
		return dropOutdated(c, s.Sweep, s.Fresh)
	}
	return nil
}

func (db *DB) provenance(s Sitting, plan *sweep.Plan) map[string]string {
	all := map[string]string{
		"argv": s.Argv, "version": s.Version, "commit": s.Commit, "host": s.Host,
		"started_at": s.StartedAt.Format(stampFormat), "journal": db.journal, "filesystem": db.filesystem,
		"tags": strings.Join(plan.Tags, " "),
	}
	for _, source := range plan.Sources {
		all["source "+source.Path] = source.Text
	}
	maps.Copy(all, s.Provenance)
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

func insertProvenance(c *sql.Conn, sitting int64, all map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		_, err := c.ExecContext(background, "INSERT INTO raw_provenance (sitting, key, value) VALUES (?, ?, ?)", sitting, key, all[key])
		if err != nil {
			return err
		}
	}
	return nil
}

// interruptLeftovers marks what a dead process left running. The lock says that nobody runs it now.
func (db *DB) interruptLeftovers() error {
	return db.update(durable, func(c *sql.Conn) error {
		_, err := c.ExecContext(background, `UPDATE raw_sweep SET changes = changes + 1
			WHERE sweep IN (SELECT sweep FROM raw_trial WHERE status = 'running')`)
		if err != nil {
			return err
		}
		_, err = c.ExecContext(background, `UPDATE raw_trial SET status = 'interrupted',
			reason = coalesce(reason, 'the process that ran it ended') WHERE status = 'running'`)
		return err
	})
}

// ErrNoSweep is returned for a sweep that the database does not hold.
var ErrNoSweep = errors.New("no such sweep in the database")

// Plan is the plan of the sweep's last sitting. Its definition's cells are there as well, positions are not.
func (db *DB) Plan(sweepName string) (*sweep.Plan, error) {
	return db.planFrom(sweepName, `SELECT p.body FROM raw_sweep AS s JOIN raw_plan AS p ON p.plan = s.plan
		WHERE s.sweep = ?`, sweepName)
}

// PlanOfSitting is the plan that a sitting ran, which need not be the sweep's current one.
func (db *DB) PlanOfSitting(sitting int64) (*sweep.Plan, error) {
	return db.planFrom(fmt.Sprintf("sitting %d", sitting), `SELECT p.body FROM raw_sitting AS s JOIN raw_plan AS p ON p.plan = s.plan
		WHERE s.sitting = ?`, sitting)
}

func (db *DB) planFrom(whose, query string, key any) (*sweep.Plan, error) {
	var body string
	err := db.readers.QueryRowContext(background, query, key).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%s: %w", whose, ErrNoSweep)
	}
	if err != nil {
		return nil, fmt.Errorf("read the plan of %s: %w", whose, err)
	}
	plan := new(sweep.Plan)
	if err := json.Unmarshal([]byte(body), plan); err != nil {
		return nil, fmt.Errorf("read the plan of %s: %w", whose, err)
	}
	for i := range plan.Cells {
		plan.Definition.Cells = append(plan.Definition.Cells, plan.Cells[i].Cell)
	}
	return plan, nil
}

// Sweeps lists the names of the sweeps, the one that was run last first.
func (db *DB) Sweeps() ([]string, error) {
	type named struct{ name string }
	rows, err := selectAll(db.readers, "raw_sitting", func(n *named) []column { return []column{{"sweep", text{&n.name}}} },
		"GROUP BY sweep ORDER BY max(sitting) DESC")
	list := make([]string, len(rows))
	for i, r := range rows {
		list[i] = r.name
	}
	return list, err
}

// Sittings lists a sweep's sittings in their order, those before a fresh start too, each with its provenance.
func (db *DB) Sittings(sweepName string) ([]Sitting, error) {
	all, err := selectAll(db.readers, "raw_sitting", sittingColumns, "WHERE sweep = ? ORDER BY sitting", sweepName)
	for i := range all {
		if all[i].Provenance, err = db.provenanceOf(all[i].ID); err != nil {
			return nil, err
		}
	}
	return all, err
}

func (db *DB) provenanceOf(sitting int64) (map[string]string, error) {
	type pair struct{ key, value string }
	pairs, err := selectAll(db.readers, "raw_provenance", func(p *pair) []column {
		return []column{{"key", text{&p.key}}, {"value", text{&p.value}}}
	}, "WHERE sitting = ?", sitting)
	all := make(map[string]string, len(pairs))
	for _, p := range pairs {
		all[p.key] = p.value
	}
	return all, err
}
