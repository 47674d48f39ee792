package cue

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/inference-sweep/sweep/schema"
)

// vendorFolder is where a module keeps its copy of the schema, relative to its root. The cue command and editors look
// there too, offline.
var vendorFolder = filepath.Join("cue.mod", "pkg", filepath.FromSlash(schema.ImportPath))

// Vendor writes what the cue command and editors need to understand a sweep in dir without a network: a module file,
// and the schema's files. They go to the root of the module that dir is in, or to dir where it is in none; the schema's
// own module needs no copy. A file that exists is kept, unless update asks for the schema's to be replaced (the module
// file is the user's: it is never replaced). It lists the files it wrote.
func Vendor(dir string, update bool) (written []string, err error) {
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("vendoring the schema: %w", err)
	}
	m, err := moduleOf(full)
	if err != nil {
		return nil, err
	}
	write := func(path, text string, replace bool) error {
		if _, err := os.Stat(path); err == nil && !replace {
			return nil
		}
		if old, err := os.ReadFile(path); err == nil && string(old) == text {
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		written = append(written, path)
		return os.WriteFile(path, []byte(text), 0o666)
	}
	if err := write(filepath.Join(m.root, "cue.mod", "module.cue"), moduleFile, false); err != nil {
		return written, fmt.Errorf("vendoring the schema: %w", err)
	}
	folder := filepath.Join(m.root, vendorFolder)
	if m.schemaFolder != folder {
		return written, nil
	}
	files := schemaFiles()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := write(filepath.Join(folder, name), string(files[name]), update); err != nil {
			return written, fmt.Errorf("vendoring the schema: %w", err)
		}
	}
	if update {
		return written, removeStrangers(folder)
	}
	return written, nil
}

// removeStrangers deletes the CUE files that an older schema had and this one has not.
func removeStrangers(folder string) error {
	names, err := filepath.Glob(filepath.Join(folder, "*.cue"))
	if err != nil {
		return fmt.Errorf("vendoring the schema: %w", err)
	}
	known := schemaFiles()
	for _, path := range names {
		if _, ok := known[filepath.Base(path)]; ok {
			continue
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("vendoring the schema: %w", err)
		}
	}
	return nil
}
