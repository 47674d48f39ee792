package sweep

import (
	"fmt"
	"slices"
)

// factor finds a factor by name.
func (p *Plan) factor(name string) *Factor {
	for i := range p.Factors {
		if p.Factors[i].Name == name {
			return &p.Factors[i]
		}
	}
	return nil
}

func (p *Plan) grid(name string) *Grid {
	for i := range p.Grids {
		if p.Grids[i].Name == name {
			return &p.Grids[i]
		}
	}
	return nil
}

// undeclaredBy lists the moves that a factor does not account for: those its sets and couples do not list, or, where it
// lists none, all of them if they are more than one.
func (f *Factor) undeclaredBy(moves []Move) []Move {
	declared := append(slices.Clone(f.Sets), f.Couples...)
	if len(declared) == 0 {
		if len(moves) > 1 {
			return moves
		}
		return nil
	}
	var rest []Move
	for _, m := range moves {
		if !matchesAny(declared, m.Path) {
			rest = append(rest, m)
		}
	}
	return rest
}

// undeclared lists the moves of a one-factor cell that its factor does not account for.
func (p *Plan) undeclared(i int) []Move {
	if f := p.factor(p.Cells[i].Factor()); f != nil && p.grid(f.Name) == nil {
		return f.undeclaredBy(p.Cells[i].Moved)
	}
	return nil
}

// references names what a cell is compared with.
func (p *Plan) references(i int, leaves []Leaves) []Reference {
	cell := &p.Cells[i]
	if i == 0 {
		return nil
	}
	grid := p.grid(cell.Factor())
	if grid == nil {
		f := p.factor(cell.Factor())
		if f == nil {
			return nil
		}
		return []Reference{{Cell: Baseline, Factor: f.Name, Moved: len(cell.Moved), Undeclared: f.undeclaredBy(cell.Moved)}}
	}
	var references []Reference
	for _, name := range grid.Of {
		f := p.factor(name)
		if f == nil || canonical(cell.Cell.At[name]) == canonical(f.Baseline) {
			continue
		}
		for j := range p.Cells {
			if p.Cells[j].Factor() != grid.Name || !setBack(cell.Cell.At, p.Cells[j].Cell.At, f) {
				continue
			}
			moves := Diff(leaves[j], leaves[i])
			references = append(references, Reference{
				Cell: p.Cells[j].Name(), Factor: name, Moved: len(moves), Undeclared: f.undeclaredBy(moves),
			})
		}
	}
	return references
}

// setBack says whether other is the point at with one factor set back to its baseline.
func setBack(at, other map[string]any, f *Factor) bool {
	for name, level := range at {
		want := level
		if name == f.Name {
			want = f.Baseline
		}
		if canonical(other[name]) != canonical(want) {
			return false
		}
	}
	return true
}

// Leaves of a cell that reach the requests or their timing, and those that only the client obeys.
var (
	requestLeaves = []string{
		"contract.model.id", "contract.endpoint", "contract.streaming", "contract.prompt.**", "contract.output.**", "contract.sampling.**",
		"contract.prefixCache.state", "contract.prefixCache.by", "contract.load.**", "contract.request.**", "server.servedModel", "server.key.**", "target",
	}
	clientLeaves = []string{"timeout.**", "warmup.**", "measure.**", "tail", "errorLimit", "server.restart"}
)

// cellFlags are the flags of a cell as such.
func (p *Plan) cellFlags(i int) []Flag {
	cell := &p.Cells[i]
	if i == 0 {
		return nil
	}
	flag := func(code string, severity Severity, format string, args ...any) Flag {
		return Flag{Cell: cell.Name(), Code: code, Severity: severity, Detail: fmt.Sprintf(format, args...)}
	}
	if p.grid(cell.Factor()) != nil {
		if n := len(cell.Moved); n > 1 {
			return []Flag{flag("many-factors", Note, "a grid cell: %d leaves differ from the baseline (%s)", n, movedPaths(cell.Moved))}
		}
		return nil
	}
	var flags []Flag
	switch {
	case len(cell.Moved) == 0:
		flags = append(flags, flag("no-change", Invalid,
			"nothing moved: at this level every leaf equals the baseline's, so it is not run; does #cell read at.%s?", cell.Factor()))
	case len(cell.Undeclared) > 0:
		flags = append(flags, flag("many-factors", Invalid, "%d leaves moved (%s), and factor %s %s",
			len(cell.Moved), movedPaths(cell.Moved), cell.Factor(), p.undeclaredBecause(cell)))
	}
	if len(cell.Moved) > 0 && p.labelOnly(cell) {
		flags = append(flags, flag("label-only", Invalid,
			"moved on paper only (%s): neither the server's command nor the requests moved with it", movedPaths(cell.Moved)))
	}
	return flags
}

func (p *Plan) undeclaredBecause(cell *PlanCell) string {
	f := p.factor(cell.Factor())
	if len(f.Sets) == 0 && len(f.Couples) == 0 {
		return "declares one; list the others in its couples if they belong to it"
	}
	return "does not list " + movedPaths(cell.Undeclared)
}

// labelOnly says that what moved reached neither the command, nor the requests, nor only the client.
func (p *Plan) labelOnly(cell *PlanCell) bool {
	if cell.Setting != p.Cells[0].Setting {
		return false
	}
	for _, m := range cell.Moved {
		if matchesAny(requestLeaves, m.Path) || matchesAny(clientLeaves, m.Path) {
			return false
		}
	}
	return true
}

// sweepFlags are the flags of the sweep as such.
func (p *Plan) sweepFlags() []Flag {
	var flags []Flag
	if p.Blocks < minBlocks {
		flags = append(flags, Flag{Code: "few-blocks", Severity: Note,
			Detail: fmt.Sprintf("blocks planned: %d; with fewer than %d an interval is wide and little can be shown", p.Blocks, minBlocks)})
	}
	for i := range p.Cells {
		if p.Cells[i].Cell.Contract.SLO == nil {
			flags = append(flags, Flag{Code: "no-slo", Severity: Suspect, Detail: "no latency bar (contract.slo): throughput without one is not a serving result"})
			break
		}
	}
	return flags
}

// minBlocks is how many blocks a sweep should have, from the repeats that the best of up to six comparisons needs to
// survive Holm's correction.
const minBlocks = 5
