package sweep_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/sweep"
)

// cellText is a cell as a definition resolves it; tests set leaves in it.
const cellText = `{"cell":"baseline","factor":null,"level":null,"at":{},"target":"sim","contract":{
"model":{"id":"sim/small","revision":"0000001"},"engine":{"name":"sim","revision":"1","args":{"max-num-seqs":16}},
"hardware":{"gpu":"simulated","gpus":1},"precision":{"weights":"bf16","kvCache":"auto"},"endpoint":"completions","streaming":true,
"prompt":{"length":{"fixed":128},"ids":{"from":1000,"to":4000}},"output":{"length":{"fixed":16}},
"sampling":{"temperature":0,"ignoreEOS":true},"prefixCache":{"enabled":false,"by":"salt"},
"load":{"open":{"rate":100,"arrival":"poisson"}},"slo":{"ttft":"150ms","attainment":0.99}},
"server":{"port":8000,"restart":"block"},"measure":{"duration":"1800ms"},"warmup":{"duration":"400ms"},"tail":"1500ms",
"timeout":{"ready":"20m","connect":"10s","idle":"60s","noToken":"120s","total":"10m","grace":"2s","stop":"30s"},"errorLimit":1}`

// cell makes a cell: name, factor ("" for the baseline), coordinates, and leaves to set by path (nil removes one).
func cell(t testing.TB, name, factor string, at map[string]any, set map[string]any) sweep.Cell {
	t.Helper()
	var tree map[string]any
	if err := json.Unmarshal([]byte(cellText), &tree); err != nil {
		t.Fatal(err)
	}
	tree["cell"], tree["at"] = name, at
	if factor != "" {
		tree["factor"] = factor
		if level, ok := at[factor]; ok {
			tree["level"] = level
		}
	}
	for path, value := range set {
		setLeaf(tree, strings.Split(path, "."), value)
	}
	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	var c sweep.Cell
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func setLeaf(tree map[string]any, path []string, value any) {
	for ; len(path) > 1; path = path[1:] {
		inner, ok := tree[path[0]].(map[string]any)
		if !ok {
			inner = map[string]any{}
			tree[path[0]] = inner
		}
		tree = inner
	}
	if value == nil {
		delete(tree, path[0])
		return
	}
	tree[path[0]] = value
}

// rendering is what these tests need to know of engines: the batch limit is in the command, nothing else is.
var rendering = sweep.Rendering{
	Command: func(c *sweep.Cell) ([]string, error) {
		return []string{"sweep", "sim", fmt.Sprint(c.Contract.Engine.Args["max-num-seqs"])}, nil
	},
	Setting: func(c *sweep.Cell) (string, error) {
		return fmt.Sprint(c.Target, c.Contract.Engine.Args["max-num-seqs"]), nil
	},
}

// batchDefinition is the demonstration sweep: two factors with three other levels each.
func batchDefinition(t testing.TB) *sweep.Definition {
	t.Helper()
	factor := func(name string, baseline any, levels ...any) sweep.Factor {
		return sweep.Factor{Name: name, Factor: schema.Factor{Baseline: baseline, Levels: levels}}
	}
	d := &sweep.Definition{Name: "batch", Blocks: 6, Seed: 1, Factors: []sweep.Factor{factor("batch", 16.0, 4.0, 8.0, 32.0), factor("rate", 100.0, 50.0, 150.0, 200.0)}}
	add := func(name, factor string, batch, rate float64) {
		d.Cells = append(d.Cells, cell(t, name, factor, map[string]any{"batch": batch, "rate": rate},
			map[string]any{"contract.engine.args.max-num-seqs": batch, "contract.load.open.rate": rate}))
	}
	add("baseline", "", 16, 100)
	for _, b := range []float64{4, 8, 32} {
		add(fmt.Sprintf("batch=%g", b), "batch", b, 100)
	}
	for _, r := range []float64{50, 150, 200} {
		add(fmt.Sprintf("rate=%g", r), "rate", 16, r)
	}
	return d
}

func plan(t testing.TB, d *sweep.Definition) *sweep.Plan {
	t.Helper()
	p, err := sweep.NewPlan(d, rendering)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPlanOfTheDemonstration(t *testing.T) {
	p := plan(t, batchDefinition(t))
	if len(p.Trials) != 42 || p.Launches != 24 {
		t.Errorf("%d trials and %d launches, want 42 and 24", len(p.Trials), p.Launches)
	}
	c := p.CellNamed("rate=50")
	if c.Requests != 90 {
		t.Errorf("rate=50 expects %d requests, want 90", c.Requests)
	}
	want := []sweep.Move{{Path: "contract.load.open.rate", From: json.Number("100"), To: json.Number("50")}}
	if !slices.Equal(c.Moved, want) {
		t.Errorf("rate=50 moved %v, want %v", c.Moved, want)
	}
	for i := range p.Cells {
		if len(p.Cells[i].Flags) > 0 {
			t.Errorf("%s: %v", p.Cells[i].Name(), p.Cells[i].Flags)
		}
	}
}

// Each block runs every cell once, and the cells of a launch stay together in it.
func TestOrderKeepsBlocksAndLaunches(t *testing.T) {
	d := batchDefinition(t)
	orders := map[string]bool{}
	for seed := range int64(20) {
		d.Seed = seed
		p := plan(t, d)
		var order strings.Builder
		for b := range 6 {
			block := p.Trials[b*7 : b*7+7]
			cells, settings := map[string]bool{}, []string{}
			for _, tr := range block {
				cells[tr.Cell] = true
				if len(settings) == 0 || settings[len(settings)-1] != tr.Setting {
					settings = append(settings, tr.Setting)
				}
				if tr.Block != b+1 {
					t.Fatalf("seed %d: trial of block %d stands in block %d", seed, tr.Block, b+1)
				}
				order.WriteString(tr.Cell + " ")
			}
			if len(cells) != 7 || len(settings) != 4 {
				t.Fatalf("seed %d block %d: %d cells in %d launches, want 7 in 4", seed, b+1, len(cells), len(settings))
			}
		}
		orders[order.String()] = true
	}
	if len(orders) < 20 {
		t.Errorf("20 seeds gave %d orders", len(orders))
	}
}

// A cell's place does not depend on which other cells there are.
func TestOrderIsKeyedByCell(t *testing.T) {
	d := batchDefinition(t)
	whole := plan(t, d)
	d.Cells = slices.Delete(d.Cells, 4, 5)
	part := plan(t, d)
	var expected []sweep.Key
	for _, tr := range whole.Trials {
		if tr.Cell != "rate=50" {
			expected = append(expected, tr.Key)
		}
	}
	for i, tr := range part.Trials {
		if tr.Key != expected[i] {
			t.Fatalf("place %d: %v, want %v", i, tr.Key, expected[i])
		}
	}
}

func TestRestart(t *testing.T) {
	for restart, launches := range map[string]int{"block": 24, "trial": 42, "setting": 4} {
		d := batchDefinition(t)
		for i := range d.Cells {
			var tree map[string]any
			json.Unmarshal(d.Cells[i].Raw, &tree)
			setLeaf(tree, []string{"server", "restart"}, restart)
			text, _ := json.Marshal(tree)
			json.Unmarshal(text, &d.Cells[i])
		}
		p := plan(t, d)
		if p.Launches != launches {
			t.Errorf("restart %s: %d launches, want %d", restart, p.Launches, launches)
		}
		changes := 0
		for i, tr := range p.Trials {
			if i == 0 || tr.Setting != p.Trials[i-1].Setting {
				changes++
			}
		}
		if restart == "setting" && changes != 4 {
			t.Errorf("restart setting: the order needs %d launches", changes)
		}
	}
}

func TestDigest(t *testing.T) {
	base := cell(t, "baseline", "", nil, nil)
	digest := func(c sweep.Cell) string {
		leaves, err := sweep.CountedLeaves(c.Raw)
		if err != nil {
			t.Fatal(err)
		}
		return sweep.Digest(leaves, map[string][]float64{"a": {1, 2}, "b": {1, 2}, "c": {1, 3}})
	}
	tests := []struct {
		name  string
		set   map[string]any
		equal bool
	}{
		{"the SLO is judgement", map[string]any{"contract.slo.ttft": "99ms"}, true},
		{"no SLO at all", map[string]any{"contract.slo": nil}, true},
		{"a default that is left out", map[string]any{"contract.prompt.ids": nil, "timeout.ready": nil, "server.port": nil}, true},
		{"a number by value", map[string]any{"contract.load.open.rate": 100.0}, true},
		{"the rate", map[string]any{"contract.load.open.rate": 100.5}, false},
		{"a timeout", map[string]any{"timeout.total": "9m"}, false},
		{"the target", map[string]any{"target": "http://localhost:8000"}, false},
		{"a new optional leaf", map[string]any{"contract.sampling.topP": 0.9}, false},
		{"an engine option", map[string]any{"contract.engine.args.seed": 1}, false},
		{"the window", map[string]any{"measure.duration": "2s"}, false},
	}
	for _, tt := range tests {
		changed := cell(t, "baseline", "", nil, tt.set)
		if got := digest(changed) == digest(base); got != tt.equal {
			t.Errorf("%s: equal digests %v, want %v", tt.name, got, tt.equal)
		}
	}
	trace := func(file string) string {
		return digest(cell(t, "baseline", "", nil, map[string]any{"contract.load.open.arrival": "trace", "contract.load.open.trace": file}))
	}
	if trace("a") != trace("b") || trace("a") == trace("c") {
		t.Error("recorded arrivals count by their numbers, not by their file")
	}
}

func TestFlagsOfCells(t *testing.T) {
	tests := []struct {
		name    string
		set     map[string]any
		sets    []string
		couples []string
		want    string // code severity, or empty
		says    string
	}{
		{"one leaf", map[string]any{"contract.load.open.rate": 50}, nil, nil, "", ""},
		{"two leaves of a factor that declares none", map[string]any{"contract.load.open.rate": 50, "contract.output.length.fixed": 32}, nil, nil,
			"many-factors invalid", "2 leaves moved (contract.load.open.rate, contract.output.length.fixed)"},
		{"two leaves that belong together", map[string]any{"contract.engine.args.max-num-seqs": 4, "contract.hardware.gpus": 2}, nil,
			[]string{"contract.engine.**", "contract.hardware.gpus"}, "", ""},
		{"sets that move with a stowaway", map[string]any{"contract.load.open.rate": 50, "contract.output.length.fixed": 32},
			[]string{"contract.load.open.rate"}, nil, "many-factors invalid", "does not list contract.output.length.fixed"},
		{"another kind of load", map[string]any{"contract.load.open": nil, "contract.load.closed.clients": 16}, nil, []string{"contract.load.**"}, "", ""},
		{"a burst", map[string]any{"contract.load.open": nil, "contract.load.burst": map[string]any{}}, nil, []string{"contract.load.**"}, "", ""},
		{"nothing", nil, nil, nil, "no-change invalid", "does #cell read at.f"},
		{"only a label", map[string]any{"contract.hardware.gpu": "H200"}, nil, nil, "label-only invalid", "contract.hardware.gpu"},
		{"only the client", map[string]any{"timeout.total": "1m"}, nil, nil, "", ""},
		{"only the restart", map[string]any{"server.restart": "trial"}, nil, nil, "", ""},
	}
	for _, tt := range tests {
		d := &sweep.Definition{Name: "s", Blocks: 6, Factors: []sweep.Factor{{Name: "f", Factor: schema.Factor{Baseline: "a", Levels: []any{"b"}, Sets: tt.sets, Couples: tt.couples}}},
			Cells: []sweep.Cell{cell(t, "baseline", "", map[string]any{"f": "a"}, nil), cell(t, "f=b", "f", map[string]any{"f": "b"}, tt.set)}}
		got, says := "", ""
		for _, f := range plan(t, d).Cells[1].Flags {
			got, says = got+f.Code+" "+string(f.Severity), f.Detail
		}
		if got != tt.want || !strings.Contains(says, tt.says) {
			t.Errorf("%s: %q %q, want %q %q", tt.name, got, says, tt.want, tt.says)
		}
	}
}

func TestAliases(t *testing.T) {
	d := batchDefinition(t)
	d.Cells = append(d.Cells, cell(t, "g:batch=16,rate=50", "g", map[string]any{"batch": 16.0, "rate": 50.0},
		map[string]any{"contract.engine.args.max-num-seqs": 16.0, "contract.load.open.rate": 50.0}))
	d.Grids = []sweep.Grid{{Name: "g", Grid: schema.Grid{Of: []string{"batch", "rate"}, Kind: "cross"}}}
	p := plan(t, d)
	if got := p.Cells[7].AliasOf; got != "rate=50" {
		t.Errorf("alias of %q, want rate=50", got)
	}
	if len(p.Trials) != 42 {
		t.Errorf("%d trials, want the 42 distinct ones", len(p.Trials))
	}
	if got := p.Names(p.Cells[7].Digest); !slices.Equal(got, []string{"rate=50", "g:batch=16,rate=50"}) {
		t.Errorf("names %v", got)
	}
}

// A grid cell is compared with the cells of its grid that differ from it in one factor set back to its baseline.
func TestReferencesOfGridCells(t *testing.T) {
	d := batchDefinition(t)
	d.Grids = []sweep.Grid{{Name: "g", Grid: schema.Grid{Of: []string{"batch", "rate"}, Kind: "cross"}}}
	for _, b := range []float64{16, 4} {
		for _, r := range []float64{100, 50} {
			d.Cells = append(d.Cells, cell(t, fmt.Sprintf("g:batch=%g,rate=%g", b, r), "g", map[string]any{"batch": b, "rate": r},
				map[string]any{"contract.engine.args.max-num-seqs": b, "contract.load.open.rate": r}))
		}
	}
	p := plan(t, d)
	corner := p.CellNamed("g:batch=4,rate=50")
	want := []sweep.Reference{{Cell: "g:batch=16,rate=50", Factor: "batch", Moved: 1}, {Cell: "g:batch=4,rate=100", Factor: "rate", Moved: 1}}
	if fmt.Sprint(corner.References) != fmt.Sprint(want) {
		t.Errorf("references %v, want %v", corner.References, want)
	}
	if len(corner.Flags) != 1 || corner.Flags[0].Severity != sweep.Note || len(corner.Moved) != 2 {
		t.Errorf("flags %v with %d moved, want one note with 2", corner.Flags, len(corner.Moved))
	}
	if refs := p.CellNamed("g:batch=16,rate=100").References; len(refs) != 0 {
		t.Errorf("the grid's baseline is compared with %v", refs)
	}
}

func TestAttachedServersCannotBeLaunchedAnew(t *testing.T) {
	d := batchDefinition(t)
	for i := range d.Cells {
		var tree map[string]any
		json.Unmarshal(d.Cells[i].Raw, &tree)
		tree["target"] = "http://localhost:8000"
		text, _ := json.Marshal(tree)
		json.Unmarshal(text, &d.Cells[i])
	}
	_, err := sweep.NewPlan(d, rendering)
	if err == nil || !strings.Contains(err.Error(), "cell batch=4") || !strings.Contains(err.Error(), `target: "launch"`) {
		t.Fatalf("error %v, want one that names the cell and what could run it", err)
	}
	d.Cells = append(d.Cells[:1:1], d.Cells[4:]...)
	p := plan(t, d)
	if p.Launches != 0 || len(p.Trials) != 24 {
		t.Errorf("%d launches and %d trials, want none and 24", p.Launches, len(p.Trials))
	}
}

func TestTwin(t *testing.T) {
	d := batchDefinition(t)
	d.AA = true
	p := plan(t, d)
	twins := 0
	for _, tr := range p.Trials {
		if tr.Cell == sweep.TwinName {
			twins++
			if tr.Copy != 2 || tr.Digest != p.Cells[0].Digest {
				t.Errorf("twin %v", tr)
			}
		}
	}
	if twins != 6 || len(p.Trials) != 48 {
		t.Errorf("%d twins of %d trials", twins, len(p.Trials))
	}
}

// finish says that trials were done in one sitting.
func finish(sitting int64, trials ...sweep.Trial) []sweep.FinishedTrial {
	var done []sweep.FinishedTrial
	for _, tr := range trials {
		done = append(done, sweep.FinishedTrial{Key: tr.Key, Sitting: sitting, Status: sweep.StatusDone})
	}
	return done
}

func TestRemaining(t *testing.T) {
	p := plan(t, batchDefinition(t))
	if got := p.Remaining(nil); len(got) != 42 {
		t.Fatalf("at first %d remain, want 42", len(got))
	}
	if got := p.Remaining(finish(1, p.Trials...)); len(got) != 0 {
		t.Fatalf("after all %d remain", len(got))
	}
	// Whole blocks that are done need no fresh baseline.
	if got := p.Remaining(finish(1, p.Trials[:14]...)); len(got) != 28 {
		t.Fatalf("after two blocks %d remain, want 28", len(got))
	}
	failed := finish(1, p.Trials...)
	failed[3].Status = sweep.StatusFailed
	got := p.Remaining(failed)
	if p.Trials[3].Cell == sweep.Baseline {
		t.Fatal("choose another trial: this one is the baseline")
	}
	if len(got) != 2 || !got[1].Pairs() {
		t.Fatalf("after a failure %d remain, want the trial, and a fresh baseline that waits for it: %v", len(got), got)
	}
}

// Adding a level runs that level, and beside it in each block one fresh baseline.
func TestRemainingOfAnAddedLevel(t *testing.T) {
	d := batchDefinition(t)
	before := plan(t, d)
	done := finish(1, before.Trials...)
	d.Cells = append(d.Cells, cell(t, "rate=75", "rate", map[string]any{"batch": 16.0, "rate": 75.0}, map[string]any{"contract.load.open.rate": 75}))
	after := plan(t, d)
	got := after.Remaining(done)
	if len(got) != 12 {
		t.Fatalf("%d trials remain, want 6 of the level and 6 baselines", len(got))
	}
	for _, tr := range got {
		if tr.Cell != "rate=75" && !(tr.Cell == sweep.Baseline && tr.Copy == 3) {
			t.Errorf("%v remains", tr)
		}
	}
	// A second added level in a third sitting gets copies of its own.
	done = append(done, finish(2, got...)...)
	d.Cells = append(d.Cells, cell(t, "rate=80", "rate", map[string]any{"batch": 16.0, "rate": 80.0}, map[string]any{"contract.load.open.rate": 80}))
	for _, tr := range plan(t, d).Remaining(done) {
		if tr.Cell == sweep.Baseline && tr.Copy != 4 {
			t.Errorf("%v: want copy 4", tr)
		}
	}
}

// Whatever was interrupted where, going on finishes every trial of the plan once, and each trial that joins a block
// later has a baseline of its own sitting.
func TestRemainingReachesTheEnd(t *testing.T) {
	p := plan(t, batchDefinition(t))
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		var finished []sweep.FinishedTrial
		sitting := int64(0)
		for remaining := p.Remaining(finished); len(remaining) > 0; remaining = p.Remaining(finished) {
			sitting++
			stop := 1 + r.IntN(len(remaining))
			finished = append(finished, finish(sitting, remaining[:stop]...)...)
			if stop < len(remaining) {
				finished = append(finished, sweep.FinishedTrial{Key: remaining[stop].Key, Sitting: sitting, Status: sweep.StatusInterrupted})
			}
			if sitting > 100 {
				t.Fatal("never ends")
			}
		}
		count := map[sweep.Key]int{}
		for _, f := range finished {
			if f.Status == sweep.StatusDone {
				count[f.Key]++
			}
		}
		for _, tr := range p.Trials {
			if count[tr.Key] != 1 {
				t.Fatalf("seed %d: %v was done %d times", seed, tr.Key, count[tr.Key])
			}
		}
	}
}

func TestOnly(t *testing.T) {
	p := plan(t, batchDefinition(t))
	got, err := p.Only(p.Trials, "rate=*")
	if err != nil || len(got) != 18 {
		t.Errorf("%d trials, error %v, want 18", len(got), err)
	}
	if _, err := p.Only(p.Trials, "rat=*"); err == nil || !strings.Contains(err.Error(), "no cell matches") {
		t.Errorf("error %v", err)
	}
	if _, err := p.Only(p.Trials, "["); err == nil {
		t.Error("a broken glob is taken")
	}
}

func TestDiffComparesByValue(t *testing.T) {
	leaves := func(text string) sweep.Leaves {
		l, err := sweep.CountedLeaves(json.RawMessage(`{"contract":` + text + `}`))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	tests := []struct{ a, b, want string }{
		{`{"x":8}`, `{"x":8.0}`, "[]"},
		{`{"x":8}`, `{"x":"8"}`, "[contract.x]"},
		{`{"x":[1,2]}`, `{"x":[1,3,4]}`, "[contract.x.1 contract.x.2]"},
		{`{"x":1e2}`, `{"x":100}`, "[]"},
		{`{"x":0.1}`, `{"x":0.10}`, "[]"},
		{`{"x":{}}`, `{}`, "[]"},
		{`{"load":{"burst":{}}}`, `{"load":{}}`, "[contract.load.burst]"},
		{`{"slo":{"ttft":"1s"}}`, `{"slo":{"ttft":"2s"}}`, "[]"},
		{`{"slow":1}`, `{"slow":2}`, "[contract.slow]"},
	}
	for _, tt := range tests {
		paths := []string{}
		for _, m := range sweep.Diff(leaves(tt.a), leaves(tt.b)) {
			paths = append(paths, m.Path)
		}
		if got := fmt.Sprint(paths); got != tt.want {
			t.Errorf("%s against %s: %s, want %s", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestPlanSurvivesItsJSON(t *testing.T) {
	p := plan(t, batchDefinition(t))
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var back sweep.Plan
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(&back)
	if err != nil || string(again) != string(text) {
		t.Errorf("the plan changed on its way (%v)", err)
	}
	if got := back.CellNamed("rate=50").Cell.Contract.Load.Open.Rate; got != 50 {
		t.Errorf("rate %v", got)
	}
	names := slices.Sorted(maps.Keys(map[string]bool{back.Name: true}))
	if names[0] != "batch" {
		t.Errorf("name %v", names)
	}
}

func TestExpected(t *testing.T) {
	p := plan(t, batchDefinition(t))
	seconds, bytes := p.Expected(p.Trials)
	if seconds < 100 || seconds > 140 || bytes < 2e6 || bytes > 6e6 {
		t.Errorf("expects %.0f s and %d bytes", seconds, bytes)
	}
}

func BenchmarkPlan1000(b *testing.B) {
	d := batchDefinition(b)
	base := d.Cells[:1]
	for i := range 999 {
		base = append(base, cell(b, fmt.Sprintf("rate=%d", i+1000), "rate", map[string]any{"rate": i + 1000}, map[string]any{"contract.load.open.rate": i + 1000}))
	}
	d.Cells = base
	for b.Loop() {
		plan(b, d)
	}
}
