package cue

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// didYouMean names the candidate nearest to word, as a question, or is empty where none is near.
func didYouMean(word string, candidates []string) string {
	best, least := "", len([]rune(word))/2+1
	for _, candidate := range candidates {
		if d := distance(word, candidate); d < least && d > 0 {
			best, least = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "?"
}

// distance is the number of letters to insert, drop or replace to make b of a.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range to {
			change := diagonal
			if x != y {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}

// unknownAt is the first name of the fault's path that the schema does not have, and the names that it has there; -1
// where it has them all.
func (r *reader) unknownAt(f fault) (n int, known []string) {
	at, first := r.schema.LookupPath(cue.ParsePath("#Sweep")), 1
	if f.inCell {
		at, first = r.schema.LookupPath(cue.ParsePath("#Cell")), 0
	}
	for n := first; n < len(f.path); n++ {
		next := child(at, f.path[n])
		if !next.Exists() {
			return n, fieldNames(at)
		}
		at = next
	}
	return -1, nil
}

// asked is where the schema says what it wants at the fault's path, or what CUE names of the schema.
func (r *reader) asked(f fault) token.Pos {
	if v := r.schemaAt(f); v.Exists() && f.kind != kindNotAllowed && r.isSchema(v.Pos()) {
		return v.Pos()
	}
	return f.schema
}

// schemaAt is the schema's value at the fault's path.
func (r *reader) schemaAt(f fault) cue.Value {
	at, rest := r.schema.LookupPath(cue.ParsePath("#Cell")), f.path
	if !f.inCell {
		if len(f.path) == 0 {
			return cue.Value{}
		}
		at, rest = r.schema.LookupPath(cue.ParsePath("#Sweep")), f.path[1:]
	}
	for _, name := range rest {
		if at = child(at, name); !at.Exists() {
			return at
		}
	}
	return at
}

// alternatives are the plain values that the schema offers at the fault's path, in its order.
func (r *reader) alternatives(f fault) []string {
	var words []string
	op, values := r.schemaAt(f).Expr()
	if op != cue.OrOp {
		return nil
	}
	for _, v := range values {
		if text, err := v.MarshalJSON(); err == nil && v.IsConcrete() {
			words = append(words, string(text))
		}
	}
	return words
}

// child is the schema's value for a field of at, whether required, optional or of a pattern.
func child(at cue.Value, name string) cue.Value {
	selector := cue.Str(name)
	if strings.HasPrefix(name, "#") {
		selector = cue.Def(name)
	}
	if !at.Allows(selector) {
		return cue.Value{}
	}
	if v := at.LookupPath(cue.MakePath(selector)); v.Exists() {
		return v
	}
	if selector.IsString() {
		if v := at.LookupPath(cue.MakePath(selector.Optional())); v.Exists() {
			return v
		}
	}
	return at.LookupPath(cue.MakePath(cue.AnyString))
}

func fieldNames(v cue.Value) []string {
	var names []string
	fields, err := v.Fields(cue.All())
	if err != nil {
		return nil
	}
	for fields.Next() {
		selector := fields.Selector()
		if selector.IsString() {
			names = append(names, selector.Unquoted())
		} else if selector.IsDefinition() {
			names = append(names, selector.String())
		}
	}
	return names
}

// factorNames lists the factors of a sweep as they are written.
func (r *reader) factorNames(sweep string) []string {
	fields, err := r.root.LookupPath(cue.MakePath(cue.Str(sweep), cue.Str("factors"))).Fields()
	if err != nil {
		return nil
	}
	var names []string
	for fields.Next() {
		names = append(names, fields.Selector().Unquoted())
	}
	return names
}

// referenceHint helps with a name that is nowhere.
func (r *reader) referenceHint(name string) string {
	name = strings.Trim(name, `"`)
	if name == "at" {
		return "add the line at: _ to #cell"
	}
	hint := didYouMean(name, append([]string{"at", "schema"}, slices.Sorted(maps.Keys(r.outline.fields))...))
	if siblings, err := filepath.Glob(filepath.Join(r.dir, "*.cue")); hint == "" && err == nil && len(siblings) > 1 && r.arg != "." {
		return "a file is read alone: name its folder to read the whole package"
	}
	return hint
}

// literal is the text of a string that stands as such.
func literal(x ast.Expr) (string, bool) {
	lit, ok := x.(*ast.BasicLit)
	if !ok {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}
