package verdict_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/verdict"
)

// twoFactors is the baseline, one cell at half of its rate and one at half of its batch, and the grid's far corner.
func twoFactors(t *testing.T) *sweep.Plan {
	at := func(rate, batch int) map[string]any { return map[string]any{"rate": rate, "batch": batch} }
	slow, small := edits{"contract.load.open.rate": 50}, edits{"contract.engine.args.max-num-seqs": 8}
	return planOf(t, []sweep.Cell{
		cellJSON(t, sweep.Baseline, "", nil, at(100, 16)),
		cellJSON(t, "rate=50", "rate", 50, at(50, 16), slow),
		cellJSON(t, "batch=8", "batch", 8, at(100, 8), small),
		cellJSON(t, "both:rate=50,batch=8", "both", nil, at(50, 8), slow, small),
	}, func(d *sweep.Definition) {
		d.Factors = []sweep.Factor{{Name: "rate"}, {Name: "batch"}}
		d.Factors[0].Baseline, d.Factors[1].Baseline = 100., 16.
		grid := sweep.Grid{Name: "both"}
		grid.Of = []string{"rate", "batch"}
		d.Grids = []sweep.Grid{grid}
	})
}

func pairSide(plan *sweep.Plan, cell, name string, trials []sweep.TrialFacts) verdict.PairSide {
	return verdict.PairSide{Side: sweep.Side{Plan: plan, Cell: plan.CellNamed(cell), Name: name}, Trials: trials}
}

func comparePair(t *testing.T, reference, cell verdict.PairSide, o verdict.PairOptions) (*sweep.Plan, *sweep.Derived) {
	t.Helper()
	plan, derived, err := verdict.ComparePair(reference, cell, o)
	if err != nil {
		t.Fatal(err)
	}
	return plan, derived
}

// A pair that its sweep compares too has the row that the sweep's table has.
func TestPairIsTheSweepsOwnRow(t *testing.T) {
	plan := twoRates(t)
	trials := night(plan, honest)
	whole := derive(t, plan, trials...)
	p, d := comparePair(t, pairSide(plan, sweep.Baseline, sweep.Baseline, trials), pairSide(plan, "rate=50", "rate=50", trials), verdict.PairOptions{})
	if diff := cmp.Diff(whole.Comparison, d.Comparison); diff != "" {
		t.Errorf("sweep's, pair's:\n%s", diff)
	}
	if diff := cmp.Diff(plan.CellNamed("rate=50").Moved, p.Cells[1].Moved); diff != "" || len(p.Cells[1].Undeclared) != 0 {
		t.Errorf("moved: %s; undeclared: %v", diff, p.Cells[1].Undeclared)
	}
	for _, name := range []string{sweep.Baseline, "rate=50"} {
		if diff := cmp.Diff(goodputOf(t, whole, name, 0), goodputOf(t, d, name, 0)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Among a family, p is what it would be beside that family's rows.
func TestPairIsAdjustedAmongItsFamily(t *testing.T) {
	plan := twoFactors(t)
	trials := night(plan, honest)
	whole := derive(t, plan, trials...)
	for _, row := range whole.Comparison {
		family := slices.DeleteFunc(slices.Clone(whole.Comparison), func(r sweep.ComparisonRow) bool {
			return r.Cell == row.Cell && r.Reference == row.Reference
		})
		_, d := comparePair(t, pairSide(plan, row.Reference, row.Reference, trials), pairSide(plan, row.Cell, row.Cell, trials), verdict.PairOptions{Family: family})
		got := find(t, d.Comparison, func(r sweep.ComparisonRow) bool { return r.Metric == row.Metric })
		if diff := cmp.Diff(row, got, cmpopts.IgnoreFields(sweep.ComparisonRow{}, "Flags")); diff != "" {
			t.Errorf("%s against %s: %s", row.Cell, row.Reference, diff)
		}
	}
}

// Two leaves at once are refused, and compared on request with a flag on each row.
func TestPairOfManyLeaves(t *testing.T) {
	plan := twoFactors(t)
	trials := night(plan, honest)
	a, b := pairSide(plan, "rate=50", "rate=50", trials), pairSide(plan, "batch=8", "batch=8", trials)
	p, d := comparePair(t, a, b, verdict.PairOptions{})
	if n := len(p.Cells[1].Undeclared); n != 2 {
		t.Errorf("%d undeclared leaves, want 2: %v", n, p.Cells[1].Undeclared)
	}
	for _, r := range d.Comparison {
		if r.Outcome != "refused" || r.Ratio != nil || r.Moved != 2 {
			t.Errorf("%+v", r)
		}
	}
	_, d = comparePair(t, a, b, verdict.PairOptions{AllowMany: true})
	for _, r := range d.Comparison {
		if r.Outcome == "refused" || r.Ratio == nil || !slices.Contains(r.Flags, "many-factors") {
			t.Errorf("%+v", r)
		}
	}
}

// Two nights: what was observed to differ counts as a leaf, and blocks are paired by their numbers.
func TestPairOfTwoNights(t *testing.T) {
	plan := twoRates(t)
	april, may := night(plan, honest), night(plan, honest)
	for i := range may {
		may[i].Record.Sitting = 9
		launch := *may[i].Launch
		launch.Observed = h100()
		launch.Observed[sweep.ObsDriver] = "999.1"
		may[i].Launch = &launch
	}
	may = slices.DeleteFunc(may, func(f sweep.TrialFacts) bool { return f.Record.Block == 2 })
	apart := verdict.PairOptions{Apart: true}
	p, d := comparePair(t, pairSide(plan, sweep.Baseline, "april", april), pairSide(plan, sweep.Baseline, "may", may), apart)
	moved := p.Cells[1].Moved
	if len(moved) != 1 || moved[0].Path != "observed.driver" || len(p.Cells[1].Undeclared) != 1 {
		t.Errorf("moved %v, undeclared %v", moved, p.Cells[1].Undeclared)
	}
	row := comparisonOf(t, d, "may", "ttft_p50")
	if row.Reference != "april" || row.Blocks != 5 || row.Outcome != "no-difference" || !slices.Contains(row.Flags, "extended") {
		t.Errorf("%+v", row)
	}
	p, d = comparePair(t, pairSide(plan, sweep.Baseline, "april", april), pairSide(plan, "rate=50", "may", may), apart)
	if len(p.Cells[1].Undeclared) != 1 {
		t.Errorf("the factor's own leaf is declared: %v", p.Cells[1].Undeclared)
	}
	if row := comparisonOf(t, d, "may", "ttft_p50"); row.Outcome != "refused" {
		t.Errorf("rate and driver moved together: %+v", row)
	}
}

// A leaf that moved on paper alone makes no comparison, whatever is allowed.
func TestPairOfLabels(t *testing.T) {
	plan := planOf(t, []sweep.Cell{
		cellJSON(t, sweep.Baseline, "", nil, map[string]any{"weights": "bf16"}),
		cellJSON(t, "weights=fp16", "weights", "fp16", map[string]any{"weights": "fp16"}, edits{"contract.precision.weights": "fp16"}),
	})
	trials := night(plan, honest)
	_, d := comparePair(t, pairSide(plan, sweep.Baseline, "a", trials), pairSide(plan, "weights=fp16", "b", trials), verdict.PairOptions{AllowMany: true})
	if row := comparisonOf(t, d, "b", "ttft_p50"); row.Outcome != "refused" || !slices.Contains(row.Flags, "label-only") {
		t.Errorf("%+v", row)
	}
}
