package main

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	ossignal "os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// slowly are edits of tiny.cue that leave two cells in one block, each of two seconds.
var slowly = []string{"[100, 400]", "[100]", "blocks: 2", "blocks: 1", "requests: 20", `duration: "2s"`}

// TestInterrupted asks a run to end in the middle of a trial: all that ended is stored, the server is gone, and the same
// command goes on.
func TestInterrupted(t *testing.T) {
	for name, signal := range map[string]os.Signal{"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGHUP": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if ossignal.Ignored(signal) {
				t.Skipf("this process was started with %s ignored, as under nohup, and a run inherits that", name)
			}
			c := newCampaign(t, slowly...)
			p := c.run()
			c.untilRows(20)
			p.Process.Signal(signal)
			if signal == syscall.SIGHUP {
				p.Process.Signal(signal) // a shell and the kernel may both say it
			}
			c.exits(p, exitInterrupted)
			if want := "sweep: interrupted: all that ended is stored, and the same command goes on\n"; !strings.HasSuffix(p.stderr.String(), want) {
				t.Errorf("it ends with\n%s\nwant\n%s", &p.stderr, want)
			}
			c.nobodyLeft()
			c.sound()
			c.onlyAFile()
			if n := c.number("SELECT count(*) FROM request r JOIN trial t USING (trial) WHERE t.status = 'interrupted' AND r.phase = 'measure' AND r.status = 'ok'"); n < 20 {
				t.Errorf("%d of 20 requests are left that had ended", n)
			}
			if n := c.number("SELECT count(*) FROM launch WHERE stopped_at IS NULL"); n > 0 {
				t.Errorf("%d launches have no end", n)
			}
			c.exits(c.run(), exitOK)
			if got := strings.Join(c.query("SELECT cell, attempt, status FROM trial ORDER BY trial"), " "); !strings.HasSuffix(got, "done") ||
				c.number("SELECT count(*) FROM trial WHERE status = 'done' AND copy = 1") != 2 {
				t.Errorf("going on made of it: %s", got)
			}
		})
	}
}

// onlyAFile checks that nothing lies beside the database.
func (c *campaign) onlyAFile() {
	c.t.Helper()
	for _, suffix := range []string{"-wal", "-shm", "-journal", ".lock"} {
		if exists(c.database() + suffix) {
			c.t.Errorf("sweep.db%s was left", suffix)
		}
	}
}

// TestEnough asks a run, by SIGUSR1, to start nothing more: the trial that runs is measured to its end.
func TestEnough(t *testing.T) {
	t.Parallel()
	c := newCampaign(t, slowly...)
	c.also("later")
	p := c.run()
	c.untilRows(20)
	p.Process.Signal(syscall.SIGUSR1)
	c.exits(p, exitPartly)
	if !strings.Contains(p.stderr.String(), "sweep: 3 trials left\n") {
		t.Errorf("it said\n%s", &p.stderr)
	}
	c.nobodyLeft()
	c.onlyAFile()
	if got := strings.Join(c.query("SELECT sweep, status, count(*) FROM trial GROUP BY sweep, status"), " "); got != "tiny|done|1" {
		t.Errorf("the trials are %s", got)
	}
	c.exits(c.run("--only", "baseline"), exitOK)
}

// also adds a copy of the definition's sweep under another name.
func (c *campaign) also(name string) {
	c.t.Helper()
	text, err := os.ReadFile(c.definition)
	if err != nil {
		c.t.Fatal(err)
	}
	_, sweep, _ := strings.Cut(string(text), "tiny:")
	if err := os.WriteFile(c.definition, []byte(string(text)+"\n"+name+":"+sweep), 0o666); err != nil {
		c.t.Fatal(err)
	}
}

