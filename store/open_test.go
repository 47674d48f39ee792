package store_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
)

// The test binary is its own child process: what it is to do stands in an environment variable.
func TestMain(m *testing.M) {
	switch os.Getenv("STORE_TEST_CHILD") {
	case "write":
		os.Exit(childWrite(os.Getenv("STORE_TEST_PATH")))
	case "read":
		os.Exit(childRead(os.Getenv("STORE_TEST_PATH")))
	}
	os.Exit(m.Run())
}

func child(job, path string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_TEST_CHILD="+job, "STORE_TEST_PATH="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestOnePlainFileAfterwards(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	db, err := store.Open(path, store.Options{})
	must(t, err)
	begin(t, db, testPlan())
	if !exists(path+"-wal") || !exists(path+".lock") {
		t.Error("while a writer is open there is no log or no lock beside the file")
	}
	if db.Path() != path {
		t.Errorf("the path is %s, want %s", db.Path(), path)
	}
	must(t, db.Close())
	left, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	if len(left) != 1 || left[0].Name() != "s.db" {
		t.Errorf("afterwards there are %v, want one file", left)
	}
	must(t, db.Close()) // once more does nothing
}

func TestRefusedFiles(t *testing.T) {
	dir := t.TempDir()
	sqlite := func(name string, statements string) string {
		path := filepath.Join(dir, name)
		pool, err := sql.Open("sqlite", path)
		must(t, err)
		defer pool.Close()
		_, err = pool.Exec(statements)
		must(t, err)
		return path
	}
	text := filepath.Join(dir, "text")
	must(t, os.WriteFile(text, []byte(strings.Repeat("not a database\n", 100)), 0o644))
	cases := []struct{ name, path, want string }{
		{"another program's", sqlite("other", "CREATE TABLE t (x); PRAGMA application_id = 42"), "is not a sweep database"},
		{"nobody's", sqlite("nobody", "CREATE TABLE t (x)"), "is not a sweep database"},
		{"no database", text, "is not a sweep database"},
		{"a newer one", sqlite("newer", "PRAGMA application_id = 1398228304; PRAGMA user_version = 99; CREATE TABLE t (x)"), "newer sweep"},
		{"a folder", dir, dir},
	}
	for _, c := range cases {
		before, _ := os.ReadFile(c.path)
		for _, readOnly := range []bool{true, false} {
			_, err := store.Open(c.path, store.Options{ReadOnly: readOnly})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
				t.Errorf("%s, read-only %v: %v, want a sentence with the path and %q", c.name, readOnly, err, c.want)
			}
		}
		if after, _ := os.ReadFile(c.path); string(after) != string(before) {
			t.Errorf("%s: the file was changed", c.name)
		}
		if exists(c.path + ".lock") {
			t.Errorf("%s: the lock file was left", c.name)
		}
	}
}

func TestReadOnlyCreatesNothing(t *testing.T) {
	dir := t.TempDir()
	_, err := store.Open(filepath.Join(dir, "none.db"), store.Options{ReadOnly: true})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	path := filled(t)
	db := open(t, path, store.Options{ReadOnly: true})
	if _, err := db.Plan("s"); err != nil {
		t.Error(err)
	}
	if _, err := db.BeginSitting(store.Sitting{Sweep: "s"}, testPlan()); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a sitting in a read-only database: %v", err)
	}
	for _, d := range []string{dir, filepath.Dir(path)} {
		left, err := os.ReadDir(d)
		must(t, err)
		for _, e := range left {
			if e.Name() != filepath.Base(path) {
				t.Errorf("%s was created", e.Name())
			}
		}
	}
}

func TestReadOnlyWhileAnotherWrites(t *testing.T) {
	db, sitting := begun(t)
	trial := startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
	w := db.NewWriter()
	for i := range int64(600) {
		must(t, w.Put(trial.ID, okRequest(i)))
	}
	reader := open(t, db.Path(), store.Options{ReadOnly: true})
	plan, err := reader.Plan("s")
	must(t, err)
	if plan.Name != "s" {
		t.Errorf("the plan is of %q", plan.Name)
	}
	trial.Status = sweep.StatusDone
	must(t, w.FinishTrial(trial, nil))
	must(t, w.Close())
	if n := len(rowsOf(t, reader, trial.ID)); n != 600 {
		t.Errorf("the reader sees %d rows, want 600", n)
	}
}

// A file whose header asks for a log that was not copied with it is whole, and is read where it lies.
func TestReadOnlyCopyOfALoggedFile(t *testing.T) {
	db, _ := begun(t)
	pool, err := sql.Open("sqlite", db.Path())
	must(t, err)
	_, err = pool.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	must(t, err)
	must(t, pool.Close())
	path := filepath.Join(t.TempDir(), "copy.db")
	must(t, exec.Command("cp", db.Path(), path).Run())
	reader := open(t, path, store.Options{ReadOnly: true})
	if _, err := reader.Plan("s"); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	if len(left) != 1 {
		t.Errorf("beside the copy there is now %v", left)
	}
}

