package sweep

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Leaves maps a path from the cell's root to its value: a string, bool, json.Number, or an empty object where the
// presence of a struct is itself the choice (contract.load.burst). Lists are paths by index.
type Leaves map[string]any

// countedRoots are the fields of a cell whose leaves count for one variable at a time and for a cell's identity. The
// name, the coordinates and the rendered command follow from them.
var countedRoots = []string{"contract", "target", "server", "measure", "warmup", "tail", "timeout", "errorLimit"}

// judgementRoot is left out of every comparison of leaves: changing it judges again and measures nothing.
const judgementRoot = "contract.slo"

// CountedLeaves flattens a cell's JSON to the leaves that count.
func CountedLeaves(raw json.RawMessage) (Leaves, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var cell map[string]any
	if err := decoder.Decode(&cell); err != nil {
		return nil, fmt.Errorf("cell: %w", err)
	}
	leaves := Leaves{}
	for _, root := range countedRoots {
		if value, ok := cell[root]; ok {
			leaves.add(root, value)
		}
	}
	return leaves, nil
}

func (l Leaves) add(path string, value any) {
	if path == judgementRoot {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 && strings.HasPrefix(path, "contract.load.") {
			l[path] = v
		}
		for name, inner := range v {
			l.add(path+"."+name, inner)
		}
	case []any:
		for i, inner := range v {
			l.add(path+"."+strconv.Itoa(i), inner)
		}
	default:
		l[path] = v
	}
}

// Diff lists what differs from one set of leaves to another, sorted by path. Numbers are compared by value: 8 and 8.0
// are one.
func Diff(from, to Leaves) []Move {
	var moves []Move
	for _, path := range slices.Sorted(maps.Keys(from)) {
		if other, ok := to[path]; !ok {
			moves = append(moves, Move{Path: path, From: from[path]})
		} else if canonical(from[path]) != canonical(other) {
			moves = append(moves, Move{Path: path, From: from[path], To: other})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(to)) {
		if _, ok := from[path]; !ok {
			moves = append(moves, Move{Path: path, To: to[path]})
		}
	}
	slices.SortFunc(moves, func(a, b Move) int { return strings.Compare(a.Path, b.Path) })
	return moves
}

// canonical is a leaf's value as text that is equal exactly where the values are: type, then value.
func canonical(value any) string {
	switch v := value.(type) {
	case json.Number:
		if number, ok := new(big.Rat).SetString(v.String()); ok {
			return "number " + number.RatString()
		}
		return "number " + v.String()
	case float64:
		return "number " + new(big.Rat).SetFloat64(v).RatString()
	case string:
		return "string " + v
	case bool:
		return "bool " + strconv.FormatBool(v)
	case map[string]any:
		return "object"
	case nil:
		return "null"
	}
	return fmt.Sprintf("%T %v", value, value)
}

// MatchesPattern says whether a path is the pattern, or lies under it where the pattern ends in ".**".
func MatchesPattern(pattern, path string) bool {
	if prefix, ok := strings.CutSuffix(pattern, ".**"); ok {
		return path == prefix || strings.HasPrefix(path, prefix+".")
	}
	return path == pattern
}

// matchesAny says whether one of the patterns matches the path.
func matchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return MatchesPattern(p, path) })
}
