package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal: what programs write to its far end can be read from it.
type terminal struct {
	far  *os.File
	read chan []byte
}

// newTerminal makes a terminal of so many columns.
func newTerminal(t *testing.T, columns uint16) terminal {
	t.Helper()
	near, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { near.Close() })
	fd := int(near.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: columns}); err != nil {
		t.Fatal(err)
	}
	far, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	term := terminal{far, make(chan []byte, 1)}
	go func() {
		all, _ := io.ReadAll(near) // ends with an error when the last program has closed the far end
		term.read <- all
	}()
	return term
}

// onTerminal runs sweep with its stdout or its stderr on a terminal, and returns what that shows and what the other got.
func (c *campaign) onTerminal(stream string, env []string, args ...string) (shown, other string) {
	c.t.Helper()
	term := newTerminal(c.t, 100)
	var buffer bytes.Buffer
	cmd := exec.Command("sweep", append([]string{"--db", c.database()}, args...)...)
	cmd.Dir, cmd.Env = c.dir, append(append(os.Environ(), "TERM=xterm", c.mark), env...)
	cmd.Stdout, cmd.Stderr = &buffer, term.far
	if stream == "stdout" {
		cmd.Stdout, cmd.Stderr = term.far, &buffer
	}
	if err := cmd.Run(); err != nil {
		c.t.Fatalf("sweep %s: %v: %s", strings.Join(args, " "), err, &buffer)
	}
	term.far.Close()
	select {
	case all := <-term.read:
		return string(all), buffer.String()
	case <-time.After(patience):
		c.t.Fatal("the terminal stays open")
		return "", ""
	}
}

var colour = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// TestTerminal looks at what a person sees: colour and redrawn lines there, and only there.
func TestTerminal(t *testing.T) {
	t.Parallel()
	c := newCampaign(t, "[100, 400]", "[400]", "blocks: 2", "blocks: 1", "requests: 20", "requests: div(at.rate, 10)") // many-factors
	shown, tables := c.onTerminal("stderr", nil, "run", c.definition)
	if !strings.Contains(shown, "2/2 trials") || !strings.Contains(shown, "\x1b[") {
		t.Errorf("no progress is drawn:\n%q", shown)
	}
	if strings.Contains(tables, "\x1b") || !strings.HasPrefix(tables, "Goodput") {
		t.Errorf("what was redirected is\n%s", tables)
	}
	shown, _ = c.onTerminal("stderr", nil, "run", c.definition, "--fresh", "--progress", "plain")
	if strings.Contains(shown, "\x1b") || !strings.Contains(shown, "[2/2] block 1") {
		t.Errorf("--progress plain draws\n%q", shown)
	}
	for _, c2 := range []struct {
		env  string
		want bool
	}{{"SWEEP_NOTHING=", true}, {"NO_COLOR=1", false}, {"TERM=dumb", false}} {
		shown, _ := c.onTerminal("stdout", []string{c2.env}, "report")
		if got := colour.MatchString(shown); got != c2.want {
			t.Errorf("with %s: colour %v, want %v", c2.env, got, c2.want)
		}
		for line := range strings.Lines(colour.ReplaceAllString(shown, "")) {
			if n := len([]rune(strings.TrimRight(line, "\r\n"))); n > 100 {
				t.Errorf("with %s: a line of %d on a terminal of 100: %s", c2.env, n, line)
			}
		}
	}
	if shown, _ := c.onTerminal("stdout", nil, "report", "-f", "csv"); strings.Contains(shown, "\x1b") {
		t.Errorf("a format for machines has colour:\n%q", shown)
	}
}

// TestBars: the bar of what runs now counts the heads of a warm cache, and then the requests, for as long as there are any.
func TestBars(t *testing.T) {
	t.Parallel()
	c := newCampaign(t, "[100, 400]", "[]", "blocks: 2", "blocks: 1", "factors: rate: {baseline: 200, levels: []}", "factors: {}", "rate: at.rate", "rate: 40",
		"requests: 20", "requests: 40", "prefixCache: enabled:  false", `prefixCache: {enabled: true, state: "warm"}, prompt: shared: {tokens: 16, groups: 100}`)
	shown, _ := c.onTerminal("stderr", nil, "run", c.definition)
	for _, want := range []string{`priming the prefix cache: [1-9][0-9] of 100 heads`, ` [1-9][0-9] of about 50 requests`} {
		if !regexp.MustCompile(want).MatchString(shown) {
			t.Errorf("no %s is drawn:\n%q", want, shown)
		}
	}
}
