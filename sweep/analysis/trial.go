package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/inference-sweep/sweep/sweep"
)

// Trial is the summary of one trial's rows: its totals, and beside them what verdicts are made from.
type Trial struct {
	Totals
	Record sweep.TrialRecord
	// Load is how requests arrived: open, closed or burst.
	Load string

	OfferedRate, AchievedRate *float64
	InflightMean, InflightMax *float64
	CachedShare               *float64

	// Arrivals are the measured requests in the order of their due times.
	Arrivals []Arrival
	// settling is where TTFT settled, its cell's name left open; nil where there is no loop or no TTFT to settle.
	settling *sweep.SettlingRow
	// Inputs are the prompts of the measured requests that ended ok, as far as both lengths are known.
	Inputs []Input
	// EndedOK is how many requests of any phase ended ok in the window.
	EndedOK int64
	// Unconnected are the measured requests that the client took to the network and that found no server there: they were
	// not sent, which was not the client's doing.
	Unconnected int64
	// LocalFailures are requests of any phase for which the client had no port or descriptor; Empty are measured ones
	// that failed because nothing came out.
	LocalFailures, Empty int64
	// Of the measured requests that ended ok: those whose output nobody counted, those with both an asked and a counted
	// output, and those of them in which the two differ.
	Uncounted, LengthsKnown, LengthsOff int64
	// Overcounted are the measured requests that ended ok for which more tokens were counted than they allowed, which cannot
	// be; OverTokens are how many more, of OutputTokens of all.
	Overcounted              int64
	OverTokens, OutputTokens float64
	// TinyGaps of Gaps were too short to be two readings; Chunks are the events, as OutputTokens are the tokens, of
	// requests whose tokens are known.
	TinyGaps, Gaps, Chunks int64
	// CachedTokens is what measured requests that ended ok had cached, or None where no server said.
	CachedTokens int64
	// ResponseModels and OutputSources count the measured requests that ended ok by the model that answered and by who
	// counted their tokens.
	ResponseModels, OutputSources map[string]int64
}

// Arrival is when a measured request was due, when it left, and how soon it was answered. Times are nanoseconds or None.
type Arrival struct {
	DueNS, SentNS, DialNS, QueueNS int64
	// TTFTNS counts from due, in a closed loop from sent; None where the request failed.
	TTFTNS int64
	// Unconnected says that no server was found to send it to.
	Unconnected bool
	seq         int64
}

// Input is a prompt's length as it was asked for and as the server counted it.
type Input struct{ Asked, Counted int64 }

// Summarise reads a trial's rows once and adds them up. The measurement's cell is judged under its own name (the
// twin's, for copy 2), and under those of its aliases by their SLOs. The Record's T0 and T1 bound the window; where it
// has none, nothing that needs one exists.
func Summarise(cell *sweep.PlanCell, f sweep.TrialFacts, aliases ...*sweep.PlanCell) (*Trial, error) {
	s := newSummary(cell, f.Record, aliases)
	if f.Rows != nil {
		for r, err := range f.Rows {
			if err != nil {
				return nil, fmt.Errorf("trial %d: %w", f.Record.ID, err)
			}
			if err := s.add(r); err != nil {
				return nil, fmt.Errorf("trial %d: %w", f.Record.ID, err)
			}
		}
	}
	return s.finish(), nil
}

// A summary is a trial in the making.
type summary struct {
	*Trial
	streaming bool
	open      bool // offered rate exists
	flight    inflight
	events    eventLog
	warming   warming
	// inputSeen and outputSeen say that somebody counted; met and metCounted are by name.
	inputSeen, outputSeen bool
	metCounted            []bool
	inputTokens           int64 // of the measured requests that ended ok
}

