package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// besides are how the names of the files end that make a database, itself the first.
var besides = []string{"", "-wal", "-shm", "-journal", ".lock"}

// spare refuses to write a result over a database, whichever and by whatever name, or over what lies beside one.
func (a *app) spare(path string) error {
	refusal := usage(path+" is a database, or lies beside one: no result is written over it", "-o names another file")
	own := realPath(a.database)
	for _, suffix := range besides {
		if sameFile(path, own+suffix) {
			return refusal
		}
	}
	// Only other databases are opened here: the end of a descriptor would end the locks on one that is in use.
	for _, suffix := range besides {
		if base, beside := strings.CutSuffix(realPath(path), suffix); beside && isSQLite(base) {
			return refusal
		}
	}
	return nil
}

// realPath is a path without symbolic links, as far as it exists.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	} else if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(folder, filepath.Base(path))
	}
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	return path
}

// sameFile says that two paths are of one file, whether it exists or not.
func sameFile(path, other string) bool {
	a, errA := os.Stat(path)
	b, errB := os.Stat(other)
	if errA == nil && errB == nil {
		return os.SameFile(a, b)
	}
	return realPath(path) == realPath(other)
}

// isSQLite says that a file is a database of SQLite's.
func isSQLite(path string) bool {
	const magic = "SQLite format 3\x00"
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(magic))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == magic
}
