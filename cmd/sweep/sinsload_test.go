package main

import (
	"context"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/runner"
	"github.com/inference-sweep/sweep/runner/load"
	"github.com/inference-sweep/sweep/runner/sim"
	"github.com/inference-sweep/sweep/sweep"
)

const ms = time.Millisecond

// sleeping makes dispatchers that wait as sleep says, given how long they are to and when the wait was to end, counted
// from their first one.
func sleeping(sleep func(wait, at time.Duration) time.Duration) func(*runner.Config) {
	return func(c *runner.Config) {
		c.NewWaiter = func() (*load.Waiter, error) {
			var start time.Time
			return &load.Waiter{Sleep: func(ctx context.Context, wait time.Duration) error {
				if start.IsZero() {
					start = time.Now()
				}
				timer := time.NewTimer(sleep(wait, time.Since(start)+wait))
				defer timer.Stop()
				select {
				case <-timer.C:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}}, nil
		}
	}
}

// later is a dispatcher that is always late by as much.
func later(by time.Duration) func(*runner.Config) {
	return sleeping(func(wait, _ time.Duration) time.Duration { return wait + by })
}

// frontEnd is an engine that takes so long before it looks at a request.
func frontEnd(front time.Duration) func(*life, *sim.Config) {
	return func(_ *life, c *sim.Config) { c.FrontEnd = front }
}

// steady are lines of an open loop without chance.
var steady = lines{"contract.load.open": `{rate: 20, arrival: "constant"}`}

// Sins of the load: what was sent is not what the contract says, or shows less than it seems to.
func TestSinsOfTheLoad(t *testing.T) {
	for _, s := range []sin{
		{
			name: "overloadBehindAClosedLoop",
			night: night{top: `factors: load: {baseline: "open", levels: ["closed"], couples: ["contract.load.**"]}`, cell: lines{
				"contract.load.open": "", "contract.load": `{open: open: rate: 150, closed: closed: clients: 4}[at.load]`,
				"contract.engine": `{name: "sim", revision: "1", args: {"max-num-seqs": 4, "front-end": "5ms"}}`, "contract.output.length": `fixed: 16`,
			}},
			doubts: []string{"baseline/*: overloaded suspect"}, notes: []string{"load=closed: closed-loop"}, refused: []string{"load=closed"},
			check: func(t *testing.T, m *morning) {
				open, closed := latency(t, m.derived, "baseline", 0, "ttft_due"), latency(t, m.derived, "load=closed", 0, "ttft_due")
				if *open.P95 < 3**closed.P95 {
					t.Errorf("TTFT p95 %v ms in the open loop, %v ms in the closed: where is the overload?", *open.P95, *closed.P95)
				}
			},
		},
		{
			name:   "lateClient",
			night:  night{cell: steady, client: later(8 * ms)},
			doubts: []string{"baseline/*: late-sends invalid"},
			check: func(t *testing.T, m *morning) {
				row := goodput(t, m.derived, sweep.Baseline, 0)
				if row.Blocks != 0 || row.LeftOut != 3 || row.Due != sweep.None || row.GoodputReqS != nil || row.Verdict != string(sweep.Invalid) {
					t.Errorf("pooled figures of trials that are all invalid: %+v", row)
				}
			},
		},
		{
			name:   "aLittleLateClient",
			night:  night{cell: steady, client: later(3 * ms)},
			doubts: []string{"baseline/*: late-sends suspect"},
		},
		{
			name: "rateMissed",
			night: night{engine: frontEnd(2 * time.Second), client: sleeping(func(wait, at time.Duration) time.Duration {
				if at > 3300*ms {
					wait += 90 * ms
				}
				return wait
			}), cell: lines{
				"contract.load.open": steady["contract.load.open"], "measure": `requests: 52`, "warmup": `requests: 20`, "tail": `"4s"`,
			}},
			doubts: []string{"baseline/*: rate-missed suspect"},
		},
		{
			name: "otherArrivals",
			night: night{engine: frontEnd(time.Second), client: sleeping(func(wait, at time.Duration) time.Duration {
				const step = 20 * ms
				return wait + (step-at%step)%step
			}), cell: lines{"measure": `requests: 240`, "tail": `"3s"`}},
			doubts: []string{"baseline/*: arrival-law suspect"},
		},
		{
			name:   "busyClient",
			night:  night{processor: .95},
			doubts: []string{"baseline/*: client-limited invalid"},
		},
		{
			name:   "ratherBusyClient",
			night:  night{processor: .75},
			doubts: []string{"baseline/*: client-limited suspect"},
		},
		{
			name: "noPortLeft",
			night: night{cell: lines{"contract.load.open": "", "contract.load.burst": "{}", "measure": "requests: 40", "warmup": "requests: 1"},
				client: everyDial(10, syscall.EADDRNOTAVAIL)},
			doubts: []string{"baseline/*: client-limited invalid", "baseline/*: error-rate suspect", "baseline/*: late-sends invalid"},
		},
		{
			name: "refusedConnections",
			night: night{cell: lines{"contract.load.open": "", "contract.load.burst": "{}", "measure": "requests: 40", "warmup": "requests: 1"},
				client: everyDial(10, syscall.ECONNREFUSED)},
			doubts: []string{"baseline/*: error-rate suspect"},
		},
		{
			name: "waitForASlotIsDeclared",
			night: night{cell: lines{"contract.load.open": `{rate: 20, arrival: "constant", maxInFlight: 1}`, "measure": "requests: 60"},
				spoil: answers(func(_ *life, a asking) reply { return reply{first: 12 * ms, step: 4 * ms, tokens: a.output} })},
		},
		{
			name: "compileInTheWindow",
			night: night{cell: lines{"contract.load.open": `{rate: 20, arrival: "constant"}`, "warmup": "requests: 0", "measure": "requests: 400"},
				blocks: 2, spoil: compiles()},
			doubts: []string{"baseline/*: cold-in-window suspect"},
			check: func(t *testing.T, m *morning) {
				if p99 := *latency(t, m.derived, "baseline", 1, "ttft").P99; p99 < 1500 {
					t.Errorf("p99 %v ms: the compiling is to be in the rows", p99)
				}
			},
		},
		{
			name: "compileInTheWarmUp",
			night: night{cell: lines{"contract.load.open": `{rate: 20, arrival: "constant"}`, "warmup": `duration: "4s"`, "measure": "requests: 400"},
				blocks: 2, spoil: compiles()},
			check: func(t *testing.T, m *morning) {
				if p99 := *latency(t, m.derived, "baseline", 1, "ttft").P99; p99 > 100 {
					t.Errorf("p99 %v ms: the warm-up is to pay for compiling", p99)
				}
			},
		},
		{
			name: "slowerAndSlower",
			night: night{blocks: 1, cell: lines{"contract.load.open": `{rate: 20, arrival: "constant"}`, "measure": "requests: 220"},
				spoil: answers(func(_ *life, a asking) reply {
					out := even(a)
					out.first += time.Duration(a.n) * ms / 2
					return out
				})},
			doubts: []string{"baseline/*: no-steady-state suspect"},
		},
	} {
		t.Run(s.name, s.test)
	}
}

// everyDial lets one dial of so many fail.
func everyDial(nth int, err syscall.Errno) func(*runner.Config) {
	return func(c *runner.Config) {
		dial, mu, n := c.Dial, sync.Mutex{}, 0
		c.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			mu.Lock()
			n++
			fail := n%nth == 0
			mu.Unlock()
			if fail {
				return nil, &net.OpError{Op: "dial", Net: network, Err: err}
			}
			return dial(ctx, network, addr)
		}
	}
}

// compiles is a server that stops for two seconds when requests of a prompt's length first come together.
func compiles() func(*life, http.Handler) http.Handler {
	return func(*life, http.Handler) http.Handler {
		var mu sync.Mutex
		compiled := map[int]time.Time{}
		return &fake{answer: func(a asking) reply {
			mu.Lock()
			defer mu.Unlock()
			out := even(a)
			if _, known := compiled[a.input]; !known && a.open > 1 {
				compiled[a.input] = a.received.Add(2 * time.Second)
			}
			out.first += max(0, compiled[a.input].Sub(a.received))
			return out
		}}
	}
}
