package store

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver
)

// Options says how a database is opened.
type Options struct {
	// ReadOnly never creates and never writes; it works while another process writes, and in a folder that cannot be
	// written.
	ReadOnly bool
	// Owner is shown to whoever is refused because this process writes: its command line, for example.
	Owner string
	// Warn is told, in a sentence, what is unusual but no error: a network file system, a journal that has grown large.
	// It may be nil, and is called from any goroutine that writes.
	Warn func(sentence string)
	// Filesystem names the network or shared file system that a folder is on, or returns "" for an ordinary one; nil
	// means to ask the kernel.
	Filesystem func(folder string) (string, error)
}

// DB is an open database. Its methods may be called from several goroutines. It starts no goroutine of its own and
// waits on no channel, so that it may be opened and closed outside a testing/synctest bubble and used inside one.
type DB struct {
	path string
	warn func(string)
	// journal is wal, or delete on a file system where SQLite's shared memory does not hold.
	journal string
	// filesystem names that file system, or is empty.
	filesystem string
	readers    *sql.DB

	// What follows is a writer's; lock is nil in a read-only database.
	lock *fileLock
	wal  os.FileInfo // of the write-ahead log
	pool *sql.DB     // of the one connection below
	// mu is held while conn is in use.
	mu        sync.Mutex
	conn      *sql.Conn
	finish    finishing
	lockLimit time.Duration // how long to wait for another program's lock
	warnSize  int64         // of the write-ahead log: from where on it is worth a word, in bytes
}

// readerCount is how many readers' connections are opened at once and kept. More are opened as they are needed, by who
// needs them.
const readerCount = 4

// Open opens the database at path; a writer creates it where there is none, brings an older one up to date, and marks
// as interrupted what a dead process left running. A second writer gets a *LockedError.
func Open(path string, o Options) (*DB, error) {
	full, err := resolve(path)
	if folder := (*FolderError)(nil); errors.As(err, &folder) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if err := plain(full); err != nil {
		return nil, err
	}
	db := &DB{path: full, warn: o.Warn, journal: "wal", lockLimit: time.Minute, warnSize: walWarnSize}
	if db.warn == nil {
		db.warn = func(string) {}
	}
	if o.ReadOnly {
		err = db.openReadOnly()
	} else {
		err = db.openWriter(o)
	}
	if err != nil {
		return nil, err
	}
	return db, nil
}

// Path is the absolute path of the database file, symbolic links resolved.
func (db *DB) Path() string { return db.path }

func (db *DB) openReadOnly() error {
	if _, err := os.Stat(db.path); errors.Is(err, fs.ErrNotExist) {
		return &missingError{db.path}
	}
	mode := "ro"
	if alone, err := loneWAL(db.path); err != nil {
		return err
	} else if alone {
		mode = "ro&immutable=1"
	}
	readers, err := openPool(db.path, mode, readerCount, "busy_timeout(10000)", "query_only(1)")
	if err != nil {
		return db.openError(err)
	}
	db.readers = readers
	if err := checkIdentity(readers, db.path, true); err != nil {
		readers.Close()
		return err
	}
	return nil
}

func (db *DB) openWriter(o Options) (err error) {
	if db.lock, err = takeLock(db.path, o.Owner); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			db.closeAll()
		}
	}()
	if err := db.chooseJournal(o.Filesystem); err != nil {
		return err
	}
	if err := db.lock.hold(db.path, lockable(db.filesystem)); err != nil {
		return err
	}
	if err := probe(db.path); err != nil {
		return err
	}
	if err := db.openConnections(); err != nil {
		return db.openError(err)
	}
	scripts, err := migrations()
	if err != nil {
		return err
	}
	if err := migrate(db.conn, scripts, viewsSQL); err != nil {
		return db.openError(err)
	}
	db.wal, _ = os.Stat(db.path + "-wal")
	// From here on waiting is update's.
	if err := db.run("PRAGMA busy_timeout=0"); err != nil {
		return db.openError(err)
	}
	return db.interruptLeftovers()
}

// missingError is a database that is not there: an fs.ErrNotExist.
type missingError struct{ path string }

func (e *missingError) Error() string { return e.path + " does not exist" }

func (e *missingError) Unwrap() error { return fs.ErrNotExist }

// openError adds to an error of SQLite's whose file it is about.
func (db *DB) openError(err error) error {
	return db.about("open", db.explain(err))
}

// probe looks at a file before anything is changed in it.
func probe(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	pool, err := openPool(path, "rw", 1, "busy_timeout(10000)")
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer pool.Close()
	return checkIdentity(pool, path, false)
}

