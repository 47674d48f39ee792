package sweep_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/sweep"
)

// TestNobodyCouldMeasure: what a plan refuses although every leaf of it is well formed.
func TestNobodyCouldMeasure(t *testing.T) {
	open := func(rate float64) schema.Load { return schema.Load{Open: &schema.Open{Rate: rate, Arrival: "poisson"}} }
	closed := func(clients int64) schema.Load {
		return schema.Load{Closed: &schema.Closed{Clients: schema.Positive(clients)}}
	}
	requests := func(n int64) schema.Measure { return schema.Measure{Requests: schema.Positive(n)} }
	many := int64(math.MaxInt64)
	for _, c := range []struct {
		name     string
		load     schema.Load
		measure  schema.Measure
		warmup   schema.Warmup
		tail     string
		groups   int64
		refusal  string // a part of it; empty where it can be measured
		position string
	}{
		{name: "a night", load: open(8), measure: requests(1000)},
		{name: "a fast one", load: open(100_000), measure: schema.Measure{Duration: "30s"}},
		{name: "rate", load: open(1e9), measure: requests(1000), refusal: "1e+09 requests a second", position: "contract.load.open.rate"},
		{name: "a slow rate", load: open(1e-9), measure: requests(1000), refusal: "about 31688 years", position: "measure"},
		{name: "a rate of nothing", load: open(1e-320), measure: requests(1000), refusal: "over a million years", position: "measure"},
		{name: "no request", load: open(1e-9), measure: schema.Measure{Duration: "2m"}, refusal: "no request in a window of 2m", position: "measure.duration"},
		{name: "the most requests", load: open(1000), measure: requests(many), refusal: "years", position: "measure"},
		{name: "many at once", load: open(1e6), measure: requests(1e8), refusal: "about 100 million requests", position: "measure"},
		{name: "the most minRequests", load: open(8), measure: schema.Measure{Duration: "2m", MinRequests: schema.Positive(many)}, refusal: "years", position: "measure"},
		{name: "the most warm-up", load: open(8), measure: requests(100), warmup: schema.Warmup{Requests: &many}, refusal: "years", position: "measure"},
		{name: "tail", load: open(1000), measure: requests(1000), tail: "24h", refusal: "with its tail of 24h", position: "tail"},
		{name: "40 days", load: open(8), measure: schema.Measure{Duration: "960h"}, refusal: "about 40 days", position: "measure"},
		{name: "clients", load: closed(1e9), measure: requests(1000), refusal: "1000000000 clients", position: "contract.load.closed.clients"},
		{name: "the most of a closed loop", load: closed(8), measure: requests(many), refusal: "years", position: "measure"},
		{name: "a crowd", load: closed(60_000), measure: requests(100_000)},
		{name: "burst", load: schema.Load{Burst: &schema.Burst{}}, measure: requests(many), refusal: "a burst of", position: "measure.requests"},
		{name: "a million groups", load: open(8), measure: requests(1000), groups: 1_000_000},
		{name: "groups", load: open(8), measure: requests(1000), groups: 1_000_001, refusal: "has 1000001 groups", position: "contract.prompt.shared.groups"},
		{name: "the most groups", load: open(8), measure: requests(1000), groups: many, refusal: "no server keeps the heads of more than 1000000", position: "contract.prompt.shared.groups"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cell := sweep.Cell{Raw: json.RawMessage(`{}`)}
			cell.Cell.Cell, cell.Contract.Load, cell.Measure, cell.Warmup, cell.Tail = sweep.Baseline, c.load, c.measure, c.warmup, c.tail
			cell.Contract.Output.Length.Fixed = 16
			if c.groups > 0 {
				cell.Contract.Prompt.Shared = &schema.Shared{Tokens: 12, Groups: c.groups}
			}
			cell.Target = "sim"
			d := &sweep.Definition{Name: "night", Blocks: 1, Cells: []sweep.Cell{cell}, Position: func(path string) string { return path }}
			none := func(*sweep.Cell) ([]string, error) { return nil, nil }
			p, err := sweep.NewPlan(d, sweep.Rendering{Command: none, Setting: func(*sweep.Cell) (string, error) { return "", nil }})
			if c.refusal == "" {
				if err != nil || p.Cells[0].Requests < 1 {
					t.Errorf("%v", err)
				}
				return
			}
			refused, ok := errors.AsType[*sweep.PlanError](err)
			if !ok || refused.Position != c.position || !strings.Contains(refused.Message, c.refusal) || refused.Hint == "" {
				t.Errorf("%v", err)
			}
		})
	}
}
