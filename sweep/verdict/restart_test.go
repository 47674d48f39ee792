package verdict_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// TestRestarts: a server that is not ours was another process than before.
func TestRestarts(t *testing.T) {
	plan := twoRates(t)
	const first, second = 1.79598089248e9, 1.79598100000e9
	jitter := func(s float64) float64 { return s + 1 }
	type starts = [][2]float64 // of each trial in order, before it and after it; 0 says nothing
	for _, c := range []struct {
		name   string
		seen   starts
		change func(trials []sweep.TrialFacts)
		want   string // the trials that are flagged, by number from 0
	}{
		{"one process all night", starts{{first, first}, {first, first}, {first, first}}, nil, ""},
		{"a clock corrected", starts{{first, jitter(first)}, {jitter(first), first}}, nil, ""},
		{"nothing said", starts{{0, 0}, {0, 0}}, nil, ""},
		{"between two trials", starts{{first, first}, {second, second}, {second, second}}, nil, "1"},
		{"in a trial", starts{{first, first}, {first, second}, {second, second}}, nil, "1"},
		{"in a trial, whose end said nothing", starts{{first, first}, {first, 0}, {second, second}}, nil, "2"},
		{"twice", starts{{first, first}, {second, second}, {second, second}, {second, second + 60}}, nil, "1 3"},
		{"in a trial that failed, and so before the next", starts{{first, first}, {first, second}, {second, second}, {second, second}},
			func(trials []sweep.TrialFacts) { trials[1].Record.Status = sweep.StatusFailed }, "1 2"},
		{"in a trial that was interrupted", starts{{first, first}, {first, second}, {second, second}},
			func(trials []sweep.TrialFacts) { trials[1].Record.Status = sweep.StatusInterrupted }, "2"},
		{"several processes behind one address", starts{{first, first}, {second, first}, {second, second}}, nil, ""},
		{"on another night", starts{{first, first}, {second, second}},
			func(trials []sweep.TrialFacts) {
				for i := 1; i < len(trials); i++ {
					trials[i].Record.Sitting = 2
				}
			}, ""},
		{"a server of our own", starts{{first, first}, {second, second}},
			func(trials []sweep.TrialFacts) {
				for i := range trials {
					trials[i].Launch = &sweep.Launch{ID: 1, Observed: h100()}
				}
			}, ""},
		{"and said by the runner too", starts{{first, first}, {second, second}},
			func(trials []sweep.TrialFacts) {
				trials[1].Observations = append(trials[1].Observations, sweep.Observation{Key: sweep.ObsRestarted, Value: true})
			}, "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			trials := night(plan, honest)
			for i := range trials {
				trials[i].Launch = &sweep.Launch{ID: 1, Target: "http://there", Attached: true, Observed: h100()}
				if i >= len(c.seen) {
					continue
				}
				for at, s := range c.seen[i] {
					if s > 0 {
						trials[i].Observations = append(trials[i].Observations,
							sweep.Observation{AtNS: int64(at) * int64(time.Minute), Source: "server", Key: sweep.ObsProcessStart, Value: s})
					}
				}
			}
			if c.change != nil {
				c.change(trials)
			}
			d := derive(t, plan, trials...)
			var got []string
			for i, f := range trials {
				at := slices.IndexFunc(d.Flags, func(o sweep.Flag) bool {
					return o.Code == "server-restarted" && o.Cell == f.Record.Cell && o.Block == f.Record.Block
				})
				row := find(t, d.Trials, func(r sweep.TrialRow) bool { return r.Trial == f.Record.ID })
				if (at >= 0) != slices.Contains(row.Flags, "server-restarted") {
					t.Errorf("trial %d: the flag and its row do not agree", i)
				}
				if at >= 0 {
					got = append(got, fmt.Sprint(i))
				}
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("flagged are %q, want %q", text, c.want)
			}
			if severities(d.Flags)["contract-drift"] != "" {
				t.Error("when a process began is no leaf of the stack")
			}
		})
	}
}

// TestRestartInATrialAlone: what a trial decides by itself is only what it saw itself.
func TestRestartInATrialAlone(t *testing.T) {
	plan := twoRates(t)
	for want, ends := range map[sweep.Severity]float64{"": 1e9, sweep.Suspect: 1e9 + 100} {
		f := night(plan, honest)[0]
		f.Launch = &sweep.Launch{ID: 1, Target: "http://there", Attached: true, Observed: map[string]any{sweep.ObsProcessStart: 9e8}}
		for _, began := range []float64{1e9, ends} {
			f.Observations = append(f.Observations, sweep.Observation{Source: "server", Key: sweep.ObsProcessStart, Value: began})
		}
		if got := severities(deriveTrial(t, plan, f).Flags)["server-restarted"]; got != want {
			t.Errorf("a process that began at %.0f and then at %.0f: %q, want %q", 1e9, ends, got, want)
		}
	}
}
