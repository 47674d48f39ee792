package store_test

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
)

const childRows = 700 // of each of the child's trials: more than one commit

// childWrite runs trial after trial, and says on standard output which have ended, until it is killed.
func childWrite(path string) int {
	db, err := store.Open(path, store.Options{Owner: "child"})
	if err != nil {
		println(err.Error())
		return 1
	}
	sitting, err := db.BeginSitting(store.Sitting{Sweep: "s"}, testPlan())
	w := db.NewWriter()
	for block := 1; err == nil; block++ {
		trial := &sweep.TrialRecord{Sweep: "s", Cell: "baseline", Key: sweep.Key{Digest: digestBase, Block: block, Copy: 1}, Sitting: sitting}
		err = db.StartTrial(trial)
		for i := range int64(childRows) {
			err = errors.Join(err, w.Put(trial.ID, okRequest(i)))
		}
		trial.Status = sweep.StatusDone
		err = errors.Join(err, w.FinishTrial(trial, func() (*sweep.TrialDerived, error) {
			return &sweep.TrialDerived{Row: sweep.TrialRow{Trial: trial.ID, Due: childRows}}, nil
		}))
		fmt.Println(trial.ID)
	}
	println(err.Error())
	return 1
}

// A writer killed at any moment leaves whole transactions: every trial that it said had ended is there with all its
// rows and what was derived from them; of the others there is a beginning, marked as interrupted.
func TestKilledWriter(t *testing.T) {
	const kills = 8
	path := filepath.Join(t.TempDir(), "s.db")
	ended := 0
	for kill := range kills {
		cmd := child("write", path)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		if lines.Scan() {
			ended++
		}
		time.Sleep(time.Duration(kill*11) * time.Millisecond)
		must(t, cmd.Process.Kill())
		for lines.Scan() {
			ended++
		}
		cmd.Wait()
		if !exists(path+".lock") || store.Owner(path) != nil {
			t.Error("a dead writer left no lock file, or holds it")
		}
	}
	db, err := store.Open(path, store.Options{})
	must(t, err)
	must(t, db.Close())
	for query, want := range map[string]string{
		"PRAGMA integrity_check":                                             "ok",
		"SELECT count(*) FROM trial WHERE status = 'running'":                "0",
		"SELECT count(*) FROM trial WHERE due NOT NULL AND status <> 'done'": "0",
		"SELECT count(*) FROM trial WHERE due IS NULL AND status = 'done'":   "0",
		"SELECT count(*) FROM trial AS t WHERE status = 'done' AND 700 <> (SELECT count(*) FROM request AS r WHERE r.trial = t.trial)": "0",
		"SELECT count(*) FROM (SELECT 1 FROM request GROUP BY trial HAVING count(*) <> max(seq) + 1)":                                  "0",
	} {
		if got := ask(t, path, query); got != want {
			t.Errorf("%s is %s, want %s", query, got, want)
		}
	}
	var done int
	fmt.Sscan(ask(t, path, "SELECT count(*) FROM trial WHERE status = 'done'"), &done)
	if done < ended || ended < kills {
		t.Errorf("%d trials are done, but %d were said to have ended; at least %d should have", done, ended, kills)
	}
}

// A full disk ends the writing with the reason; what was committed stays, and the run goes on where space is made.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a small file system: %v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", dir).Run() })
	path := filepath.Join(dir, "s.db")
	db, err := store.Open(path, store.Options{})
	must(t, err)
	trial := startTrial(t, db, begin(t, db, testPlan()), "baseline", digestBase, 1, 1)
	w := db.NewWriter()
	rows := int64(0)
	for ; rows < 1e6; rows++ {
		r := okRequest(rows)
		r.ChunkLog = make([]byte, 600)
		if w.Put(trial.ID, r) != nil {
			break
		}
	}
	trial.Status = sweep.StatusDone
	err = w.FinishTrial(trial, nil)
	var full *store.SpaceError
	if !errors.As(err, &full) {
		t.Fatalf("after %d rows in 1 MiB: %v, want a full disk", rows, err)
	}
	if full.FreeBytes < 0 || full.FreeBytes > 1<<20 || full.Path != path || !strings.Contains(err.Error(), "bytes free") {
		t.Errorf("it says %q", err)
	}
	if err := w.Close(); !errors.As(err, &full) {
		t.Errorf("closing the writer says %v", err)
	}
	db.Close() // may say that the disk is full, too
	must(t, exec.Command("mount", "-o", "remount,size=16m", dir).Run())
	if got := ask(t, path, "PRAGMA integrity_check"); got != "ok" {
		t.Errorf("integrity: %s", got)
	}
	db = open(t, path, store.Options{})
	facts, err := db.Facts(trial.ID)
	must(t, err)
	left := rowsOf(t, db, trial.ID)
	if n := len(left); facts.Record.Status != sweep.StatusInterrupted || n == 0 || left[n-1].Seq != int64(n-1) {
		t.Errorf("the trial is %s with %d rows, want interrupted with those of its first commits", facts.Record.Status, n)
	}
	w = db.NewWriter()
	again := startTrial(t, db, begin(t, db, testPlan()), "baseline", digestBase, 1, 1)
	must(t, w.Put(again.ID, okRequest(0)))
	again.Status = sweep.StatusDone
	must(t, w.FinishTrial(again, nil))
	must(t, w.Close())
}

