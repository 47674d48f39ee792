package store

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrReadOnly is what writing to a database that was opened for reading returns.
var ErrReadOnly = errors.New("the database was opened for reading only")

// SpaceError says that the disk is full.
type SpaceError struct {
	Path      string // of the database
	FreeBytes int64  // left on its file system, or -1 where that is not known
	Err       error  // SQLite's
}

func (e *SpaceError) Error() string {
	return fmt.Sprintf("%s: the disk is full (%d bytes free): make space and run the same command again", e.Path, e.FreeBytes)
}

func (e *SpaceError) Unwrap() error { return e.Err }

// MovedError says that the database's file was deleted, moved or replaced while it was written to.
type MovedError struct{ Path string }

func (e *MovedError) Error() string {
	return e.Path + " was deleted, moved or replaced by somebody while it was written to: nothing more can be stored there"
}

// moved is a MovedError where the file that is written to no longer has its name.
func (db *DB) moved() error {
	if db.lock == nil || db.lock.there() {
		return nil
	}
	return &MovedError{db.path}
}

// about says what was done to the database when an error came; one that names the file by itself does not name it twice.
func (db *DB) about(what string, err error) error {
	full, moved := (*SpaceError)(nil), (*MovedError)(nil)
	if errors.As(err, &full) || errors.As(err, &moved) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %s: %w", what, db.path, err)
}

const codeNotADB = sqlite3.SQLITE_NOTADB

// sqliteCode is the extended result code of an error of SQLite's, or 0.
func sqliteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

func isBusy(err error) bool {
	primary := sqliteCode(err) & 0xff
	return primary == sqlite3.SQLITE_BUSY || primary == sqlite3.SQLITE_LOCKED
}

// endsTransaction says that nothing of a transaction can be kept in which err occurred.
func endsTransaction(err error) bool {
	switch sqliteCode(err) & 0xff {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_CORRUPT:
		return true
	}
	return isBusy(err)
}

// fullDisk is the free space under which an error of the file system is taken for a full disk: not every call that
// finds no room says so.
const fullDisk = 64 << 10

// explain turns SQLite's words for a full disk into a *SpaceError.
func (db *DB) explain(err error) error {
	code := sqliteCode(err)
	if code == 0 {
		return err
	}
	if moved := db.moved(); moved != nil {
		return moved
	}
	free, freeErr := FreeBytes(filepath.Dir(db.path))
	if freeErr != nil {
		free = -1
	}
	if code&0xff == sqlite3.SQLITE_FULL || code&0xff == sqlite3.SQLITE_IOERR && free >= 0 && free < fullDisk {
		return &SpaceError{Path: db.path, FreeBytes: free, Err: err}
	}
	return err
}

// How far a commit goes before it returns.
type durability bool

const (
	ordinary durability = false // see synchronous
	durable  durability = true  // on the disk: synchronous=FULL
)

// busyPause is how long to wait before asking again for a lock that another program holds.
const busyPause = 20 * time.Millisecond

// update runs fn in one transaction on the writer's connection. While another program holds the database it tries
// again, up to the limit; fn may then run more than once. The waits are here and not in SQLite, so that other
// goroutines' writes are not held up behind them and virtual time goes on.
func (db *DB) update(how durability, fn func(*sql.Conn) error) error {
	if db.conn == nil {
		return ErrReadOnly
	}
	start := time.Now()
	for {
		err := db.attempt(how, fn)
		switch {
		case err == nil:
			return nil
		case !isBusy(err):
			return db.explain(err)
		case time.Since(start) > db.lockLimit:
			return fmt.Errorf("%s: locked by another program for more than %v: %w", db.path, db.lockLimit, err)
		}
		time.Sleep(busyPause)
	}
}

func (db *DB) attempt(how durability, fn func(*sql.Conn) error) (err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if how == durable && db.synchronous() != "FULL" {
		if err := db.run("PRAGMA synchronous=FULL"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.run("PRAGMA synchronous="+db.synchronous())) }()
	}
	if err := db.run("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err = fn(db.conn); err == nil {
		err = db.moved()
	}
	if err == nil {
		err = db.run("COMMIT")
	}
	if err != nil {
		db.run("ROLLBACK") // refused where SQLite has rolled back itself
	}
	return err
}

func (db *DB) run(statement string) error {
	_, err := db.conn.ExecContext(background, statement)
	return err
}

// checkpoint folds the write-ahead log into the file and cuts it to nothing, as far as readers let it. It never waits.
func (db *DB) checkpoint() {
	if db.journal != "wal" {
		return
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	// A reader in the way is no error: the log is folded in at the next trial's end.
	_ = db.run("PRAGMA wal_checkpoint(TRUNCATE)")
	info, err := os.Stat(db.path + "-wal")
	if err != nil || info.Size() < db.warnSize {
		return
	}
	db.warnSize = 2 * info.Size()
	db.warn(fmt.Sprintf("%s-wal has grown to %d MiB: a program that reads the database holds a transaction open",
		db.path, info.Size()>>20))
}
