package verdict

import (
	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/analysis"
)

// noneLeft makes the rows of all blocks together for a name whose every block that ended is invalid: the rows that they
// would have, without a figure in them, so that whoever reads the tables by cell meets the verdict and not a gap.
func (d *derivation) noneLeft(n *named, flags []sweep.Flag) {
	if len(n.pool.lost) == 0 {
		return
	}
	for _, b := range n.pool.lost {
		flags = append(flags, b.flags...)
	}
	moved, why := len(n.cell.Moved), codes(flags)
	for _, row := range n.pool.invalid.LatencyRows(n.name, 0) {
		d.Latency = append(d.Latency, sweep.LatencyRow{
			Cell: n.name, Phase: row.Phase, Metric: row.Metric, LeftOut: n.leftOut, Verdict: string(sweep.Invalid), Flags: why,
		})
	}
	d.Goodput = append(d.Goodput, sweep.GoodputRow{
		Cell: n.name, Due: sweep.None, OK: sweep.None, Failed: sweep.None, Met: sweep.None,
		LeftOut: n.leftOut, Moved: moved, Verdict: string(sweep.Invalid), Flags: why,
	})
	for _, metric := range n.pool.invalid.VarianceMetrics() {
		row := analysis.Variance(n.name, metric, nil)
		row.Moved, row.Verdict, row.Flags = moved, string(sweep.Invalid), why
		d.Variance = append(d.Variance, row)
	}
}