// holdLock is another program that holds the database for writing until release.
func holdLock(t *testing.T, path string) (release func()) {
	t.Helper()
	pool, err := sql.Open("sqlite", path)
	must(t, err)
	pool.SetMaxOpenConns(1)
	_, err = pool.Exec("BEGIN IMMEDIATE")
	must(t, err)
	return func() {
		_, err := pool.Exec("ROLLBACK")
		must(t, errors.Join(err, pool.Close()))
	}
}

func TestAnotherProgramsLockIsWaitedFor(t *testing.T) {
	db, sitting := begun(t)
	trial := startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
	w := db.NewWriter()
	release := holdLock(t, db.Path())
	for i := range int64(2000) {
		must(t, w.Put(trial.ID, okRequest(i)))
	}
	if n := len(rowsOf(t, db, trial.ID)); n != 0 {
		t.Errorf("%d rows were written under another's lock", n)
	}
	time.AfterFunc(400*time.Millisecond, release)
	trial.Status = sweep.StatusDone
	must(t, w.FinishTrial(trial, nil))
	must(t, w.Close())
	if n := len(rowsOf(t, db, trial.ID)); n != 2000 {
		t.Errorf("%d rows, want all 2000", n)
	}
}

func TestALockHeldTooLongIsTheEnd(t *testing.T) {
	db, sitting := begun(t)
	trial := startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
	db.SetLockLimit(50 * time.Millisecond)
	release := holdLock(t, db.Path())
	w := db.NewWriter()
	must(t, w.Put(trial.ID, okRequest(0)))
	err := w.FinishTrial(trial, nil)
	if err == nil || !strings.Contains(err.Error(), "locked by another program for more than 50ms") {
		t.Errorf("the lock was held for ever, and finishing says %v", err)
	}
	if err := w.Close(); err == nil {
		t.Error("the writer has forgotten")
	}
	release()
}

// A reader that holds a transaction keeps the log from being folded in; once it leaves, the next trial's end does.
func TestLogIsBoundedOnceAReaderLeaves(t *testing.T) {
	var said []string
	db := open(t, filepath.Join(t.TempDir(), "s.db"), store.Options{Warn: func(s string) { said = append(said, s) }})
	sitting := begin(t, db, testPlan())
	db.SetWarnSize(256 << 10)
	pool, err := sql.Open("sqlite", db.Path())
	must(t, err)
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	_, err = pool.Exec("BEGIN; SELECT count(*) FROM raw_trial")
	must(t, err)
	w := db.NewWriter()
	run := func(block int) int64 {
		trial := startTrial(t, db, sitting, "baseline", digestBase, block, 1)
		for i := range int64(2500) {
			must(t, w.Put(trial.ID, okRequest(i)))
		}
		trial.Status = sweep.StatusDone
		must(t, w.FinishTrial(trial, nil))
		info, err := os.Stat(db.Path() + "-wal")
		must(t, err)
		return info.Size()
	}
	held := run(1)
	_, err = pool.Exec("COMMIT")
	must(t, err)
	free := run(2)
	if held < 512<<10 || free > 64<<10 {
		t.Errorf("the log has %d bytes under a reader and %d after it left", held, free)
	}
	must(t, w.Close())
	if len(said) != 1 || !strings.Contains(said[0], "-wal has grown") {
		t.Errorf("the warnings are %q, want one of the log's size", said)
	}
}

// Run it with -benchtime=1000000x for a night's worth.
func BenchmarkPut(b *testing.B) {
	db, sitting := begun(b)
	trial := startTrial(b, db, sitting, "baseline", digestBase, 1, 1)
	log := make([]byte, 400) // about 128 tokens
	w := db.NewWriter()
	b.ResetTimer()
	for i := range int64(b.N) {
		r := okRequest(i)
		r.ChunkLog, r.Text = log, ""
		must(b, w.Put(trial.ID, r))
	}
	trial.Status = sweep.StatusDone
	must(b, w.FinishTrial(trial, nil))
	must(b, w.Close())
	b.StopTimer()
	info, err := os.Stat(db.Path())
	must(b, err)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(info.Size())/float64(b.N), "B/row")
}

func BenchmarkRows(b *testing.B) {
	db, sitting := begun(b)
	trial := startTrial(b, db, sitting, "baseline", digestBase, 1, 1)
	w := db.NewWriter()
	for i := range int64(b.N) {
		must(b, w.Put(trial.ID, okRequest(i)))
	}
	must(b, w.Close())
	facts, err := db.Facts(trial.ID)
	must(b, err)
	b.ResetTimer()
	for _, err := range facts.Rows {
		must(b, err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