func newSummary(cell *sweep.PlanCell, record sweep.TrialRecord, aliases []*sweep.PlanCell) *summary {
	t := &Trial{
		Record: record, Load: cell.Cell.LoadKind(), CachedTokens: sweep.None,
		ResponseModels: map[string]int64{}, OutputSources: map[string]int64{},
	}
	s := &summary{Trial: t, streaming: cell.Cell.Contract.Streaming, open: t.Load == sweep.LoadOpen}
	if record.T0NS != sweep.None && record.T1NS != sweep.None && record.T1NS > record.T0NS {
		t.WindowNS = record.T1NS - record.T0NS
		s.flight.fromNS, s.flight.toNS = record.T0NS, record.T1NS
	}
	for i, c := range append([]*sweep.PlanCell{cell}, aliases...) {
		name := c.Name()
		if i == 0 && record.Copy == 2 {
			name = sweep.TwinName
		}
		bars, ok := BarsOf(c)
		t.Names = append(t.Names, Judged{Name: name, bars: bars, slo: ok, gpus: c.Cell.Contract.Hardware.Gpus})
	}
	s.metCounted = make([]bool, len(t.Names))
	return s
}

func (s *summary) add(r *sweep.Request) error {
	if err := s.events.read(r); err != nil {
		return err
	}
	s.addWindow(r)
	if r.Error == sweep.ErrLocal {
		s.LocalFailures++
	}
	if i := slices.Index(Phases, r.Phase); i >= 0 {
		if err := s.addPhase(&s.phases[i], r); err != nil {
			return err
		}
	}
	switch r.Phase {
	case sweep.PhaseMeasure:
		s.addMeasured(r)
	case sweep.PhaseWarmup:
		s.warming.add(r, s.ttftNS(r))
	}
	return nil
}

// addWindow counts what the window saw of a request of any phase.
func (s *summary) addWindow(r *sweep.Request) {
	if r.SentNS == sweep.None || s.WindowNS == 0 {
		return
	}
	fromNS, toNS := s.flight.fromNS-r.SentNS, s.flight.toNS-r.SentNS
	inside := func(ns int64) bool { return ns != sweep.None && fromNS <= ns && ns < toNS }
	endNS := r.EndNS
	if endNS == sweep.None {
		endNS = toNS
	}
	if fromNS >= endNS || toNS <= 0 {
		return
	}
	s.flight.add(r.SentNS, r.SentNS+endNS)
	if r.Status == sweep.RequestOK && inside(r.EndNS) {
		s.EndedOK++
	}
	if inside(r.FirstTokenNS) && r.InputTokens != sweep.None {
		s.input.amount += float64(r.InputTokens)
		s.inputSeen = true
	}
	if tokens, known := s.events.tokensWithin(r, fromNS, toNS); known {
		s.output.amount += tokens
		s.outputSeen = true
	}
}

// addPhase counts a request in the latencies of its phase.
func (s *summary) addPhase(p *phaseTotals, r *sweep.Request) error {
	p.due++
	if r.Status != sweep.RequestOK {
		p.failed++
		return nil
	}
	for m := range metricCount {
		if m == gap || m == itl || streamed[m] && !s.streaming {
			continue
		}
		if ns, ok := timeNS(m, r); ok {
			p.samples[m].record(ns)
		}
	}
	if !s.streaming {
		return nil
	}
	return s.events.gaps(&p.samples[gap], &p.samples[itl])
}

// addMeasured counts a measured request.
func (s *summary) addMeasured(r *sweep.Request) {
	s.Due++
	arrival := Arrival{DueNS: r.DueNS, SentNS: r.SentNS, DialNS: r.DialNS, QueueNS: r.QueueNS, TTFTNS: sweep.None, seq: r.Seq}
	if r.SentNS != sweep.None {
		s.Sent++
	} else if arrival.Unconnected = unconnected(r.Error); arrival.Unconnected {
		s.Unconnected++
	}
	if r.Status != sweep.RequestOK {
		s.Failed++
		if r.Error == sweep.ErrEmpty {
			s.Empty++
		}
		s.Arrivals = append(s.Arrivals, arrival)
		return
	}
	arrival.TTFTNS = s.ttftNS(r)
	s.Arrivals = append(s.Arrivals, arrival)
	s.OK++
	s.addTokens(r)
	if r.ResponseModel != "" {
		s.ResponseModels[r.ResponseModel]++
	}
	for i := range s.Names {
		if s.Names[i].slo && s.Names[i].bars.Met(r) {
			s.Names[i].Met++
			if r.OutputTokens != sweep.None {
				s.Names[i].tokens.amount += float64(r.OutputTokens)
				s.metCounted[i] = true
			}
		}
	}
}

