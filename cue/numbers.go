package cue

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
)

const (
	wholeHint = "whole numbers have up to 18 digits here"
	floatHint = "numbers lie between 1e-300 and 1e300 here, or are 0"
)

// isFloat says whether a number's text, which has no end of digits in CUE, stands for one in binary too.
func isFloat(text string) bool {
	exact, ok := new(big.Float).SetString(text)
	x, err := strconv.ParseFloat(text, 64)
	return ok && err == nil && (exact.Sign() == 0 || math.Abs(x) >= 1e-300 && math.Abs(x) <= 1e300)
}

// unheld makes problems of a number that decoding had no room for, at each leaf under v that has it; nil where the error
// is of another sort. base is where v is in the definition.
func (r *reader) unheld(base []string, v cue.Value, err error) Errors {
	typed, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return nil
	}
	number, ok := strings.CutPrefix(typed.Value, "number ")
	if !ok {
		return nil
	}
	kind, hint := "a whole number", wholeHint
	if k := typed.Type.Kind(); k == reflect.Float64 {
		kind, hint = "a number", floatHint
	}
	var found Errors
	eachNumber(base, v, func(path []string, text string, v cue.Value) {
		if text != number {
			return
		}
		p := Problem{File: r.name, Path: dotted(path), Message: fmt.Sprintf("invalid value %s (too large for %s)", number, kind), Hint: hint}
		written, _ := r.outline.find(path)
		if sweep, leaf, inCell := cellLeaf(path); inCell {
			p.Path, p.Cells = dotted(leaf), 1
			written, _ = r.outline.findLeaf(sweep, leaf)
		}
		p = p.at(r.posOf(v, written))
		same := func(q Problem) bool { q.Cells = p.Cells; return q == p }
		if i := slices.IndexFunc(found, same); i >= 0 {
			found[i].Cells++
		} else {
			found = append(found, p)
		}
	})
	return found
}

// cellLeaf splits the path of a leaf of a cell. Its coordinates are no leaves: factors have them.
func cellLeaf(path []string) (sweep string, leaf []string, inCell bool) {
	if len(path) < 5 || path[1] != "plan" || path[2] != "cells" {
		return "", nil, false
	}
	return path[0], path[4:], true
}

// eachNumber visits every number under v but for a cell's coordinates.
func eachNumber(path []string, v cue.Value, visit func(path []string, text string, v cue.Value)) {
	at := func(name string) []string { return append(slices.Clone(path), name) }
	switch v.Kind() {
	case cue.StructKind:
		fields, err := v.Fields()
		for err == nil && fields.Next() {
			name := fields.Selector().Unquoted()
			if len(path) == 4 && path[2] == "cells" && (name == "at" || name == "level") {
				continue
			}
			eachNumber(at(name), fields.Value(), visit)
		}
	case cue.ListKind:
		items, err := v.List()
		for i := 0; err == nil && items.Next(); i++ {
			eachNumber(at(strconv.Itoa(i)), items.Value(), visit)
		}
	case cue.IntKind, cue.FloatKind, cue.NumberKind:
		if text, err := v.MarshalJSON(); err == nil {
			visit(path, string(text), v)
		}
	}
}
