package runner

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/inference-sweep/sweep/runner/engine"
	"github.com/inference-sweep/sweep/runner/load"
	"github.com/inference-sweep/sweep/sweep"
)

// slowRoundTrip is a round trip that is worth a word: it is part of every time to first token.
const slowRoundTrip = 10 * time.Millisecond

// server says what answered.
func (c *Checked) server(s *server) {
	o := s.Launch.Observed
	said := []string{"answers"}
	if s.Launch.ReadyNS != sweep.None {
		said = []string{"ready " + shortTime(s.Launch.ReadyNS) + " after its launch"}
	}
	if version, ok := o[sweep.ObsEngineVersion]; ok {
		said = append(said, fmt.Sprintf("%s %v", s.Profile.Name, version))
	}
	model := s.Model
	if served, ok := o[sweep.ObsServedModel].(string); ok && served != model {
		model += ", served as " + served
	}
	c.add(CheckOK, "server", "", "%s, model %s", strings.Join(said, ", "), model)
	trip, ok := o[sweep.ObsRoundTripNS].(int64)
	if !ok {
		return
	}
	status, hint := CheckOK, ""
	if time.Duration(trip) > slowRoundTrip {
		status, hint = CheckWarn, "it is part of every time to first token: measure from a machine closer to the server"
	}
	c.add(status, "round trip", hint, "%s", shortTime(trip))
}

// shortTime is a time for people.
func shortTime(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d >= 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

// fields says which fields of a request the server takes.
func (c *Checked) fields(s *server, endpoint string) {
	if len(s.Refused) == 0 {
		taken := s.Profile.Optional(endpoint)
		if len(taken) == 0 {
			c.add(CheckOK, "fields", "", "nothing beyond the plain API is asked of it")
			return
		}
		c.add(CheckOK, "fields", "", "takes %s", strings.Join(taken, ", "))
		return
	}
	consequences := map[string]string{
		engine.FieldStreamOptions:   "without it a stream has no token counts",
		engine.FieldContinuousUsage: "tokens are counted by other means",
		engine.FieldReturnTokenIDs:  "tokens are counted by usage",
		engine.FieldMinTokens:       "answers may end early",
		engine.FieldIgnoreEOS:       "answers may end early",
		engine.FieldPrompt:          "prompts go as text, and their lengths are near what is asked",
	}
	for _, field := range s.Refused {
		what := "refuses " + field + ", which is then not sent"
		if said := consequences[field]; said != "" {
			what += ": " + said
		}
		c.add(CheckWarn, "fields", "nothing to do, if that is right for the comparison; the tables say what they lack", "%s", what)
	}
}

// busy says whether somebody else uses the server.
func (c *Checked) busy(ctx context.Context, s *server) {
	running, waiting, ok := s.Running(ctx)
	if !ok || running+waiting == 0 {
		return
	}
	c.add(CheckWarn, "idle", "have the server to yourself: another's load is in every figure",
		"%.0f requests of others run on it, %.0f wait", running, waiting)
}

// lengths is how long one request is, in tokens.
type lengths struct{ input, output int64 }

func (l lengths) total() int64 { return l.input + l.output }

// extremes are the shapes among a cell's requests that can meet a limit: the shortest prompt, the longest prompt, and
// the longest whole. They are those of the requests that will be sent: lengths are drawn as the run draws them.
func extremes(p *sweep.Plan, cell *sweep.PlanCell) (shortest, deepest, longest lengths, err error) {
	for block := 1; block <= p.Blocks; block++ {
		for _, phase := range []sweep.Phase{sweep.PhaseWarmup, sweep.PhaseMeasure} {
			draw, err := load.Lengths(&cell.Cell, p.Seed, block, phase, p.Traces)
			if err != nil {
				return shortest, deepest, longest, err
			}
			for range drawsOf(p, cell) {
				var l lengths
				l.input, l.output = draw()
				if shortest.input == 0 || l.input < shortest.input {
					shortest = l
				}
				if l.input > deepest.input {
					deepest = l
				}
				if l.total() > longest.total() {
					longest = l
				}
			}
		}
	}
	return shortest, deepest, longest, nil
}

// drawsOf is how many lengths of a phase are drawn: those of the window and the tail after it, within reason.
func drawsOf(p *sweep.Plan, cell *sweep.PlanCell) int {
	k := cell.Cell.Contract
	if k.Prompt.Length.Fixed > 0 && k.Output.Length.Fixed > 0 {
		return 1
	}
	const most = 200_000
	return min(2*cell.Requests+100, max(most/(2*p.Blocks*len(p.Cells)), 100))
}

// contextLength holds the longest request of each cell against what the server bears. It returns the longest of all.
func (c *Checked) contextLength(s *server, cells []*sweep.PlanCell) lengths {
	var worst lengths
	of := ""
	for _, cell := range cells {
		_, _, longest, err := extremes(c.Plan, cell)
		if err != nil {
			c.add(CheckFail, "context", "", "cell %s: %v", cell.Name(), err)
			return worst
		}
		if longest.total() > worst.total() {
			worst, of = longest, cell.Name()
		}
	}
	limit, ok := s.Launch.Observed[sweep.ObsMaxModelLen].(int64)
	what := fmt.Sprintf("the longest request is %d tokens in and %d out (cell %s)", worst.input, worst.output, of)
	switch {
	case !ok:
		c.add(CheckWarn, "context", "the requests below show whether it bears them", "%s; the server does not say how long its context is", what)
	case worst.total() > limit:
		c.add(CheckFail, "context", fmt.Sprintf("serve the model with a context of %d, or shorten prompt.length or output.length", worst.total()),
			"%s: %d together, the server's context is %d", what, worst.total(), limit)
	default:
		c.add(CheckOK, "context", "", "%s; the server's context is %d", what, limit)
	}
	return worst
}
