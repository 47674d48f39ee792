package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/inference-sweep/sweep/runner"
	"github.com/inference-sweep/sweep/runner/sim"
	"github.com/inference-sweep/sweep/runner/target"
	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/verdict"
	"github.com/spf13/pflag"
)

// night is a sweep that a test runs in virtual time, the whole way: definition, plan, run, database, derived rows. The
// zero value is one cell, three blocks of 120 requests, on the embedded engine.
type night struct {
	// blocks is how many; top are lines of CUE beside #cell, factors among them; cell are those of the cell that are not
	// as in ordinary, by their paths. An empty one takes the ordinary line away.
	blocks int
	top    string
	cell   lines
	// files lie beside the definition, by name.
	files map[string]string
	// engine changes what a launch is given; spoil stands between the engine and the wire.
	engine func(l *life, c *sim.Config)
	spoil  func(l *life, engine http.Handler) http.Handler
	// attached are the addresses at which servers are up before the run.
	attached []string
	// client changes the run's own side; processor is how much of its processors it is said to have used.
	client    func(*runner.Config)
	processor float64
}

// lines are CUE by path.
type lines map[string]string

// ordinary is a cell against which nothing can be said: an open loop at a third of what the engine bears.
var ordinary = lines{
	"target":                       `"sim"`,
	"contract.model":               `{id: "sim/small", revision: "0000001"}`,
	"contract.engine":              `{name: "sim", revision: "1"}`,
	"contract.hardware":            `{gpu: "simulated", gpus: 1}`,
	"contract.precision":           `weights: "bf16"`,
	"contract.prompt.length":       `fixed: 64`,
	"contract.output.length":       `fixed: 8`,
	"contract.sampling":            `temperature: 0`,
	"contract.prefixCache":         `enabled: false`,
	"contract.load.open":           `rate: 50`,
	"contract.slo":                 `{ttft: "10s", tpot: "1s"}`,
	"warmup":                       `requests: 20`,
	"measure":                      `requests: 120`,
	"tail":                         `"2s"`,
	"timeout":                      `{idle: "20s", noToken: "20s", ready: "60s", stop: "1s"}`,
	"errorLimit":                   `1`,
	"server":                       `restart: "block"`,
	"contract.streaming":           `true`,
	"contract.endpoint":            `"completions"`,
	"contract.hardware.powerLimit": ``,
}

// source is the definition as CUE.
func (n *night) source(name string) string {
	blocks := n.blocks
	if blocks == 0 {
		blocks = 3
	}
	var text strings.Builder
	fmt.Fprintf(&text, "package night\n\nimport \"github.com/inference-sweep/sweep/schema\"\n\n%s: schema.#Sweep & {\n\tblocks: %d\n", name, blocks)
	top := n.top
	if !strings.Contains(top, "factors:") {
		top = "factors: {}\n" + top
	}
	fmt.Fprintf(&text, "%s\n\t#cell: {\n\t\tat: _\n", top)
	cell := maps.Clone(ordinary)
	maps.Copy(cell, n.cell)
	for _, path := range slices.Sorted(maps.Keys(cell)) {
		if cell[path] != "" {
			fmt.Fprintf(&text, "\t\t%s: %s\n", strings.ReplaceAll(path, ".", ": "), cell[path])
		}
	}
	return text.String() + "\t}\n}\n"
}

// plan thinks the definition through.
func (n *night) plan(t testing.TB, name string) *sweep.Plan {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{name + ".cue": n.source(name)}
	maps.Copy(files, n.files)
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, name+".cue")
	a := &app{stdout: io.Discard, stderr: io.Discard}
	plans, err := a.plans([]string{path}, &reading{})
	if err != nil {
		t.Fatalf("%v\n%s", err, n.source(name))
	}
	return plans[0]
}

// morning is what a night left.
type morning struct {
	db      *store.DB
	plan    *sweep.Plan
	derived *sweep.Derived
	summary runner.Summary
}

