package report

import (
	"slices"

	"github.com/inference-sweep/sweep/sweep"
)

// rows finds derived rows by what they are about.
type rows struct {
	goodputs  map[place]*sweep.GoodputRow
	estimates map[measure]*sweep.VarianceRow
	latencies map[measure]*sweep.LatencyRow // those over all blocks
	// blockLatencies are those of single blocks that count.
	blockLatencies map[measure][]*sweep.LatencyRow
	// settlings are where the blocks that count settled, by cell.
	settlings map[string][]*sweep.SettlingRow
	flagged   map[string][]sweep.Flag // by cell
}

// place is a cell in one block, or in all (0).
type place struct {
	cell  string
	block int
}

// measure is a metric of a cell, in one phase where there are several.
type measure struct {
	cell, metric string
	phase        sweep.Phase
}

func indexed(d *sweep.Derived) rows {
	r := rows{map[place]*sweep.GoodputRow{}, map[measure]*sweep.VarianceRow{}, map[measure]*sweep.LatencyRow{},
		map[measure][]*sweep.LatencyRow{}, map[string][]*sweep.SettlingRow{}, map[string][]sweep.Flag{}}
	for _, f := range d.Flags {
		r.flagged[f.Cell] = append(r.flagged[f.Cell], f)
	}
	for i := range d.Goodput {
		row := &d.Goodput[i]
		r.goodputs[place{row.Cell, row.Block}] = row
	}
	for i := range d.Variance {
		row := &d.Variance[i]
		r.estimates[measure{cell: row.Cell, metric: row.Metric}] = row
	}
	for i := range d.Latency {
		row := &d.Latency[i]
		switch of := (measure{row.Cell, row.Metric, row.Phase}); {
		case row.Block == 0:
			r.latencies[of] = row
		case !r.invalidBlock(row.Cell, row.Block):
			r.blockLatencies[of] = append(r.blockLatencies[of], row)
		}
	}
	for i := range d.Settling {
		row := &d.Settling[i]
		if !r.invalidBlock(row.Cell, row.Block) {
			r.settlings[row.Cell] = append(r.settlings[row.Cell], row)
		}
	}
	return r
}

// invalidBlock says that a cell's block is invalid by itself. A block's row is invalid by a flag of the cell as such too:
// that leaves the block in every figure.
func (r rows) invalidBlock(cell string, block int) bool {
	row := r.goodputs[place{cell, block}]
	if row == nil || row.Verdict != string(sweep.Invalid) {
		return false
	}
	ofCell := false
	for _, f := range r.flagged[cell] {
		if f.Severity != sweep.Invalid || !slices.Contains(row.Flags, f.Code) {
			continue
		}
		if f.Block == block {
			return true
		}
		ofCell = ofCell || f.Block == 0
	}
	return !ofCell
}

// pooled is the goodput row of a cell over all its blocks, or nil.
func (r rows) pooled(cell string) *sweep.GoodputRow { return r.goodputs[place{cell, 0}] }

// estimate is the between-block row of a cell's metric, or nil.
func (r rows) estimate(cell, metric string) *sweep.VarianceRow {
	return r.estimates[measure{cell: cell, metric: metric}]
}

// latencyOf is the row of a cell's metric in one phase over all its blocks, or nil.
func (r rows) latencyOf(cell string, phase sweep.Phase, metric string) *sweep.LatencyRow {
	return r.latencies[measure{cell, metric, phase}]
}
