package main

import (
	"math"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/stats"
)

// memory is every prompt that a server has seen: in its lives, and in those after them.
type memory struct {
	mu    sync.Mutex
	known map[string]bool
	hits  int
}

// remembering answers a prompt that it knows after 10 ms, all of it cached, and any other after 200 ms.
func (m *memory) remembering() func(*life, http.Handler) http.Handler {
	return answers(func(_ *life, a asking) reply {
		m.mu.Lock()
		defer m.mu.Unlock()
		out := reply{first: 200 * ms, step: 5 * ms, tokens: a.output}
		if a.probe {
			return out
		}
		if m.known[a.prompt] {
			m.hits++
			out.first, out.cached = 10*ms, a.input
		}
		m.known[a.prompt] = true
		return out
	})
}

// clientsOfACache are cells at two loads that share launches, with five requests of warm-up to twenty measured ones.
func clientsOfACache(m *memory, restart string) night {
	return night{top: `factors: clients: {baseline: 1, levels: [4]}`, spoil: m.remembering(), cell: lines{
		"contract.load.open": "", "contract.load.closed": "clients: at.clients", "contract.prefixCache": `{enabled: true, state: "cold"}`,
		"warmup": "requests: 5", "measure": "requests: 20", "server": `restart: "` + restart + `"`,
	}}
}

// No server has ever seen a prompt: not from the cell before, not from the warm-up, not from an earlier life, and not
// from another run of the same definition.
func TestPromptsAreNeverRepeated(t *testing.T) {
	for _, restart := range []string{"setting", "trial"} {
		m := &memory{known: map[string]bool{}}
		for range 2 {
			n := clientsOfACache(m, restart)
			morning := n.run(t, "caches")
			if got := doubts(morning.derived.Flags); len(got) > 0 {
				t.Errorf("%s", details(morning.derived.Flags))
			}
			for block := 1; block <= 3; block++ {
				for _, cell := range []string{"baseline", "clients=4"} {
					rows := measuredRows(t, morning, cell, block)
					for _, r := range rows {
						if r.FirstTokenNS != int64(200*ms) || r.CachedTokens != 0 {
							t.Errorf("%s: a prompt was known: %d ms, %d cached", cell, r.FirstTokenNS/1e6, r.CachedTokens)
						}
					}
					if len(rows) != 20 {
						t.Errorf("%s block %d: %d measured", cell, block, len(rows))
					}
				}
			}
		}
		if m.hits > 0 {
			t.Errorf("%d prompts were sent twice", m.hits)
		}
	}
}

// Were they repeated, as by a seed in the configuration, a cache that outlives a restart would be seen.
func TestRepeatedPromptsAreSeen(t *testing.T) {
	m := &memory{known: map[string]bool{}}
	n := clientsOfACache(m, "trial")
	n.client = sameText
	morning := n.run(t, "caches")
	invalid := 0
	for _, row := range morning.derived.Trials {
		if slices.Contains(row.Flags, "cache-contaminated") && row.Verdict == string(sweep.Invalid) {
			invalid++
		}
	}
	if invalid != 5 {
		t.Errorf("%d of 6 trials are invalid: only the first can have been cold%s", invalid, details(morning.derived.Flags))
	}
}

// What compiles for each shape is paid for in each cell's own warm-up; without one it is in the rows, and said.
func TestEveryCellIsWarmedUpAtItsOwnShape(t *testing.T) {
	for _, warm := range []bool{true, false} {
		n := night{blocks: 2, top: `factors: prompt: {baseline: 32, levels: [64, 128], sets: ["contract.prompt.length.fixed"]}`, spoil: compiles(), cell: lines{
			"contract.prompt.length": "", "contract.load.open": `{rate: 20, arrival: "constant"}`, "warmup": `duration: "4s"`, "measure": "requests: 400",
		}}
		if !warm {
			n.cell["warmup"] = "requests: 0"
		}
		m := n.run(t, "shapes")
		for _, cell := range []string{"baseline", "prompt=64", "prompt=128"} {
			for block := 1; block <= 2; block++ {
				row := latency(t, m.derived, cell, block, "ttft")
				if cold := slices.Contains(row.Flags, "cold-in-window"); cold == warm || *row.P99 > 1000 == warm {
					t.Errorf("warm %v: %s block %d: p99 %v ms %v", warm, cell, block, *row.P99, row.Flags)
				}
			}
		}
	}
}