func checkIdentity(q queryer, path string, readOnly bool) error {
	id, err := readIdentity(q)
	if sqliteCode(err) == codeNotADB {
		return fmt.Errorf("%s is not a sweep database: not an SQLite file at all", path)
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	scripts, err := migrations()
	if err != nil {
		return err
	}
	return id.check(path, len(scripts), readOnly)
}

// chooseJournal picks the write-ahead log, or a rollback journal with a warning where the file system cannot bear it.
func (db *DB) chooseJournal(filesystem func(string) (string, error)) error {
	if filesystem == nil {
		filesystem = sharedFilesystem
	}
	folder := filepath.Dir(db.path)
	name, err := filesystem(folder)
	if err != nil || name == "" {
		return err
	}
	db.filesystem, db.journal = name, "delete"
	db.warn(fmt.Sprintf("%s is on a %s file system: written without a write-ahead log, slower, and to be opened on one machine at a time; a local disk is better",
		db.path, name))
	return nil
}

const (
	walLimit    = 64 << 20  // what SQLite cuts the write-ahead log back to, in bytes
	walWarnSize = 256 << 20 // from where on its size is worth a word
)

func (db *DB) openConnections() (err error) {
	db.pool, err = openPool(db.path, "rwc", 1, "busy_timeout(10000)", "journal_mode("+db.journal+")",
		"synchronous("+db.synchronous()+")", "foreign_keys(1)", fmt.Sprintf("journal_size_limit(%d)", walLimit))
	if err != nil {
		return err
	}
	if db.conn, err = db.pool.Conn(background); err != nil {
		return err
	}
	db.readers, err = openPool(db.path, "rw", readerCount, "busy_timeout(10000)", "query_only(1)")
	return err
}

// synchronous is how far ordinary commits go: with a write-ahead log a loss of power may take the last ones but never
// the file; without one only FULL promises that.
func (db *DB) synchronous() string {
	if db.journal == "wal" {
		return "NORMAL"
	}
	return "FULL"
}

// openPool opens size connections at once, and keeps them. There is no upper limit: where there is one, a connection
// may have to be waited for, and be made by a goroutine of the pool's.
func openPool(path, mode string, size int, pragmas ...string) (*sql.DB, error) {
	pool, err := sql.Open("sqlite", dataSource(path, mode, pragmas))
	if err != nil {
		return nil, err
	}
	pool.SetMaxIdleConns(size)
	held := make([]*sql.Conn, 0, size)
	for range size {
		c, err := pool.Conn(background)
		if err != nil {
			pool.Close()
			return nil, err
		}
		held = append(held, c)
	}
	for _, c := range held {
		c.Close()
	}
	return pool, nil
}

func dataSource(path, mode string, pragmas []string) string {
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?mode=" + mode
	for _, p := range pragmas {
		dsn += "&_pragma=" + url.QueryEscape(p)
	}
	return dsn
}

// loneWAL says that a file's header asks for a write-ahead log of which nothing is there: the file is whole by itself,
// and only opened as immutable can it be read without creating anything.
func loneWAL(path string) (bool, error) {
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 || Owner(path) != nil {
		return false, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("open %s: %w", path, unwrapPath(err))
	}
	defer file.Close()
	if err := writtenElsewhere(file); err != nil {
		return false, err
	}
	header := make([]byte, 20)
	if _, err := io.ReadFull(file, header); err != nil {
		return false, nil
	}
	return bytes.Equal(header[18:20], []byte{2, 2}), nil
}

// Close writes everything into the one file and leaves nothing beside it, unless a reader still has it open: then the
// next writer does. Writers of the database are to be closed before.
func (db *DB) Close() error {
	var err error
	switch {
	case db.conn == nil || db.journal != "wal":
	case db.moved() != nil:
		defer db.dropWAL()
		db.checkpoint() // into the file, wherever it is now
	default:
		err = db.leaveWAL()
	}
	return errors.Join(err, db.closeAll())
}

// dropWAL removes the log of a file that is no longer there: replayed into another one of its name it would break that.
func (db *DB) dropWAL() {
	now, err := os.Stat(db.path + "-wal")
	if err != nil || db.wal == nil || !os.SameFile(now, db.wal) {
		return
	}
	os.Remove(db.path + "-wal")
	os.Remove(db.path + "-shm")
}

// leaveWAL folds the write-ahead log into the file and turns the file back into a plain one.
func (db *DB) leaveWAL() error {
	if db.readers != nil {
		db.readers.Close()
	}
	db.checkpoint()
	for range 100 {
		var mode string
		err := db.conn.QueryRowContext(background, "PRAGMA journal_mode=DELETE").Scan(&mode)
		if err == nil {
			return nil
		}
		if !isBusy(err) {
			return fmt.Errorf("close %s: %w", db.path, db.explain(err))
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

func (db *DB) closeAll() error {
	var errs []error
	if db.readers != nil {
		errs = append(errs, db.readers.Close())
	}
	if db.conn != nil {
		errs = append(errs, db.conn.Close())
	}
	if db.pool != nil {
		errs = append(errs, db.pool.Close())
	}
	if db.lock != nil {
		errs = append(errs, db.lock.release())
	}
	db.readers, db.conn, db.pool, db.lock = nil, nil, nil, nil
	return errors.Join(errs...)
}
