package cue

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/token"
)

// checkSweeps checks what can be checked before any cell is made: factors, grids, their number of cells, the judge. A
// definition that passes can be expanded. Mistakes in the template that show already are added to others only, since the
// expansion says in how many cells they are.
func (r *reader) checkSweeps() Errors {
	if misnamed := r.misnamedCells(); len(misnamed) > 0 {
		return misnamed
	}
	wrong := r.wrong()
	outside := func(f fault) bool { return !f.inCell && !f.derived() }
	fromCUE := slices.ContainsFunc(distinct(r.faults(wrong)), outside)
	var found Errors
	for _, name := range r.sweeps {
		c := &sweepCheck{reader: r, name: name, value: r.root.LookupPath(cue.MakePath(cue.Str(name)))}
		c.factors()
		c.names()
		c.overflow()
		if !fromCUE && len(c.found) == 0 {
			c.grids()
			c.judge()
		}
		if !fromCUE && len(c.found) == 0 {
			c.count()
		}
		found = append(found, c.found...)
	}
	if fromCUE {
		found = withoutRepeats(r.explain(wrong), found)
	}
	return found
}

// misnamedCells finds definitions that were meant to be #cell: CUE lets a closed struct have any definition besides.
func (r *reader) misnamedCells() (found Errors) {
	for _, path := range slices.Sorted(maps.Keys(r.outline.places)) {
		p := r.outline.places[path]
		top, name, ok := strings.Cut(path, ".")
		seen := slices.ContainsFunc(found, func(q Problem) bool { return q.Line == p.label.Line() })
		if ok && !seen && len(name) > 2 && name[0] == '#' && name != "#cell" && distance(name, "#cell") <= 2 && r.outline.namesSweep(top, map[string]bool{}) {
			found = append(found, Problem{Path: path, Message: "field not allowed", Hint: "did you mean #cell?"}.at(p.label))
		}
	}
	return found
}

// withoutRepeats joins what CUE and what Go say: of one leaf, what Go says.
func withoutRepeats(fromCUE, fromGo Errors) Errors {
	all := slices.Clone(fromGo)
	for _, p := range fromCUE {
		same := func(other Problem) bool {
			return other.Path == p.Path || other.File == p.File && other.Line == p.Line && other.Col == p.Col ||
				strings.HasPrefix(other.Path, p.Path+"[") || strings.HasPrefix(p.Path, other.Path+"[")
		}
		if !slices.ContainsFunc(fromGo, same) {
			all = append(all, p)
		}
	}
	return all
}

// A sweepCheck goes through one sweep.
type sweepCheck struct {
	*reader
	name  string
	value cue.Value
	// levels are each factor's baseline and levels, in the order of the factors.
	levels map[string][]cue.Value
	order  []string
	found  Errors
}

func (c *sweepCheck) lookup(path ...string) cue.Value {
	selectors := make([]cue.Selector, len(path))
	for i, name := range path {
		if n, err := strconv.Atoi(name); err == nil {
			selectors[i] = cue.Index(n)
		} else {
			selectors[i] = cue.Str(name)
		}
	}
	return c.value.LookupPath(cue.MakePath(selectors...))
}

// report notes a problem at a path from the sweep.
func (c *sweepCheck) report(message, hint string, path ...string) {
	full := append([]string{c.name}, path...)
	p := Problem{File: c.reader.name, Path: dotted(full), Message: message, Hint: hint}
	written, _ := c.outline.find(full)
	c.found = append(c.found, p.at(c.posOf(c.lookup(path...), written)))
}

// posOf is where a value is written: by CUE's account, where that is in the definition; else by the outline's.
func (r *reader) posOf(v cue.Value, written place) token.Pos {
	if pos := v.Pos(); pos.IsValid() && !r.isSchema(pos) && !r.outline.sweeps[pos.Position()] {
		return pos
	}
	return written.pos()
}

func (c *sweepCheck) factors() {
	c.levels = map[string][]cue.Value{}
	fields, err := c.lookup("factors").Fields()
	if err != nil {
		return
	}
	for fields.Next() {
		name := fields.Selector().Unquoted()
		c.order = append(c.order, name)
		values := []cue.Value{c.lookup("factors", name, "baseline")}
		levels, err := c.lookup("factors", name, "levels").List()
		for err == nil && levels.Next() {
			values = append(values, levels.Value())
		}
		c.levels[name] = values
		if err == nil && len(values) == 1 {
			c.report("lists no level", "a factor moves: give it one", "factors", name, "levels")
		}
		c.distinctLevels(name, values)
	}
}

// distinctLevels checks that levels are scalars, and that no two of them, nor one and the baseline, are equal numbers or
// have one name.
func (c *sweepCheck) distinctLevels(factor string, values []cue.Value) {
	names, numbers := map[string]int{}, map[string]int{}
	for i, v := range values {
		at := levelPath(factor, i)
		if v.Err() != nil || !v.IsConcrete() {
			continue
		}
		name, number, scalar := levelName(v)
		if !scalar {
			c.report("a level is a number, a string or a bool", "structure goes in a table that the level indexes", at...)
			continue
		}
		j, seen := names[name]
		if !seen && number != "" {
			j, seen = numbers[number]
		}
		if seen {
			c.sameLevel(values[j], v, j == 0, at)
			continue
		}
		names[name] = i
		if number != "" {
			numbers[number] = i
		}
	}
}

