package report

import (
	"fmt"
	"slices"

	"github.com/inference-sweep/sweep/sweep"
)

// The groups of the table phases: what a launch costs, and what requests take before and after the warm-up.
const (
	groupStart  = "start"
	groupCold   = "cold"
	groupWarmup = "warm-up"
	// groupSettling is apart from the warm-up's, so that a narrow page can fold between them.
	groupSettling = "settling"
	groupSteady   = "steady"
)

func (s *scope) phases() *Table {
	t := s.table("phases", "Cold start, warm-up and steady state, apart")
	t.Columns = []Column{
		{Name: "cell", Key: true},
		{Group: groupStart, Name: "port", Unit: "s", Number: true},
		{Group: groupStart, Name: "first token", Unit: "s", Number: true},
		{Group: groupStart, Name: "ready", Unit: "s", Number: true},
		{Group: groupStart, Name: "n", Number: true},
		{Group: groupCold, Name: "TTFT p50", Unit: "ms", Number: true},
		{Group: groupCold, Name: "TTFT max", Unit: "ms", Number: true},
		{Group: groupCold, Name: "n", Number: true},
		{Group: groupWarmup, Name: "TTFT p50", Unit: "ms", Number: true},
		{Group: groupWarmup, Name: "TPOT p50", Unit: "ms", Number: true},
		{Group: groupWarmup, Name: "n", Number: true},
		{Group: groupSettling, Name: "warm-up", Unit: "s", Number: true},
		{Group: groupSettling, Name: "settled", Unit: "s", Number: true},
		{Group: groupSettling, Name: "window off", Unit: "%", Number: true},
		{Group: groupSteady, Name: "TTFT p50", Unit: "ms", Number: true},
		{Group: groupSteady, Name: "TPOT p50", Unit: "ms", Number: true},
		{Group: groupSteady, Name: "E2E p50", Unit: "ms", Number: true},
		{Group: groupSteady, Name: "n", Number: true},
	}
	for _, sub := range s.cells {
		t.Rows = append(t.Rows, s.phaseRow(sub))
	}
	t.View = s.phasesView()
	return s.finish(t,
		Entry{groupStart, "of the server: from the start of its process until its port accepted, until the first token of its first completion, and until that completion's end (ready, hence the last of the three); medians over n launches, which cells of one setting share"},
		Entry{groupCold, "the first requests, right after a launch, before any warm-up; of the cells that share a launch, they are those of the one that came first after it"},
		Entry{groupWarmup, "requests at the cell's own load before the measured window; they count in no other table"},
		defSettling, defSettlingFound, defLate, defWindowOff,
		Entry{groupSteady, "requests of the measured window; the table latency has more of it, with intervals"},
		Entry{"p50", "median of n requests of all blocks together; max is the slowest"},
		defTTFT, defTPOT, defE2E)
}

func (s *scope) phaseRow(sub subject) Row {
	verdict := ""
	if r := s.latencyOf(sub.name, sweep.PhaseMeasure, timeTTFT.metric); r != nil {
		verdict = r.Verdict
	}
	values := append([]Value{words(sub.label())}, s.startValues(sub)...)
	cold := s.phaseOf(sub, sweep.PhaseCold, groupCold, timeTTFT)
	values = append(values, plain(cold.P50, significant3), plain(cold.Max, significant3), count(cold.N))
	for _, part := range []struct {
		phase sweep.Phase
		group string
		times []timing
	}{
		{sweep.PhaseWarmup, groupWarmup, []timing{timeTTFT, timeTPOT}},
		{sweep.PhaseMeasure, groupSteady, []timing{timeTTFT, timeTPOT, timeE2E}},
	} {
		for _, m := range part.times {
			values = append(values, plain(s.phaseOf(sub, part.phase, part.group, m).P50, significant3))
		}
		values = append(values, count(s.phaseOf(sub, part.phase, part.group, timeTTFT).N))
		if part.phase == sweep.PhaseWarmup {
			values = append(values, s.settlingValues(sub)...)
		}
	}
	row := s.row("", sub, verdict)
	row.Values = values
	return row
}

