package main

import (
	"bufio"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"sweep": main}) }

// TestScripts runs testdata/*.txtar: the executable specification of the command.
func TestScripts(t *testing.T) {
	cue := cueCommand(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata", UpdateScripts: *update, RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("CUE", cue)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "serve": serve},
	})
}

// exits N COMMAND… runs a command that has to end with exit code N.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit := (*exec.ExitError)(nil)
		if !errors.As(err, &exit) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// serve NAME OPTION… serves the embedded engine on a free port until the script ends, and sets NAME to its URL.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: serve NAME OPTION…")
	}
	cmd := exec.Command("sweep", append([]string{"sim", "--port", "0", "--with-parent"}, args[1:]...)...)
	stdin, err := cmd.StdinPipe()
	ts.Check(err)
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		stdin.Close()
		cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	ts.Check(err)
	ts.Setenv(args[0], strings.TrimSpace(strings.TrimPrefix(line, "listening on ")))
}

// cueCommand is the path of the cue command that go.mod pins.
func cueCommand(t *testing.T) string {
	path, err := exec.Command("go", "tool", "-n", "cue").Output()
	if err != nil {
		t.Fatalf("go tool -n cue: %v", err)
	}
	return strings.TrimSpace(string(path))
}
