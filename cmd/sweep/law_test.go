package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/inference-sweep/sweep"

// house says what a folder's code may import besides the standard library: other folders of ours, and the outside
// libraries that it alone (or with those which also name them) may use. Tests may import what they like.
type house struct{ ours, outside []string }

// law is one line a folder. Whoever may import sweep may import schema too: its generated types are sweep's words.
var law = map[string]house{
	"schema":          {},
	"sweep":           {ours: words("schema")},
	"sweep/stats":     {outside: words("github.com/HdrHistogram/hdrhistogram-go gonum.org/v1/gonum")},
	"sweep/analysis":  {ours: words("sweep sweep/stats")},
	"sweep/verdict":   {ours: words("sweep sweep/stats sweep/analysis")},
	"sweep/report":    {ours: words("sweep sweep/analysis sweep/verdict sweep/plot"), outside: words("github.com/olekukonko/tablewriter")},
	"sweep/plot":      {outside: words("gonum.org/v1/plot")},
	"sweep/exchange":  {ours: words("sweep sweep/analysis"), outside: words("github.com/parquet-go/parquet-go")},
	"cue":             {ours: words("schema sweep"), outside: words("cuelang.org/go")},
	"runner":          {ours: words("sweep sweep/stats runner/load runner/workload runner/stream runner/engine runner/target runner/host")},
	"runner/load":     {ours: words("sweep"), outside: words("golang.org/x/sys")},
	"runner/workload": {ours: words("sweep")},
	"runner/stream":   {ours: words("sweep")},
	"runner/engine":   {ours: words("sweep")},
	"runner/target":   {ours: words("sweep runner/engine"), outside: words("github.com/prometheus/common github.com/prometheus/client_model")},
	"runner/host":     {ours: words("sweep"), outside: words("golang.org/x/sys")},
	"runner/bench":    {ours: words("sweep runner/load runner/stream")},
	"runner/sim":      {},
	// The kind and the free space of the file system that a database is on are the kernel's to say.
	"store":       {ours: words("sweep"), outside: words("modernc.org/sqlite golang.org/x/sys")},
	"cmd/sweep":   {ours: words("*"), outside: words("github.com/spf13/cobra github.com/spf13/pflag github.com/vbauerster/mpb/v8 golang.org/x/term")},
	"experiments": {},
}

func words(text string) []string { return strings.Fields(text) }

// source is one Go file that is no test.
type source struct {
	name      string // from the module's root, with slashes
	folder    string
	file      *ast.File
	set       *token.FileSet
	generated bool
}

func (s *source) at(n ast.Node) string {
	return s.name + ":" + strconv.Itoa(s.set.Position(n.Pos()).Line)
}

// lines is how many lines a node fills.
func (s *source) lines(n ast.Node) int {
	return s.set.Position(n.End()).Line - s.set.Position(n.Pos()).Line + 1
}

// root is the folder of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for !exists(filepath.Join(dir, "go.mod")) {
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("there is no go.mod above this package")
		}
		dir = up
	}
	return dir
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// sources parses every Go file of the module that is no test, on whichever platform it builds.
func sources(t *testing.T) []*source {
	t.Helper()
	top := root(t)
	var all []*source
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != top && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		relative, err := filepath.Rel(top, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, &source{relative, path.Dir(relative), file, set, ast.IsGenerated(file)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 100 {
		t.Fatalf("only %d files were found under %s: the law would hold of nothing", len(all), top)
	}
	return all
}

func TestImportLaw(t *testing.T) {
	for _, s := range sources(t) {
		mine, known := law[s.folder]
		if !known {
			t.Errorf("%s: the law knows no folder %s: say in the table what it may import", s.name, s.folder)
			continue
		}
		for _, spec := range s.file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if complaint := mine.refuses(imported); complaint != "" {
				t.Errorf("%s: %s imports %s: %s", s.at(spec), s.folder, imported, complaint)
			}
		}
	}
}

// refuses says why a folder may not import a package, or "".
func (h house) refuses(imported string) string {
	if ours, ok := strings.CutPrefix(imported, module+"/"); ok {
		bySweep := ours == "schema" && slices.Contains(h.ours, "sweep")
		if bySweep || slices.Contains(h.ours, ours) || slices.Contains(h.ours, "*") {
			return ""
		}
		return "of ours it may import " + orNothing(h.ours)
	}
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		return ""
	}
	for _, library := range h.outside {
		if imported == library || strings.HasPrefix(imported, library+"/") {
			return ""
		}
	}
	if owners := ownersOf(imported); len(owners) > 0 {
		return "that library is for " + strings.Join(owners, " and ") + " alone"
	}
	return "the law gives that library to no folder"
}