// oneSlot serves one request at a time, each for so long.
func oneSlot(each time.Duration) func(*life, http.Handler) http.Handler {
	return func(*life, http.Handler) http.Handler {
		var mu sync.Mutex
		var free time.Time
		return &fake{answer: func(a asking) reply {
			mu.Lock()
			defer mu.Unlock()
			if free.Before(a.received) {
				free = a.received
			}
			free = free.Add(each)
			return reply{first: free.Sub(a.received), tokens: 1}
		}}
	}
}

// Everything at once is queueing, and has no rate; with one slot in the client, the wait there stands apart.
func TestBurstAndOneSlot(t *testing.T) {
	burst := night{blocks: 1, spoil: oneSlot(100 * ms), cell: lines{"contract.output.length": "fixed: 1",
		"contract.load.open": "", "contract.load.burst": "{}", "warmup": "requests: 1", "measure": "requests: 50"}}
	m := burst.run(t, "burst")
	if got := doubts(m.derived.Flags); len(got) > 0 {
		t.Errorf("%s", details(m.derived.Flags))
	}
	ttft := latency(t, m.derived, "baseline", 1, "ttft")
	if *ttft.Min != 100 || *ttft.P50 != 2500 || *ttft.Max != 5000 {
		t.Errorf("TTFT from %v over %v to %v ms, of 100, 200, … 5000", *ttft.Min, *ttft.P50, *ttft.Max)
	}
	if trial := m.derived.Trials[0]; trial.OfferedRate != nil || *trial.InflightMax != 50 {
		t.Errorf("offered rate %v, at most %v in flight", trial.OfferedRate, *trial.InflightMax)
	}

	slot := night{blocks: 1, spoil: oneSlot(100 * ms), cell: lines{"contract.output.length": "fixed: 1",
		"contract.load.open": `{rate: 1000, arrival: "constant", maxInFlight: 1}`, "warmup": "requests: 1", "measure": "requests: 50", "tail": `"10s"`}}
	m = slot.run(t, "slot")
	ttft, queue := latency(t, m.derived, "baseline", 1, "ttft"), latency(t, m.derived, "baseline", 1, "queue")
	if *ttft.Min != 100 || *ttft.Max != 100 {
		t.Errorf("TTFT from %v to %v ms: the wait in the client is not the server's", *ttft.Min, *ttft.Max)
	}
	if *queue.Max < 4800 || *queue.Max > 5100 || *m.derived.Trials[0].InflightMax != 1 {
		t.Errorf("up to %v ms in the client's queue, %v in flight", *queue.Max, *m.derived.Trials[0].InflightMax)
	}
}

// One slow last answer does not halve a rate: the table's is over the window, whose bounds are stored, and the rate over
// all of the trial's time can be made from the rows.
func TestSlowLastAnswerStaysOutOfTheRate(t *testing.T) {
	n := night{blocks: 1, cell: lines{"contract.load.open": "", "contract.load.closed": "clients: 10", "contract.output.length": "fixed: 1",
		"warmup": "requests: 10", "measure": "requests: 20", "tail": `"30s"`},
		spoil: answers(func(_ *life, a asking) reply {
			out := reply{first: time.Second + time.Duration(a.n%10)*20*ms, tokens: 1}
			if a.n == 3+1+10+15 { // of cold, the probe, warm-up
				out.first = 10 * time.Second
			}
			return out
		})}
	m := n.run(t, "drain")
	row := goodput(t, m.derived, "baseline", 1)
	record, rows := trialRows(t, m, "baseline", 1)
	lastNS := int64(0)
	for _, r := range rows {
		if r.Phase == sweep.PhaseMeasure {
			lastNS = max(lastNS, r.SentNS+r.EndNS)
		}
	}
	total := 20 / (float64(lastNS-record.T0NS) / 1e9)
	if *row.RequestRate < 8 || *row.RequestRate > 10 || math.Abs(*row.WindowS-float64(record.T1NS-record.T0NS)/1e9) > 1e-9 {
		t.Errorf("%v requests/s over %v s", *row.RequestRate, *row.WindowS)
	}
	if total > 2.1 {
		t.Errorf("%v requests/s over all the time until the last answer: was none slow?", total)
	}
}

