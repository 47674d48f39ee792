package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/analysis"
	"github.com/inference-sweep/sweep/sweep/stats"
)

// A marked set of rows: those of one name in one block, or in all blocks together.
type marked struct {
	latency []sweep.LatencyRow
	goodput sweep.GoodputRow
	// settling is of a block alone: one row, or none.
	settling []sweep.SettlingRow
	short    shortfall
}

// A shortfall is which percentiles of a measured time its values are too few for; missing is empty where none.
type shortfall struct {
	missing string
	n       int64
}

// blockRows are a trial's rows under one name, with its own flags and the cell's.
func blockRows(j *judged, name string, cell []sweep.Flag) marked {
	moved := len(j.plan.CellNamed(name).Moved)
	m := mark(&j.Totals, name, j.Record.Block, slices.Concat(j.flags, cell), moved)
	if row, ok := j.SettlingRow(name); ok {
		m.settling = append(m.settling, row)
	}
	return m
}

// mark makes rows from totals and puts flags on them. A latency row whose values are too few for a percentile says so by
// itself.
func mark(t *analysis.Totals, name string, block int, flags []sweep.Flag, moved int) marked {
	m := marked{latency: t.LatencyRows(name, block), goodput: t.GoodputRow(name, block)}
	m.goodput.Moved, m.goodput.Verdict, m.goodput.Flags = moved, sweep.Verdict(flags), codes(flags)
	for i := range m.latency {
		row := &m.latency[i]
		row.Verdict, row.Flags = sweep.Verdict(flags), codes(flags)
		missing := underFloor(row)
		if missing == "" {
			continue
		}
		row.Flags = append(row.Flags, fewSamples)
		if row.Phase == sweep.PhaseMeasure && m.short.missing == "" {
			m.short = shortfall{missing, row.N}
		}
	}
	return m
}

// underFloor names the percentiles that a row's values are too few for; a row without any value has none to miss.
func underFloor(row *sweep.LatencyRow) string {
	if row.N == 0 {
		return ""
	}
	var missing []string
	for _, p := range []struct {
		perMille int
		value    *float64
	}{{500, row.P50}, {900, row.P90}, {950, row.P95}, {990, row.P99}} {
		if p.value == nil {
			missing = append(missing, fmt.Sprintf("p%d (needs %d)", p.perMille/10, stats.Floor(p.perMille)))
		}
	}
	return strings.Join(missing, ", ")
}

// fewFlags say in one flag what the rows of one name have too few values for: the widest shortfall of its blocks, or of
// all blocks together where there is one.
func fewFlags(name string, block int, where string, shorts []shortfall) []sweep.Flag {
	var least, most shortfall
	for _, s := range shorts {
		if s.missing == "" {
			continue
		}
		if least.missing == "" || s.n < least.n {
			least = s
		}
		if most.missing == "" || s.n > most.n {
			most = s
		}
	}
	if least.missing == "" {
		return nil
	}
	n := fmt.Sprint(least.n)
	if most.n != least.n {
		n += " to " + fmt.Sprint(most.n)
	}
	few := flagged(fewSamples, rules[fewSamples].always, fmt.Sprintf("%s %s values: too few for %s", where, n, least.missing))
	few.Cell, few.Block = name, block
	return []sweep.Flag{few}
}
