package cue

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"
)

// A kind is a sort of mistake that CUE reports, by the format of its message.
type kind int

const (
	kindOther       kind = iota
	kindNotAllowed       // a field that the schema does not have
	kindUndefined        // a name that a struct does not have
	kindMissing          // a required field
	kindChoice           // a struct with too many of its alternatives, or too few
	kindDisjunction      // the head of a group: no alternative fits
	kindConflict
	kindMismatch // of types
	kindBound
	kindBetween // a whole number between two bounds that have none between them
	kindUnfit   // a validator says no
	kindIncomplete
	kindReference
	kindShort // a list
	kindCycle
)

var kinds = map[string]kind{
	"field not allowed":                                         kindNotAllowed,
	"undefined field: %s":                                       kindUndefined,
	"field is required but not present":                         kindMissing,
	"required field missing: %s":                                kindMissing,
	"%d errors in empty disjunction:":                           kindDisjunction,
	"conflicting values %s and %s":                              kindConflict,
	"invalid value %v (out of bound %s)":                        kindBound,
	"incompatible integer bounds %v and %v":                     kindBetween,
	"invalid value %s (does not satisfy %s)":                    kindUnfit,
	"incomplete value %v":                                       kindIncomplete,
	"unresolved disjunction: %v":                                kindIncomplete,
	"reference %q not found":                                    kindReference,
	"incompatible list lengths (%d and %d)":                     kindShort,
	"non-concrete value %v in operand to %s":                    kindIncomplete,
	"structural cycle":                                          kindCycle,
	"conflicting values %s and %s (mismatched types %s and %s)": kindMismatch,
}

// A fault is one error as CUE reports it, read: which cell, which leaf, what sort.
type fault struct {
	kind kind
	// sweep and cell say where; cell is -1 outside the expanded cells.
	sweep string
	cell  int
	// path starts at the cell where inCell is set, else at the file's root.
	path   []string
	inCell bool
	text   string
	args   []string
	// users are the positions in the definition, by CUE's relevance; schema is the first one in the schema.
	users  []token.Pos
	schema token.Pos
	// places counts all positions: a required field that only a choice asks for has two.
	places int
	// others are the rest of a group that a disjunction heads.
	others []fault
}

// faults reads CUE's errors.
func (r *reader) faults(err error) []fault {
	var all []fault
	for _, e := range errors.Errors(err) {
		all = append(all, r.fault(e))
	}
	return all
}

func (r *reader) fault(e errors.Error) fault {
	format, args := e.Msg()
	f := fault{kind: kinds[format], cell: -1}
	f.text, _, _ = strings.Cut(strings.TrimPrefix(e.Error(), strings.Join(e.Path(), ".")+": "), "\n")
	for _, arg := range args {
		f.args = append(f.args, fmt.Sprint(arg))
	}
	if format == "invalid interpolation" && strings.Contains(f.text, "non-concrete") {
		f.kind = kindIncomplete
	}
	if f.kind == kindUnfit && isChoice(f.args[1]) {
		f.kind = kindChoice
	}
	positions := errors.Positions(e)
	f.places = len(positions)
	for _, pos := range positions {
		switch {
		case !r.isSchema(pos):
			f.users = append(f.users, pos)
		case !f.schema.IsValid():
			f.schema = pos
		}
	}
	f.locate(e.Path())
	return f
}

func isChoice(validator string) bool {
	return strings.HasPrefix(validator, "matchN") || strings.HasPrefix(validator, "struct.M")
}

// locate splits CUE's path into sweep, cell and the path from there.
func (f *fault) locate(selectors []string) {
	for _, selector := range selectors {
		if text, err := strconv.Unquote(selector); err == nil {
			selector = text
		}
		f.path = append(f.path, selector)
	}
	if len(f.path) == 0 {
		return
	}
	f.sweep = f.path[0]
	switch rest := f.path[1:]; {
	case len(rest) > 0 && rest[0] == "#cell":
		f.path, f.inCell = rest[1:], true
	case len(rest) > 2 && rest[0] == "plan" && rest[1] == "cells":
		if n, err := strconv.Atoi(rest[2]); err == nil {
			f.path, f.cell, f.inCell = rest[3:], n, true
		}
	}
}

// derived says that the fault is in what the schema computes, and follows from another one.
func (f *fault) derived() bool {
	if f.inCell || len(f.path) == 0 {
		return false
	}
	if f.path[0] == "out" {
		return true
	}
	return len(f.path) > 1 && (f.path[1] == "plan" || strings.HasPrefix(f.path[1], "_"))
}

// spot is the fault's cell and leaf as one word.
func (f *fault) spot() string {
	return f.sweep + "\x00" + strconv.Itoa(f.cell) + "\x00" + strconv.FormatBool(f.inCell) + "\x00" + strings.Join(f.path, "\x00")
}

// distinct leaves one fault of each mistake in a cell: the branches of a disjunction go under its head, and of a choice
// and what it asks for stays the one that says more.
func distinct(all []fault) []fault {
	groups := map[string][]fault{}
	var spots []string
	for _, f := range all {
		spot := f.spot()
		if groups[spot] == nil {
			spots = append(spots, spot)
		}
		groups[spot] = append(groups[spot], f)
	}
	var heads []fault
	for _, spot := range spots {
		heads = append(heads, headed(groups[spot])...)
	}
	var kept []fault
	under := missingUnder(heads)
	for _, f := range heads {
		if !under.drops(f) {
			kept = append(kept, f)
		}
	}
	return kept
}

// headed puts the faults of one leaf under the one that stands for all of them.
func headed(group []fault) []fault {
	for i, f := range group {
		if f.kind == kindChoice || f.kind == kindDisjunction {
			f.others = slices.Delete(slices.Clone(group), i, i+1)
			return []fault{f}
		}
	}
	return group
}

// choices knows, for each choice that failed, what is wrong under it.
type choices struct {
	failed map[string]bool
	// inside says that under the choice something is wrong in itself, not only absent because of the choice.
	inside map[string]bool
}

func missingUnder(all []fault) choices {
	c := choices{map[string]bool{}, map[string]bool{}}
	for _, f := range all {
		if f.kind == kindChoice {
			c.failed[f.spot()] = true
		}
	}
	for _, f := range all {
		if f.kind == kindMissing && f.places > 1 {
			continue
		}
		for above := f; len(above.path) > 0; {
			above.path = above.path[:len(above.path)-1]
			if c.failed[above.spot()] {
				c.inside[above.spot()] = true
			}
		}
	}
	return c
}

// drops says whether another fault explains this one.
func (c choices) drops(f fault) bool {
	if f.kind == kindChoice {
		return c.inside[f.spot()]
	}
	if f.kind != kindMissing || f.places < 2 || len(f.path) == 0 {
		return false
	}
	f.path = f.path[:len(f.path)-1]
	return c.failed[f.spot()]
}