// ttftNS is the time to first token of a request that ended ok, from due, in a closed loop from sent.
func (s *summary) ttftNS(r *sweep.Request) int64 {
	if s.Load == sweep.LoadClosed {
		return r.FirstTokenNS
	}
	return r.FromDueNS(r.FirstTokenNS)
}

// unconnected says of what ended a request before it was sent whether a server was looked for.
func unconnected(kind string) bool {
	return kind != sweep.ErrNotSent && kind != sweep.ErrLocal && kind != sweep.ErrCancelled
}

// addTokens counts the tokens of a measured request that ended ok.
func (s *summary) addTokens(r *sweep.Request) {
	if r.InputTokens != sweep.None {
		s.inputTokens += r.InputTokens
		if r.InputAsked != sweep.None {
			s.Inputs = append(s.Inputs, Input{r.InputAsked, r.InputTokens})
		}
	}
	if r.CachedTokens != sweep.None {
		s.CachedTokens = max(s.CachedTokens, 0) + r.CachedTokens
	}
	short, all := s.events.tiny()
	s.TinyGaps += short
	s.Gaps += all
	if r.OutputTokens == sweep.None {
		s.Uncounted++
		return
	}
	s.OutputSources[r.OutputSource]++
	s.OutputTokens += float64(r.OutputTokens)
	if r.OutputAsked != sweep.None && r.OutputTokens > r.OutputAsked {
		s.Overcounted++
		s.OverTokens += float64(r.OutputTokens - r.OutputAsked)
	}
	s.Chunks += int64(len(s.events.atNS))
	if r.OutputAsked != sweep.None {
		s.LengthsKnown++
		if r.OutputTokens != r.OutputAsked {
			s.LengthsOff++
		}
	}
}

// finish turns sums into figures.
func (s *summary) finish() *Trial {
	t := s.Trial
	slices.SortFunc(t.Arrivals, func(a, b Arrival) int {
		return cmp.Or(cmp.Compare(a.DueNS, b.DueNS), cmp.Compare(a.seq, b.seq))
	})
	if t.CachedTokens != sweep.None {
		t.CachedShare = ratio(float64(t.CachedTokens), float64(s.inputTokens))
	}
	if t.WindowNS == 0 {
		return t
	}
	windowS := seconds(t.WindowNS)
	if s.open {
		t.OfferedRate = ratio(float64(t.Due), windowS)
	}
	t.AchievedRate = ratio(float64(t.Sent), windowS)
	t.InflightMean, t.InflightMax = number(s.flight.mean()), number(s.flight.most())
	if s.streaming && t.Load != sweep.LoadBurst {
		t.settling = s.warming.settle(t)
	}
	t.requests = flow{float64(t.EndedOK), t.WindowNS}
	if s.inputSeen {
		t.input.windowNS = t.WindowNS
	}
	if s.outputSeen {
		t.output.windowNS = t.WindowNS
	}
	for i := range t.Names {
		if t.Names[i].slo && (t.Names[i].Met == 0 || s.metCounted[i]) {
			t.Names[i].tokens.windowNS = t.WindowNS
		}
	}
	return t
}

// Row is the trial's row of the view trial.
func (t *Trial) Row() sweep.TrialRow {
	row := sweep.TrialRow{
		Trial: t.Record.ID, Due: t.Due, Sent: t.Sent, OK: t.OK, Failed: t.Failed,
		OfferedRate: t.OfferedRate, AchievedRate: t.AchievedRate, InflightMean: t.InflightMean, InflightMax: t.InflightMax,
		CachedShare: t.CachedShare,
	}
	if t.WindowNS > 0 {
		row.WindowS = number(seconds(t.WindowNS))
	}
	return row
}