// The child reads as a user who may write neither the file nor its folder.
func TestReadOnlyFolder(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir, err := os.MkdirTemp("", "store")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	binary := filepath.Join(dir, "child")
	must(t, exec.Command("cp", os.Args[0], binary).Run())
	must(t, os.Chmod(binary, 0o755))
	read := func(path string) string {
		cmd := child("read", path)
		cmd.Path, cmd.Dir, cmd.Stderr = binary, "/", nil
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return string(out)
	}
	closed := filepath.Join(dir, "closed.db")
	must(t, exec.Command("cp", filled(t), closed).Run())
	must(t, os.Chmod(closed, 0o444))
	if got := read(closed); got != "4 trials\n" {
		t.Errorf("a closed database: %s", got)
	}
	db := open(t, filepath.Join(dir, "live.db"), store.Options{})
	startTrial(t, db, begin(t, db, testPlan()), "baseline", digestBase, 1, 1)
	if got := read(db.Path()); got != "1 trials\n" {
		t.Errorf("a database that is being written: %s", got)
	}
}

func childRead(path string) int {
	db, err := store.Open(path, store.Options{ReadOnly: true})
	if err != nil {
		println(err.Error())
		return 1
	}
	defer db.Close()
	trials, err := db.Trials("s")
	if err != nil {
		println(err.Error())
		return 1
	}
	os.Stdout.WriteString(strconv.Itoa(len(trials)) + " trials\n")
	return 0
}

func TestSecondWriterIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	db, err := store.Open(path, store.Options{Owner: "sweep run night.cue"})
	must(t, err)
	_, err = store.Open(path, store.Options{})
	var locked *store.LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("a second writer: %v", err)
	}
	if locked.PID != os.Getpid() || locked.Owner != "sweep run night.cue" || time.Since(locked.Since) > time.Hour || locked.Host == "" {
		t.Errorf("the lock says %+v", locked)
	}
	for _, part := range []string{path, "process " + strconv.Itoa(os.Getpid()), "since 20", "sweep run night.cue"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if store.Owner(path) == nil {
		t.Error("nobody seems to write")
	}
	must(t, db.Close())
	if held := store.Owner(path); held != nil {
		t.Errorf("after closing, %v", held)
	}
	open(t, path, store.Options{})
}

func TestDeadOwnersLockIsTakenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	text := `{"pid":1,"host":"elsewhere","owner":"sweep run","since":"2026-01-01T00:00:00Z"}`
	must(t, os.WriteFile(path+".lock", []byte(text), 0o644))
	if held := store.Owner(path); held != nil {
		t.Errorf("a lock file that nobody holds: %v", held)
	}
	open(t, path, store.Options{})
}

func TestLeftoversBecomeInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	db, err := store.Open(path, store.Options{})
	must(t, err)
	sitting := begin(t, db, testPlan())
	startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
	must(t, db.PutDerived("s", fullDerived()))
	must(t, db.Close())
	db = open(t, path, store.Options{})
	trials, err := db.Trials("s")
	must(t, err)
	if len(trials) != 1 || trials[0].Status != sweep.StatusInterrupted || trials[0].Reason == "" {
		t.Errorf("the leftover is %+v", trials)
	}
	if stale, err := db.Stale("s", 7); err != nil || !stale {
		t.Errorf("stale is %v, %v; want true", stale, err)
	}
}

// On a network file system there is no log and no shared memory, and the user is told.
func TestSharedFilesystem(t *testing.T) {
	var said []string
	path := filepath.Join(t.TempDir(), "s.db")
	db, err := store.Open(path, store.Options{
		Warn:       func(s string) { said = append(said, s) },
		Filesystem: func(string) (string, error) { return "nfs", nil },
	})
	must(t, err)
	if len(said) != 1 || !strings.Contains(said[0], "nfs") || !strings.Contains(said[0], path) {
		t.Errorf("the warnings are %q", said)
	}
	sitting := begin(t, db, testPlan())
	trial := startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
	w := db.NewWriter()
	must(t, w.Put(trial.ID, okRequest(0)))
	trial.Status = sweep.StatusDone
	must(t, w.FinishTrial(trial, func() (*sweep.TrialDerived, error) {
		return &sweep.TrialDerived{Row: sweep.TrialRow{Trial: trial.ID, Due: int64(len(rowsOf(t, db, trial.ID)))}}, nil
	}))
	if exists(path+"-wal") || exists(path+"-shm") {
		t.Error("there is a write-ahead log")
	}
	must(t, w.Close())
	sittings, err := db.Sittings("s")
	must(t, err)
	if p := sittings[0].Provenance; p["journal"] != "delete" || p["filesystem"] != "nfs" {
		t.Errorf("the provenance is %v", p)
	}
	must(t, db.Close())
	if got := ask(t, path, "SELECT due FROM trial"); got != "1" {
		t.Errorf("the trial's due is %s", got)
	}
}
