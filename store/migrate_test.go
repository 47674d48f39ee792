package store

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func openAt(t *testing.T, path string) *sql.Conn {
	t.Helper()
	pool, err := openPool(path, "rwc", 1)
	if err != nil {
		t.Fatal(err)
	}
	c, err := pool.Conn(background)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); pool.Close() })
	return c
}

func query(t *testing.T, c *sql.Conn, text string) (answer string) {
	t.Helper()
	if err := c.QueryRowContext(background, text).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return answer
}

// Each script runs once, in order, in a transaction of its own; the views are those of the last.
func TestMigrate(t *testing.T) {
	c := openAt(t, filepath.Join(t.TempDir(), "s.db"))
	scripts := []string{
		"CREATE TABLE raw_t (a INTEGER) STRICT; INSERT INTO raw_t VALUES (1);",
		"ALTER TABLE raw_t ADD COLUMN b INTEGER;",
		"ALTER TABLE raw_t DROP COLUMN a; UPDATE raw_t SET b = 2;",
	}
	for version, views := range []string{1: "CREATE VIEW t AS SELECT a FROM raw_t;", 2: "CREATE VIEW t AS SELECT a, b FROM raw_t;", 3: "CREATE VIEW u AS SELECT b FROM raw_t;"} {
		if version == 0 {
			continue
		}
		for range 2 { // the second time does nothing
			if err := migrate(c, scripts[:version], views); err != nil {
				t.Fatal(err)
			}
		}
		if got := query(t, c, "PRAGMA user_version"); got != string('0'+rune(version)) {
			t.Errorf("the version is %s, want %d", got, version)
		}
	}
	if got := query(t, c, "SELECT b FROM u"); got != "2" {
		t.Errorf("u has %s, want 2", got)
	}
	if got := query(t, c, "SELECT count(*) FROM sqlite_schema WHERE name = 't'"); got != "0" {
		t.Error("an old view is still there")
	}
	broken := append(slices.Clone(scripts), "CREATE TABLE raw_u (a); INSERT INTO nowhere VALUES (1);")
	if err := migrate(c, broken, "CREATE VIEW v AS SELECT 1;"); err == nil {
		t.Error("a broken migration went through")
	}
	if got := query(t, c, "SELECT group_concat(name) FROM sqlite_schema"); got != "raw_t,u" {
		t.Errorf("after a broken migration there are %s, want what was there before", got)
	}
	if got := query(t, c, "PRAGMA user_version"); got != "3" {
		t.Errorf("after a broken migration the version is %s, want 3", got)
	}
}

// A database as each released version wrote it opens, has the tables of a new one, and keeps its rows.
func TestOldVersions(t *testing.T) {
	fixtures, err := filepath.Glob("testdata/version*.sql")
	if err != nil || len(fixtures) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	const schema = "SELECT group_concat(sql, ';' || char(10)) FROM (SELECT sql FROM sqlite_schema ORDER BY name)"
	fresh := filepath.Join(t.TempDir(), "fresh.db")
	db, err := Open(fresh, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := query(t, db.conn, schema)
	db.Close()
	for _, fixture := range fixtures {
		text, err := os.ReadFile(fixture)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "old.db")
		c := openAt(t, path)
		if _, err := c.ExecContext(background, string(text)); err != nil {
			t.Fatalf("%s: %v", fixture, err)
		}
		db, err := Open(path, Options{})
		if err != nil {
			t.Fatalf("%s: %v", fixture, err)
		}
		if got := query(t, db.conn, schema); got != want {
			t.Errorf("%s: the tables and views are\n%s\nwant\n%s", fixture, got, want)
		}
		if got := query(t, db.conn, "SELECT cell || ttft_ms || met FROM request"); got != "baseline30.01" {
			t.Errorf("%s: its request reads %s", fixture, got)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOlderDatabaseIsNotReadWithoutMigration(t *testing.T) {
	err := identity{applicationID, 1, 9}.check("x.db", 2, true)
	if err == nil {
		t.Error("an older database is read as if it were new")
	}
	if err := (identity{applicationID, 1, 9}).check("x.db", 2, false); err != nil {
		t.Errorf("a writer cannot migrate: %v", err)
	}
}
