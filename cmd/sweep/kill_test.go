package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/store"
)

// campaign is a folder with a definition and a database, in which real processes run.
type campaign struct {
	t          *testing.T
	dir, mark  string
	definition string
}

var campaigns atomic.Int64

// newCampaign lays a definition down: tiny.cue with replacements, each OLD followed by its NEW.
func newCampaign(t *testing.T, edits ...string) *campaign {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "tiny.cue"))
	if err != nil {
		t.Fatal(err)
	}
	definition := string(text)
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(definition, edits[i]) {
			t.Fatalf("%q is not in tiny.cue", edits[i])
		}
		definition = strings.ReplaceAll(definition, edits[i], edits[i+1])
	}
	c := &campaign{t: t, dir: t.TempDir(), mark: fmt.Sprintf("SWEEP_TEST_MARK=%d-%d", os.Getpid(), campaigns.Add(1))}
	c.definition = filepath.Join(c.dir, "tiny.cue")
	if err := os.WriteFile(c.definition, []byte(definition), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.killRest)
	return c
}

func (c *campaign) database() string { return filepath.Join(c.dir, "sweep.db") }

// process is a sweep command that has been started.
type process struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
	done           chan struct{}
}

// start starts sweep with arguments, on the campaign's database.
func (c *campaign) start(args ...string) *process {
	c.t.Helper()
	p := &process{Cmd: exec.Command("sweep", append([]string{"--db", c.database()}, args...)...), done: make(chan struct{})}
	p.Dir, p.Env = c.dir, append(os.Environ(), c.mark)
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	if err := p.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() {
		p.Wait()
		close(p.done)
	}()
	return p
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// run starts the definition.
func (c *campaign) run(args ...string) *process {
	c.t.Helper()
	return c.start(append([]string{"run", c.definition, "--progress", "plain"}, args...)...)
}

// patience is how long anything may take on a machine that has other things to do.
const patience = time.Minute

// exits waits for the end of a process, which has to have a code.
func (c *campaign) exits(p *process, want int) {
	c.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.Process.Kill()
		<-p.done
		c.t.Fatalf("it did not end in %v; it said\n%s", patience, &p.stderr)
	}
	if got := p.ProcessState.ExitCode(); got != want {
		c.t.Fatalf("exit code %d, want %d; it said\n%s", got, want, &p.stderr)
	}
}

// query reads the database as it is: what is in its journal is neither folded in nor lost.
func (c *campaign) query(text string) []string {
	c.t.Helper()
	lines, err := rowsOf("file:"+c.database()+"?mode=ro", text)
	if err != nil {
		c.t.Fatalf("%s: %v", text, err)
	}
	return lines
}

// number is the one number that a query returns.
func (c *campaign) number(text string) int {
	c.t.Helper()
	lines := c.query(text)
	n, err := strconv.Atoi(strings.Join(lines, " "))
	if err != nil {
		c.t.Fatalf("%s: %q is not a number", text, lines)
	}
	return n
}

// until waits for something, in real time, since it is other processes that bring it about.
func (c *campaign) until(what string, holds func() bool) {
	c.t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("%s: not in %v", what, patience)
		}
	}
}

// untilRows waits until a run has stored so many requests.
func (c *campaign) untilRows(n int) {
	c.t.Helper()
	c.until(fmt.Sprintf("%d requests in the database", n), func() bool {
		lines, err := rowsOf("file:"+c.database()+"?mode=ro", "SELECT count(*) >= "+strconv.Itoa(n)+" FROM request WHERE phase = 'measure'")
		return err == nil && lines[0] == "1"
	})
}