// TestServerDies kills the server in the middle of a trial: the trial has failed and says how its server ended, what had
// been measured is kept, and the next trial gets a new server.
func TestServerDies(t *testing.T) {
	t.Parallel()
	c := newCampaign(t, slowly...)
	p := c.run()
	c.untilRows(20)
	servers := slices.DeleteFunc(c.alive(), func(pid int) bool { return pid == p.Process.Pid })
	if len(servers) != 1 {
		t.Skipf("%d servers are seen: this needs /proc", len(servers))
	}
	syscall.Kill(servers[0], syscall.SIGKILL)
	c.exits(p, exitPartly)
	if want := "sweep: 1 of 2 trials failed or are blocked\n"; !strings.Contains(p.stderr.String(), want) {
		t.Errorf("it said\n%s\nwant\n%s", &p.stderr, want)
	}
	got := c.query("SELECT t.status, l.exit_code, count(*) >= 20 FROM trial t JOIN request USING (trial) JOIN launch l ON l.launch = t.launch GROUP BY t.trial ORDER BY t.trial")
	if !slices.Equal(got, []string{"failed|137|1", "done|0|1"}) {
		t.Errorf("the trials are %v", got)
	}
	c.nobodyLeft()
	c.exits(c.run(), exitOK)
}

// TestCrowd reads and writes the database from other programs while a run fills it. No row is lost, and nobody waits
// for long.
func TestCrowd(t *testing.T) {
	t.Parallel()
	c := newCampaign(t, slowly...)
	p := c.run()
	c.untilRows(20)

	reader := c.begin("BEGIN")
	reader.must("SELECT count(*) FROM request")
	writer := c.begin("BEGIN IMMEDIATE")
	time.Sleep(1500 * time.Millisecond)
	writer.must("ROLLBACK")
	for _, args := range [][]string{{"status"}, {"report"}, {"report", "latency", "-f", "csv"}, {"show", "tiny"}} {
		c.exits(c.start(args...), exitOK)
	}
	c.shell()
	c.exits(p, exitOK)
	reader.must("ROLLBACK")
	reader.conn.Close()
	writer.conn.Close()
	c.sound()
	if got := c.number("SELECT count(*) FROM trial WHERE status = 'done' AND due = sent AND due = ok + failed AND due > 100"); got != 2 {
		t.Errorf("%d trials are whole, want 2", got)
	}
	if n := c.number("SELECT count(*) FROM (SELECT trial, max(seq) + 1 AS due, count(*) AS rows FROM request GROUP BY trial) WHERE due <> rows"); n > 0 {
		t.Errorf("%d trials have lost requests", n)
	}
	// The reader kept the journal alive; the next one who writes folds it in.
	c.exits(c.run(), exitOK)
	c.onlyAFile()
}

// session is a connection of another program to the database.
type session struct {
	t    *testing.T
	conn *sql.Conn
}

// begin opens a session with a statement.
func (c *campaign) begin(statement string) session {
	c.t.Helper()
	db, err := sql.Open("sqlite", "file:"+c.database()+"?_pragma=busy_timeout(10000)")
	if err != nil {
		c.t.Fatal(err)
	}
	db.SetMaxIdleConns(0)
	conn, err := db.Conn(context.Background())
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		conn.Close()
		db.Close()
	})
	s := session{c.t, conn}
	s.must(statement)
	return s
}

func (s session) must(statement string) {
	s.t.Helper()
	if _, err := s.conn.ExecContext(context.Background(), statement); err != nil {
		s.t.Fatalf("%s: %v", statement, err)
	}
}

// shell reads with the shell of SQLite, where there is one.
func (c *campaign) shell() {
	c.t.Helper()
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		c.t.Log("there is no sqlite3 here: its shell is not tried")
		return
	}
	out, err := exec.Command(program, "-readonly", c.database(), "SELECT count(*) FROM request").CombinedOutput()
	if n, atoiErr := strconv.Atoi(strings.TrimSpace(string(out))); err != nil || atoiErr != nil || n < 20 {
		c.t.Errorf("the shell said %q, %v", out, err)
	}
}
