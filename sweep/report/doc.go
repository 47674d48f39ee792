// Package report turns derived rows into tables, and tables into text, Markdown, LaTeX, CSV and JSON.
//
// There are two steps. [Build] makes a [Table]: what is said, in which order, with which uncertainty, and the legend
// without which no figure leaves the program. [Write] sets it: the same figures in every printed format, and the public
// view's own columns in full precision for CSV and JSON. [WritePlan] and [WriteRecord] do the same for a plan and for one
// record.
//
// It knows no statistics: estimates, intervals, flags and verdicts come to it as they are printed. It reads no database,
// no clock and no file, and writes only to the writer that it is given.
package report

import (
	"fmt"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// Input is what a table is made from.
type Input struct {
	Plan    *sweep.Plan
	Derived *sweep.Derived
	// Trials are all attempts at the plan's trials: they say why a cell has no figures.
	Trials []sweep.TrialRecord
	// Launches are those of Trials, for the table phases.
	Launches []sweep.Launch
	// Errors are the failed requests, counted, for the table errors.
	Errors []ErrorCount
	// Cells says which cells to print, by name; nil prints all.
	Cells func(name string) bool
	// SLO says what the rows were judged by again (ttft=200ms,tpot=50ms), or is empty where it was the contracts' own bars.
	// Plan then has the bars in force, and Defined is the plan with its own.
	SLO     string
	Defined *sweep.Plan
	// Provenance says where the figures come from. Tables print what it has of version, commit, database and host.
	Provenance map[string]string
	// Command is what prints this table again.
	Command string
}

// ErrorCount is how many requests of one block failed in one way.
type ErrorCount struct {
	Cell       string
	Block      int
	Phase      sweep.Phase
	Error      string // one of the sweep.Err kinds
	HTTPStatus int64  // or sweep.None
	Count      int64
	Message    string // of one of them
}

// Kinds lists the tables that Build makes, the default first.
func Kinds() []string {
	return []string{"goodput", "latency", "phases", "variance", "compare", "flags", "errors"}
}

// Build makes the table of one kind.
func Build(kind string, in Input) (*Table, error) {
	if in.Plan == nil {
		return nil, fmt.Errorf("table %s: there is no plan", kind)
	}
	s := newScope(in.complete())
	s.mark(kind)
	return s.build(kind)
}

func (s *scope) build(kind string) (*Table, error) {
	switch kind {
	case "goodput":
		return s.goodput(), nil
	case "latency":
		return s.latency(), nil
	case "phases":
		return s.phases(), nil
	case "variance":
		return s.variance(), nil
	case "compare":
		return s.compare(), nil
	case "flags":
		return s.flags(), nil
	case "errors":
		return s.errors(), nil
	case "capacity", "quality":
		return nil, fmt.Errorf("table %s: not measured yet, this version has no %s search; there are %s",
			kind, kind, strings.Join(Kinds(), ", "))
	}
	return nil, fmt.Errorf("table %q: there is none of this name; there are %s", kind, strings.Join(Kinds(), ", "))
}