// phaseOf is a cell's row of one phase and metric, or an empty one whose reason is noted.
func (s *scope) phaseOf(sub subject, phase sweep.Phase, group string, m timing) sweep.LatencyRow {
	r := s.latencyOf(sub.name, phase, m.metric)
	if r != nil && finite(r.P50) != nil {
		return *r
	}
	switch why := s.why(sub); {
	case why != "":
		s.dash(sub.name, why)
	case (r == nil || r.N == 0) && phase == sweep.PhaseCold:
		s.dash(group+" of "+sub.name, s.whyNotCold(sub))
	case r == nil || r.N == 0:
		s.dash(group+" of "+sub.name, "no successful request of that phase has it")
	default:
		s.dash(group+" of "+sub.name, fmt.Sprintf("the blocks together have %d values: p50 needs 5", r.N))
	}
	if r == nil {
		return sweep.LatencyRow{}
	}
	return *r
}

// starts are the times of a launch, by their names in the view launch.
var starts = []struct {
	metric string
	ns     func(*sweep.Launch) int64
}{
	{"port_ms", func(l *sweep.Launch) int64 { return l.PortNS }},
	{"first_token_ms", func(l *sweep.Launch) int64 { return l.FirstTokenNS }},
	{"ready_ms", func(l *sweep.Launch) int64 { return l.ReadyNS }},
}

// startValues are the medians of a launch's times over the cell's launches, and their number.
func (s *scope) startValues(sub subject) []Value {
	launches := s.launchesOf(sub)
	values := make([]Value, 0, len(starts)+1)
	timed := 0
	for _, start := range starts {
		var seconds []float64
		for _, l := range launches {
			if ns := start.ns(l); ns != sweep.None {
				seconds = append(seconds, float64(ns)/1e9)
			}
		}
		if len(seconds) == 0 {
			s.dash(groupStart+" of "+sub.name, s.whyNoStart(sub, launches))
			values = append(values, plain(nil, 0))
			continue
		}
		slices.Sort(seconds)
		timed = max(timed, len(seconds))
		values = append(values, plain(&seconds[(len(seconds)-1)/2], significant3))
	}
	return append(values, count(timed))
}

// whyNotCold says why a cell has no requests right after a launch.
func (s *scope) whyNotCold(sub subject) string {
	launches := s.launchesOf(sub)
	if len(launches) == 0 || slices.ContainsFunc(launches, func(l *sweep.Launch) bool { return l.Attached }) {
		return s.whyNoStart(sub, launches)
	}
	others := func(t sweep.TrialRecord) bool {
		return t.Cell != sub.measured() && slices.ContainsFunc(launches, func(l *sweep.Launch) bool { return l.ID == t.Launch })
	}
	if slices.ContainsFunc(s.Trials, others) {
		return "another cell came first after the launch"
	}
	return "no successful request of that phase has it"
}

func (s *scope) whyNoStart(sub subject, launches []*sweep.Launch) string {
	if slices.ContainsFunc(launches, func(l *sweep.Launch) bool { return l.Attached }) {
		return "the server was already up: its start was not measured"
	}
	if why := s.why(sub); why != "" {
		return why
	}
	return "no launch is recorded"
}

// launchesOf are the launches that the cell's trials ran on.
func (s *scope) launchesOf(sub subject) []*sweep.Launch {
	ran := map[int64]bool{}
	for _, t := range s.Trials {
		if t.Cell == sub.measured() {
			ran[t.Launch] = true
		}
	}
	var launches []*sweep.Launch
	for i := range s.Launches {
		if ran[s.Launches[i].ID] {
			launches = append(launches, &s.Launches[i])
		}
	}
	return launches
}

// phasesView is one row a figure: of a launch in milliseconds as the view launch has them, of where TTFT settled over
// blocks as the view settling has it, of requests as latency.
func (s *scope) phasesView() View {
	v := View{Columns: []string{"sweep", "cell", "launch", "phase", "metric", "n", "min", "p50", "p95", "max"}}
	for _, sub := range s.cells {
		for _, l := range s.launchesOf(sub) {
			for _, start := range starts {
				if ns := start.ns(l); ns != sweep.None {
					ms := float64(ns) / 1e6
					v.Rows = append(v.Rows, []any{s.Plan.Name, sub.name, l.ID, "launch", start.metric, int64(1), ms, ms, nil, ms})
				}
			}
		}
		v.Rows = append(v.Rows, s.settlingRows(sub)...)
		for _, r := range s.Derived.Latency {
			if r.Cell == sub.name && r.Block == 0 {
				v.Rows = append(v.Rows, []any{s.Plan.Name, sub.name, nil, string(r.Phase), r.Metric, r.N,
					null(r.Min), null(r.P50), null(r.P95), null(r.Max)})
			}
		}
	}
	return v
}
