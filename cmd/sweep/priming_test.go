package main

import (
	"bytes"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/inference-sweep/sweep/runner"
	"github.com/inference-sweep/sweep/sweep"
)

// warmly is a night whose prompts share heads that are to be in the prefix cache.
func warmly(shared string, cell lines) night {
	n := night{blocks: 1, cell: lines{"contract.prefixCache": `{enabled: true, state: "warm"}`, "contract.prompt.shared": shared}}
	for path, text := range cell {
		n.cell[path] = text
	}
	return n
}

// crowd counts the heads that are answered at a time.
type crowd struct {
	mu         sync.Mutex
	open, most int
}

func (c *crowd) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += n
	c.most = max(c.most, c.open)
}

// answer is even, and counts the requests of one token.
func (c *crowd) answer(_ *life, a asking) reply {
	out := even(a)
	if a.output == 1 && !a.probe {
		c.count(1)
		time.AfterFunc(out.first-time.Millisecond, func() { c.count(-1) })
	}
	return out
}

// Heads are sent a few at a time, and never more than the load may have in flight; each is told of once, in its order, and
// is in the cache afterwards.
func TestPriming(t *testing.T) {
	for _, c := range []struct {
		name string
		cell lines
		want int // at once
	}{
		{"an open loop", nil, 4},
		{"three in flight", lines{"contract.load.open": "{rate: 20, maxInFlight: 3}"}, 3},
		{"two clients", lines{"contract.load.open": "", "contract.load.closed": "clients: 2"}, 2},
		{"a crowd", lines{"contract.load.open": "", "contract.load.closed": "clients: 20"}, 4},
		{"a burst", lines{"contract.load.open": "", "contract.load.burst": "{}", "measure": "requests: 1"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var heads crowd
			n := warmly("{tokens: 48, groups: 10}", c.cell)
			n.spoil = answers(heads.answer)
			var primed []int
			n.client = func(config *runner.Config) {
				config.Progress = func(e runner.Event) {
					if e.Kind == runner.HeadPrimed {
						primed = append(primed, e.Primed)
						if e.Heads != 10 || e.Trial == nil {
							t.Errorf("of %d heads, trial %v", e.Heads, e.Trial)
						}
					}
				}
			}
			m := n.run(t, "priming")
			if m.summary.Done != 1 || heads.most != c.want {
				t.Errorf("%d at once, want %d%s", heads.most, c.want, m.reasons(t))
			}
			for i, k := range primed {
				if k != i+1 || len(primed) != 10 {
					t.Fatalf("told of %v", primed)
				}
			}
		})
	}
	n := warmly("{tokens: 48, groups: 10}", nil)
	m := n.run(t, "cached")
	rows := m.measured(t, "baseline", 1)
	for _, r := range rows {
		if r.CachedTokens != 48 {
			t.Fatalf("%d of 64 tokens came from the cache, want 48", r.CachedTokens)
		}
	}
	if len(rows) != 120 {
		t.Errorf("%d measured requests", len(rows))
	}
}

// What a plan expects of its heads is what they take: of the embedded engine, whose times it knows.
func TestPrimingIsExpected(t *testing.T) {
	for _, load := range []lines{nil, {"contract.load.open": "", "contract.load.closed": "clients: 1"}} {
		few, many := warmly("{tokens: 48, groups: 1}", load), warmly("{tokens: 48, groups: 501}", load)
		took := func(n *night) (expected, real float64, bytes int64) {
			m := n.run(t, "expected")
			expected, bytes = m.plan.Expected(m.plan.Trials)
			records, err := m.db.Trials("expected")
			if err != nil || len(records) != 1 || records[0].Status != sweep.StatusDone {
				t.Fatalf("%v%s", err, m.reasons(t))
			}
			return expected, time.Duration(records[0].EndNS).Seconds(), bytes
		}
		fewExpected, fewReal, fewBytes := took(&few)
		manyExpected, manyReal, manyBytes := took(&many)
		if expected, real := manyExpected-fewExpected, manyReal-fewReal; real < 3 || math.Abs(expected/real-1) > 0.15 {
			t.Errorf("500 heads were expected to take %.2f s and took %.2f s", expected, real)
		}
		if each := (manyBytes - fewBytes) / 500; each < 150 || each > 300 {
			t.Errorf("%d bytes a head", each)
		}
	}
}

// The answers to heads are no warm-up that has settled, though they are all alike.
func TestHeadsAreNoSteadyWarmup(t *testing.T) {
	n := warmly("{tokens: 48, groups: 60}", lines{"warmup": `{duration: "20s", until: "steady"}`})
	n.spoil = answers(func(_ *life, a asking) reply { return even(a) })
	m := n.run(t, "steady")
	warmup := 0
	records, err := m.db.Trials("steady")
	if err != nil || len(records) != 1 {
		t.Fatalf("%d trials, %v", len(records), err)
	}
	facts, err := m.db.Facts(records[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range facts.Rows {
		if err != nil {
			t.Fatal(err)
		}
		if r.Phase == sweep.PhaseWarmup && r.OutputAsked > 1 {
			warmup++
		}
	}
	if warmup < 40 || warmup > 200 {
		t.Errorf("a warm-up of %d requests besides the heads", warmup)
	}
}

// Where the heads fail, the trial does not go on with thousands of them.
func TestHeadsThatFail(t *testing.T) {
	n := warmly("{tokens: 48, groups: 3000}", nil)
	n.spoil = answers(func(_ *life, a asking) reply {
		if a.probe {
			return even(a)
		}
		return reply{status: 400, says: "no"}
	})
	m := n.run(t, "failing")
	records, err := m.db.Trials("failing")
	if err != nil || len(records) != 1 || records[0].Status != sweep.StatusFailed {
		t.Fatalf("%v: %+v", err, records)
	}
	facts, err := m.db.Facts(records[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for range facts.Rows {
		rows++
	}
	if rows < 20 || rows > 30 {
		t.Errorf("%d requests: %s", rows, records[0].Reason)
	}
}

// Without bars, lines say how far the heads are where they take long, and only there.
func TestPrimingIsTold(t *testing.T) {
	n := warmly("{tokens: 48, groups: 3000}", nil)
	p := n.plan(t, "told")
	for _, c := range []struct {
		each time.Duration
		want string
	}{
		{10 * time.Millisecond, "sweep: told: 1 trial in 1 block, about 36s\nblock 1  baseline: priming the prefix cache: 1000 of 3000 heads\n" +
			"block 1  baseline: priming the prefix cache: 2000 of 3000 heads\nblock 1  baseline: priming the prefix cache: 3000 of 3000 heads\n"},
		{3 * time.Millisecond, "sweep: told: 1 trial in 1 block, about 36s\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var said bytes.Buffer
			shown := (&app{stderr: &said}).newProgress(p, p.Trials, "plain")
			e := runner.Event{Kind: runner.TrialStarted, Trial: &sweep.TrialRecord{Cell: sweep.Baseline, Key: p.Trials[0].Key}, Total: 1}
			shown.event(e, nil)
			for e.Kind, e.Heads = runner.HeadPrimed, 3000; e.Primed < e.Heads; {
				time.Sleep(c.each)
				e.Primed++
				shown.event(e, nil)
			}
			if said.String() != c.want {
				t.Errorf("with %v a head:\n%s", c.each, &said)
			}
		})
	}
}
