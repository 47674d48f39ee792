package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// unheard starts a program whose output goes into pipes that nobody reads any more.
func (c *campaign) unheard(program string, args ...string) *exec.Cmd {
	c.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), c.mark)
	for _, stream := range []*io.Writer{&cmd.Stdout, &cmd.Stderr} {
		read, write, err := os.Pipe()
		if err != nil {
			c.t.Fatal(err)
		}
		read.Close()
		defer write.Close()
		*stream = write
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return cmd
}

// TestNobodyListens runs two sweeps while whoever read the messages and the tables has gone: all of both is measured.
func TestNobodyListens(t *testing.T) {
	t.Parallel()
	c := newCampaign(t, "blocks: 2", "blocks: 1")
	c.also("later")
	cmd := c.unheard("sweep", "--db", c.database(), "run", c.definition, "--progress", "plain")
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitEnvironment {
		t.Errorf("exit code %d, want %d: nobody got the result", code, exitEnvironment)
	}
	if n := c.number("SELECT count(*) FROM trial WHERE status = 'done'"); n != 6 {
		t.Errorf("%d trials are done, want 6", n)
	}
	c.nobodyLeft()
	c.onlyAFile()
}

// TestNohup: where SIGHUP is ignored from the start, it stays ignored.
func TestNohup(t *testing.T) {
	nohup, err := exec.LookPath("nohup")
	if err != nil {
		t.Skip("there is no nohup here")
	}
	t.Parallel()
	c := newCampaign(t, slowly...)
	cmd := c.unheard(nohup, "sweep", "--db", c.database(), "run", c.definition, "--progress", "none")
	c.untilRows(20)
	cmd.Process.Signal(syscall.SIGHUP)
	cmd.Wait()
	if n := c.number("SELECT count(*) FROM trial WHERE status = 'done'"); n != 2 {
		t.Errorf("%d trials are done, want 2", n)
	}
}

// TestDatabaseTaken takes the database away in the middle of a trial: the run ends then, and says why.
func TestDatabaseTaken(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"deleted":  os.Remove,
		"replaced": func(path string) error { return os.Rename(filepath.Join(filepath.Dir(path), "tiny.cue"), path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCampaign(t, "[100, 400]", "[100]", "requests: 20", `duration: "45s"`)
			p := c.run()
			c.untilRows(20)
			if err := take(c.database()); err != nil {
				t.Fatal(err)
			}
			c.exits(p, exitEnvironment)
			if want := "sweep.db was deleted, moved or replaced by somebody while it was written to"; !strings.Contains(p.stderr.String(), "\nsweep: "+filepath.Dir(c.database())+"/"+want) {
				t.Errorf("it said\n%s\nwant %q", &p.stderr, want)
			}
			c.nobodyLeft()
			for _, suffix := range []string{"-wal", "-shm", ".lock"} {
				if exists(c.database() + suffix) {
					t.Errorf("sweep.db%s was left", suffix)
				}
			}
		})
	}
}

// TestOneRunByAnyName starts a second run on the same database by links: it is refused, and told who runs.
func TestOneRunByAnyName(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a hard link is not found out here")
	}
	t.Parallel()
	c := newCampaign(t, slowly...)
	p := c.run()
	c.untilRows(20)
	soft, hard := filepath.Join(c.dir, "soft.db"), filepath.Join(c.dir, "hard.db")
	if err := os.Symlink("sweep.db", soft); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(c.database(), hard); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{soft, hard} {
		second := c.start("run", c.definition, "--db", name)
		c.exits(second, exitEnvironment)
		if said := second.stderr.String(); !strings.Contains(said, "is in use by process ") || !strings.Contains(said, "run "+c.definition) {
			t.Errorf("%s: it said\n%s", filepath.Base(name), said)
		}
	}
	c.exits(p, exitOK)
	c.sound()
}
