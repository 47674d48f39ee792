package verdict

import (
	"fmt"
	"slices"

	"github.com/inference-sweep/sweep/sweep"
)

// Unlike says why two cells cannot be compared, however few leaves moved between them: they are of different loops, or of
// different fixed lengths where the length is not what the factor varies. It is empty where they can.
func Unlike(plan *sweep.Plan, cell, reference *sweep.PlanCell, factor string) string {
	a, b := &cell.Cell, &reference.Cell
	if a.LoadKind() != b.LoadKind() {
		return fmt.Sprintf("different loops: %s against %s", a.LoadKind(), b.LoadKind())
	}
	inputs := a.Contract.Prompt.Length.Fixed != b.Contract.Prompt.Length.Fixed
	outputs := a.Contract.Output.Length.Fixed != b.Contract.Output.Length.Fixed
	if !(inputs || outputs) || variesLength(plan, factor, a) {
		return ""
	}
	return fmt.Sprintf("different lengths (prompt/output): %s against %s, which the factor does not vary", lengths(a), lengths(b))
}

// lengths are a cell's, of prompt and output: "128/16" tokens, or the law that they follow.
func lengths(c *sweep.Cell) string { return lengthWord(c, false) + "/" + lengthWord(c, true) }

func lengthWord(c *sweep.Cell, output bool) string {
	l := c.Contract.Prompt.Length
	if output {
		l = c.Contract.Output.Length
	}
	switch {
	case l.Uniform != nil:
		return "uniform"
	case l.Lognormal != nil:
		return "lognormal"
	case l.Trace != "":
		return "trace"
	}
	return fmt.Sprint(l.Fixed)
}

// lengthRoots are where a cell's lengths are.
var lengthRoots = []string{"contract.prompt.**", "contract.output.**"}

// variesLength says whether lengths are what a factor varies, and not something that moves beside it: it sets one, its
// level is one, or nothing but prompts and outputs may move with it. A factor that declares nothing moves one leaf alone.
func variesLength(plan *sweep.Plan, name string, cell *sweep.Cell) bool {
	for _, f := range plan.Factors {
		if f.Name != name {
			continue
		}
		ofLength := func(path string) bool { return matches(lengthRoots, path) }
		level := textOf(cell.At[name])
		prompt, output := cell.Contract.Prompt.Length.Fixed, cell.Contract.Output.Length.Fixed
		return slices.ContainsFunc(f.Sets, ofLength) || level == fmt.Sprint(prompt) || level == fmt.Sprint(output) ||
			!slices.ContainsFunc(f.Couples, func(path string) bool { return !ofLength(path) })
	}
	return false
}
