package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/runner"
	"github.com/inference-sweep/sweep/runner/sim"
	"github.com/inference-sweep/sweep/runner/target"
	"github.com/inference-sweep/sweep/sweep"
)

// says replaces the body of what the engine answers at a path, in some of its lives.
func says(path, text string, when func(l *life) bool) func(*life, http.Handler) http.Handler {
	return func(l *life, engine http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == path && when(l) {
				io.WriteString(w, text)
				return
			}
			engine.ServeHTTP(w, r)
		})
	}
}

// sameText has every trial's text drawn from one seed, as a tool does that seeds by its configuration.
func sameText(c *runner.Config) { c.Nonce = func() string { return strings.Repeat("0", 32) } }

// vllm are the lines of a server that is not the embedded engine, launched here.
var vllm = lines{
	"target": `"launch"`, "contract.engine": `{name: "vllm", revision: "1", args: "max-num-seqs": 16}`, "contract.hardware": `{gpu: "H100-SXM5-80GB", gpus: 1}`,
}

// with is lines and others that win.
func with(a, b lines) lines {
	all := lines{}
	for _, l := range []lines{a, b} {
		for path, text := range l {
			all[path] = text
		}
	}
	return all
}

// onGPU is a host whose driver names its one GPU.
func onGPU(name string) func(*runner.Config) {
	return func(c *runner.Config) {
		c.Target.Output = func(_ context.Context, command string, args ...string) ([]byte, error) {
			switch {
			case command != "nvidia-smi":
				return nil, fmt.Errorf("%s: not found", command)
			case len(args) == 0:
				return []byte("| NVIDIA-SMI 570.86.15   Driver Version: 570.86.15   CUDA Version: 12.8 |"), nil
			case strings.HasPrefix(args[0], "--query-gpu"):
				return []byte("0, GPU-1, " + name + ", 570.86.15, 700.00, 00000000:3B:00.0\n"), nil
			}
			return []byte("1, GPU-1\n"), nil
		}
	}
}

