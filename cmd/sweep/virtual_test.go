package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/inference-sweep/sweep/runner"
	"github.com/inference-sweep/sweep/runner/sim"
	"github.com/inference-sweep/sweep/runner/target"
	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/report"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write the golden files again")

// pipes is every embedded engine of a test, behind an address of its own in memory.
type pipes struct {
	mu    sync.Mutex
	pipes []*sim.Pipe
}

func (p *pipes) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var n int
	if _, err := fmt.Sscanf(addr, "sim-%d:80", &n); err != nil {
		return nil, fmt.Errorf("no engine at %s", addr)
	}
	p.mu.Lock()
	pipe := p.pipes[n]
	p.mu.Unlock()
	return pipe.Dial(ctx, network, addr)
}

// start launches an engine as target sim launches a process: by its command.
func (p *pipes) start(_ context.Context, spec target.Spec) (*target.Process, error) {
	var o simOptions
	flags := pflag.NewFlagSet("sim", pflag.ContinueOnError)
	o.flags(flags)
	if err := flags.Parse(spec.Command[2:]); err != nil {
		return nil, err
	}
	server, err := sim.New(o.resolved())
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	pipe, exited := sim.NewPipe(), make(chan struct{})
	go func() {
		defer close(exited)
		server.Serve(ctx, pipe)
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pipes = append(p.pipes, pipe)
	return &target.Process{
		Addr: fmt.Sprintf("sim-%d:80", len(p.pipes)-1), Exited: exited,
		Stop: func(context.Context, time.Duration) error { stop(); <-exited; return nil },
	}, nil
}

// runVirtually runs a definition on the embedded engine in virtual time, into a real database, and returns that,
// open, with what is derived.
func runVirtually(t *testing.T, definition string, blocks int, tags ...string) (*store.DB, *sweep.Plan, *sweep.Derived, runner.Summary) {
	t.Helper()
	var messages bytes.Buffer
	a := &app{stdout: &messages, stderr: &messages}
	plans, err := a.plans([]string{definition}, &reading{blocks: blocks, tags: tags})
	if err != nil {
		t.Fatalf("%v %s", err, &messages)
	}
	p := plans[0]
	db, err := store.Open(filepath.Join(t.TempDir(), "sweep.db"), store.Options{Owner: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	var summary runner.Summary
	synctest.Test(t, func(t *testing.T) { summary = virtualSitting(t, db, p) })
	derived, err := derive(db, p)
	if err != nil {
		t.Fatal(err)
	}
	return db, p, derived, summary
}

// virtualSitting runs what remains of a plan inside a bubble.
func virtualSitting(t *testing.T, db *store.DB, p *sweep.Plan) runner.Summary {
	finished, err := db.Finished(p.Name)
	if err != nil {
		t.Fatal(err)
	}
	trials, err := remaining(p, finished, &running{})
	if err != nil {
		t.Fatal(err)
	}
	sitting, err := db.BeginSitting(store.Sitting{Sweep: p.Name, StartedAt: time.Now()}, p)
	if err != nil {
		t.Fatal(err)
	}
	engines := &pipes{}
	w := db.NewWriter()
	nonces := 0
	summary, err := runner.Run(t.Context(), p, trials, runner.Config{
		Record: newRecording(db, w, p).recorder(), Dial: engines.dial, Target: target.Deps{Dial: engines.dial, Start: engines.start},
		Nonce: func() string { nonces++; return fmt.Sprintf("%032x", nonces) }, Sitting: sitting, Node: "virtual",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return summary
}

// measuredAt is when a table's trials began, wherever its line is broken.
var measuredAt = regexp.MustCompile(`measured\s+from\s+\S+\s+to\s+\S+`)

// golden compares text with a file, or writes the file with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; go test ./cmd/sweep -run %s -update writes it again\ngot:\n%s\nwant:\n%s", name, t.Name(), got, want)
	}
}

// The whole house in virtual time: definition, plan, run on the embedded engine, database, tables. Nothing is late and
// nothing is noisy, so the tables are exact, and a clean run has no flag but notes.
func TestDemonstrationInVirtualTime(t *testing.T) {
	db, p, derived, summary := runVirtually(t, "../../experiments/batch.cue", 0)
	if summary.Done != len(p.Trials) || summary.Failed+summary.Blocked+summary.Left > 0 {
		t.Fatalf("summary %+v of %d trials", summary, len(p.Trials))
	}
	for _, f := range derived.Flags {
		if f.Severity != sweep.Note && f.Code != "overloaded" {
			t.Errorf("%s block %d: %s (%s): %s", f.Cell, f.Block, f.Code, f.Severity, f.Detail)
		}
	}
	sameFlags(t, p, derived)
	var out bytes.Buffer
	a := &app{stdout: &out}
	if err := a.printTables(db, p, derived, []string{"goodput", "variance", "phases"}); err != nil {
		t.Fatal(err)
	}
	printed := strings.ReplaceAll(out.String(), db.Path(), "sweep.db")
	printed = measuredAt.ReplaceAllString(printed, "measured from THEN to THEN")
	golden(t, "virtual-batch.golden", printed)
	if readme, err := os.ReadFile("../../README.md"); err != nil || !strings.Contains(string(readme), firstTable(printed)) {
		t.Errorf("the README does not show the table that this run prints (%v)", err)
	}
}

// sameFlags holds the flags that the goodput table prints of a cell against the codes that the view has of it.
func sameFlags(t *testing.T, p *sweep.Plan, derived *sweep.Derived) {
	t.Helper()
	table, err := report.Build("goodput", report.Input{Plan: p, Derived: derived})
	if err != nil {
		t.Fatal(err)
	}
	cell, block, flags := slices.Index(table.View.Columns, "cell"), slices.Index(table.View.Columns, "block"), slices.Index(table.View.Columns, "flags")
	for _, row := range table.Rows {
		var printed []string
		for i, m := range table.Legend.Marks {
			if slices.Contains(row.Marks, i) || m.Term == "all rows" && m.Letter == "" {
				printed = append(printed, m.Code)
			}
		}
		for _, r := range table.View.Rows {
			codes := slices.Clone(r[flags].([]string))
			if r[cell] != row.Values[0].Words || r[block] != nil {
				continue
			}
			slices.Sort(codes)
			if slices.Sort(printed); !slices.Equal(printed, codes) {
				t.Errorf("%s: the table says %v, the view %v", row.Values[0].Words, printed, codes)
			}
		}
	}
}

// firstTable is the goodput table, up to the next one.
func firstTable(text string) string {
	table, _, _ := strings.Cut(text, "\nVariance between blocks")
	return strings.TrimSpace(table)
}
