package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/analysis"
	"github.com/inference-sweep/sweep/sweep/stats"
)

// A contest is one cell against one of its references.
type contest struct {
	cell, reference *named
	factor          string
	moved           int
	refused         bool
	// apart says that it is outside the family of comparisons: the twin's, and an alias's.
	apart  bool
	blocks []pairing
	rows   []*analysis.Comparison // one a metric
}

// A pairing is a block of a cell and one of its reference, measured in one sitting.
type pairing struct{ cell, reference *block }

// compare makes the comparisons of a sweep.
func (d *derivation) compare() {
	contests := d.contests()
	for i, metric := range d.plan.Judge.Metrics {
		for _, c := range contests {
			c.rows = append(c.rows, c.test(metric, d.plan.Judge.Margin))
		}
		decide(contests, i)
	}
	for _, c := range contests {
		d.addComparison(c)
	}
}

// contests lists what is compared with what, in the plan's order.
func (d *derivation) contests() []*contest {
	byName := map[string]*named{}
	for _, n := range d.names {
		byName[n.name] = n
	}
	var contests []*contest
	if twin, base := byName[sweep.TwinName], byName[sweep.Baseline]; twin != nil {
		c := &contest{cell: twin, reference: base, apart: true}
		c.pair(d.byDigest[base.cell.Digest])
		contests = append(contests, c)
	}
	for i := range d.plan.Cells {
		cell := &d.plan.Cells[i]
		for _, r := range cell.References {
			n, ref := byName[cell.Name()], byName[r.Cell]
			if n == nil || ref == nil {
				continue
			}
			c := &contest{cell: n, reference: ref, factor: r.Factor, moved: r.Moved, apart: cell.AliasOf != ""}
			c.refused = len(r.Undeclared) > 1 || refuses(n.flags) || refuses(ref.flags) || Unlike(d.plan, cell, ref.cell, r.Factor) != ""
			c.pair(d.byDigest[ref.cell.Digest])
			contests = append(contests, c)
		}
	}
	return contests
}

// pair finds for each block of the cell one of its reference in the same block and sitting: its own, else a fresh one.
func (c *contest) pair(references []*block) {
	for _, b := range c.cell.blocks {
		var best *block
		for _, r := range references {
			same := r.record.Block == b.record.Block && r.record.Sitting == b.record.Sitting
			if same && r.usable && r.record.Copy != twinCopy && (best == nil || r.record.Copy < best.record.Copy) {
				best = r
			}
		}
		if best != nil {
			c.blocks = append(c.blocks, pairing{b, best})
		}
	}
}

func (c *contest) test(metric string, margin float64) *analysis.Comparison {
	pairs := make([]analysis.Pair, len(c.blocks))
	for i, p := range c.blocks {
		pairs[i] = analysis.Pair{Cell: p.cell.values[c.cell.name], Reference: p.reference.values[c.reference.name]}
	}
	var row analysis.Comparison
	if c.refused {
		row = analysis.Refuse(metric, margin, len(pairs))
	} else {
		row = analysis.Compare(metric, margin, pairs)
	}
	row.Cell, row.Reference, row.Factor, row.Moved = c.cell.name, c.reference.name, c.factor, c.moved
	return &row
}

// decide gives the rows of one metric their outcomes. The family is every row but those apart; an alias's row takes the
// place of the one that it repeats, and the twin stands alone.
func decide(contests []*contest, metric int) {
	var family []*analysis.Comparison
	for _, c := range contests {
		if !c.apart {
			family = append(family, c.rows[metric])
		}
	}
	analysis.Decide(family)
	for _, c := range contests {
		if !c.apart {
			continue
		}
		var others []*analysis.Comparison
		for _, o := range contests {
			if c.factor != "" && !o.apart && !o.repeats(c) {
				others = append(others, o.rows[metric])
			}
		}
		analysis.DecideApart(c.rows[metric], others)
	}
}

// repeats says whether two contests are between the same measurements.
func (c *contest) repeats(other *contest) bool {
	return c.cell.cell.Digest == other.cell.cell.Digest && c.reference.cell.Digest == other.reference.cell.Digest
}

// addComparison adds the rows of a contest, with the flags of its cell and of what was found in comparing.
func (d *derivation) addComparison(c *contest) {
	flags := slices.Clone(c.cell.flags)
	for _, p := range c.blocks {
		flags = append(append(flags, p.cell.flags...), p.reference.flags...)
	}
	found := c.sourceFlags()
	var weak []string
	for _, row := range c.rows {
		own := slices.Concat(flags, found)
		if least, ok := detectable(row); ok {
			weak = append(weak, row.Metric+" "+percent(least-1))
			own = append(own, sweep.Flag{Code: underpowered, Severity: rules[underpowered].always})
		}
		row.Flags = codes(own)
		d.Comparison = append(d.Comparison, row.ComparisonRow)
	}
	if len(weak) > 0 {
		found = append(found, flagged(underpowered, rules[underpowered].always, len(c.blocks), strings.Join(weak, ", "), percent(d.plan.Judge.Margin)))
	}
	for _, f := range found {
		f.Cell = c.cell.name
		d.Flags = append(d.Flags, f)
	}
}

// detectable is the smallest ratio that a comparison's pairs could have shown, where that is above its margin.
func detectable(row *analysis.Comparison) (least float64, above bool) {
	if row.Outcome == analysis.Refused || row.P == nil {
		return 0, false
	}
	least = stats.DetectableRatio(row.SDLog, row.Blocks, detectAlpha, detectPower)
	return least, least > 1+row.Margin
}

// sourceFlags note that the two cells' output tokens were counted in different ways.
func (c *contest) sourceFlags() []sweep.Flag {
	cell, reference := map[string]int64{}, map[string]int64{}
	for _, p := range c.blocks {
		gather(cell, p.cell.sources)
		gather(reference, p.reference.sources)
	}
	a, b := slices.Sorted(maps.Keys(cell)), slices.Sorted(maps.Keys(reference))
	if len(a) == 0 || len(b) == 0 || slices.Equal(a, b) {
		return nil
	}
	return []sweep.Flag{{Code: tokenSource, Severity: sweep.Suspect,
		Detail: fmt.Sprintf("output tokens come from %s here and from %s in %s", strings.Join(a, " and "), strings.Join(b, " and "), c.reference.name)}}
}

func gather(into, from map[string]int64) {
	for source, n := range from {
		into[source] += n
	}
}
