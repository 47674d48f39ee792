package cue

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/schema"
)

func batchText(tb testing.TB) string {
	tb.Helper()
	text, err := os.ReadFile("../experiments/batch.cue")
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// TestModules: the import resolves to the embedded schema wherever the file lies.
func TestModules(t *testing.T) {
	const vendored = "cue.mod/pkg/" + schema.ImportPath + "/"
	const differs = "differs from the schema that sweep brings, which is used: sweep init --update makes them equal"
	for name, c := range map[string]struct {
		files map[string]string
		warns string
		fails string
	}{
		"alone":       {},
		"in a module": {files: map[string]string{"cue.mod/module.cue": moduleFile}},
		"in a folder of a module": {files: map[string]string{
			"../cue.mod/module.cue": "module: \"users.example/sweeps@v0\"\nlanguage: version: \"v0.17.0\"\n"}},
		"beside an empty cue.mod": {files: map[string]string{"cue.mod/readme": "nothing"}},
		"with the schema beside it": {files: map[string]string{
			"cue.mod/module.cue": moduleFile, vendored + "contract.cue": "same"}},
		"with another schema beside it": {files: map[string]string{
			"cue.mod/module.cue": moduleFile, vendored + "sweep.cue": "package schema\n\n#Sweep: {a: 1}\n"}, warns: differs},
		"with an old file beside it": {files: map[string]string{
			"cue.mod/module.cue": moduleFile, vendored + "old.cue": "package schema\n\n#Sweep: tail: 3\n"}, warns: differs},
		"in the schema's module": {files: map[string]string{
			"cue.mod/module.cue": "module: \"github.com/inference-sweep/sweep@v0\"\nlanguage: version: \"v0.17.0\"\n"}},
		"in a module that depends on the schema": {files: map[string]string{
			"cue.mod/module.cue": moduleFile + "deps: \"github.com/inference-sweep/sweep@v0\": v: \"v0.1.0\"\n"},
			fails: "cue.mod/module.cue: deps lists github.com/inference-sweep/sweep@v0; leave it out: sweep brings its own schema"},
		"in a module of an older language": {files: map[string]string{
			"cue.mod/module.cue": "module: \"users.example@v0\"\nlanguage: version: \"v0.12.0\"\n"},
			fails: `batch.cue: its module speaks CUE v0.12.0, which is older than the schema's; write language: version: "v0.14.0", or newer, in cue.mod/module.cue`},
		"in a broken module": {files: map[string]string{"cue.mod/module.cue": "module: {\n"},
			fails: "cue.mod/module.cue:1:11: invalid module file syntax: expected '}', found 'EOF'"},
	} {
		t.Run(name, func(t *testing.T) {
			text := batchText(t)
			dir := filepath.Join(t.TempDir(), "night")
			if err := os.Mkdir(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			for path, content := range c.files {
				if content == "same" {
					for name, text := range schemaFiles() {
						writeFile(t, filepath.Join(dir, filepath.Dir(path), name), string(text))
					}
					continue
				}
				writeFile(t, filepath.Join(dir, path), content)
			}
			t.Chdir(dir)
			writeFile(t, "batch.cue", text)
			var warnings []string
			definitions, err := Load("batch.cue", Options{Warn: func(w string) { warnings = append(warnings, w) }})
			if c.fails != "" {
				if err == nil || err.Error() != c.fails {
					t.Fatalf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if n := len(definitions[0].Cells); n != 7 {
				t.Errorf("%d cells", n)
			}
			if got := strings.Join(warnings, "\n"); (got != "") != (c.warns != "") || !strings.HasSuffix(got, c.warns) {
				t.Errorf("warnings: %q", got)
			}
			if sources := definitions[0].Sources; len(sources) != 1 || sources[0].Path != "batch.cue" {
				t.Errorf("sources %v", sources)
			}
		})
	}
}

// TestOwnImports: a definition may use packages of its own module, and they are part of its record.
func TestOwnImports(t *testing.T) {
	text := batchText(t)
	t.Chdir(t.TempDir())
	writeFile(t, "cue.mod/module.cue", "module: \"users.example@v0\"\nlanguage: version: \"v0.17.0\"\n")
	writeFile(t, "lab/lab.cue", "package lab\n\n_hidden: 1\nrates: [50, 150]\n")
	writeFile(t, "batch.cue", strings.NewReplacer("import \"github", "import \"users.example/lab\"\nimport \"github",
		"[50, 150, 200]", "lab.rates").Replace(text))
	definitions := mustLoad(t, "batch.cue", Options{})
	var paths []string
	for _, source := range definitions[0].Sources {
		paths = append(paths, source.Path)
	}
	if !slices.Equal(paths, []string{"batch.cue", "lab/lab.cue"}) {
		t.Errorf("sources %v", paths)
	}
}

// TestVendor: what is written is all that the cue command needs, and what is there is kept.
func TestVendor(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "batch.cue"), batchText(t))
	written, err := Vendor(dir, false)
	if err != nil || len(written) != 1+len(schemaFiles()) {
		t.Fatalf("%d files written, %v", len(written), err)
	}
	cueCommand(t, dir, "vet", "-c", "batch.cue")
	if again, err := Vendor(dir, false); err != nil || len(again) != 0 {
		t.Errorf("written again: %v, %v", again, err)
	}

	module := filepath.Join(dir, "cue.mod", "module.cue")
	mine := "module: \"users.example@v0\"\nlanguage: version: \"v0.17.0\"\n"
	writeFile(t, module, mine)
	writeFile(t, filepath.Join(dir, vendorFolder, "sweep.cue"), "package schema\n")
	writeFile(t, filepath.Join(dir, vendorFolder, "old.cue"), "package schema\n")
	if kept, err := Vendor(dir, false); err != nil || len(kept) != 0 {
		t.Errorf("without update: %v, %v", kept, err)
	}
	updated, err := Vendor(dir, true)
	if err != nil || len(updated) != 1 || filepath.Base(updated[0]) != "sweep.cue" {
		t.Errorf("with update: %v, %v", updated, err)
	}
	if _, err := os.Stat(filepath.Join(dir, vendorFolder, "old.cue")); !os.IsNotExist(err) {
		t.Errorf("the old file: %v", err)
	}
	if text, err := os.ReadFile(module); err != nil || string(text) != mine {
		t.Errorf("the module file is %q, %v", text, err)
	}
	cueCommand(t, dir, "vet", "-c", "batch.cue")
}

// TestBounds: what would go on for ever, or take all memory, ends with a sentence. The evaluation cannot be stopped, so
// each runs in a process of its own.
func TestBounds(t *testing.T) {
	if path := os.Getenv("SWEEP_TEST_LOAD"); path != "" {
		o := Options{MaxHeapBytes: 200 << 20}
		if strings.HasSuffix(path, "slow.cue") {
			o = Options{Timeout: 200 * time.Millisecond}
		}
		_, err := Load(path, o)
		fmt.Fprintln(os.Stderr, err)
		os.Exit(7)
	}
	for name, c := range map[string]struct{ levels, want string }{
		"huge.cue":    {"list.Range(0, 1e9, 1)", "more than 200 MiB of memory"},
		"slow.cue":    {"[for i in list.Range(0, 1e6, 1) for j in list.Range(0, 1e3, 1) if i+j == 3 {i + 500}]", "longer than 200ms"},
		"sixteen.cue": {"[for i in list.Range(0, 4000, 1) {i + 500}]", "4004 cells, and maxCells is 1000"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			writeFile(t, path, strings.NewReplacer(`import "github`, "import \"list\"\nimport \"github",
				"[50, 150, 200]", c.levels).Replace(batchText(t)))
			command := exec.Command(os.Args[0], "-test.run=^TestBounds$")
			command.Env = append(os.Environ(), "SWEEP_TEST_LOAD="+path)
			command.Stdout = io.Discard
			var stderr strings.Builder
			command.Stderr = &stderr
			if err := command.Run(); err == nil || command.ProcessState.ExitCode() != 7 {
				t.Fatalf("%v\n%s", err, stderr.String())
			}
			if got := stderr.String(); !strings.Contains(got, c.want) || strings.Count(got, "\n") != 1 {
				t.Errorf("said:\n%s", got)
			}
		})
	}
}

// TestPanic: a panic of the evaluator is an error.
func TestPanic(t *testing.T) {
	_, err := bounded(Options{Timeout: time.Minute, MaxHeapBytes: 1 << 40}, func() (int, error) { panic("at this") })
	if err == nil || err.Error() != "the CUE evaluator broke on this file: at this" {
		t.Error(err)
	}
}

// FuzzLoad: whatever stands in a file, Load returns.
func FuzzLoad(f *testing.F) {
	for _, name := range []string{"batch.cue", "cache.cue", "engines.cue", "load.cue", "lesson/lesson.cue", "plain.yaml"} {
		text, err := os.ReadFile(filepath.Join("../experiments", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), filepath.Ext(name))
	}
	f.Add("{}", ".json")
	f.Add("x: schema.#Sweep\nx: 1", ".cue")
	for _, line := range []string{"judge: margin: 1", "let x = 2, judge: margin: x", "judge: margin: -blocks", "title: \"a\\nb\"", "title: title", "seed: seed + 1", "grids: g: of: grids.g.of"} {
		f.Add(strings.Replace(batchText(f), "schema.#Sweep & {", "schema.#Sweep & {\n"+line, 1), ".cue")
	}
	for _, rate := range []string{"contract.load.open.rate", "load.open.rate + 1", "[for x in [rate] {x}][0]"} {
		f.Add(strings.Replace(batchText(f), "at.rate", rate, 1), ".cue")
	}
	f.Fuzz(func(t *testing.T, text, ext string) {
		if ext != ".cue" && ext != ".yaml" && ext != ".json" {
			t.Skip()
		}
		path := filepath.Join(t.TempDir(), "fuzz"+ext)
		writeFile(t, path, text)
		definitions, err := Load(path, Options{Timeout: 10 * time.Second, MaxHeapBytes: 1 << 30})
		if err == nil && len(definitions) == 0 {
			t.Error("neither a sweep nor an error")
		}
		if err != nil && (strings.Contains(err.Error(), "evaluator broke") || err.Error() == "") {
			t.Error(err)
		}
	})
}
