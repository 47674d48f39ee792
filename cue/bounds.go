package cue

import (
	"path"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"
)

// ranges say what there can be at a path where one bound alone does not, by pattern as hints have them.
var ranges = []struct{ pattern, says string }{
	{"*.blocks", "there are 1 to 200 blocks"},
	{"*.judge.margin", "a margin is a share between 0 and 1: 0.05 is 5 %"},
	{"contract.slo.attainment", "a share is above 0 and at most 1: 0.99 is 99 %"},
	{"errorLimit", "a share is above 0 and at most 1: 0.05 is 5 %"},
	{"contract.sampling.topP", "a share is above 0 and at most 1"},
	{"contract.sampling.minP", "a share is from 0 to 1"},
	{"contract.sampling.topK", "write how many tokens there are to choose from; -1 is all"},
	{"contract.sampling.temperature", "0 is greedy, and there is nothing below it"},
	{"contract.hardware.gpus", "write 0 for a server without any"},
	{"server.port", "ports go from 1 to 65535"},
}

// rangeOf says what there can be at a path, whose value is out of a bound.
func rangeOf(names []string, bound string) string {
	slashed := strings.Join(names, "/")
	for _, r := range ranges {
		if ok, _ := path.Match(strings.ReplaceAll(r.pattern, ".", "/"), slashed); ok {
			return r.says
		}
	}
	switch limit := strings.TrimLeft(bound, "<>="); {
	case strings.HasPrefix(bound, ">="):
		return "write " + limit + " or more"
	case strings.HasPrefix(bound, "<="):
		return "write " + limit + " or less"
	case strings.HasPrefix(bound, ">"):
		return "write more than " + limit
	case strings.HasPrefix(bound, "<"):
		return "write less than " + limit
	}
	return ""
}

// bound is the message for a value outside the schema's bounds: of a pattern, the hint says more.
func bound(f fault) (message, hint string) {
	if !strings.HasPrefix(f.args[1], "=~") {
		return f.text, rangeOf(f.path, f.args[1])
	}
	if hint = hintFor(f.path); hint == "" {
		return f.text, ""
	}
	return "invalid value " + withPassword.ReplaceAllString(f.args[0], "://…@"), hint
}

// between is the message for a whole number where the schema asks for one between two bounds that have none between them.
// CUE names the bounds, and not the number.
func (r *reader) between(f fault) (message, hint string) {
	low, high := f.args[0], f.args[1]
	hint = rangeOf(f.path, low)
	written, _ := r.written(f)
	given := r.number(written.value)
	number, err := strconv.ParseFloat(given, 64)
	if err != nil {
		return "no whole number lies between " + strings.TrimLeft(low, ">") + " and " + strings.TrimLeft(high, "<"), hint
	}
	out := high
	if least, err := strconv.ParseFloat(strings.TrimLeft(low, ">"), 64); err == nil && number <= least {
		out = low
	}
	return "invalid value " + given + " (out of bound " + out + ")", hint
}

// number is what an expression of the definition comes to, or empty where it is no number by itself.
func (r *reader) number(x ast.Expr) string {
	if x == nil {
		return ""
	}
	// As new text: names in the tree that is there lead into a file that was built already.
	text, err := format.Node(x)
	if err != nil {
		return ""
	}
	alone, err := parser.ParseExpr("", text)
	if err != nil {
		return ""
	}
	v := r.root.Context().BuildExpr(alone)
	if _, err := v.Float64(); err != nil {
		return ""
	}
	number, err := v.MarshalJSON()
	if err != nil {
		return ""
	}
	return string(number)
}
