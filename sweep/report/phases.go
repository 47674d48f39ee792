package report

import (
	"slices"

	"github.com/inference-sweep/sweep/sweep"
)

// Sections of the table phases: what a launch costs, and what requests take before and after the warm-up.
const (
	sectionLaunch = "server start (s)"
	sectionCold   = "first requests (ms)"
	sectionWarmup = "warm-up (ms)"
	sectionSteady = "steady state (ms)"
)

func (s *scope) phases() *Table {
	t := s.table("phases", "Cold start, warm-up and steady state, apart")
	t.Columns = []Column{
		{Name: "cell", Key: true},
		{Name: "figure"},
		{Name: "least", Number: true},
		{Name: "median", Number: true},
		{Name: "p95", Number: true},
		{Name: "most", Number: true},
		{Name: "n", Number: true},
	}
	for _, sub := range s.cells {
		t.Rows = append(t.Rows, s.launchRows(sub)...)
	}
	for _, part := range []struct {
		section string
		phase   sweep.Phase
	}{{sectionCold, sweep.PhaseCold}, {sectionWarmup, sweep.PhaseWarmup}, {sectionSteady, sweep.PhaseMeasure}} {
		for _, sub := range s.cells {
			t.Rows = append(t.Rows, s.phaseRows(part.section, part.phase, sub)...)
		}
	}
	t.View = s.phasesView()
	return s.finish(t,
		Entry{"port, ready, first token", "from the start of the server's process until its port accepted, until it answered a completion, and until that answer's first token; n counts launches, and cells of one setting share them"},
		Entry{"first requests", "the first ones after a launch, before any warm-up"},
		Entry{"warm-up", "requests at the cell's own load before the measured window; they count in no other table"},
		Entry{"steady state", "the measured window; its table is latency"},
		Entry{"figures", "over all requests of all blocks together, nearest rank; p95 needs 59 requests"},
		defTTFT, defTPOT, defE2E)
}

// starts are the times of a launch by name.
var starts = []struct {
	name string
	ns   func(*sweep.Launch) int64
}{
	{"port", func(l *sweep.Launch) int64 { return l.PortNS }},
	{"ready", func(l *sweep.Launch) int64 { return l.ReadyNS }},
	{"first token", func(l *sweep.Launch) int64 { return l.FirstTokenNS }},
}

func (s *scope) launchRows(sub subject) []Row {
	launches := s.launchesOf(sub)
	var rows []Row
	for _, start := range starts {
		var seconds []float64
		for _, l := range launches {
			if ns := start.ns(l); ns != sweep.None {
				seconds = append(seconds, float64(ns)/1e9)
			}
		}
		if len(seconds) == 0 {
			continue
		}
		slices.Sort(seconds)
		row := s.row(sectionLaunch, sub, "")
		row.Values = []Value{words(sub.label()), words(start.name), plain(&seconds[0], significant3),
			plain(&seconds[(len(seconds)-1)/2], significant3), {}, plain(&seconds[len(seconds)-1], significant3), count(len(seconds))}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		s.dash(sub.name, s.whyNoStart(sub, launches))
		row := s.row(sectionLaunch, sub, "")
		none := plain(nil, 0)
		row.Values = []Value{words(sub.label()), words("start"), none, none, {}, none, count(0)}
		return []Row{row}
	}
	return rows
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
	var launches []*sweep.Launch
	for i := range s.Launches {
		l := &s.Launches[i]
		if slices.ContainsFunc(s.Trials, func(t sweep.TrialRecord) bool { return t.Launch == l.ID && t.Cell == sub.measured() }) {
			launches = append(launches, l)
		}
	}
	return launches
}

func (s *scope) phaseRows(section string, phase sweep.Phase, sub subject) []Row {
	var rows []Row
	for _, m := range []timing{timeTTFT, timeTPOT, timeE2E} {
		r := s.latencyOf(sub.name, phase, m.metric)
		if r == nil || r.N == 0 {
			continue
		}
		row := s.row(section, sub, r.Verdict)
		row.Values = []Value{words(sub.label()), words(m.name), plain(r.Min, significant3), plain(r.P50, significant3),
			plain(r.P95, significant3), plain(r.Max, significant3), count(r.N)}
		if row.Values[4].Missing() {
			s.dash("p95", "fewer than 59 requests")
		}
		rows = append(rows, row)
	}
	return rows
}

// phasesView is one row a figure: of a launch in milliseconds as the view launch has them, of requests as latency.
func (s *scope) phasesView() View {
	v := View{Columns: []string{"sweep", "cell", "launch", "ordinal", "phase", "metric", "n", "min", "p50", "p95", "max"}}
	for _, sub := range s.cells {
		for _, l := range s.launchesOf(sub) {
			v.Rows = append(v.Rows, s.launchFigures(sub, l)...)
		}
		for _, r := range s.Derived.Latency {
			if r.Cell == sub.name && r.Block == 0 {
				v.Rows = append(v.Rows, []any{s.Plan.Name, sub.name, nil, nil, string(r.Phase), r.Metric, r.N,
					null(r.Min), null(r.P50), null(r.P95), null(r.Max)})
			}
		}
	}
	return v
}

func (s *scope) launchFigures(sub subject, l *sweep.Launch) [][]any {
	var rows [][]any
	for i, metric := range []string{"port_ms", "ready_ms", "first_token_ms"} {
		ns := starts[i].ns(l)
		if ns == sweep.None {
			continue
		}
		ms := float64(ns) / 1e6
		rows = append(rows, []any{s.Plan.Name, sub.name, l.ID, int64(l.Ordinal), "launch", metric, int64(1), ms, ms, nil, ms})
	}
	return rows
}
