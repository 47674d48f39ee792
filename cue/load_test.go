package cue

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inference-sweep/sweep/sweep"
)

// cueTool is the path of the pinned cue command, built once.
var cueTool = sync.OnceValues(func() (string, error) {
	path, err := exec.Command("go", "tool", "-n", "cue").Output()
	return strings.TrimSpace(string(path)), err
})

// cueCommand runs the pinned cue command in dir, without a network, and returns its output.
func cueCommand(tb testing.TB, dir string, args ...string) []byte {
	tb.Helper()
	tool, err := cueTool()
	if err != nil {
		tb.Fatalf("building the cue command: %v", err)
	}
	command := exec.Command(tool, args...)
	command.Dir, command.Env = dir, append(os.Environ(), "CUE_REGISTRY=none")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		tb.Fatalf("cue %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out
}

// mustLoad loads what must load.
func mustLoad(t *testing.T, path string, o Options) []*sweep.Definition {
	t.Helper()
	definitions, err := Load(path, o)
	if err != nil {
		t.Fatalf("loading %s:\n%v", path, err)
	}
	return definitions
}

// numbered decodes JSON with its numbers as they are written.
func numbered(t *testing.T, text []byte) (value any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// experiments are the repository's own definitions.
var experiments = []struct {
	path   string
	tags   []string
	sweeps []string
	cells  int
}{
	{"batch.cue", nil, []string{"batch"}, 7},
	{"load.cue", nil, []string{"load"}, 2},
	{"engines.cue", nil, []string{"engines"}, 25},
	{"cache.cue", nil, []string{"cache"}, 3},
	{"plain.yaml", nil, []string{"plain"}, 5},
	{"lesson/lesson.cue", []string{"revision=0123456"}, []string{"chat", "summary"}, 9},
	{"batch.cue", []string{"target=http://127.0.0.1:8000"}, []string{"batch"}, 7},
}

// TestExperimentsAreWhatCueExports: the cue command shows the cells that Load decodes, equal and in the same order.
func TestExperimentsAreWhatCueExports(t *testing.T) {
	for _, c := range experiments {
		t.Run(c.path+strings.Join(c.tags, ","), func(t *testing.T) {
			definitions := mustLoad(t, filepath.Join("../experiments", c.path), Options{Tags: c.tags})
			var names []string
			cells := 0
			for _, d := range definitions {
				names = append(names, d.Name)
				cells += len(d.Cells)
				args := []string{"export", "./experiments/" + c.path, "-e", d.Name + ".plan.cells"}
				if filepath.Ext(c.path) != ".cue" {
					args = []string{"export", "-d", "#Sweep", "./schema", "./experiments/" + c.path, "-e", "plan.cells"}
				}
				for _, tag := range c.tags {
					args = append(args, "-t", tag)
				}
				raw, err := json.Marshal(d.Cells)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(numbered(t, cueCommand(t, "..", args...)), numbered(t, raw)); diff != "" {
					t.Errorf("%s (-cue +load):\n%s", d.Name, diff)
				}
			}
			if !slices.Equal(names, c.sweeps) || cells != c.cells {
				t.Errorf("%d cells of %v, not %d of %v", cells, names, c.cells, c.sweeps)
			}
		})
	}
}

func TestDefinition(t *testing.T) {
	d := mustLoad(t, "../experiments/engines.cue", Options{})[0]
	var factors []string
	for _, f := range d.Factors {
		factors = append(factors, f.Name)
	}
	if want := []string{"rate", "tp", "prompt", "engine"}; !slices.Equal(factors, want) {
		t.Errorf("factors %v, not as written", factors)
	}
	if len(d.Grids) != 1 || d.Grids[0].Name != "tpRate" || d.Grids[0].Kind != "cross" {
		t.Errorf("grids %+v", d.Grids)
	}
	if d.Blocks != 6 || d.Seed != 1 || d.AA || d.Judge.Margin != 0.05 || len(d.Judge.Metrics) != 4 {
		t.Errorf("blocks %d, seed %d, aa %v, judge %+v", d.Blocks, d.Seed, d.AA, d.Judge)
	}
	first, last := d.Cells[0], d.Cells[len(d.Cells)-1]
	if first.Name() != sweep.Baseline || first.Factor != nil || first.Level != nil {
		t.Errorf("the first cell is %+v", first)
	}
	if last.Name() != "tpRate:tp=4,rate=16" || *last.Factor != "tpRate" || last.Contract.Hardware.Gpus != 4 {
		t.Errorf("the last cell is %+v", last)
	}
	text, err := os.ReadFile("../experiments/engines.cue")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]sweep.Source{{Path: "../experiments/engines.cue", Text: string(text)}}, d.Sources); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	if filepath.Base(d.Dir) != "experiments" || !filepath.IsAbs(d.Dir) {
		t.Errorf("dir %q", d.Dir)
	}
}

