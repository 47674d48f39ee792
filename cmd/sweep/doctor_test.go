package main

import (
	"strings"
	"testing"

	"github.com/inference-sweep/sweep/runner/bench"
	"github.com/inference-sweep/sweep/runner/host"
	"github.com/inference-sweep/sweep/sweep"
)

// TestDoctor holds the words of a machine that is well, and of one with which everything is wrong.
func TestDoctor(t *testing.T) {
	well := exam{
		host: host.Facts{Name: "client-01", System: "linux/amd64", Kernel: "6.18.0", CPUs: 16, GOMAXPROCS: 16, ClockSource: "tsc",
			Descriptors: 1048576, DescriptorsMax: 1048576, Ports: 28232},
		late: bench.Spread{N: 500, P50NS: 31_400, P99NS: 214_000}, ttft: bench.Spread{N: 200, P50NS: 52_100, P99NS: 320_000},
		lag: bench.Spread{N: 2000, P50NS: 23_300, P99NS: 88_000}, eventNS: 41_900, clockNS: 24.2,
		governor: "performance", folder: ".", freeBytes: 74_500_000_000,
	}
	ill := well
	ill.host.GOMAXPROCS, ill.host.ClockSource, ill.host.DescriptorsMax, ill.host.Descriptors, ill.host.Ports = 1, "hpet", 1024, 1024, 2000
	ill.late.P99NS, ill.ttft.P50NS, ill.lag.P99NS, ill.clockNS = 2_010_000, 1_200_000, 9_400_000, 1480
	ill.governor, ill.freeBytes = "powersave", 800_000_000
	unknown := well
	unknown.host.Ports, unknown.host.ClockSource, unknown.governor = sweep.None, "", ""

	var out strings.Builder
	for _, m := range []exam{well, ill, unknown} {
		if err := writeExam(&out, m, 0, "table"); err != nil {
			t.Fatal(err)
		}
		out.WriteString("\n")
	}
	golden(t, "doctor.golden", out.String())

	for _, s := range ill.symptoms() {
		if (s.Status == "ok") != (s.Hint == "") || s.Status == "ok" && s.Check != "event cost" {
			t.Errorf("%+v", s)
		}
	}
	for _, s := range well.symptoms() {
		if s.Status != "ok" || s.Hint != "" || s.Meaning == "" {
			t.Errorf("%+v", s)
		}
	}
}
