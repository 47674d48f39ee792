package cue

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/token"
)

// explain makes one problem of each mistake that CUE reports, with the number of cells it shows in.
func (r *reader) explain(err error) Errors {
	all := distinct(r.faults(err))
	own := slices.DeleteFunc(slices.Clone(all), func(f fault) bool { return f.derived() })
	if len(own) > 0 {
		all = own
	}
	var found Errors
	at := map[string]int{}
	cells := map[string]map[string]bool{}
	for _, f := range all {
		p := r.problem(f)
		same := f.sameness(p)
		i, ok := at[same]
		if !ok {
			at[same], cells[same] = len(found), map[string]bool{}
			found = append(found, p)
		} else if first := found[i]; first.Path == "" || len(p.Message) > len(first.Message) && strings.HasPrefix(p.Message, first.Message) {
			found[i] = p // CUE says more the second time
		}
		if f.cell >= 0 {
			cells[same][f.sweep+"."+strconv.Itoa(f.cell)] = true
		}
	}
	for same, i := range at {
		found[i].Cells = len(cells[same])
	}
	return together(found)
}

// together makes one problem of three or more that are missing from one struct.
func together(all Errors) Errors {
	missing := map[Problem][]string{}
	for _, p := range all {
		if p.Message == messageMissing {
			around, name := p.around()
			missing[around] = append(missing[around], name)
		}
	}
	var joined Errors
	for _, p := range all {
		around, _ := p.around()
		names := missing[around]
		switch {
		case p.Message != messageMissing || len(names) == 1 || len(names) == 2:
			joined = append(joined, p)
		case len(names) > 2:
			missing[around] = nil
			slices.Sort(names)
			around.Message = messageMissing + " " + strings.Join(names, ", ")
			joined = append(joined, around)
		}
	}
	return joined
}

// around is the problem's struct, as a problem without words, and the name of its leaf there.
func (p Problem) around() (around Problem, leaf string) {
	end := strings.LastIndexByte(p.Path, '.')
	if end < 0 {
		return Problem{File: p.File, Line: p.Line, Col: p.Col, Path: "#cell", Cells: p.Cells}, p.Path
	}
	return Problem{File: p.File, Line: p.Line, Col: p.Col, Path: p.Path[:end], Cells: p.Cells}, p.Path[end+1:]
}

const messageMissing = "missing"

// sameness is equal for faults that are one mistake: of one sort, at one place and leaf. The message is no part of it,
// since it names values, which differ from cell to cell.
func (f *fault) sameness(p Problem) string {
	leaf := strings.Join(f.withoutSweep(), ".")
	switch f.kind {
	case kindReference:
		return p.Message
	case kindNotAllowed:
		leaf = p.Path
	}
	return fmt.Sprint(p.File, ":", p.Line, ":", p.Col, ":", leaf, ":", f.kind)
}

// withoutSweep is the path from the cell, or from the sweep: two sweeps that share a template share its mistakes.
func (f *fault) withoutSweep() []string {
	if f.inCell || len(f.path) == 0 {
		return f.path
	}
	return f.path[1:]
}

// written finds where the fault's path is written.
func (r *reader) written(f fault) (p place, whole bool) {
	if f.inCell {
		return r.outline.findLeaf(f.sweep, f.path)
	}
	return r.outline.find(f.path)
}

// tooOld is what CUE says of the schema in a module of an older language.
var tooOld = regexp.MustCompile(`is not available in version (v[0-9.]+); it was added in version "(v[0-9.]+)"`)

// problem says one fault in the user's words, at the user's place.
func (r *reader) problem(f fault) Problem {
	p := Problem{Path: dotted(f.path), Message: f.text}
	if asked := r.asked(f); asked.IsValid() {
		p.Required = fmt.Sprintf("schema/%s:%d:%d", filepath.Base(asked.Filename()), asked.Line(), asked.Column())
	}
	pos := r.place(f)
	switch f.kind {
	case kindNotAllowed:
		p, pos = r.notAllowed(f, p, pos)
	case kindUndefined:
		p.Hint = didYouMean(f.args[0], r.factorNames(f.sweep))
	case kindMissing:
		p.Message, p.Hint = messageMissing, hintFor(f.path)
	case kindChoice:
		p.Message, p.Hint = r.choice(f)
	case kindDisjunction:
		return r.disjunction(f, p)
	case kindMismatch:
		p.Message, p.Hint = mismatch(f)
	case kindBound:
		p.Message, p.Hint = bound(f)
	case kindBetween:
		p.Message, p.Hint = r.between(f)
	case kindUnfit:
		p.Message, p.Hint = unfit(f)
	case kindIncomplete:
		p.Message, p.Hint = "has no value", r.valueHint(f)
	case kindReference:
		p.Hint = r.referenceHint(f.args[0])
	case kindShort:
		p.Message, p.Hint = "has too few items", shortHint(f.path)
	case kindCycle:
		p.Message = "structural cycle: it contains itself without end"
	default:
		if m := tooOld.FindStringSubmatch(f.text); m != nil {
			p.Path, p.Message = "", "its module speaks CUE "+m[1]+", which is older than the schema's"
			p.Hint = "write language: version: \"" + m[2] + "\", or newer, in cue.mod/module.cue"
		}
		if strings.HasPrefix(f.text, "cannot use") {
			p.Message, p.Hint = strings.ReplaceAll(f.text, " (type _|_)", ""), hintFor(f.path)
		}
	}
	if !pos.IsValid() {
		p.File = r.name
	}
	return p.at(pos)
}