// TestPosition finds what is written, whatever the layout, by the word at the place.
func TestPosition(t *testing.T) {
	for _, c := range []struct{ path, at, word string }{
		{"engines.cue", "contract.load.open.rate", "rate: at.rate"},
		{"engines.cue", "contract.engine.args.max-num-seqs", "engine: {\n"},
		{"engines.cue", "factors.tp", "tp: {"},
		{"engines.cue", "factors.rate.levels[2]", "4, 16]"},
		{"engines.cue", "grids.tpRate", "tpRate: of"},
		{"engines.cue", "engines.factors.rate.baseline", "baseline: 8,"},
		{"plain.yaml", "contract.load.open.rate", "open: {}"},
		{"plain.yaml", "factors.tp.sets[1]", "contract.hardware.gpus]"},
	} {
		path := filepath.Join("../experiments", c.path)
		got := mustLoad(t, path, Options{})[0].Position(c.at)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := path + ":" + lineColumn(string(text), c.word); got != want {
			t.Errorf("%s of %s is at %s, not %s", c.at, c.path, got, want)
		}
	}
	if got := mustLoad(t, "../experiments/batch.cue", Options{})[0].Position("nowhere.at.all"); got != "" {
		t.Errorf("what is nowhere is at %q", got)
	}
}

func lineColumn(text, word string) string {
	before, _, _ := strings.Cut(text, word)
	line := 1 + strings.Count(before, "\n")
	column := len(before) - strings.LastIndexByte(before, '\n')
	out, _ := json.Marshal([]int{line, column})
	return strings.NewReplacer("[", "", "]", "", ",", ":").Replace(string(out))
}

// TestStacks: what batch.cue's comment shows for real hardware does what it says.
func TestStacks(t *testing.T) {
	var code, rest []string
	for _, line := range strings.Split(batchText(t), "\n") {
		if shown, ok := strings.CutPrefix(line, "//\t"); ok {
			code = append(code, shown)
		} else {
			rest = append(rest, line)
		}
	}
	text := strings.NewReplacer(
		"\t\ttarget: _target\n", "", `_target: *"sim" | string @tag(target)`, strings.Join(code, "\n"),
		"\t\t\tmodel: {id: \"sim/small\", revision: \"0000001\"}\n", "", `name: "sim", revision: "1", `, "",
		"\t\t\thardware: {gpu: \"simulated\", gpus: 1}\n", "", "\t\t\tprecision: weights: \"bf16\"\n", "",
	).Replace(strings.Join(rest, "\n"))
	path := filepath.Join(t.TempDir(), "batch.cue")
	writeFile(t, path, text)
	for stack, target := range map[string]string{"sim": "sim", "h100": "ssh://h100-01"} {
		d := mustLoad(t, path, Options{Tags: []string{"stack=" + stack}})[0]
		if last := d.Cells[3]; len(d.Cells) != 7 || last.Target != target || last.Contract.Engine.Args["max-num-seqs"] != 32.0 {
			t.Errorf("%s: %d cells, the fourth %+v", stack, len(d.Cells), last)
		}
	}
	if _, err := Load(path, Options{Tags: []string{"stack=a100"}}); err == nil || !strings.Contains(err.Error(), "undefined field: a100") {
		t.Errorf("no such stack: %v", err)
	}
}