// run runs the night into a database of its own.
func (n *night) run(t *testing.T, name string) *morning {
	t.Helper()
	m := &morning{db: newDatabase(t)}
	m.again(t, n, name)
	return m
}

func newDatabase(t *testing.T) *store.DB {
	t.Helper()
	db, err := store.Open(filepath.Join(t.TempDir(), "sweep.db"), store.Options{Owner: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// again is another sitting in the same database.
func (m *morning) again(t *testing.T, n *night, name string) {
	t.Helper()
	m.plan = n.plan(t, name)
	synctest.Test(t, func(t *testing.T) { m.summary = n.sitting(t, m.db, m.plan) })
	var err error
	if m.derived, err = derive(m.db, m.plan); err != nil {
		t.Fatal(err)
	}
}

// holdsOfWholeRows holds that whole rows make the same figures and flags as those that are read for figures.
func (m *morning) holdsOfWholeRows(t *testing.T) {
	t.Helper()
	records, err := m.db.Trials(m.plan.Name)
	if err != nil {
		t.Fatal(err)
	}
	facts := make([]sweep.TrialFacts, len(records))
	for i, r := range records {
		if facts[i], err = m.db.Facts(r.ID); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := verdict.Derive(m.plan, facts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, m.derived); diff != "" {
		t.Errorf("(-of whole rows +of rows for figures)\n%s", diff)
	}
}

// sitting runs what remains of the plan, inside a bubble.
func (n *night) sitting(t *testing.T, db *store.DB, p *sweep.Plan) runner.Summary {
	finished, err := db.Finished(p.Name)
	if err != nil {
		t.Fatal(err)
	}
	trials, err := remaining(p, finished, &running{})
	if err != nil {
		t.Fatal(err)
	}
	return n.measure(t, db, p, trials)
}

// measure runs trials of the plan, inside a bubble.
func (n *night) measure(t *testing.T, db *store.DB, p *sweep.Plan, trials []sweep.Trial) runner.Summary {
	id, err := db.BeginSitting(store.Sitting{Sweep: p.Name, StartedAt: time.Now()}, p)
	if err != nil {
		t.Fatal(err)
	}
	fleet := &fleet{night: n, pipes: map[string]*sim.Pipe{}}
	for _, addr := range n.attached {
		up, err := fleet.up(addr, ordinaryEngine(nil))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { up.end(); <-up.ended }()
	}
	w := db.NewWriter()
	c := runner.Config{
		Record: newRecording(db, w, p).recorder(), Dial: fleet.dial,
		Target: target.Deps{Dial: fleet.dial, Start: fleet.start, Output: noCommand},
		Nonce:  nonce, Sitting: id, Node: "virtual",
	}
	c.Record.Observe = n.ofProcessor(c.Record.Observe)
	if n.client != nil {
		n.client(&c)
	}
	summary, err := runner.Run(t.Context(), p, trials, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return summary
}

func noCommand(context.Context, string, ...string) ([]byte, error) {
	return nil, fmt.Errorf("there are no commands in virtual time")
}

// ofProcessor replaces what is measured of the client's processor: that is real where the clock is not.
func (n *night) ofProcessor(observe func(sweep.Observation) error) func(sweep.Observation) error {
	return func(o sweep.Observation) error {
		if o.Key == sweep.ObsClientCPUShare {
			o.Value = n.processor
		}
		return observe(o)
	}
}

// life is one server of a night.
type life struct {
	n     int // which one, from 1
	end   context.CancelFunc
	ended chan struct{}
	addr  string
	batch int // its limit on sequences at once
}

// fleet is the servers of a night, each behind an address of its own in memory.
type fleet struct {
	night *night
	mu    sync.Mutex
	lives int
	pipes map[string]*sim.Pipe
}

func (f *fleet) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	f.mu.Lock()
	pipe := f.pipes[addr]
	f.mu.Unlock()
	if pipe == nil {
		return nil, fmt.Errorf("no server at %s", addr)
	}
	return pipe.Dial(ctx, network, addr)
}

// start launches a server, by its command where that is the embedded engine's.
func (f *fleet) start(_ context.Context, spec target.Spec) (*target.Process, error) {
	l, err := f.up("", ordinaryEngine(spec.Command))
	if err != nil {
		return nil, err
	}
	stop := func(context.Context, time.Duration) error { l.end(); <-l.ended; return nil }
	pids := func() []int { return []int{1} }
	return &target.Process{Addr: l.addr, Exited: l.ended, Stop: stop, PIDs: pids}, nil
}

// ordinaryEngine is what a command asks the embedded engine for; any other command's server is one like it.
func ordinaryEngine(command []string) sim.Config {
	var o simOptions
	flags := pflag.NewFlagSet("sim", pflag.ContinueOnError)
	o.flags(flags)
	if len(command) > 2 && command[1] == "sim" {
		if err := flags.Parse(command[2:]); err != nil {
			panic(err)
		}
	}
	return o.resolved()
}

// up brings a server up behind an address, or one that is made for it.
func (f *fleet) up(addr string, config sim.Config) (*life, error) {
	ctx, cancel := context.WithCancel(context.Background())
	f.mu.Lock()
	f.lives++
	l := &life{n: f.lives, addr: addr, end: cancel, ended: make(chan struct{})}
	if addr == "" {
		l.addr = fmt.Sprintf("server-%d:80", l.n)
	}
	pipe := sim.NewPipe()
	f.pipes[l.addr] = pipe
	f.mu.Unlock()
	if f.night.engine != nil {
		f.night.engine(l, &config)
	}
	l.batch = config.MaxNumSeqs
	engine, err := sim.New(config)
	if err != nil {
		return nil, err
	}
	var handler http.Handler = engine
	if f.night.spoil != nil {
		handler = f.night.spoil(l, engine)
	}
	go func() { defer close(l.ended); live(ctx, pipe, engine, handler) }()
	return l, nil
}

// live answers on a pipe until ctx ends: by handler, behind which the engine lives.
func live(ctx context.Context, pipe *sim.Pipe, engine *sim.Server, handler http.Handler) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	behind := &unused{Pipe: sim.NewPipe(), started: make(chan struct{})}
	all.Go(func() { engine.Serve(ctx, behind) })
	<-behind.started
	front := &http.Server{
		Handler: handler, BaseContext: func(net.Listener) context.Context { return ctx }, ErrorLog: log.New(io.Discard, "", 0),
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				all.Add(1)
			case http.StateClosed, http.StateHijacked:
				all.Done()
			}
		},
	}
	all.Go(func() { <-ctx.Done(); front.Close() })
	front.Serve(pipe)
	cancel()
	all.Wait()
}

// unused is a listener that nobody dials; started says that it is listened on.
type unused struct {
	*sim.Pipe
	once    sync.Once
	started chan struct{}
}

func (u *unused) Accept() (net.Conn, error) {
	u.once.Do(func() { close(u.started) })
	return u.Pipe.Accept()
}

// reasons say why trials failed.
func (m *morning) reasons(t *testing.T) string {
	t.Helper()
	records, err := m.db.Trials(m.plan.Name)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, r := range records {
		if r.Status != sweep.StatusDone {
			text += fmt.Sprintf("\n%s/%d %s: %s", r.Cell, r.Block, r.Status, r.Reason)
		}
	}
	return text
}

// doubts are the flags of a sweep that are more than notes, each as "cell/block: code severity".
func doubts(flags []sweep.Flag) []string {
	var list []string
	for _, f := range flags {
		if f.Severity != sweep.Note {
			list = append(list, doubt(f))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func doubt(f sweep.Flag) string {
	place := f.Cell
	if f.Block > 0 {
		place += fmt.Sprintf("/%d", f.Block)
	}
	return fmt.Sprintf("%s: %s %s", place, f.Code, f.Severity)
}

// details are flags in their words, for a failing test to show.
func details(flags []sweep.Flag) string {
	var text bytes.Buffer
	for _, f := range flags {
		fmt.Fprintf(&text, "\n%s: %s", doubt(f), f.Detail)
	}
	return text.String()
}
