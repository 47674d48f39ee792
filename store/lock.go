//go:build unix

package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// LockedError says that another process writes to a database, and which.
type LockedError struct {
	Path string `json:"-"`
	// PID and Host name the process, Owner is what it said of itself; Since is when it took the lock. They are zero
	// where the lock file could not be read.
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Owner string    `json:"owner"`
	Since time.Time `json:"since"`
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s is in use by another process", e.Path)
	}
	owner := ""
	if e.Owner != "" {
		owner = " (" + e.Owner + ")"
	}
	return fmt.Sprintf("%s is in use by process %d on %s%s since %s: one process writes at a time",
		e.Path, e.PID, e.Host, owner, e.Since.UTC().Format(time.RFC3339))
}

// fileLock is the lock file beside a database. The kernel's lock on it is what counts and ends with its process,
// however that ends; the text in it only says whose it is.
type fileLock struct {
	file *os.File
	// data is the database itself, locked too where that can be: a hard link is another name with another lock file.
	data *os.File
}

func lockPath(path string) string { return path + ".lock" }

// takeLock makes this process the one that writes to path, or says with a LockedError which one is. The path is one that
// resolve gave.
func takeLock(path, owner string) (*fileLock, error) {
	for range 20 {
		file, err := os.OpenFile(lockPath(path), os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if err := flock(file, syscall.LOCK_EX); err != nil {
			file.Close()
			if !errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, fmt.Errorf("lock %s: %w", path, err)
			}
			if held := Owner(path); held != nil {
				return nil, held
			}
			time.Sleep(10 * time.Millisecond) // a reader looked at the lock, or its owner just left
			continue
		}
		// The owner before may have removed the file between our opening and locking it.
		if !sameFile(file, lockPath(path)) {
			file.Close()
			continue
		}
		if err := signLock(file, owner); err != nil {
			file.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		return &fileLock{file: file}, nil
	}
	return nil, &LockedError{Path: path}
}

// Owner says which live process writes to the database at path, or nil where none does. It creates nothing.
func Owner(path string) *LockedError {
	if full, err := resolve(path); err == nil {
		path = full
	}
	file, err := os.Open(lockPath(path))
	if err != nil {
		return nil
	}
	defer file.Close()
	if err := flock(file, syscall.LOCK_SH); !errors.Is(err, syscall.EWOULDBLOCK) {
		return nil
	}
	held := &LockedError{Path: path}
	if text, err := io.ReadAll(file); err == nil {
		_ = json.Unmarshal(text, held) // a lock whose owner has not signed yet is held all the same
	}
	return held
}

// release is for when SQLite has closed the database: the end of any descriptor of a file ends all POSIX locks that the
// process has on it, SQLite's too. The lock file goes last, so that whoever finds the database locked finds by whom.
func (l *fileLock) release() error {
	var err error
	if l.data != nil {
		err = l.data.Close()
	}
	return errors.Join(err, os.Remove(l.file.Name()), l.file.Close())
}

func flock(file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func sameFile(file *os.File, path string) bool {
	held, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(held, named)
}

func signLock(file *os.File, owner string) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	text, err := json.Marshal(LockedError{PID: os.Getpid(), Host: host, Owner: owner, Since: time.Now()})
	if err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err = file.WriteAt(append(text, '\n'), 0)
	return err
}
