package analysis_test

import (
	"testing"

	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/analysis"
)

func TestMet(t *testing.T) {
	all := &schema.SLO{Ttft: "150ms", Tpot: "10ms", E2e: "250ms"}
	for name, c := range map[string]struct {
		cell *sweep.PlanCell
		r    *sweep.Request
		want bool
	}{
		"every bar met exactly":            {openCell(slo(all)), answered(0), true},
		"TTFT at the bar":                  {openCell(), answered(0, tokens(150, 10, 2)), true},
		"TTFT one over the bar":            {openCell(), answered(0, tokens(151, 10, 2)), false},
		"open loop judged from due":        {openCell(), answered(0, sentLate(51)), false},
		"open loop late within the bar":    {openCell(), answered(0, sentLate(50)), true},
		"closed loop judged from sent":     {openCell(closed), answered(0, sentLate(51)), true},
		"burst judged from due":            {openCell(burst), answered(0, sentLate(51)), false},
		"TPOT over the bar":                {openCell(), answered(0, tokens(100, 11, 3)), false},
		"e2e over the bar":                 {openCell(slo(all)), answered(0, tokens(101, 10, 16)), false},
		"e2e from due":                     {openCell(slo(all)), answered(0, sentLate(1)), false},
		"one token meets the bar on TPOT":  {openCell(), answered(0, tokens(100, 0, 1)), true},
		"unknown count misses it":          {openCell(), answered(0, uncounted), false},
		"unknown count without a TPOT bar": {openCell(slo(&schema.SLO{Ttft: "150ms"})), answered(0, uncounted), true},
		"failed":                           {openCell(), answered(0, failed(sweep.ErrHTTP, 1)), false},
		"never sent":                       {openCell(), answered(0, unsent), false},
		"no first token":                   {openCell(), answered(0, func(r *sweep.Request) { r.FirstTokenNS = sweep.None }), false},
	} {
		bars, ok := analysis.BarsOf(c.cell)
		if !ok {
			t.Fatalf("%s: the cell has no SLO", name)
		}
		if got := bars.Met(c.r); got != c.want {
			t.Errorf("%s: met = %v, want %v", name, got, c.want)
		}
	}
	if _, ok := analysis.BarsOf(openCell(slo(nil))); ok {
		t.Error("a contract without an SLO has bars")
	}
}
