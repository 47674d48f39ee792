package store

import (
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path"
)

// applicationID marks a file as ours: "SWEP" in SQLite's header.
const applicationID = 0x53574550

//go:embed migrations/*.sql
var migrationFiles embed.FS

//go:embed views.sql
var viewsSQL string

// migrations lists the scripts that make the tables, in order; user_version counts those that a file has had.
func migrations() ([]string, error) {
	entries, err := fs.ReadDir(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	var scripts []string
	for _, e := range entries {
		script, err := migrationFiles.ReadFile(path.Join("migrations", e.Name()))
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, string(script))
	}
	return scripts, nil
}

// identity is what a file's header says of it.
type identity struct{ application, version, objects int }

func readIdentity(q queryer) (identity, error) {
	var id identity
	for query, to := range map[string]*int{
		"PRAGMA application_id":              &id.application,
		"PRAGMA user_version":                &id.version,
		"SELECT count(*) FROM sqlite_schema": &id.objects,
	} {
		if err := q.QueryRowContext(background, query).Scan(to); err != nil {
			return id, err
		}
	}
	return id, nil
}

// OlderError says that a database has to be brought up to date before it can be read, which opening it to write does.
type OlderError struct {
	Path            string
	Version, Needed int
}

func (e *OlderError) Error() string {
	return fmt.Sprintf("%s was written by an older sweep (database version %d, this program needs %d): open it once with a command that writes to it, where it can be written",
		e.Path, e.Version, e.Needed)
}

// check says in a sentence why a file of this identity cannot be used, latest being the version that this program
// knows. An empty file is fine to write to.
func (id identity) check(file string, latest int, readOnly bool) error {
	switch {
	case id == identity{} && !readOnly:
		return nil
	case id == identity{}:
		return fmt.Errorf("%s is empty: not a sweep database yet", file)
	case id.application != applicationID:
		return fmt.Errorf("%s is not a sweep database: another program's SQLite file (application id %d)", file, id.application)
	case id.version > latest:
		return fmt.Errorf("%s was written by a newer sweep (database version %d, this program knows %d): use that one",
			file, id.version, latest)
	case id.version < latest && readOnly:
		return &OlderError{Path: file, Version: id.version, Needed: latest}
	}
	return nil
}

// migrate brings a database from its version to the last script's, each in a transaction of its own. The views are not
// migrated but made anew with the last one.
func migrate(c *sql.Conn, scripts []string, views string) error {
	id, err := readIdentity(c)
	if err != nil {
		return err
	}
	for version := id.version + 1; version <= len(scripts); version++ {
		script := scripts[version-1]
		if version == len(scripts) {
			script += "\n" + views
		}
		if err := migrateOnce(c, version, script); err != nil {
			return fmt.Errorf("migration %d: %w", version, err)
		}
	}
	return nil
}

func migrateOnce(c *sql.Conn, version int, script string) (err error) {
	if _, err := c.ExecContext(background, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			c.ExecContext(background, "ROLLBACK")
		}
	}()
	if err := dropViews(c); err != nil {
		return err
	}
	header := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, version)
	for _, s := range []string{script, header, "COMMIT"} {
		if _, err := c.ExecContext(background, s); err != nil {
			return err
		}
	}
	return nil
}

func dropViews(c *sql.Conn) error {
	rows, err := c.QueryContext(background, "SELECT name FROM sqlite_schema WHERE type = 'view'")
	if err != nil {
		return err
	}
	defer rows.Close()
	var drops string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		drops += fmt.Sprintf("DROP VIEW %q;", name)
	}
	if err := rows.Err(); err != nil || drops == "" {
		return err
	}
	_, err = c.ExecContext(background, drops)
	return err
}
