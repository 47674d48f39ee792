package sweep

import (
	"fmt"
	"slices"
)

// Side is one of two cells that are compared although no plan may have meant it: a cell of a plan, and what the
// comparison calls it.
type Side struct {
	Plan *Plan
	Cell *PlanCell
	Name string
}

// Pair is the plan of two cells: the reference first, and the other with what moved from it. Where the two differ in the
// level of one factor alone, that factor says what may move; otherwise one leaf may. What was observed is not in it:
// ObservedMoves adds that.
func Pair(reference, cell Side) (*Plan, error) {
	p := &Plan{Definition: cell.Plan.Definition}
	p.Definition.Cells, p.Grids, p.AA = nil, nil, false
	p.Blocks = max(cell.Plan.Blocks, reference.Plan.Blocks)
	p.Cells = []PlanCell{reference.alone(), cell.alone()}
	from, err := CountedLeaves(reference.Cell.Cell.Raw)
	if err != nil {
		return nil, err
	}
	to, err := CountedLeaves(cell.Cell.Cell.Raw)
	if err != nil {
		return nil, err
	}
	other := &p.Cells[1]
	other.Moved = Diff(from, to)
	factor := p.factorBetween(&reference.Cell.Cell, &cell.Cell.Cell)
	if factor != nil {
		other.Cell.Cell.Factor = &factor.Name
	}
	p.setUndeclared(factor)
	return p, nil
}

// alone is the side's cell without what its own plan says of it beside others.
func (s Side) alone() PlanCell {
	c := *s.Cell
	c.Cell.Cell.Cell, c.Cell.Cell.Factor = s.Name, nil
	c.AliasOf, c.Moved, c.Undeclared, c.References, c.Flags = "", nil, nil, nil, nil
	return c
}

// factorBetween is the only factor in whose level two cells differ, or nil.
func (p *Plan) factorBetween(a, b *Cell) *Factor {
	var found *Factor
	for i := range p.Factors {
		f := &p.Factors[i]
		if canonical(a.At[f.Name]) == canonical(b.At[f.Name]) {
			continue
		}
		if found != nil {
			return nil
		}
		found = f
	}
	return found
}

// setUndeclared says which of the second cell's moves its factor does not account for, and what follows from that.
func (p *Plan) setUndeclared(factor *Factor) {
	cell := &p.Cells[1]
	if factor == nil {
		factor = &Factor{}
	}
	cell.Undeclared = factor.undeclaredBy(cell.Moved)
	cell.References = []Reference{{Cell: p.Cells[0].Name(), Factor: factor.Name, Moved: len(cell.Moved), Undeclared: cell.Undeclared}}
	cell.Flags = nil
	if len(cell.Moved) > 0 && p.labelOnly(cell) {
		cell.Flags = append(cell.Flags, Flag{Cell: cell.Name(), Code: "label-only", Severity: Invalid,
			Detail: fmt.Sprintf("moved on paper only (%s): neither the server's command nor the requests moved with it", movedPaths(cell.Moved))})
	}
}

// ObservedMoves adds what was observed to differ between the two cells of a Pair; undeclared are those of moves that
// nothing accounts for. A leaf that moved on paper and that an observation moved with is no mere label.
func (p *Plan) ObservedMoves(moves, undeclared []Move) {
	cell := &p.Cells[1]
	cell.Moved = append(cell.Moved, moves...)
	cell.Undeclared = append(cell.Undeclared, undeclared...)
	cell.References[0].Moved, cell.References[0].Undeclared = len(cell.Moved), cell.Undeclared
	if len(moves) > 0 {
		cell.Flags = slices.DeleteFunc(cell.Flags, func(f Flag) bool { return f.Code == "label-only" })
	}
}

// Confounded says that a cell's ratio would be that of several leaves together: more than one moved, and not all of them
// are accounted for.
func (c *PlanCell) Confounded() bool { return len(c.Moved) > 1 && len(c.Undeclared) > 0 }