func TestNames(t *testing.T) {
	tags := []string{"revision=0123456"}
	d := mustLoad(t, "../experiments/lesson", Options{Tags: tags, Names: []string{"summary"}})
	if len(d) != 1 || d[0].Name != "summary" || !slices.Equal(d[0].Tags, tags) {
		t.Errorf("%d sweeps, the first is %s with tags %v", len(d), d[0].Name, d[0].Tags)
	}
	for name, want := range map[string]string{
		"sumary": "../experiments/lesson: no sweep sumary; did you mean summary?",
		"xyz":    "../experiments/lesson: no sweep xyz; it has chat, summary",
	} {
		if _, err := Load("../experiments/lesson", Options{Tags: tags, Names: []string{name}}); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	folder := mustLoad(t, "../experiments", Options{})
	if len(folder) != 4 || len(folder[0].Sources) != 4 {
		t.Errorf("the folder has %d sweeps from %d files", len(folder), len(folder[0].Sources))
	}
}

// TestForms: what a definition may look like otherwise.
func TestForms(t *testing.T) {
	text := batchText(t)
	for name, edit := range map[string][2]string{
		"without a package":       {"package experiments\n", ""},
		"by another name":         {`import "github.com/inference-sweep/sweep/schema"`, `import s "github.com/inference-sweep/sweep/schema"`},
		"in parentheses":          {"batch: schema.#Sweep & {", "batch: (schema.#Sweep) & {"},
		"the schema last":         {"batch: schema.#Sweep & {", "batch: schema.#Sweep\nbatch: {"},
		"with the major version":  {"sweep/schema\"", "sweep/schema@v0\""},
		"in a comprehension":      {"batch: schema.#Sweep & {", "for name in [\"batch\"] {(name): schema.#Sweep & {"},
		"by a template in itself": {"batch: schema.#Sweep & {", "#t: schema.#Sweep\nbatch: #t & {"},
	} {
		t.Run(name, func(t *testing.T) {
			edited := strings.Replace(text, edit[0], edit[1], 1)
			if edited == text {
				t.Fatal("nothing to edit")
			}
			if name == "by another name" {
				edited = strings.Replace(edited, "schema.#Sweep", "s.#Sweep", 1)
			}
			if name == "in a comprehension" {
				edited += "}\n"
			}
			path := filepath.Join(t.TempDir(), "batch.cue")
			writeFile(t, path, edited)
			if d := mustLoad(t, path, Options{Names: []string{"batch"}}); len(d[0].Cells) != 7 {
				t.Errorf("%d cells", len(d[0].Cells))
			}
		})
	}
}

// TestOtherSweepsDoNotMatter: what is wrong with a sweep that nobody asks for is left alone.
func TestOtherSweepsDoNotMatter(t *testing.T) {
	text, err := os.ReadFile("../experiments/lesson/lesson.cue")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "lesson.cue")
	writeFile(t, path, strings.Replace(string(text), "levels: [2, 4, 8]", "levels: [2, -4, 8]", 1))
	tags := []string{"revision=0123456"}
	if d := mustLoad(t, path, Options{Tags: tags, Names: []string{"chat"}}); len(d) != 1 {
		t.Errorf("%d sweeps", len(d))
	}
	if _, err := Load(path, Options{Tags: tags}); err == nil || !strings.Contains(err.Error(), "invalid value -4 (out of bound >0)") {
		t.Errorf("the whole file: %v", err)
	}
}

func TestTraces(t *testing.T) {
	text, err := os.ReadFile("../experiments/load.cue")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "load.cue")
	writeFile(t, path, strings.NewReplacer(
		"open: open: rate:        _rate", `open: open: {rate: _rate, arrival: "trace", trace: "seen/arrivals.txt"}`,
		"prompt: length: fixed: 128", `prompt: length: trace: "lengths.txt"`,
	).Replace(string(text)))
	writeFile(t, filepath.Join(dir, "lengths.txt"), "# a comment\n128\n\n7\n")
	writeFile(t, filepath.Join(dir, "seen", "arrivals.txt"), "0\n0.25\n0.25\n1e1\n")
	want := map[string][]float64{"lengths.txt": {128, 7}, "seen/arrivals.txt": {0, 0.25, 0.25, 10}}
	if diff := cmp.Diff(want, mustLoad(t, path, Options{})[0].Traces); diff != "" {
		t.Errorf("traces (-want +got):\n%s", diff)
	}
}

// TestNotDefinitions: what cannot be read at all is an error of its own, or says what a definition is.
func TestNotDefinitions(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "notes.txt", "rate: 8")
	writeFile(t, "empty.cue", "")
	writeFile(t, "other.cue", "package other\n\nx: 1\n")
	writeFile(t, "two/a.cue", "package a\n")
	writeFile(t, "two/b.cue", "package b\n")
	writeFile(t, "none/readme.md", "nothing\n")
	for path, want := range map[string]string{
		"nowhere.cue": "nowhere.cue: reading the definition: stat nowhere.cue: no such file or directory",
		"notes.txt":   "notes.txt: not a definition; one ends in .cue, .yaml, .yml or .json",
		"empty.cue":   "empty.cue: no sweep in it; write NAME: schema.#Sweep & {…}",
		"other.cue":   "other.cue: no sweep in it; write NAME: schema.#Sweep & {…}",
		"two":         "two: several packages in it: a, b; name one file",
		"none":        "none: no CUE file in it",
	} {
		_, err := Load(path, Options{})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v", path, err)
		}
		if _, isErrors := errors.AsType[Errors](err); isErrors == (path == "nowhere.cue") {
			t.Errorf("%s: the error is a %T", path, err)
		}
	}
}

// TestTraceWithoutEnd: a recording is read up to a bound, and a pipe is not waited for.
func TestTraceWithoutEnd(t *testing.T) {
	t.Chdir(t.TempDir())
	line := append(bytes.Repeat([]byte(" "), maxLineBytes/2), '\n')
	writeFile(t, "long.txt", string(bytes.Repeat(line, maxTraceBytes/len(line)+1)))
	if _, err := readTrace(".", "long.txt", false); err == nil || !strings.Contains(err.Error(), "long.txt: more than 64 MiB; ") {
		t.Error(err)
	}
	pipe, err := exec.LookPath("mkfifo")
	if err != nil {
		t.Skip(err)
	}
	if err := exec.Command(pipe, "pipe").Run(); err != nil {
		t.Skip(err)
	}
	if _, err := readTrace(".", "pipe", true); err == nil || !strings.Contains(err.Error(), "a pipe or a device") {
		t.Error(err)
	}
}
