package main

import (
	"math"
	"slices"
	"testing"

	"github.com/inference-sweep/sweep/sweep"
)

// measured are the measured requests of a cell's block, in the order in which they were due.
func (m *morning) measured(t *testing.T, cell string, block int) []*sweep.Request {
	t.Helper()
	records, err := m.db.Trials(m.plan.Name)
	if err != nil {
		t.Fatal(err)
	}
	var rows []*sweep.Request
	for _, r := range records {
		if r.Cell != cell || r.Block != block {
			continue
		}
		facts, err := m.db.Facts(r.ID)
		if err != nil {
			t.Fatal(err)
		}
		for row, err := range facts.Rows {
			if err != nil {
				t.Fatal(err)
			}
			if row.Phase == sweep.PhaseMeasure {
				rows = append(rows, row)
			}
		}
	}
	slices.SortFunc(rows, func(a, b *sweep.Request) int { return int(a.DueNS - b.DueNS) })
	return rows
}

// gapsOf are the gaps between due times, in multiples of their mean, with their coefficient of variation.
func gapsOf(rows []*sweep.Request) (gaps []float64, cv float64) {
	mean := float64(rows[len(rows)-1].DueNS-rows[0].DueNS) / float64(len(rows)-1)
	squares := 0.0
	for i := 1; i < len(rows); i++ {
		g := float64(rows[i].DueNS-rows[i-1].DueNS) / mean
		gaps = append(gaps, g)
		squares += (g - 1) * (g - 1)
	}
	return gaps, math.Sqrt(squares / float64(len(gaps)))
}

// What a definition says of lengths, arrivals, clients and the cache is what its requests did, as the database has it.
func TestDefinitionsReachTheRequests(t *testing.T) {
	for _, kind := range []struct {
		name  string
		night night
		check func(t *testing.T, rows []*sweep.Request)
	}{
		{"uniform and lognormal lengths", night{cell: lines{"contract.prompt.length": "uniform: {min: 10, max: 90}",
			"contract.output.length": "lognormal: {median: 12, sigma: 0.6, max: 30}", "measure": "requests: 300"}}, func(t *testing.T, rows []*sweep.Request) {
			var inputs, outputs []int64
			for _, r := range rows {
				if r.InputTokens != r.InputAsked || r.OutputTokens != r.OutputAsked {
					t.Fatalf("asked for %d and %d tokens, got %d and %d", r.InputAsked, r.OutputAsked, r.InputTokens, r.OutputTokens)
				}
				inputs, outputs = append(inputs, r.InputTokens), append(outputs, r.OutputTokens)
			}
			slices.Sort(inputs)
			slices.Sort(outputs)
			if inputs[0] < 10 || inputs[0] > 14 || inputs[299] > 90 || inputs[299] < 86 || outputs[299] != 30 || outputs[150] < 10 || outputs[150] > 14 {
				t.Errorf("inputs %d to %d, outputs up to %d with median %d", inputs[0], inputs[299], outputs[299], outputs[150])
			}
		}},
		{"recorded lengths", night{files: map[string]string{"lengths.txt": "5\n17\n40\n"}, cell: lines{"contract.prompt.length": `trace: "lengths.txt"`}},
			func(t *testing.T, rows []*sweep.Request) {
				next := map[int64]int64{5: 17, 17: 40, 40: 5}
				for i := 1; i < len(rows); i++ {
					if rows[i].InputTokens != next[rows[i-1].InputTokens] {
						t.Fatalf("%d tokens after %d", rows[i].InputTokens, rows[i-1].InputTokens)
					}
				}
			}},
		{"bursty arrivals", night{cell: lines{"contract.load.open": `{rate: 50, arrival: "gamma", shape: 0.25}`, "measure": "requests: 400"}},
			func(t *testing.T, rows []*sweep.Request) {
				if _, cv := gapsOf(rows); cv < 1.6 || cv > 2.4 {
					t.Errorf("the gaps' coefficient of variation is %.2f, want about 2", cv)
				}
			}},
		{"recorded arrivals", night{files: map[string]string{"arrivals.txt": "0\n1\n4\n"}, cell: lines{
			"contract.load.open": `{rate: 50, arrival: "trace", trace: "arrivals.txt"}`}}, func(t *testing.T, rows []*sweep.Request) {
			gaps, _ := gapsOf(rows)
			for i := 1; i < len(gaps); i++ {
				if ratio := max(gaps[i], gaps[i-1]) / min(gaps[i], gaps[i-1]); math.Abs(ratio-3) > 0.01 {
					t.Fatalf("gaps %v: neighbours differ by %.3f, want 3", gaps[:4], ratio)
				}
			}
		}},
		{"a client that thinks", night{cell: lines{"contract.load.open": "", "contract.load.closed": `{clients: 1, think: "200ms"}`, "measure": "requests: 20"}},
			func(t *testing.T, rows []*sweep.Request) {
				for i := 1; i < len(rows); i++ {
					if pause := rows[i].SentNS - rows[i-1].SentNS - rows[i-1].EndNS; pause < 200e6 || pause > 201e6 {
						t.Fatalf("a pause of %.1f ms", float64(pause)/1e6)
					}
				}
			}},
		{"a warm cache", night{cell: lines{"contract.prefixCache": `{enabled: true, state: "warm"}`, "contract.prompt.length": "fixed: 128",
			"contract.prompt.shared": "tokens: 96"}}, func(t *testing.T, rows []*sweep.Request) {
			for _, r := range rows {
				if r.CachedTokens != 96 {
					t.Fatalf("%d of 128 tokens came from the cache, want 96", r.CachedTokens)
				}
			}
		}},
		{"whole answers", night{cell: lines{"contract.streaming": "false", "contract.slo": `e2e: "10s"`}}, func(t *testing.T, rows []*sweep.Request) {
			for _, r := range rows {
				if r.Status != sweep.RequestOK || r.FirstTokenNS != sweep.None || r.LastTokenNS == sweep.None || r.OutputTokens != 8 {
					t.Fatalf("%+v", r)
				}
			}
		}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			kind.night.blocks = 1
			m := kind.night.run(t, "kind")
			rows := m.measured(t, "baseline", 1)
			if len(rows) == 0 {
				t.Fatalf("nothing was measured%s", m.reasons(t))
			}
			kind.check(t, rows)
		})
	}
}
