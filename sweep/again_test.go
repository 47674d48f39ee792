package sweep_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/inference-sweep/sweep/sweep"
)

func TestAgain(t *testing.T) {
	d := batchDefinition(t)
	d.AA = true
	p := plan(t, d)
	base, slow := p.Cells[0].Digest, p.CellNamed("rate=50").Digest
	earlier := finish(1, p.Trials...)
	earlier = append(earlier, sweep.FinishedTrial{Key: sweep.Key{Digest: base, Block: 2, Copy: 4}, Sitting: 2, Status: sweep.StatusDone})
	for _, c := range []struct {
		name string
		want func(sweep.Trial) bool
		keys []string // cell, block, copy
	}{
		{"one trial has a fresh baseline beside it", func(t sweep.Trial) bool { return t.Digest == slow && t.Block == 1 }, []string{"baseline 1 3", "rate=50 1 1"}},
		{"its copy is the next", func(t sweep.Trial) bool { return t.Digest == slow && t.Block == 2 }, []string{"baseline 2 5", "rate=50 2 1"}},
		{"the baseline is its own", func(t sweep.Trial) bool { return t.Digest == base && t.Block == 3 && t.Copy == 1 }, []string{"baseline 3 1"}},
		{"the twin is not a baseline", func(t sweep.Trial) bool { return t.Cell == sweep.TwinName && t.Block == 3 }, []string{"baseline 3 3", "baseline#2 3 2"}},
		{"nothing", func(sweep.Trial) bool { return false }, nil},
	} {
		var keys []string
		for _, trial := range p.Again(earlier, c.want) {
			keys = append(keys, fmt.Sprintf("%s %d %d", trial.Cell, trial.Block, trial.Copy))
		}
		slices.Sort(keys)
		if !slices.Equal(keys, c.keys) {
			t.Errorf("%s: %v, want %v", c.name, keys, c.keys)
		}
	}
	whole := p.Again(earlier, func(sweep.Trial) bool { return true })
	if !slices.Equal(whole, p.Trials) {
		t.Errorf("the whole sweep again is %d trials in another order than the plan's %d", len(whole), len(p.Trials))
	}
}
