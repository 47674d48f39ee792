package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inference-sweep/sweep/sweep"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden holds text against a file under testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-file +now):\n%s", path, diff)
	}
}

func build(t testing.TB, kind string, in Input) *Table {
	t.Helper()
	table, err := Build(kind, in)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func write(t testing.TB, table *Table, format string, o Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, table, format, o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestNight prints every table of a clean night, at two widths.
func TestNight(t *testing.T) {
	for _, kind := range Kinds() {
		table := build(t, kind, night(t))
		golden(t, "night_"+kind+"_80", write(t, table, "table", Options{Width: 80}))
		golden(t, "night_"+kind+"_120", write(t, table, "table", Options{Width: 120}))
		golden(t, "night_"+kind+"_csv", write(t, table, "csv", Options{}))
	}
}

// TestStorm prints them of a night in which much went wrong.
func TestStorm(t *testing.T) {
	for _, kind := range Kinds() {
		table := build(t, kind, storm(t))
		golden(t, "storm_"+kind+"_100", write(t, table, "table", Options{Width: 100}))
	}
	table := build(t, "goodput", storm(t))
	golden(t, "storm_goodput_markdown", write(t, table, "markdown", Options{}))
	golden(t, "storm_goodput_latex", write(t, table, "latex", Options{Standalone: true}))
	golden(t, "storm_goodput_json", write(t, table, "json", Options{}))
}

func TestRecords(t *testing.T) {
	in := night(t)
	cell, err := ShowCell(in, "batch=4")
	if err != nil {
		t.Fatal(err)
	}
	in.Derived.Trials = []sweep.TrialRow{{Trial: in.Trials[3].ID, Verdict: sweep.VerdictValid, Due: 180, Sent: 180, OK: 180, WindowS: ref(1.8),
		OfferedRate: ref(100), AchievedRate: ref(100)}}
	in.Derived.Settling[0].Trial = in.Trials[3].ID
	// Of two that ended ok, one did in the window.
	rows := []*sweep.Request{{Phase: sweep.PhaseWarmup, Status: sweep.RequestOK, SentNS: 1e8, EndNS: 2e8},
		{Phase: sweep.PhaseMeasure, Status: sweep.RequestOK, SentNS: 5e8, EndNS: 1e8},
		{Phase: sweep.PhaseMeasure, Status: sweep.RequestFailed, Error: sweep.ErrReset}}
	trial, err := ShowTrial(in, sweep.TrialFacts{Record: in.Trials[3], Launch: &in.Launches[1],
		Observations: []sweep.Observation{{AtNS: 2e9, Source: "client", Key: sweep.ObsClientCPUShare, Value: 0.31}, {AtNS: 3e9, Source: "server", Key: sweep.ObsProcessStart, Value: 1795980892.48}},
		Rows: func(yield func(*sweep.Request, error) bool) {
			for _, r := range rows {
				if !yield(r, nil) {
					return
				}
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]Record{"show_sweep": ShowSweep(in), "show_cell": cell, "show_trial": trial} {
		var out bytes.Buffer
		if err := WriteRecord(&out, r, "table", Options{}); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.String())
	}
	if _, err := ShowCell(in, "batch=5"); err == nil {
		t.Error("a cell that does not exist was shown")
	}
}

func TestPlans(t *testing.T) {
	info := PlanInfo{ExpectedS: 118, ExpectedBytes: 3_100_000, Detectable: map[string]float64{"goodput_req_s": 0.04, "ttft_p95": 0.071}}
	for _, format := range []string{"table", "json"} {
		var out bytes.Buffer
		if err := WritePlan(&out, batchPlan(t), format, info); err != nil {
			t.Fatal(err)
		}
		golden(t, "plan_batch_"+format, out.String())
	}
	var out bytes.Buffer
	info.Until, info.Unfit = "07:00", enginesPlan(t).Trials[:3]
	if err := WritePlan(&out, enginesPlan(t), "table", info); err != nil {
		t.Fatal(err)
	}
	golden(t, "plan_engines_table", out.String())
}
