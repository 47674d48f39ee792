package cue

import (
	"strconv"

	"cuelang.org/go/cue"
)

// maxReferences bounds how many references are followed to find one that leads back.
const maxReferences = 200

// refersToItself says that what is written for a leaf leads back to it, by whatever ways. CUE does not count that as an
// error: it says that there is no value yet.
func (r *reader) refersToItself(f fault) bool {
	at := r.pathOf(f)
	home := cue.MakePath(at...).String()
	seen := map[string]bool{}
	rest := []cue.Value{r.root.LookupPath(cue.MakePath(at...))}
	for ; len(rest) > 0 && len(seen) < maxReferences; rest = rest[1:] {
		for _, to := range references(rest[0], 0) {
			path := to.String()
			if path == home {
				return true
			}
			if !seen[path] {
				seen[path] = true
				rest = append(rest, r.root.LookupPath(to))
			}
		}
	}
	return false
}

// deepest is how far operands are taken apart.
const deepest = 20

// references are the paths that a value's expression names.
func references(v cue.Value, depth int) []cue.Path {
	if _, path := v.ReferencePath(); len(path.Selectors()) > 0 {
		return []cue.Path{path}
	}
	op, operands := v.Expr()
	if op == cue.NoOp && len(operands) < 2 || depth > deepest {
		return nil
	}
	var found []cue.Path
	for _, operand := range operands {
		found = append(found, references(operand, depth+1)...)
	}
	return found
}

// pathOf is where CUE keeps the leaf of a fault.
func (r *reader) pathOf(f fault) []cue.Selector {
	var at []cue.Selector
	switch {
	case f.inCell && f.cell >= 0:
		at = []cue.Selector{cue.Str(f.sweep), cue.Str("plan"), cue.Str("cells"), cue.Index(f.cell)}
	case f.inCell:
		at = []cue.Selector{cue.Str(f.sweep), cue.Def("#cell")}
	}
	for _, name := range f.path {
		if n, err := strconv.Atoi(name); err == nil {
			at = append(at, cue.Index(n))
		} else {
			at = append(at, cue.Str(name))
		}
	}
	return at
}
