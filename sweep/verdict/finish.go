package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// extend notes the blocks that a cell joined in another sitting than the baseline's own: those with a fresh baseline of that
// sitting, and those that have no partner, because none was measured then.
func (d *derivation) extend(n *named) {
	base := d.plan.Cells[0].Digest
	if n.cell.Digest == base {
		return
	}
	var joined, alone []string
	for _, b := range n.blocks {
		own, fresh, others := false, false, false
		for _, r := range d.byDigest[base] {
			same := r.record.Sitting == b.record.Sitting
			switch {
			case r.record.Block != b.record.Block || r.record.Copy == twinCopy:
			case same && r.record.Copy == ownCopy:
				own = true
			case same:
				fresh = true
			default:
				others = true
			}
		}
		switch {
		case own:
		case fresh:
			joined = append(joined, fmt.Sprint(b.record.Block))
		case others:
			alone = append(alone, fmt.Sprint(b.record.Block))
		}
	}
	var notes []string
	if len(joined) > 0 {
		notes = append(notes, "joined "+blockWords(joined)+" in a later sitting than the baseline's, and is paired with a fresh one")
	}
	if len(alone) > 0 {
		notes = append(notes, fmt.Sprintf("measured in another sitting than any baseline of %s, so not paired: of %d that count, without a pair: %d",
			blockWords(alone), len(n.blocks), len(alone)))
	}
	if len(notes) > 0 {
		n.add(extended, strings.Join(notes, "; "))
	}
}

// blockWords names blocks.
func blockWords(blocks []string) string {
	if len(blocks) == 1 {
		return "block " + blocks[0]
	}
	return "blocks " + strings.Join(blocks, ", ")
}

// takenOut notes the trials that somebody excluded.
func (d *derivation) takenOut(n *named) {
	for _, f := range d.facts[n.cell.Digest] {
		if f.Record.Status == sweep.StatusExcluded && (f.Record.Copy == twinCopy) == (n.name == sweep.TwinName) {
			n.add(excluded, f.Record.ID, f.Record.Block, f.Record.Attempt, f.Record.Reason)
		}
	}
}

// fewBlocks notes that a cell rests on few blocks; where the plan itself has few, the sweep says so once.
func (d *derivation) fewBlocks(n *named) {
	least := rules[fewBlocks].least
	if k := len(n.blocks); k > 0 && k < least {
		n.add(fewBlocks, k, least)
	}
}

func (n *named) add(code string, args ...any) {
	f := flagged(code, rules[code].always, args...)
	f.Cell = n.name
	n.flags = append(n.flags, f)
}

// sweepFlags are the plan's flags of the sweep as such; those that cells carry by themselves are not said twice.
func sweepFlags(plan *sweep.Plan, said []sweep.Flag) []sweep.Flag {
	return slices.DeleteFunc(slices.Clone(plan.Flags), func(f sweep.Flag) bool { return hasCode(said, f.Code) })
}

// blocksOf is how many blocks of a name count.
func (d *derivation) blocksOf(text string) int {
	for _, n := range d.names {
		if n.name == text {
			return len(n.blocks)
		}
	}
	return 0
}

// fold makes one flag of a note that says the same of every block of a cell, and drops repetitions.
func fold(flags []sweep.Flag, blocksOf func(name string) int) []sweep.Flag {
	count := map[sweep.Flag]int{}
	whole := func(f sweep.Flag) sweep.Flag { f.Block = 0; return f }
	seen := map[sweep.Flag]bool{}
	for _, f := range flags {
		if !seen[f] && f.Block > 0 {
			count[whole(f)]++
		}
		seen[f] = true
	}
	var folded []sweep.Flag
	said := map[sweep.Flag]bool{}
	for _, f := range flags {
		if n := count[whole(f)]; f.Severity == sweep.Note && n > 1 && n >= blocksOf(f.Cell) {
			f = whole(f)
		}
		if !said[f] {
			said[f] = true
			folded = append(folded, f)
		}
	}
	return folded
}

// sort puts rows in the plan's order of names, all blocks together before single ones.
func (d *derivation) sort() {
	place := map[string]int{"": 0}
	for i := range d.plan.Cells {
		place[d.plan.Cells[i].Name()] = 2*i + 1
	}
	place[sweep.TwinName] = 2
	by := func(cellA, cellB string, blockA, blockB int) int {
		return cmp.Or(cmp.Compare(place[cellA], place[cellB]), cmp.Compare(blockA, blockB))
	}
	slices.SortFunc(d.Trials, func(a, b sweep.TrialRow) int { return cmp.Compare(a.Trial, b.Trial) })
	slices.SortStableFunc(d.Latency, func(a, b sweep.LatencyRow) int { return by(a.Cell, b.Cell, a.Block, b.Block) })
	slices.SortStableFunc(d.Settling, func(a, b sweep.SettlingRow) int { return by(a.Cell, b.Cell, a.Block, b.Block) })
	slices.SortStableFunc(d.Goodput, func(a, b sweep.GoodputRow) int { return by(a.Cell, b.Cell, a.Block, b.Block) })
	slices.SortStableFunc(d.Variance, func(a, b sweep.VarianceRow) int { return by(a.Cell, b.Cell, 0, 0) })
	slices.SortStableFunc(d.Comparison, func(a, b sweep.ComparisonRow) int { return by(a.Cell, b.Cell, 0, 0) })
	slices.SortStableFunc(d.Flags, func(a, b sweep.Flag) int {
		return cmp.Or(by(a.Cell, b.Cell, a.Block, b.Block), strings.Compare(a.Code, b.Code))
	})
}
