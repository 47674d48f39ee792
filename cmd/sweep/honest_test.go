package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/inference-sweep/sweep/sweep"
)

// recorded are arrival times of a service that people use: in clusters, with pauses between.
func recorded() string {
	var text strings.Builder
	at, random := 0.0, rand.New(rand.NewPCG(1, 1))
	for i := range 300 {
		at += random.ExpFloat64() * []float64{.3, 1.7}[i/10%2]
		fmt.Fprintf(&text, "%.4f\n", at)
	}
	return text.String()
}

// honest are nights at loads that the engine bears, in every form that a definition can take.
var honest = []struct {
	name string
	night
}{
	{"poisson", night{top: `factors: rate: {baseline: 60, levels: [30, 90]}`, cell: lines{
		"contract.load.open": "rate: at.rate", "measure": "requests: 250"}}},
	{"constant", night{top: `factors: rate: {baseline: 60, levels: [30, 90]}`, cell: lines{
		"contract.load.open": `{rate: at.rate, arrival: "constant"}`, "measure": "requests: 210"}}},
	{"bursty", night{top: `factors: shape: {baseline: 1, levels: [0.5, 4]}`, cell: lines{
		"contract.load.open": `{rate: 50, arrival: "gamma", shape: at.shape}`, "measure": "requests: 220"}}},
	{"recorded", night{files: map[string]string{"arrivals.txt": recorded()}, cell: lines{
		"contract.load.open": `{rate: 50, arrival: "trace", trace: "arrivals.txt"}`, "measure": "requests: 210"}}},
	{"fast", night{cell: lines{"contract.load.open": "rate: 600", "measure": `duration: "1s"`, "warmup": `duration: "300ms"`,
		"contract.output.length": "fixed: 2", "contract.prompt.length": "fixed: 16"}}},
	{"clients", night{top: `factors: clients: {baseline: 4, levels: [1, 12]}`, cell: lines{
		"contract.load.open": "", "contract.load.closed": "clients: at.clients", "measure": "requests: 210"}}},
	{"thinkingClients", night{cell: lines{
		"contract.load.open": "", "contract.load.closed": `{clients: 6, think: "30ms"}`, "measure": `{duration: "2s", minRequests: 100}`}}},
	{"burst", night{top: `factors: output: {baseline: 8, levels: [2], sets: ["contract.output.length.fixed"]}`, cell: lines{
		"contract.load.open": "", "contract.load.burst": "{}", "measure": "requests: 60", "contract.output.length": ""}}},
	{"chat", night{top: `factors: batch: {baseline: 16, levels: [8]}`, cell: lines{"contract.endpoint": `"chat"`,
		"contract.engine": `{name: "sim", revision: "1", args: "max-num-seqs": at.batch}`}}},
	{"chatClients", night{cell: lines{"contract.endpoint": `"chat"`, "contract.load.open": "", "contract.load.closed": "clients: 5"}}},
	{"chatCold", night{cell: lines{"contract.endpoint": `"chat"`, "contract.prefixCache": `{enabled: true, state: "cold"}`,
		"contract.prompt.length": "fixed: 256"}}},
	{"caches", night{top: `factors: cache: {baseline: "cold", levels: ["warm"], couples: ["contract.prefixCache.**"]}`, cell: lines{
		"contract.prefixCache":   `{cold: {enabled: true, state: "cold"}, warm: {enabled: true, state: "warm"}}[at.cache]`,
		"contract.prompt.length": "fixed: 256", "contract.prompt.shared": "{tokens: 192, groups: 2}"}}},
	{"emptiedCaches", night{top: `factors: by: {baseline: "reset", levels: ["restart"], sets: ["contract.prefixCache.by"]}`, cell: lines{
		"contract.prefixCache": `{enabled: true, state: "cold"}`, "contract.prompt.length": "fixed: 256"}}},
	{"lengths", night{top: `factors: spread: {baseline: 0.3, levels: [1]}`, cell: lines{
		"contract.prompt.length": "uniform: {min: 1, max: 200}", "contract.output.length": "lognormal: {median: 8, sigma: at.spread, max: 64}"}}},
	{"whole", night{cell: lines{"contract.streaming": "false", "contract.slo": `e2e: "10s"`}}},
	{"slots", night{cell: lines{"contract.load.open": `{rate: 40, maxInFlight: 4}`}}},
	{"settled", night{cell: lines{"warmup": `{until: "steady", duration: "10s"}`}}},
	{"up", night{attached: []string{"there:80"}, cell: lines{"target": `"http://there"`}}},
	{"twins", night{top: `
	aa: true
	factors: {rate: {baseline: 50, levels: [40]}, batch: {baseline: 16, levels: [8]}}
	grids: both: of: ["rate", "batch"]`, cell: lines{
		"contract.load.open": "rate: at.rate", "contract.engine": `{name: "sim", revision: "1", args: "max-num-seqs": at.batch}`}}},
	{"onAGPU", night{cell: vllm, client: onGPU("NVIDIA H100 80GB HBM3")}},
}

// A clean run carries no suspect and no invalid: whatever form it takes, over hundreds of trials.
func TestHonestNightsAreClean(t *testing.T) {
	trials := 0
	for _, n := range honest {
		t.Run(n.name, func(t *testing.T) {
			n.blocks = honestBlocks
			m := n.run(t, n.name)
			if got := doubts(m.derived.Flags); len(got) > 0 {
				t.Errorf("%s%s", details(m.derived.Flags), m.reasons(t))
			}
			for _, row := range m.derived.Trials {
				if row.Verdict != sweep.VerdictValid {
					t.Errorf("trial %d is %s", row.Trial, row.Verdict)
				}
			}
			if m.summary.Done != len(m.plan.Trials) {
				t.Errorf("%+v of %d trials%s", m.summary, len(m.plan.Trials), m.reasons(t))
			}
			trials += m.summary.Done
		})
	}
	if trials < 200*honestBlocks/6 {
		t.Errorf("only %d trials", trials)
	}
}
