package cue

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/sweep"
)

// A reader is a definition being read: what it evaluates to, and where it is written.
type reader struct {
	*source
	options Options
	// name is the file or folder, as a user would call it.
	name    string
	outline *outline
	// root is the definition's value, schema the schema's.
	root, schema cue.Value
	// sweeps are the names of the sweeps that are asked for.
	sweeps []string
}

// read evaluates the definition twice: first without the expansion, to check its factors whatever number of cells they
// make, and then whole.
func (s *source) read(o Options) ([]*sweep.Definition, error) {
	r := &reader{source: s, options: o, name: relative(s.path)}
	if err := r.checkTags(); err != nil {
		return nil, err
	}
	light, err := s.load(o.Tags, false)
	if err != nil {
		return nil, r.loadErrors(err)
	}
	r.outline = outlineOf(light.Files)
	r.evaluate(light)
	if err := r.findSweeps(); err != nil || len(r.sweeps) == 0 {
		return nil, err
	}
	if err := r.checkSweeps().err(); err != nil {
		return nil, err
	}
	whole, err := s.load(o.Tags, true)
	if err != nil {
		return nil, r.loadErrors(err)
	}
	r.evaluate(whole)
	if err := r.explain(r.wrong()).err(); err != nil {
		return nil, err
	}
	return r.definitions(whole)
}

// evaluate builds the instance and the schema it imports.
func (r *reader) evaluate(instance *build.Instance) {
	context := cuecontext.New()
	r.root = context.BuildInstance(instance)
	if imported := importOf(instance, schema.ImportPath); imported != nil {
		r.schema = context.BuildInstance(imported)
	}
}

// importOf finds a package among what the instance imports, however far away.
func importOf(instance *build.Instance, path string) *build.Instance {
	for _, imported := range instance.Imports {
		if name, _, _ := strings.Cut(imported.ImportPath, "@"); name == path {
			return imported
		}
		if found := importOf(imported, path); found != nil {
			return found
		}
	}
	return nil
}

// findSweeps names the sweeps of the definition that are asked for.
func (r *reader) findSweeps() error {
	var all []string
	for _, name := range r.outline.top {
		if r.outline.namesSweep(name, map[string]bool{}) {
			all = append(all, name)
		}
	}
	if fields, err := r.root.Fields(); err == nil {
		for fields.Next() {
			name := fields.Selector().Unquoted()
			if isExpanded(fields.Value()) && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	if len(all) == 0 {
		return r.noSweep()
	}
	r.sweeps = all
	if len(r.options.Names) == 0 {
		return nil
	}
	r.sweeps = slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !slices.Contains(r.options.Names, name) })
	var missing Errors
	for _, name := range r.options.Names {
		if !slices.Contains(all, name) && r.options.Absent != nil {
			r.options.Absent(name)
		} else if !slices.Contains(all, name) {
			hint := didYouMean(name, all)
			if hint == "" {
				hint = "it has " + strings.Join(all, ", ")
			}
			missing = append(missing, Problem{File: r.name, Message: "no sweep " + name, Hint: hint})
		}
	}
	return missing.err()
}

// isExpanded says whether a value is a #Sweep, however it came to be one.
func isExpanded(v cue.Value) bool {
	return v.LookupPath(cue.ParsePath("#cell")).Exists() && v.LookupPath(cue.ParsePath("maxCells")).Exists()
}

// noSweep says how to write one, at what was perhaps meant to be one.
func (r *reader) noSweep() error {
	const hint = "write NAME: schema.#Sweep & {…}"
	if r.outline.embedded.IsValid() {
		return Errors{Problem{Message: "a sweep needs a name of its own here", Hint: hint}.at(r.outline.embedded)}
	}
	for _, name := range r.outline.top {
		if _, ok := r.outline.places[name+".factors"]; ok {
			written := r.outline.places[name]
			return Errors{Problem{Path: name, Message: "is not a sweep", Hint: "write " + name + ": schema.#Sweep & {…}"}.at(written.label)}
		}
	}
	if err := r.root.Err(); err != nil {
		if found := r.explain(err); len(found) > 0 {
			return found.sorted()
		}
	}
	return Errors{{File: r.name, Message: "no sweep in it", Hint: hint}}
}

// wrong is all that CUE finds wrong with the sweeps that are asked for.
func (r *reader) wrong() error {
	var all errors.Error
	note := func(err error) {
		for _, e := range errors.Errors(err) {
			if path := e.Path(); len(path) == 0 || !r.elsewhere(path[0]) {
				all = errors.Append(all, e)
			}
		}
	}
	note(r.root.Err())
	for _, name := range r.sweeps {
		if v := r.root.LookupPath(cue.MakePath(cue.Str(name))); v.Exists() || r.root.Err() == nil {
			note(v.Validate(cue.Concrete(true), cue.All()))
		}
	}
	if all == nil {
		return nil
	}
	return all
}

// elsewhere says that a name of the root has no part in the sweeps that are asked for.
func (r *reader) elsewhere(name string) bool {
	if strings.HasPrefix(name, "#") || strings.HasPrefix(name, "_") || name == "out" {
		return false
	}
	return !slices.Contains(r.sweeps, strings.Trim(name, `"`))
}

// isSchema says whether a position is in the schema.
func (r *reader) isSchema(pos token.Pos) bool {
	return strings.HasPrefix(pos.Filename(), r.schemaFolder)
}