// place is where the user wrote what is wrong: at a literal before an expression, never at the name of the schema; for
// what is not written, at the struct that should have it.
func (r *reader) place(f fault) token.Pos {
	users := slices.DeleteFunc(slices.Clone(f.users), func(pos token.Pos) bool { return r.outline.sweeps[pos.Position()] })
	for _, pos := range users {
		if r.outline.literals[pos.Position()] {
			return pos
		}
	}
	if len(users) > 0 {
		return users[len(users)-1]
	}
	if p, ok := r.setBy(f); ok {
		return p.pos()
	}
	p, _ := r.written(f)
	return p.pos()
}

// setBy finds the entry of a factor's sets that a path comes from.
func (r *reader) setBy(f fault) (place, bool) {
	if !f.inCell || f.kind == kindMissing {
		return place{}, false
	}
	path := strings.Join(f.path, ".")
	for _, factor := range r.factorNames(f.sweep) {
		for i := 0; ; i++ {
			p, ok := r.outline.places[strings.Join([]string{f.sweep, "factors", factor, "sets", strconv.Itoa(i)}, ".")]
			if !ok {
				break
			}
			if set, ok := literal(p.value); ok && (set == path || strings.HasPrefix(set, path+".")) {
				return p, true
			}
		}
	}
	return place{}, false
}

// notAllowed finds the first name on the path that the schema does not know: CUE names what is written under it.
func (r *reader) notAllowed(f fault, p Problem, pos token.Pos) (Problem, token.Pos) {
	n, known := r.unknownAt(f)
	if n < 0 {
		return p, pos
	}
	unknown := f.path[n]
	p.Path = dotted(f.path[:n+1])
	switch {
	case !f.inCell && n == 1 && (unknown == "searches" || unknown == "quality"):
		p.Message, p.Hint = "not yet: the name is kept for later", ""
	case !f.inCell && n == 2 && f.path[1] == "factors" || !f.inCell && n == 2 && f.path[1] == "grids":
		p.Hint = "a name begins with a small letter and has letters and digits only"
	default:
		p.Hint = didYouMean(unknown, known)
	}
	if n < len(f.path)-1 {
		at := f
		at.path = f.path[:n+1]
		if written, ok := r.written(at); ok {
			pos = written.label
		}
	}
	return p, pos
}

// disjunction says which of the alternatives were to be had, or what the one that is not a plain value asks for.
func (r *reader) disjunction(f fault, p Problem) Problem {
	var conflicts []fault
	for _, other := range f.others {
		switch other.kind {
		case kindBound, kindBetween, kindUnfit:
			return r.problem(other)
		case kindConflict:
			conflicts = append(conflicts, other)
		}
	}
	if len(conflicts) == 0 {
		return r.noType(f, p)
	}
	given := commonWord(conflicts)
	names := r.alternatives(f)
	for _, other := range conflicts {
		for _, word := range other.args {
			if word != given && !slices.Contains(names, word) {
				names = append(names, word)
			}
		}
	}
	p.Message = fmt.Sprintf("%s is none of %s", given, strings.Join(names, ", "))
	p.Hint = didYouMean(given, names)
	return p.at(r.place(conflicts[0]))
}

// noType says which types the alternatives are of, where the value is of none of them.
func (r *reader) noType(f fault, p Problem) Problem {
	var wanted []string
	for _, other := range f.others {
		if other.kind == kindMismatch && !slices.Contains(wanted, article(other.args[3])) {
			wanted = append(wanted, article(other.args[3]))
		}
	}
	if len(f.others) == 0 {
		return p.at(r.place(f))
	}
	if slices.Contains(wanted, article("number")) {
		wanted = []string{article("number")}
	}
	last := f.others[len(f.others)-1]
	q := r.problem(last)
	if len(wanted) > 0 && last.kind == kindMismatch {
		q.Message = fmt.Sprintf("invalid value %s (%s where %s is needed)", last.args[0], article(last.args[2]), strings.Join(wanted, " or "))
	}
	return q
}

// commonWord is the value that conflicts with each of the alternatives.
func commonWord(conflicts []fault) string {
	for _, word := range conflicts[0].args {
		if !slices.ContainsFunc(conflicts, func(f fault) bool { return !slices.Contains(f.args, word) }) {
			return word
		}
	}
	return conflicts[0].args[len(conflicts[0].args)-1]
}

// dotted writes a path as people do: list elements in brackets.
func dotted(path []string) string {
	var b strings.Builder
	for i, name := range path {
		switch _, err := strconv.Atoi(name); {
		case err == nil:
			b.WriteString("[" + name + "]")
		case i > 0:
			b.WriteString("." + name)
		default:
			b.WriteString(name)
		}
	}
	return b.String()
}