func ownersOf(imported string) []string {
	var owners []string
	for folder, h := range law {
		for _, library := range h.outside {
			if imported == library || strings.HasPrefix(imported, library+"/") {
				owners = append(owners, folder)
			}
		}
	}
	slices.Sort(owners)
	return owners
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

func TestImportLawRefuses(t *testing.T) {
	for _, c := range []struct{ folder, imported, want string }{
		{"sweep", module + "/store", "of ours it may import schema"},
		{"runner/sim", module + "/sweep", "of ours it may import nothing"},
		{"runner", module + "/runner/sim", "of ours it may import sweep, sweep/stats, runner/load, runner/workload, runner/stream, runner/engine, runner/target, runner/host"},
		{"runner", "modernc.org/sqlite", "that library is for store alone"},
		{"sweep/report", "golang.org/x/sys/unix", "that library is for runner/host and runner/load and store alone"},
		{"sweep/report", "example.com/colour", "the law gives that library to no folder"},
		{"store", module + "/schema", ""},
		{"schema", "embed", ""},
		{"cue", "cuelang.org/go/cue/ast", ""},
		{"cmd/sweep", module + "/runner/sim", ""},
	} {
		if got := law[c.folder].refuses(c.imported); got != c.want {
			t.Errorf("%s imports %s: %q, want %q", c.folder, c.imported, got, c.want)
		}
	}
}

// worldly are packages that reach out of the process; clocks and dice are functions that do. sweep and what is below it
// use none of them, so that a plan or a figure depends on its arguments alone.
var (
	worldly = words("os net syscall io/ioutil path/filepath crypto/rand log math/rand plugin unsafe")
	clocks  = words("Now Since Until Sleep After AfterFunc Tick NewTicker NewTimer")
	dice    = words("ExpFloat64 Float32 Float64 Int Int32 Int32N Int64 Int64N IntN N NormFloat64 Perm Shuffle Uint Uint32 Uint32N Uint64 Uint64N UintN")
)

// harmless are packages below those that reach out which do not: seeded draws, and the text of a URL.
var harmless = []string{"math/rand/v2", "net/url"}

func TestSweepIsPure(t *testing.T) {
	seen := 0
	for _, s := range sources(t) {
		if s.folder != "sweep" && !strings.HasPrefix(s.folder, "sweep/") {
			continue
		}
		seen++
		for _, spec := range s.file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			for _, p := range worldly {
				if imported == p || strings.HasPrefix(imported, p+"/") && !slices.Contains(harmless, imported) {
					t.Errorf("%s: %s imports %s: nothing under sweep reaches out of its arguments", s.at(spec), s.folder, imported)
				}
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			from, ok := call.X.(*ast.Ident)
			if ok && from.Obj == nil && (from.Name == "time" && slices.Contains(clocks, call.Sel.Name) || from.Name == "rand" && slices.Contains(dice, call.Sel.Name)) {
				t.Errorf("%s: %s.%s: nothing under sweep reads a clock or draws from the global dice", s.at(n), from.Name, call.Sel.Name)
			}
			return true
		})
	}
	if seen < 20 {
		t.Errorf("only %d files under sweep were looked at", seen)
	}
}

const longestFunction, longestFile = 60, 400

// TestTidy holds what keeps the code readable in a sitting.
func TestTidy(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		documented[s.folder] = documented[s.folder] || s.file.Doc != nil
		for _, part := range strings.Split(strings.TrimSuffix(s.name, ".go"), "/") {
			if slices.Contains(words("util utils common helper helpers misc"), part) {
				t.Errorf("%s: a folder or file called %s says nothing of what is in it", s.name, part)
			}
		}
		if n := s.set.File(s.file.Pos()).LineCount(); n > longestFile && !s.generated {
			t.Errorf("%s: %d lines; a file has %d at most", s.name, n, longestFile)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := s.lines(f); n > longestFunction && !s.generated {
				t.Errorf("%s: %s has %d lines; a function has %d at most", s.at(f), f.Name.Name, n, longestFunction)
			}
			if f.Name.Name == "init" && f.Recv == nil {
				t.Errorf("%s: nothing is registered by init: say it where it is used", s.at(f))
			}
		}
		for _, c := range s.file.Comments {
			for _, word := range words("TODO FIXME XXX HACK") {
				if strings.Contains(c.Text(), word) {
					t.Errorf("%s: %s: do it, or say it where people look", s.at(c), word)
				}
			}
		}
		s.onlyMainExits(t)
	}
	for folder, ok := range documented {
		if !ok {
			t.Errorf("package %s has no doc comment", folder)
		}
	}
}

// onlyMainExits refuses what ends the process from anywhere but the command.
func (s *source) onlyMainExits(t *testing.T) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.SelectorExpr)
		if !ok || s.folder == "cmd/sweep" {
			return true
		}
		from, ok := call.X.(*ast.Ident)
		if ok && from.Obj == nil && (from.Name == "os" && call.Sel.Name == "Exit" || from.Name == "log" && strings.HasPrefix(call.Sel.Name, "Fatal")) {
			t.Errorf("%s: %s.%s: an error is returned, and the command chooses the exit code", s.at(n), from.Name, call.Sel.Name)
		}
		return true
	})
}