// sameLevel reports a level that an earlier one, or the baseline, already is.
func (c *sweepCheck) sameLevel(earlier, level cue.Value, baseline bool, at []string) {
	before, _, _ := levelName(earlier)
	name, _, _ := levelName(level)
	switch {
	case earlier.Kind() == cue.StringKind != (level.Kind() == cue.StringKind):
		c.report("levels "+name+" and "+strconv.Quote(name)+" print the same name", "name one of them otherwise", at...)
	case baseline:
		c.report("level "+name+" is the baseline", "leave it out: the baseline is a cell already", at[:3]...)
	case before == name:
		c.report("level "+name+" is there twice", "leave one out", at...)
	default:
		c.report(fmt.Sprintf("levels %s and %s are one number", before, name), "leave one out", at...)
	}
}

// levelName is a level as it stands in a cell's name, and its value where it is a number.
func levelName(v cue.Value) (name, number string, scalar bool) {
	switch v.Kind() {
	case cue.StringKind:
		text, err := v.String()
		return text, "", err == nil
	case cue.IntKind, cue.FloatKind, cue.NumberKind, cue.BoolKind:
		text, err := v.MarshalJSON()
		if err != nil {
			return "", "", false
		}
		if value, ok := new(big.Rat).SetString(string(text)); ok {
			number = value.RatString()
		}
		return string(text), number, true
	}
	return "", "", false
}

func (c *sweepCheck) grids() {
	fields, err := c.lookup("grids").Fields()
	if err != nil {
		return
	}
	for fields.Next() {
		name := fields.Selector().Unquoted()
		if _, taken := c.levels[name]; taken {
			c.report("a factor has this name", "name the grid otherwise", "grids", name)
		}
		var lengths []string
		for i, factor := range c.of(name) {
			levels, ok := c.levels[factor]
			if !ok {
				hint := didYouMean(factor, c.order)
				c.report("there is no factor "+factor, hint, "grids", name, "of", strconv.Itoa(i))
				continue
			}
			lengths = append(lengths, fmt.Sprintf("%s has %d", factor, len(levels)))
		}
		if kind, _ := c.lookup("grids", name, "kind").String(); kind == "zip" && !c.even(name) {
			c.report("a zip takes axes of one length: "+strings.Join(lengths, ", ")+" (with the baseline)",
				`give each as many levels, or write kind: "cross"`, "grids", name, "of")
		}
	}
}

// of lists the factors that a grid names.
func (c *sweepCheck) of(grid string) []string {
	var names []string
	list, err := c.lookup("grids", grid, "of").List()
	for err == nil && list.Next() {
		if name, err := list.Value().String(); err == nil {
			names = append(names, name)
		}
	}
	return names
}

func (c *sweepCheck) even(grid string) bool {
	names := c.of(grid)
	for _, name := range names {
		if len(c.levels[name]) != len(c.levels[names[0]]) {
			return false
		}
	}
	return true
}

// count refuses a sweep with more cells than its maxCells before they are made.
func (c *sweepCheck) count() {
	most, err := c.lookup("maxCells").Int(nil)
	if err != nil {
		return
	}
	cells := big.NewInt(1)
	for _, name := range c.order {
		cells.Add(cells, big.NewInt(int64(len(c.levels[name])-1)))
	}
	fields, err := c.lookup("grids").Fields()
	for err == nil && fields.Next() {
		name := fields.Selector().Unquoted()
		product := big.NewInt(1)
		for i, factor := range c.of(name) {
			if kind, _ := fields.Value().LookupPath(cue.ParsePath("kind")).String(); kind == "cross" || i == 0 {
				product.Mul(product, big.NewInt(int64(len(c.levels[factor]))))
			}
		}
		cells.Add(cells, product)
	}
	if cells.Cmp(most) > 0 {
		c.report(fmt.Sprintf("%v cells, and maxCells is %v", cells, most), "fewer levels, or a larger maxCells on purpose")
	}
}

// judge checks that the metrics to compare exist.
func (c *sweepCheck) judge() {
	list, err := c.lookup("judge", "metrics").List()
	known := judgedMetrics()
	for i := 0; err == nil && list.Next(); i++ {
		name, err := list.Value().String()
		if err == nil && !slices.Contains(known, name) {
			hint := didYouMean(name, known)
			if hint == "" {
				hint = "there are goodput_req_s, goodput_tok_s, output_rate, attainment, and ttft_p95 and its like"
			}
			c.report("there is no metric "+name, hint, "judge", "metrics", strconv.Itoa(i))
		}
	}
}

// judgedMetrics lists what a block has one value of, and cells are compared by.
func judgedMetrics() []string {
	names := []string{"goodput_req_s", "goodput_tok_s", "output_rate", "attainment"}
	for _, metric := range []string{"ttft", "ttft_due", "tpot", "gap", "itl", "e2e", "e2e_due", "queue", "server_queue", "answer"} {
		for _, share := range []string{"_p50", "_p95", "_p99"} {
			names = append(names, metric+share)
		}
	}
	return names
}
