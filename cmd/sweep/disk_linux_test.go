package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// onSmallDisk moves a campaign's folder onto a file system of so many KiB of its own, which only root can make.
func (c *campaign) onSmallDisk(kib string) {
	c.t.Helper()
	if os.Getuid() != 0 {
		c.t.Skip("only root can mount a small file system to fill")
	}
	small := filepath.Join(c.t.TempDir(), "small")
	if err := os.Mkdir(small, 0o777); err != nil {
		c.t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size="+kib+"k"); err != nil {
		c.t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	c.t.Cleanup(func() {
		c.killRest()
		if err := syscall.Unmount(small, syscall.MNT_DETACH); err != nil {
			c.t.Error(err)
		}
	})
	c.dir = small
}

// fill takes what is left of the disk but for so many bytes, and returns the file that does.
func (c *campaign) fill(but int64) string {
	c.t.Helper()
	var disk syscall.Statfs_t
	if err := syscall.Statfs(c.dir, &disk); err != nil {
		c.t.Fatal(err)
	}
	name := filepath.Join(c.dir, "filler")
	if err := os.WriteFile(name, make([]byte, max(int64(disk.Bavail)*disk.Bsize-but, 0)), 0o666); err != nil {
		c.t.Fatal(err)
	}
	return name
}

// TestDiskFull fills the disk under a run. The load stops with the cause and what is free, what was stored stays sound,
// and the run goes on once there is room.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	c := newCampaign(t, "[100, 400]", "[400]", "blocks: 2", "blocks: 1", "requests: 20", `duration: "3s"`)
	c.onSmallDisk("16384")
	p := c.run()
	c.untilRows(100)
	filler := c.fill(64 << 10)
	c.exits(p, exitEnvironment)
	said := p.stderr.String()
	for _, want := range []string{"sweep.db", "disk is full", "bytes free", "run the same command again"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	last := said[strings.LastIndex(strings.TrimSpace(said), "\n")+1:]
	if n := strings.Count(last, c.database()); n != 1 {
		t.Errorf("it names the database %d times in one line: %s", n, last)
	}
	c.nobodyLeft()
	c.sound()
	if n := c.number("SELECT count(*) FROM request WHERE phase = 'measure'"); n < 100 {
		t.Errorf("%d requests are left of 100 that were there", n)
	}
	before := c.finished()

	// Still full: nothing can be measured, which is said before any load.
	again := c.run()
	c.exits(again, exitEnvironment)
	if said := again.stderr.String(); strings.Contains(said, "requests ok") || !strings.Contains(said, "sweep: ") {
		t.Errorf("on a full disk it says\n%s", said)
	}
	c.sound()

	// What is there can be seen, although it cannot be derived anew.
	if err := syscall.Mount("", c.dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	seen := c.start("report")
	c.exits(seen, exitOK)
	if !strings.Contains(seen.stdout.String(), "Goodput") || !strings.Contains(seen.stderr.String(), "the tables show what was derived") {
		t.Errorf("of a disk that cannot be written it shows\n%s%s", &seen.stdout, &seen.stderr)
	}
	if err := syscall.Mount("", c.dir, "", syscall.MS_REMOUNT, ""); err != nil {
		t.Fatal(err)
	}

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	c.exits(c.run(), exitOK)
	c.sound()
	c.keeps(before)
	if n := c.number("SELECT count(*) FROM trial WHERE status = 'done' AND copy = 1"); n != 2 {
		t.Errorf("%d of 2 trials are done", n)
	}
}

// TestDiskTooSmall begins a night that the disk has no room for.
func TestDiskTooSmall(t *testing.T) {
	t.Parallel()
	c := newCampaign(t, "[100, 400]", "[400]", "requests: 20", "requests: 2000")
	c.onSmallDisk("1024")
	p := c.run()
	c.exits(p, exitEnvironment)
	if said := p.stderr.String(); strings.Contains(said, "requests ok") || !strings.Contains(said, "free") || !strings.Contains(said, "  hint: ") {
		t.Errorf("it says\n%s", said)
	}
	if bytes.Contains(p.stdout.Bytes(), []byte("valid")) {
		t.Errorf("it shows a result:\n%s", &p.stdout)
	}
	c.nobodyLeft()
	if exists(c.database()) {
		c.sound()
	}
}
