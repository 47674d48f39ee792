package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/stats"
)

// planned is what plan says in JSON of a definition that is given as text.
func planned(t *testing.T, source string, args ...string) (object struct {
	Expected   float64            `json:"expected_s"`
	Detectable map[string]float64 `json:"detectable"`
}, table string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "night.cue")
	if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(format string) []byte {
		var out bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: io.Discard, args: []string{"plan"}}
		root := a.root()
		root.SetArgs(append([]string{"plan", path, "--format", format}, args...))
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	if err := json.Unmarshal(run("json"), &object); err != nil {
		t.Fatal(err)
	}
	return object, string(run("table"))
}

// What an earlier night measured replaces what a plan assumes: how long trials and launches take, and how much pairs
// spread.
func TestPlanGoesByAnEarlierNight(t *testing.T) {
	n := night{blocks: 6, top: `factors: rate: {baseline: 50, levels: [40, 60]}`, cell: lines{"contract.load.open": "rate: at.rate"}}
	m := n.run(t, "growing")
	path := m.db.Path()
	if err := m.db.Close(); err != nil {
		t.Fatal(err)
	}
	before, _ := planned(t, n.source("growing"))
	after, table := planned(t, n.source("growing"), "--spread-from", path)
	if !strings.Contains(strings.Join(strings.Fields(table), " "), "by the spread in sweep.db") {
		t.Errorf("the table does not say where its spread is from:\n%s", table)
	}
	squares := 0.0
	for _, cell := range []string{"rate=40", "rate=60"} {
		var logs []float64
		for block := 1; block <= 6; block++ {
			logs = append(logs, math.Log(*goodput(t, m.derived, cell, block).OutputRate / *goodput(t, m.derived, "baseline", block).OutputRate))
		}
		_, sd := stats.Moments(logs)
		squares += sd * sd / 2
	}
	want := stats.DetectableRatio(math.Sqrt(squares), 6, .05, power) - 1
	if got := after.Detectable["output_rate"]; math.Abs(got/want-1) > 1e-6 || got == before.Detectable["output_rate"] {
		t.Errorf("detectable in output_rate: %v, want %v; %v was assumed", got, want, before.Detectable["output_rate"])
	}
	// Eighteen trials: three seconds of load, and what it takes to start cold and to end; six launches.
	if after.Expected == before.Expected || after.Expected < 18*2.9 || after.Expected > 18*4.5 {
		t.Errorf("expected %v s; %v s was guessed", after.Expected, before.Expected)
	}
}

// Where a spread is from is said of the metrics that a comparison can have.
func TestSpreadOfWhatCanBeCompared(t *testing.T) {
	n := night{
		top:  "factors: rate: {baseline: 50, levels: [40]}\n\tjudge: metrics: [\"goodput_req_s\", \"ttft_p50\", \"e2e_p50\", \"e2e_p99\", \"tpot_p95\"]",
		cell: lines{"contract.load.open": "rate: at.rate", "contract.streaming": "false", "contract.slo": `{e2e: "10s"}`},
	}
	p := n.plan(t, "whole")
	for want, spread := range map[string]map[string]float64{
		"": nil,
		"the spread in last.db (assumed for e2e_p50)": {"goodput_req_s": .01},
		"the spread in last.db":                       {"goodput_req_s": .01, "e2e_p50": .02},
	} {
		f := &foresight{from: "last.db", spread: spread}
		if got := f.words(p); got != want {
			t.Errorf("of %v it says %q, want %q", spread, got, want)
		}
		if got := slices.Sorted(maps.Keys(f.detectable(p))); !slices.Equal(got, []string{"e2e_p50", "goodput_req_s"}) {
			t.Errorf("what can be told apart is by %v", got)
		}
	}
}

func TestPlanOfAnotherSweepThanTheDatabases(t *testing.T) {
	db := newDatabase(t)
	path := db.Path()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	a := &app{stdout: io.Discard, stderr: io.Discard}
	n := night{}
	_, err := a.infos([]*sweep.Plan{n.plan(t, "other")}, &foreseeing{spreadFrom: path})
	if err == nil || !strings.Contains(err.Error(), "holds no sweep called other") {
		t.Errorf("%v", err)
	}
	_, err = a.infos([]*sweep.Plan{n.plan(t, "other")}, &foreseeing{spreadFrom: path + ".missing"})
	if err == nil || !isMissing(err) {
		t.Errorf("%v", err)
	}
	_, err = a.infos([]*sweep.Plan{n.plan(t, "other")}, &foreseeing{until: "25:00"})
	if err == nil || !strings.Contains(err.Error(), "25:00") {
		t.Errorf("%v", err)
	}
}

// What a plan says would be left over is what a run leaves over, whose trials take as long as expected.
func TestUnfitIsWhatARunLeavesOver(t *testing.T) {
	for _, restart := range []string{"block", "setting"} {
		n := night{blocks: 5, top: `factors: rate: {baseline: 50, levels: [10]}`, cell: lines{
			"contract.load.open": "rate: at.rate", "server": `restart: "` + restart + `"`}}
		p := n.plan(t, "night")
		whole, _ := p.Expected(p.Trials)
		for _, share := range []float64{0, .3, .55, 1.1} {
			synctest.Test(t, func(t *testing.T) {
				now := time.Now()
				until := now.Add(time.Duration(share * whole * float64(time.Second)))
				left, _ := unfit(p, sweep.Times{}, now, until)
				s := &starting{until: until}
				may := s.mayStart(p, p.Trials)
				var refused []sweep.Trial
				blockS, ran := map[int]float64{}, map[int]int{}
				for _, trial := range p.Trials {
					blockS[trial.Block], _ = p.Expected(slices.DeleteFunc(slices.Clone(p.Trials), func(o sweep.Trial) bool { return o.Block != trial.Block }))
				}
				for _, trial := range p.Trials {
					if !may(trial) {
						refused = append(refused, trial)
						continue
					}
					if ran[trial.Block]++; ran[trial.Block] == 1 {
						time.Sleep(time.Duration(blockS[trial.Block] * float64(time.Second)))
					}
				}
				if !slices.Equal(left, refused) {
					t.Errorf("%v of the time: plan leaves %d over, run %d", share, len(left), len(refused))
				}
				if all := len(left) == len(p.Trials); all != (share == 0) || len(left) == 0 != (share > 1) {
					t.Errorf("%v of the time: %d of %d left over", share, len(left), len(p.Trials))
				}
			})
		}
	}
}