// Sins of the server: it is not what the contract says, or was not left alone.
func TestSinsOfTheServer(t *testing.T) {
	for _, s := range []sin{
		{
			name: "warmCacheInAColdCell",
			night: night{client: sameText, cell: lines{
				"contract.prefixCache": `{enabled: true, state: "cold"}`, "contract.prompt.length": "fixed: 512", "server": `restart: "setting"`,
			}},
			doubts: []string{"baseline/2: cache-contaminated invalid", "baseline/3: cache-contaminated invalid"},
			check: func(t *testing.T, m *morning) {
				if row := goodput(t, m.derived, "baseline", 0); row.Blocks != 1 || row.LeftOut != 2 {
					t.Errorf("%d blocks used, %d left out", row.Blocks, row.LeftOut)
				}
			},
		},
		{
			name: "coldCacheIsCold",
			night: night{cell: lines{
				"contract.prefixCache": `{enabled: true, state: "cold"}`, "contract.prompt.length": "fixed: 512", "server": `restart: "setting"`,
			}},
		},
		{
			name: "warmCacheIsWarm",
			night: night{cell: lines{
				"contract.prefixCache": `{enabled: true, state: "warm"}`, "contract.prompt.length": "fixed: 512", "contract.prompt.shared": "tokens: 448",
			}},
		},
		{
			name: "warmCacheIsNotWarm",
			night: night{engine: func(_ *life, c *sim.Config) { c.EnablePrefixCaching = false }, cell: lines{
				"contract.prefixCache": `{enabled: true, state: "warm"}`, "contract.prompt.length": "fixed: 512", "contract.prompt.shared": "tokens: 448",
			}},
			doubts: []string{"baseline/*: cache-contaminated invalid"},
		},
		{
			name: "driftOverBlocks",
			night: night{blocks: 6, engine: func(l *life, c *sim.Config) {
				c.FrontEnd += time.Duration(l.n) * 10 * ms
			}},
			doubts: []string{"baseline: drift suspect"},
		},
		{
			name:   "engineSwapped",
			night:  night{blocks: 5, spoil: says("/version", `{"version":"2"}`, func(l *life) bool { return l.n == 3 })},
			doubts: []string{"baseline/3: contract-drift invalid"},
			check: func(t *testing.T, m *morning) {
				if row := goodput(t, m.derived, "baseline", 0); row.Blocks != 4 || row.LeftOut != 1 {
					t.Errorf("%d blocks used, %d left out", row.Blocks, row.LeftOut)
				}
			},
		},
		{
			name:   "anotherGPU",
			night:  night{cell: vllm, client: onGPU("NVIDIA A100-SXM4-80GB")},
			doubts: []string{"baseline/*: contract-drift invalid"},
		},
		{
			name:  "theSameGPU",
			night: night{cell: vllm, client: onGPU("NVIDIA H100 80GB HBM3")},
		},
		{
			name:   "throttled",
			night:  night{cell: vllm, client: slowedBy("HW Thermal Slowdown")},
			doubts: []string{"baseline/*: throttled suspect"},
		},
		{
			name:  "atItsPowerLimit",
			night: night{cell: vllm, client: slowedBy("SW Power Capping")},
		},
		{
			name: "anotherEngineVersion",
			night: night{cell: with(vllm, lines{"contract.engine": `{name: "vllm", revision: "v0.32.0"}`}),
				spoil: says("/version", `{"version":"0.31.1"}`, func(*life) bool { return true })},
			doubts: []string{"baseline/*: contract-drift invalid"},
		},
		{
			name: "driverMovedWithTheCell",
			night: night{top: `factors: batch: {baseline: 16, levels: [8]}`,
				cell:   with(vllm, lines{"contract.engine": `{name: "vllm", revision: "1", args: "max-num-seqs": at.batch}`}),
				client: driverByLaunch},
			doubts: []string{"batch=8: many-factors invalid"}, refused: []string{"batch=8"},
			check: func(t *testing.T, m *morning) {
				if row := goodput(t, m.derived, "baseline", 0); row.Blocks != 3 || row.Verdict != sweep.VerdictValid {
					t.Errorf("the baseline did not move: %+v", row)
				}
			},
		},
		{
			name: "qualityNotChecked",
			night: night{top: `factors: weights: {baseline: "bf16", levels: ["fp16"], sets: ["contract.precision.weights"]}`,
				cell: with(vllm, lines{"contract.precision": ""}), client: onGPU("NVIDIA H100 80GB HBM3")},
			notes: []string{"weights=fp16: quality-unpinned"},
		},
		{
			name:  "attached",
			night: night{attached: []string{"there:80"}, cell: lines{"target": `"http://there"`}},
			notes: []string{"baseline: cold-not-measured", "baseline: simulated"},
		},
		{
			name: "startedBusy",
			night: night{attached: []string{"there:80"}, cell: lines{"target": `"http://there"`},
				spoil: says("/metrics", "vllm:num_requests_running 3\nvllm:num_requests_waiting 0\n", func(*life) bool { return true })},
			doubts: []string{"baseline/*: started-busy suspect"},
		},
		{
			name: "serverDies",
			night: night{blocks: 4, top: `factors: rate: {baseline: 50, levels: [40]}`, cell: lines{"contract.load.open": "rate: at.rate"},
				spoil: diesIn(2, 70)},
			doubts: []string{"rate=40/2: error-rate suspect", "baseline/2: server-restarted suspect"},
			check: func(t *testing.T, m *morning) {
				if m.summary.Failed != 1 || m.summary.Done != 7 {
					t.Errorf("%+v", m.summary)
				}
			},
		},
	} {
		t.Run(s.name, s.test)
	}
}

// slowedBy is a host whose GPU spends a second more on something each time that it is asked.
func slowedBy(what string) func(*runner.Config) {
	return func(c *runner.Config) {
		onGPU("NVIDIA H100 80GB HBM3")(c)
		output, asked := c.Target.Output, 0
		c.Target.Output = func(ctx context.Context, command string, args ...string) ([]byte, error) {
			if len(args) > 0 && args[0] == "-q" {
				asked++
				return fmt.Appendf(nil, "GPU 00000000:3B:00.0\n    Clocks Event Reasons Counters\n        %s : %d us\n", what, asked*1_000_000), nil
			}
			return output(ctx, command, args...)
		}
	}
}

// driverByLaunch is a host that has another driver while the server with the smaller batch runs.
func driverByLaunch(c *runner.Config) {
	onGPU("NVIDIA H100 80GB HBM3")(c)
	output, start, smaller := c.Target.Output, c.Target.Start, false
	c.Target.Start = func(ctx context.Context, spec target.Spec) (*target.Process, error) {
		smaller = strings.Contains(strings.Join(spec.Command, " "), "--max-num-seqs 8")
		return start(ctx, spec)
	}
	c.Target.Output = func(ctx context.Context, command string, args ...string) ([]byte, error) {
		text, err := output(ctx, command, args...)
		if smaller {
			text = []byte(strings.ReplaceAll(string(text), "570.86.15", "580.65.06"))
		}
		return text, err
	}
}

// diesIn is a server that ends in one of its lives, after so many requests.
func diesIn(launch, requests int) func(*life, http.Handler) http.Handler {
	return func(l *life, engine http.Handler) http.Handler {
		var n atomic.Int64
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Request-Id") != "" && n.Add(1) == int64(requests) && l.n == launch {
				l.end()
				return
			}
			engine.ServeHTTP(w, r)
		})
	}
}
