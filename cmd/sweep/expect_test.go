package main

import (
	"fmt"
	"testing"

	"github.com/inference-sweep/sweep/sweep"
)

// What a plan expects of a closed loop on the embedded engine is within 30 % of what comes: with few clients and with more
// than the engine runs at once, for short answers and long, and where its options or the clients' thinking change it.
func TestExpectedOfAClosedLoop(t *testing.T) {
	for i, c := range []lines{
		{"contract.load.closed": "clients: 1"},
		{"contract.load.closed": "clients: 8"},
		{"contract.load.closed": "clients: 64"},
		{"contract.load.closed": "clients: 4", "contract.output.length": "fixed: 128"},
		{"contract.load.closed": "clients: 40", "contract.engine": `{name: "sim", revision: "1", args: "max-num-seqs": 16}`},
		{"contract.load.closed": "clients: 16", "contract.prompt.length": "fixed: 1024"},
		{"contract.load.closed": `{clients: 8, think: "100ms"}`},
		{"contract.load.closed": "clients: 4", "contract.engine": `{name: "sim", revision: "1", args: {"front-end": "5ms", "step-base": "10ms"}}`},
		{"contract.load.closed": "clients: 4", "contract.output.length": "lognormal: {median: 20, sigma: 0.6, max: 100}"},
	} {
		cell := lines{"contract.load.open": "", "measure": `duration: "5s"`}
		for path, text := range c {
			cell[path] = text
		}
		n := night{blocks: 1, cell: cell}
		m := n.run(t, fmt.Sprintf("closed%d", i))
		expected, due := float64(m.plan.Cells[0].Requests), float64(goodput(t, m.derived, sweep.Baseline, 1).Due)
		if expected < .7*due || expected > 1.3*due {
			t.Errorf("%v: %v requests came where %v were expected", c, due, expected)
		}
	}
}