// sound checks a copy of the database and its journal, so that the original stays as its last process left it.
func (c *campaign) sound() {
	c.t.Helper()
	copied := filepath.Join(c.t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal", "-journal"} {
		if exists(c.database() + suffix) {
			if err := copyFile(c.database()+suffix, copied+suffix); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	if lines, err := rowsOf(copied, "PRAGMA integrity_check"); err != nil || !slices.Equal(lines, []string{"ok"}) {
		c.t.Fatalf("the database is broken: %v %v", lines, err)
	}
}

// alive lists the processes of this campaign, by the mark in their environment. It sees none where there is no /proc.
func (c *campaign) alive() []int {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	var pids []int
	for _, name := range environments {
		text, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(append(text, 0), []byte(c.mark+"\x00")) {
			continue
		}
		pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
		pids = append(pids, pid)
	}
	return pids
}

// nobodyLeft waits until every process of the campaign has ended.
func (c *campaign) nobodyLeft() {
	c.t.Helper()
	c.until("the end of every server", func() bool { return len(c.alive()) == 0 })
}

// killRest ends what a failed test left.
func (c *campaign) killRest() {
	for _, pid := range c.alive() {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// finished is each done trial with all its requests boiled down to a line.
func (c *campaign) finished() map[string]string {
	c.t.Helper()
	found := map[string]string{}
	for _, line := range c.query(`SELECT t.trial, t.digest, t.block, t.copy, count(*), sum(r.due_ms), sum(r.e2e_ms), sum(r.output_tokens)
		FROM trial t JOIN request r USING (trial) WHERE t.status = 'done' GROUP BY t.trial`) {
		id, rest, _ := strings.Cut(line, "|")
		found[id] = rest
	}
	return found
}

// TestKill kills a run twenty times at moments of no choosing. What had ended by then is there, once, and stays as it is.
func TestKill(t *testing.T) {
	t.Parallel()
	c := newCampaign(t, "blocks: 2", "blocks: 3", "factors: rate: {baseline: 200, levels: [100, 400]}",
		"factors: {rate: {baseline: 200, levels: [150, 250, 300, 400]}, seqs: {baseline: 16, levels: [8]}}",
		`revision: "1"}`, `revision: "1", args: {"max-num-seqs": at.seqs, "startup": "50ms"}}`, "requests: 20", "requests: 30")
	const cells, kills = 6, 20
	dice := rand.New(rand.NewPCG(20, 9))
	blocks, before := 3, map[string]string{}
	for i := range kills {
		p := c.run("--blocks", strconv.Itoa(blocks))
		if i%2 == 0 { // else the kill may come while the program starts, or makes its database
			c.until("the lock", func() bool { return store.Owner(c.database()) != nil || p.ended() })
		}
		select {
		case <-time.After(time.Duration(100+dice.IntN(1500)) * time.Millisecond):
			p.Process.Kill()
			<-p.done
		case <-p.done:
			c.exits(p, exitOK)
			blocks++ // it was faster than the kills
		}
		c.nobodyLeft()
		if !exists(c.database()) || len(before) == 0 && c.empty() {
			continue
		}
		c.sound()
		before = c.keeps(before)
	}
	p := c.run("--blocks", strconv.Itoa(blocks))
	c.exits(p, exitOK)
	c.nobodyLeft()
	c.sound()
	c.keeps(before)

	if got := c.number("SELECT count(*) FROM trial WHERE status = 'done' AND copy = 1"); got != cells*blocks {
		t.Errorf("%d trials are done, want %d", got, cells*blocks)
	}
	if twice := c.query("SELECT cell, block, copy, count(*) FROM trial WHERE status = 'done' GROUP BY digest, block, copy HAVING count(*) > 1"); len(twice) > 0 {
		t.Errorf("done more than once: %v", twice)
	}
	if odd := c.query("SELECT DISTINCT status FROM trial WHERE status NOT IN ('done', 'interrupted')"); len(odd) > 0 {
		t.Errorf("there are trials that are %v", odd)
	}
	if n := c.number("SELECT count(*) FROM trial WHERE status = 'interrupted'"); n > kills {
		t.Errorf("%d trials were interrupted by %d kills", n, kills)
	}
	if n := c.number("SELECT count(*) FROM trial WHERE status = 'done' AND (due, sent, ok + failed) <> (30, 30, 30)"); n > 0 {
		t.Errorf("%d done trials are not whole", n)
	}
	if n := c.number("SELECT count(*) - count(DISTINCT trial || ' ' || seq) FROM request"); n > 0 {
		t.Errorf("%d requests are there twice", n)
	}
	again := c.run("--blocks", strconv.Itoa(blocks))
	c.exits(again, exitOK)
	if !strings.Contains(again.stderr.String(), "every trial is done") {
		t.Errorf("a run after the last one says\n%s", &again.stderr)
	}
	t.Logf("%d blocks, %d trials interrupted, %d fresh baselines", blocks, c.number("SELECT count(*) FROM trial WHERE status = 'interrupted'"),
		c.number("SELECT count(*) FROM trial WHERE status = 'done' AND copy > 2"))
}

// empty says that a kill came before there was a database in the file.
func (c *campaign) empty() bool {
	info, err := os.Stat(c.database())
	return err == nil && info.Size() == 0
}

// keeps checks that every trial which was done is still there as it was, and returns those that are done now.
func (c *campaign) keeps(before map[string]string) map[string]string {
	c.t.Helper()
	now := c.finished()
	for id, was := range before {
		if now[id] != was {
			c.t.Errorf("trial %s was\n%s\nand is\n%s", id, was, now[id])
		}
	}
	return now
}

// TestKillLosesLittle kills a run in the middle of a trial: what ended more than a moment before is in the database.
func TestKillLosesLittle(t *testing.T) {
	t.Parallel()
	c := newCampaign(t, "[100, 400]", "[400]", "requests: 20", `duration: "30s"`, "blocks: 2", "blocks: 1")
	p := c.run()
	c.untilRows(50)
	p.Process.Kill()
	<-p.done
	c.nobodyLeft()
	c.sound()
	if n := c.number("SELECT count(*) FROM request WHERE phase = 'measure'"); n < 50 {
		t.Errorf("%d requests are left of 50 that were there", n)
	}
	status := c.start("status")
	c.exits(status, exitOK)
	for _, want := range []string{"interrupted     1", "left            2"} {
		if !strings.Contains(status.stdout.String(), want) {
			t.Errorf("status does not say %q:\n%s", want, &status.stdout)
		}
	}
}

func TestMarkIsSeen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc: orphans are not looked for")
	}
	t.Parallel()
	c := newCampaign(t)
	p := c.start("sim", "--port", "0")
	c.until("the process by its mark", func() bool { return slices.Contains(c.alive(), p.Process.Pid) })
	p.Process.Kill()
	<-p.done
	c.nobodyLeft()
}
