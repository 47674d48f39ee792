package store_test

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
)

// One process writes to a file, whatever name the next one comes by; where the system tells, it is named.
func TestOneWriterByAnyName(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a hard link is only found out where flock and SQLite's locks are apart")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "s.db")
	db, err := store.Open(path, store.Options{})
	must(t, err)
	must(t, db.Close())
	soft, chain, hard, folder := filepath.Join(dir, "soft.db"), filepath.Join(dir, "chain.db"), filepath.Join(dir, "hard.db"), filepath.Join(t.TempDir(), "folder")
	must(t, os.Symlink("s.db", soft))
	must(t, os.Symlink(soft, chain))
	must(t, os.Link(path, hard))
	must(t, os.Symlink(dir, folder))

	cmd := child("write", soft)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	if !bufio.NewScanner(out).Scan() {
		t.Fatal("the child ended")
	}
	for _, name := range []string{path, soft, chain, hard, filepath.Join(folder, "s.db")} {
		_, err := store.Open(name, store.Options{})
		var held *store.LockedError
		if !errors.As(err, &held) || held.PID != cmd.Process.Pid || held.Owner != "child" {
			t.Errorf("a second writer by %s: %v", name, err)
		}
	}
	if exists(soft+".lock") || exists(hard+".lock") || exists(hard+"-wal") {
		t.Error("something lies beside the other names")
	}
	for _, name := range []string{path, soft, filepath.Join(folder, "s.db")} {
		if owner := store.Owner(name); owner == nil || owner.PID != cmd.Process.Pid {
			t.Errorf("the owner of %s is %v", name, owner)
		}
		if reader, err := store.Open(name, store.Options{ReadOnly: true}); err != nil {
			t.Errorf("reading by %s: %v", name, err)
		} else if _, err := reader.Plan("s"); err != nil {
			t.Errorf("reading by %s: %v", name, err)
		} else {
			reader.Close()
		}
	}
	if _, err := store.Open(hard, store.Options{ReadOnly: true}); err == nil || !strings.Contains(err.Error(), "is another name of "+path) {
		t.Errorf("reading by a hard link what is not there yet: %v", err)
	}
}

// A link that points at nothing yet is a name for what it points at.
func TestLinkBeforeTheFile(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	link := filepath.Join(dir, "s.db")
	must(t, os.Symlink(filepath.Join(other, "real.db"), link))
	db, err := store.Open(link, store.Options{})
	must(t, err)
	if _, err := store.Open(filepath.Join(other, "real.db"), store.Options{}); !errors.As(err, new(*store.LockedError)) {
		t.Errorf("a second writer: %v", err)
	}
	must(t, db.Close())
	if !exists(filepath.Join(other, "real.db")) || exists(filepath.Join(other, "real.db.lock")) {
		t.Error("the file is not alone where the link points")
	}
}

func TestNoFileAtAll(t *testing.T) {
	for _, readOnly := range []bool{true, false} {
		_, err := store.Open(os.DevNull, store.Options{ReadOnly: readOnly})
		if err == nil || !strings.Contains(err.Error(), "a device") {
			t.Errorf("a device: %v", err)
		}
		folder := filepath.Join(t.TempDir(), "none")
		_, err = store.Open(filepath.Join(folder, "s.db"), store.Options{ReadOnly: readOnly})
		if missing := (*store.FolderError)(nil); !errors.As(err, &missing) || missing.Folder != folder || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("no folder: %v", err)
		}
	}
	if exists(os.DevNull + ".lock") {
		t.Error("a lock lies beside the device")
	}
}

// A file that is no longer where it was is noticed by the next commit, and what takes its place stays as it is.
func TestMoved(t *testing.T) {
	other := filled(t)
	for name, take := range map[string]func(path string) error{
		"deleted":  os.Remove,
		"moved":    func(path string) error { return os.Rename(path, path+".away") },
		"replaced": func(path string) error { return copyTo(path, other) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.db")
			db, err := store.Open(path, store.Options{})
			must(t, err)
			sitting := begin(t, db, testPlan())
			trial := startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
			w := db.NewWriter()
			must(t, w.Put(trial.ID, okRequest(0)))
			must(t, take(path))
			trial.Status = sweep.StatusDone
			var moved *store.MovedError
			if err := w.FinishTrial(trial, nil); !errors.As(err, &moved) || moved.Path != path {
				t.Errorf("the trial's end: %v", err)
			}
			if err := w.Put(trial.ID, okRequest(1)); !errors.As(err, &moved) {
				t.Errorf("another row: %v", err)
			}
			w.Close()
			db.Close()
			for _, suffix := range []string{"-wal", "-shm", ".lock"} {
				if exists(path + suffix) {
					t.Errorf("%s was left", suffix)
				}
			}
			switch name {
			case "moved":
				again := open(t, path+".away", store.Options{ReadOnly: true})
				if trials, err := again.Trials("s"); err != nil || len(trials) != 1 {
					t.Errorf("what was stored before is not in the file: %v, %v", trials, err)
				}
			case "replaced":
				was, _ := os.ReadFile(other)
				if is, _ := os.ReadFile(path); string(is) != string(was) {
					t.Error("the new file was changed")
				}
			}
		})
	}
}

// copyTo puts a copy of a file in the place of another.
func copyTo(path, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", text, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
