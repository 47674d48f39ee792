package sweep_test

import (
	"maps"
	"math"
	"testing"

	"github.com/inference-sweep/sweep/sweep"
)

// A cell sends a head for each group where the cache is to be warm, and is expected to take the longer and the more room
// for it. A trial that was measured before was measured with its heads.
func TestHeads(t *testing.T) {
	cache := func(enabled bool, state string) map[string]any {
		return map[string]any{"enabled": enabled, "state": state, "by": "salt"}
	}
	one := func(set map[string]any) *sweep.Plan {
		set["contract.prompt.shared"] = map[string]any{"tokens": 96, "groups": 1000}
		c := cell(t, sweep.Baseline, "", map[string]any{}, set)
		return plan(t, &sweep.Definition{Name: "warm", Blocks: 1, Seed: 1, Cells: []sweep.Cell{c}})
	}
	for _, c := range []struct {
		name  string
		cache map[string]any
		set   map[string]any
		heads int
		addS  float64
	}{
		{"off", cache(false, ""), nil, 0, 0},
		{"cold", cache(true, "cold"), nil, 0, 0},
		{"a server", cache(true, "warm"), map[string]any{"target": "http://host:8000"}, 1000, 15},
		{"one at a time", cache(true, "warm"), map[string]any{"target": "http://host:8000", "contract.load.open.maxInFlight": 1}, 1000, 60},
		{"the embedded engine", cache(true, "warm"), nil, 1000, 11},
		{"a slow one", cache(true, "warm"), map[string]any{"contract.engine.args.front-end": "400ms"}, 1000, 101},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := map[string]any{"contract.prefixCache": cache(true, "cold")}
			maps.Copy(set, c.set)
			before := one(set)
			set["contract.prefixCache"] = c.cache
			p := one(set)
			withoutS, withoutBytes := before.Expected(before.Trials)
			seconds, bytes := p.Expected(p.Trials)
			if heads := p.Cells[0].Cell.Heads(); heads != c.heads || math.Abs(seconds-withoutS-c.addS) > 0.1*c.addS {
				t.Errorf("%d heads take %.1f s, want %d and %v s", heads, seconds-withoutS, c.heads, c.addS)
			}
			if more := bytes - withoutBytes; more < int64(150*c.heads) || more > int64(300*c.heads) {
				t.Errorf("%d heads take %d bytes", c.heads, more)
			}
			known := sweep.Times{Trial: map[string]float64{p.Trials[0].Digest: 7}, Launch: 1}
			if seconds, _ := p.ExpectedFrom(known, p.Trials); seconds != 7+float64(p.Launches) {
				t.Errorf("a trial that took 7 s is expected to take %v s with %d launches of 1 s", seconds, p.Launches)
			}
		})
	}
}
