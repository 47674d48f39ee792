package cue

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cuelang.org/go/cue/load"
	"cuelang.org/go/mod/modfile"

	"github.com/inference-sweep/sweep/schema"
)

// languageVersion selects CUE's syntax for the schema and is the oldest cue that users need.
const languageVersion = "v0.17.0"

// moduleFile is the module file of a folder that is not in a module yet.
const moduleFile = `module: "sweeps.example@v0"
language: version: "` + languageVersion + `"
`

// A module is what the imports of a definition are resolved in: the user's own, or one made up for a lone file.
type module struct {
	root string
	// overlay lays the embedded schema, and a module file where there is none, over the folder's files.
	overlay map[string]load.Source
	// env keeps the evaluation off the network, unless the user's module asks for other modules.
	env []string
	// schemaFolder is where the schema lies in this module.
	schemaFolder string
	warnings     []string
}

// expansionFile is the schema's file that makes cells of factors.
const expansionFile = "expand.cue"

// moduleOf finds the module around dir. The embedded schema wins over any copy of it on disk.
func moduleOf(dir string) (*module, error) {
	root, found := rootAbove(dir)
	m := &module{root: root, overlay: map[string]load.Source{}, env: append(os.Environ(), "CUE_REGISTRY=none")}
	path := filepath.Join(root, "cue.mod", "module.cue")
	text, err := os.ReadFile(path)
	if !found || os.IsNotExist(err) {
		m.overlay[path] = load.FromString(moduleFile)
		return m, m.overlaySchema(filepath.Join(root, vendorFolder), updateAdvice)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the module file: %w", err)
	}
	file, err := modfile.ParseNonStrict(text, path)
	if err != nil {
		return nil, syntaxErrors(relative(path), err)
	}
	for dep := range file.Deps {
		if name, _, _ := strings.Cut(dep, "@"); strings.HasPrefix(schema.ImportPath, name+"/") {
			return nil, Errors{{
				File: relative(path), Message: "deps lists " + dep, Hint: "leave it out: sweep brings its own schema",
			}}
		}
		m.env = os.Environ()
	}
	name, _, _ := strings.Cut(file.Module, "@")
	if rest, own := strings.CutPrefix(schema.ImportPath, name+"/"); own && name != "" {
		return m, m.overlaySchema(filepath.Join(root, filepath.FromSlash(rest)), "build sweep anew to use this one")
	}
	return m, m.overlaySchema(filepath.Join(root, vendorFolder), updateAdvice)
}

const updateAdvice = "sweep init --update makes them equal"

// rootAbove is the nearest folder, from dir upwards, that holds a cue.mod; dir itself where there is none.
func rootAbove(dir string) (root string, found bool) {
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(filepath.Join(at, "cue.mod")); err == nil && info.IsDir() {
			return at, true
		}
		if at == filepath.Dir(at) {
			return dir, false
		}
	}
}

// overlaySchema lays the embedded schema over folder. Files of an older copy that the schema no longer has are emptied,
// since an overlay adds but does not hide.
func (m *module) overlaySchema(folder, advice string) error {
	m.schemaFolder = folder
	differs := false
	entries, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("reading the vendored schema: %w", err)
	}
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".cue" {
			continue
		}
		if _, err := fs.Stat(schema.Files, entry.Name()); err != nil {
			m.overlay[filepath.Join(folder, entry.Name())] = load.FromString("package schema\n")
			differs = true
		}
	}
	for name, text := range schemaFiles() {
		path := filepath.Join(folder, name)
		if onDisk, err := os.ReadFile(path); len(entries) > 0 && (err != nil || !bytes.Equal(onDisk, text)) {
			differs = true
		}
		m.overlay[path] = load.FromBytes(text)
	}
	if differs {
		m.warnings = append(m.warnings, fmt.Sprintf("%s differs from the schema that sweep brings, which is used: %s", relative(folder), advice))
	}
	return nil
}

// schemaFiles is the embedded schema's text by file name.
func schemaFiles() map[string][]byte {
	files := map[string][]byte{}
	names, err := fs.Glob(schema.Files, "*.cue")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for _, name := range names {
		text, err := schema.Files.ReadFile(name)
		if err != nil {
			panic(err) // the files are in the binary
		}
		files[name] = text
	}
	return files
}