// A machine that warms up slows down: equal cells show it, in the order in which they ran.
func TestHeatIsSeenInEqualCells(t *testing.T) {
	n := night{blocks: 6, top: "aa: true\n\tseed: 3", cell: lines{"contract.load.open": `{rate: 1, arrival: "constant"}`, "contract.output.length": "fixed: 4",
		"warmup": "requests: 5", "measure": "requests: 120", "server": `restart: "setting"`, "contract.slo": `{ttft: "10s"}`}}
	var start time.Time
	n.spoil = answers(func(_ *life, a asking) reply {
		if start.IsZero() {
			start = a.received
		}
		hot := 1 + .01*a.received.Sub(start).Minutes()
		return reply{first: time.Duration(50 * hot * float64(ms)), step: time.Duration(10 * hot * float64(ms)), tokens: a.output}
	})
	m := n.run(t, "heat")
	if got := doubts(m.derived.Flags); !slices.Equal(got, []string{"baseline: drift suspect"}) {
		t.Errorf("%v%s", got, details(m.derived.Flags))
	}
	records, err := m.db.Trials(m.plan.Name)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(records, func(a, b sweep.TrialRecord) int { return a.OrderIndex - b.OrderIndex })
	var series []float64
	together := 0
	for i, r := range records {
		if i > 0 && r.StartedAt.Before(records[i-1].StartedAt) {
			t.Errorf("trial %d of the order started before the one before it", r.OrderIndex)
		}
		if i > 0 && r.Cell == records[i-1].Cell {
			together++
		}
		series = append(series, *latency(t, m.derived, r.Cell, r.Block, "tpot").P50)
	}
	if trend := stats.MannKendall(series); len(series) != 12 || !(trend.PUp < 1e-4) {
		t.Errorf("trend over %d trials in their order: p = %v", len(series), trend.PUp)
	}
	if together == 0 || together > 5 {
		t.Errorf("the twins ran one after the other in always the same order: %d repeats of 12", together)
	}
}

// The shortest prompt is one real token, and no prompt is empty.
func TestPromptOfOneToken(t *testing.T) {
	for _, endpoint := range []string{"completions", "chat"} {
		n := night{blocks: 1, cell: lines{"contract.prompt.length": "fixed: 1", "contract.endpoint": `"` + endpoint + `"`, "measure": "requests: 30"},
			spoil: answers(func(_ *life, a asking) reply {
				if a.prompt == "" || a.prompt == "[]" || a.prompt == `""` || a.prompt == `[{"role":"user","content":""}]` {
					return reply{status: 400, says: "prompt is empty"}
				}
				return even(a)
			})}
		m := n.run(t, "short")
		if row := goodput(t, m.derived, "baseline", 1); row.OK != 30 {
			t.Errorf("%s: %d of 30 answered%s", endpoint, row.OK, m.reasons(t))
		}
	}
}

// As many requests as there are clients are at the server at once: nothing in between holds some of them back.
func TestEveryClientReachesTheServer(t *testing.T) {
	most := map[int]int{}
	n := night{blocks: 1, top: `factors: clients: {baseline: 50, levels: [150, 300]}`, cell: lines{"contract.load.open": "",
		"contract.load.closed": "clients: at.clients", "contract.output.length": "fixed: 1", "warmup": `duration: "2s"`, "measure": `duration: "3s"`,
		"server": `restart: "trial"`}}
	var fakes []*fake
	n.spoil = func(*life, http.Handler) http.Handler {
		f := &fake{answer: func(a asking) reply { return reply{first: time.Second, tokens: 1} }}
		fakes = append(fakes, f)
		return f
	}
	m := n.run(t, "clients")
	for _, f := range fakes {
		most[f.most]++
	}
	for _, clients := range []int{50, 150, 300} {
		if most[clients] != 1 {
			t.Errorf("the servers had at most %v requests at once: none had %d", most, clients)
		}
	}
	for _, row := range m.derived.Trials {
		if *row.InflightMean < .99**row.InflightMax || most[int(*row.InflightMax)] != 1 {
			t.Errorf("trial %d: %v in flight on average, %v at most", row.Trial, *row.InflightMean, *row.InflightMax)
		}
	}
}
