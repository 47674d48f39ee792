package cue

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/load"
	"cuelang.org/go/cue/token"
	"cuelang.org/go/encoding/json"
	"cuelang.org/go/encoding/yaml"

	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/sweep"
)

// A source is a definition's files, found but not yet evaluated.
type source struct {
	// path is absolute; dir is its folder, or itself where it is one.
	path, dir string
	// arg is what to load in dir: a file's name, or "." for the folder's package.
	arg  string
	data bool // YAML or JSON: one sweep, without a package
	*module
}

// open finds what path names.
func open(path string) (*source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading the definition: %w", err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("reading the definition: %w", err)
	}
	s := &source{path: abs, dir: abs, arg: "."}
	if !info.IsDir() {
		s.dir, s.arg = filepath.Split(abs)
		s.dir = filepath.Clean(s.dir)
		switch ext := filepath.Ext(abs); ext {
		case ".cue":
		case ".yaml", ".yml", ".json":
			s.data = true
		default:
			return nil, Errors{{File: relative(abs), Message: "not a definition", Hint: "one ends in .cue, .yaml, .yml or .json"}}
		}
	}
	if s.module, err = moduleOf(s.dir); err != nil {
		return nil, err
	}
	if s.data {
		return s, s.wrapData(abs)
	}
	return s, nil
}

// wrapData overlays a CUE file that makes the data file's value a sweep, named as the file. Its nodes keep the
// positions of the data.
func (s *source) wrapData(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the definition: %w", err)
	}
	value, err := dataValue(path, text)
	if wrong, ok := errors.AsType[Errors](err); ok {
		return wrong
	}
	if err != nil {
		return syntaxErrors(relative(path), err)
	}
	name := strings.TrimSuffix(s.arg, filepath.Ext(s.arg))
	imported := ast.NewImport(nil, schema.ImportPath)
	sweeps := ast.NewSel(&ast.Ident{Name: "schema", Node: imported}, "#Sweep")
	file := &ast.File{
		Filename: path + ".cue",
		Decls: []ast.Decl{
			&ast.ImportDecl{Specs: []*ast.ImportSpec{imported}},
			&ast.Field{Label: ast.NewString(name), Value: ast.NewBinExpr(token.AND, sweeps, value)},
		},
	}
	s.arg += ".cue"
	s.overlay[path+".cue"] = load.FromFile(file)
	return nil
}

// dataValue is the expression that a YAML or JSON text stands for.
func dataValue(path string, text []byte) (ast.Expr, error) {
	empty := Errors{{File: relative(path), Message: "there is nothing in it", Hint: "a sweep has factors, contract, target, warmup and measure"}}
	if hasNothing(text) {
		return nil, empty
	}
	if filepath.Ext(path) == ".json" {
		return json.Extract(path, text)
	}
	file, err := yaml.Extract(path, text)
	if err != nil {
		return nil, err
	}
	for _, decl := range file.Decls {
		if embedded, ok := decl.(*ast.EmbedDecl); ok {
			return embedded.Expr, severalDocuments(path, embedded.Expr)
		}
	}
	body := &ast.StructLit{}
	for _, decl := range file.Decls {
		if _, ok := decl.(*ast.Field); ok {
			body.Elts = append(body.Elts, decl)
		}
	}
	return body, nil
}

// hasNothing says that a data file has remarks in it at most, or says itself that it has nothing.
func hasNothing(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && !slices.Contains([]string{"---", "null", "~"}, string(line)) {
			return false
		}
	}
	return true
}

// severalDocuments refuses a YAML text of several documents, which parses as a list that is written nowhere.
func severalDocuments(path string, x ast.Expr) error {
	list, ok := x.(*ast.ListLit)
	if !ok || list.Lbrack.IsValid() || len(list.Elts) < 2 {
		return nil
	}
	p := Problem{File: relative(path), Message: "several documents in it", Hint: "a data file holds one sweep: give each its own"}
	return Errors{p.at(list.Elts[1].Pos())}
}

// load parses the definition with its imports, setting tags. Without expansion, the schema's plan is left out.
func (s *source) load(tags []string, expansion bool) (*build.Instance, error) {
	overlay := s.overlay
	if !expansion {
		overlay = maps.Clone(overlay)
		overlay[filepath.Join(s.schemaFolder, expansionFile)] = load.FromString("package schema\n")
	}
	instances := load.Instances([]string{s.arg}, &load.Config{
		Dir: s.dir, ModuleRoot: s.root, Overlay: overlay, Env: s.env, Tags: tags,
	})
	if len(instances) != 1 {
		return nil, fmt.Errorf("%d packages: name one file", len(instances))
	}
	return instances[0], instances[0].Err
}

// texts are the definition's own files as they were read: those of its package, and of the packages of its own module
// that it imports, without the schema's.
func (s *source) texts(instance *build.Instance) ([]sweep.Source, error) {
	if s.data {
		text, err := os.ReadFile(s.path)
		return []sweep.Source{{Path: relative(s.path), Text: string(text)}}, err
	}
	var texts []sweep.Source
	for _, each := range append([]*build.Instance{instance}, instance.Dependencies()...) {
		if each.Root != instance.Root && each != instance {
			continue
		}
		for _, file := range each.BuildFiles {
			path := filepath.Join(each.Dir, file.Filename)
			if filepath.IsAbs(file.Filename) {
				path = file.Filename
			}
			if _, ours := s.overlay[path]; ours {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			texts = append(texts, sweep.Source{Path: relative(path), Text: string(text)})
		}
	}
	return texts, nil
}
