package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/analysis"
)

// PairSide is one of two cells that are compared by name: where it comes from, and all attempts at its sweep's trials.
type PairSide struct {
	sweep.Side
	Trials []sweep.TrialFacts
}

// PairOptions say how two cells are compared.
type PairOptions struct {
	// Apart says that the two are of different sweeps or databases: their blocks are paired by number, not by sitting.
	Apart bool
	// AllowMany compares them although more than one undeclared leaf moved, with the flag that says so.
	AllowMany bool
	// Family are the rows of the sweep's own comparisons that p is adjusted among, those of the same two cells apart.
	Family []sweep.ComparisonRow
}

// ComparePair compares two cells that no plan may have meant to be compared, by the rules of Derive.
// The plan it returns holds the two, under their sides' names, with what moved between them, observations included; the
// derived rows are of these two alone. Where the comparison is refused, its rows say so.
func ComparePair(reference, cell PairSide, o PairOptions) (*sweep.Plan, *sweep.Derived, error) {
	plan, err := sweep.Pair(reference.Side, cell.Side)
	if err != nil {
		return nil, nil, err
	}
	a, b := reference.place(plan, 0), cell.place(plan, 1)
	plan.ObservedMoves(observedMoves(plan, a.sightings[reference.Cell.Digest], b.sightings[cell.Cell.Digest]))
	second := &plan.Cells[1]
	c := &contest{factor: second.References[0].Factor, moved: len(second.Moved)}
	d := &derivation{plan: plan, Derived: &sweep.Derived{AnalysisVersion: Version}}
	c.refused = second.Confounded() && !o.AllowMany || refuses(second.Flags) || Unlike(plan, second, &plan.Cells[0], c.factor) != ""
	second.Flags = append(second.Flags, pairFlags(plan, o)...)
	if c.reference, err = a.alone(); err != nil {
		return nil, nil, err
	}
	if c.cell, err = b.alone(); err != nil {
		return nil, nil, err
	}
	if o.Apart {
		c.pairByNumber()
	} else {
		c.pair(c.reference.blocks)
	}
	d.take(a, b)
	for _, metric := range plan.Judge.Metrics {
		row := c.test(metric, plan.Judge.Margin)
		analysis.DecideApart(row, o.family(metric))
		c.rows = append(c.rows, row)
	}
	d.addComparison(c)
	d.Flags = fold(d.Flags, d.blocksOf)
	d.sort()
	return plan, d.Derived, nil
}

// family are the family's rows of one metric.
func (o PairOptions) family(metric string) []*analysis.Comparison {
	var rows []*analysis.Comparison
	for _, r := range o.Family {
		if r.Metric == metric {
			rows = append(rows, &analysis.Comparison{ComparisonRow: r})
		}
	}
	return rows
}

// place sorts the attempts at the trials of one cell of a pair.
func (s PairSide) place(pair *sweep.Plan, i int) *derivation {
	alone := *pair
	alone.Cells = pair.Cells[i : i+1]
	d := &derivation{plan: &alone, Derived: &sweep.Derived{}, byDigest: map[string][]*block{}}
	d.place(s.Trials)
	return d
}

// alone derives the rows of the only cell of a plan.
func (d *derivation) alone() (*named, error) {
	cell := &d.plan.Cells[0]
	if err := d.measurement(cell); err != nil {
		return nil, err
	}
	d.cell(cell)
	return d.names[0], nil
}

// take gathers what was derived of each cell alone.
func (d *derivation) take(sides ...*derivation) {
	for _, s := range sides {
		d.names = append(d.names, s.names...)
		d.Trials = append(d.Trials, s.Trials...)
		d.Latency, d.Goodput, d.Variance = append(d.Latency, s.Latency...), append(d.Goodput, s.Goodput...), append(d.Variance, s.Variance...)
		d.Settling, d.Flags = append(d.Settling, s.Settling...), append(d.Flags, s.Flags...)
	}
}

// pairFlags are the flags of the second cell of a pair as such, beside those of its plan.
func pairFlags(plan *sweep.Plan, o PairOptions) []sweep.Flag {
	cell := &plan.Cells[1]
	var flags []sweep.Flag
	if cell.Confounded() {
		var paths []string
		for _, m := range cell.Moved {
			paths = append(paths, m.Path)
		}
		flags = append(flags, sweep.Flag{Cell: cell.Name(), Code: manyFactors, Severity: sweep.Invalid,
			Detail: fmt.Sprintf("%d leaves moved (%s): a ratio is that of all of them together", len(paths), strings.Join(paths, ", "))})
	}
	if o.Apart {
		flags = append(flags, sweep.Flag{Cell: cell.Name(), Code: extended, Severity: rules[extended].always,
			Detail: "measured in another sitting than " + plan.Cells[0].Name() + ": blocks are paired by their numbers, and what changed between the nights is in the ratio"})
	}
	return flags
}

// pairByNumber pairs blocks of different sittings: equal numbers have equal lengths and arrivals.
func (c *contest) pairByNumber() {
	for _, b := range c.cell.blocks {
		at := slices.IndexFunc(c.reference.blocks, func(r *block) bool { return r.record.Block == b.record.Block })
		if at >= 0 {
			c.blocks = append(c.blocks, pairing{b, c.reference.blocks[at]})
		}
	}
}

// observedMoves lists the observed leaves in which the cell of a pair differs from its reference, and those of them that
// nothing accounts for.
func observedMoves(plan *sweep.Plan, reference, cell []sighting) (moves, undeclared []sweep.Move) {
	for _, m := range movedObserved(cell, reference) {
		if isEmbedded(&plan.Cells[1].Cell) && m.Path != sweep.ObsEngineVersion {
			continue
		}
		accounted := mayMove(plan, &plan.Cells[1], m.Path)
		m.Path = "observed." + m.Path
		moves = append(moves, m)
		if !accounted {
			undeclared = append(undeclared, m)
		}
	}
	return moves, undeclared
}
