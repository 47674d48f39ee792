//go:build unix

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lockable says that a lock of flock's on the database itself leaves SQLite's POSIX locks on it alone: Linux keeps the
// two apart, but for network file systems.
func lockable(filesystem string) bool { return runtime.GOOS == "linux" && filesystem == "" }

// hold opens the database, makes it where there is none, and keeps it open until release. Where it is lockable, who
// writes to it under any other name is refused from then on, and this process where another one does.
func (l *fileLock) hold(path string, locked bool) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, unwrapPath(err))
	}
	for range 20 {
		if !locked {
			break
		}
		if err = flock(file, syscall.LOCK_EX); !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
		time.Sleep(10 * time.Millisecond) // a reader looked whether somebody writes
	}
	if err == nil {
		l.data = file
		return nil
	}
	defer file.Close()
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	held := &LockedError{Path: path}
	if owner := holder(file); owner != nil {
		*held = *owner
		held.Path = path
	}
	return held
}

// holder finds who holds the lock on a database, through the name that it is open by there; nil where this system does
// not tell.
func holder(file *os.File) *LockedError {
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	locks, err := os.ReadFile("/proc/locks")
	if !ok || err != nil {
		return nil
	}
	inode := ":" + strconv.FormatUint(stat.Ino, 10)
	for line := range strings.Lines(string(locks)) {
		// 1: FLOCK ADVISORY WRITE 4711 fe:00:10805477 0 EOF
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[1] != "FLOCK" || !strings.HasSuffix(fields[5], inode) {
			continue
		}
		open, _ := filepath.Glob("/proc/" + fields[4] + "/fd/*")
		for _, descriptor := range open {
			name, err := os.Readlink(descriptor)
			if err != nil || !sameFile(file, descriptor) {
				continue
			}
			if owner := Owner(name); owner != nil {
				return owner
			}
		}
	}
	return nil
}

// writtenElsewhere says that somebody writes to an open database that nobody writes to under the name it was opened by.
func writtenElsewhere(file *os.File) error {
	if !lockable("") || !errors.Is(flock(file, syscall.LOCK_SH), syscall.EWOULDBLOCK) {
		return nil
	}
	held := &LockedError{Path: file.Name()}
	if owner := holder(file); owner != nil {
		return fmt.Errorf("%s is another name of %s, which is written to: read it by that name", file.Name(), owner.Path)
	}
	return held
}

// there says that the database's name still names the file that is written to.
func (l *fileLock) there() bool { return l.data == nil || sameFile(l.data, l.data.Name()) }

// FolderError says that a database's folder does not exist.
type FolderError struct{ Path, Folder string }

func (e *FolderError) Error() string {
	return fmt.Sprintf("%s: there is no folder %s", e.Path, e.Folder)
}

func (e *FolderError) Unwrap() error { return fs.ErrNotExist }

// NoFileError says that what a database's path names can be none.
type NoFileError struct {
	Path string
	Is   string // what it is, in words
}

func (e *NoFileError) Error() string {
	return fmt.Sprintf("%s is %s: a database is a file", e.Path, e.Is)
}

// resolve is the absolute path of the file that a path means, through symbolic links, one that points at nothing too.
func resolve(path string) (string, error) {
	full, err := filepath.Abs(path)
	for range 40 {
		if err != nil {
			return "", err
		}
		var real string
		if real, err = filepath.EvalSymlinks(full); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return real, unwrapPath(err)
		}
		folder, folderErr := filepath.EvalSymlinks(filepath.Dir(full))
		if folderErr != nil {
			return "", &FolderError{full, filepath.Dir(full)}
		}
		full = filepath.Join(folder, filepath.Base(full))
		target, linkErr := os.Readlink(full)
		if linkErr != nil {
			return full, nil // there is nothing by that name yet
		}
		if full, err = target, nil; !filepath.IsAbs(target) {
			full = filepath.Join(folder, target)
		}
	}
	return "", syscall.ELOOP
}

// plain refuses what can be no database, whatever is in it.
func plain(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil // that there is none is not known here to be a mistake
	case info.IsDir():
		return &NoFileError{path, "a folder"}
	case !info.Mode().IsRegular():
		return &NoFileError{path, "a device or a pipe"}
	}
	return nil
}

// unwrapPath takes the path off an error that says it.
func unwrapPath(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}
