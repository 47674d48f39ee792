package main

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/pflag"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"sweep": main}) }

// TestScripts runs testdata/*.txtar: the executable specification of the command. Each finds tiny.cue in its folder: a
// sweep of 3 cells in 2 blocks that takes two seconds, whose bar every request meets.
func TestScripts(t *testing.T) {
	cue := cueCommand(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata", UpdateScripts: *update, RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("CUE", cue)
			return copyFile(filepath.Join("testdata", "tiny.cue"), filepath.Join(e.WorkDir, "tiny.cue"))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "serve": serve, "sql": query, "vary": vary, "waitfor": waitFor, "port": portOf, "subset": subset},
	})
}

// subset FILE WHOLE wants every line of FILE to be one of WHOLE's.
func subset(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: subset FILE WHOLE")
	}
	whole := strings.Split(ts.ReadFile(args[1]), "\n")
	for _, line := range strings.Split(ts.ReadFile(args[0]), "\n") {
		if !slices.Contains(whole, line) {
			ts.Fatalf("%s has no line %s", args[1], line)
		}
	}
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

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o666)
}

// vary FILE OLD NEW… writes tiny.cue to FILE with each OLD, which it has to hold, replaced by its NEW.
func vary(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args)%2 == 0 {
		ts.Fatalf("usage: vary FILE OLD NEW…")
	}
	text := ts.ReadFile("tiny.cue")
	for i := 1; i < len(args); i += 2 {
		if !strings.Contains(text, args[i]) {
			ts.Fatalf("%q is not in tiny.cue", args[i])
		}
		text = strings.ReplaceAll(text, args[i], args[i+1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o666))
}

// waitfor FILE [QUERY] waits until there is one, and its query returns 1.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: waitfor FILE [QUERY]")
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		switch name := ts.MkAbs(args[0]); {
		case !exists(name):
		case len(args) == 1:
			return
		default:
			if lines, err := rowsOf("file:"+name+"?mode=ro", args[1]); err == nil && slices.Equal(lines, []string{"1"}) {
				return
			}
		}
	}
	ts.Fatalf("it did not come in %v", patience)
}

// port URL NAME sets NAME to the port in the URL that URL holds.
func portOf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: port URL NAME")
	}
	base := ts.Getenv(args[0])
	ts.Setenv(args[1], base[strings.LastIndexByte(base, ':')+1:])
}

// sql FILE QUERY prints the rows of a query, a line each, columns apart by "|", NULL as nothing.
func query(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sql FILE QUERY")
	}
	lines, err := rowsOf(ts.MkAbs(args[0]), args[1])
	ts.Check(err)
	for _, line := range lines {
		fmt.Fprintln(ts.Stdout(), line)
	}
}

func rowsOf(file, text string) ([]string, error) {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.Query(text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, places := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		places[i] = &values[i]
	}
	var lines []string
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return nil, err
		}
		fields := make([]string, len(values))
		for i, v := range values {
			fields[i] = v.String
		}
		lines = append(lines, strings.Join(fields, "|"))
	}
	return lines, rows.Err()
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

func TestEveryVerbSaysHow(t *testing.T) {
	for _, verb := range (&app{}).root().Commands() {
		if verb.Name() == "help" || verb.Name() == "completion" {
			continue
		}
		if verb.Short == "" || !strings.Contains(verb.Example, "sweep "+verb.Name()) {
			t.Errorf("sweep %s --help has no example that can be pasted, or no sentence", verb.Name())
		}
		verb.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("sweep %s --%s says nothing", verb.Name(), f.Name)
			}
		})
	}
}
