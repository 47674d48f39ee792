package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/inference-sweep/sweep/runner"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress shows how far a run is: bars on a terminal, a line a trial elsewhere.
type progress struct {
	w          io.Writer
	plan       *sweep.Plan
	trials     []sweep.Trial
	startedAt  time.Time
	expectedS  []float64 // of each trial
	quiet      bool
	bars       *mpb.Progress
	whole, now *mpb.Bar
	label      atomic.Value // of what runs now, a string
	counts     atomic.Value // what the bar below counts: a format of two numbers
	saidAt     time.Time    // when a line last said how the running trial goes
}

// The formats of what is counted in the running trial.
const (
	ofRequests = "%d of about %d requests"
	ofHeads    = "priming the prefix cache: %d of %d heads"
)

// lineEvery is how long a trial may prepare before a line says how far it is, where there are no bars.
const lineEvery = 10 * time.Second

// newProgress starts to show a run of trials. How is auto, plain or none.
func (a *app) newProgress(p *sweep.Plan, trials []sweep.Trial, how string) *progress {
	s := &progress{w: a.stderr, plan: p, trials: trials, startedAt: time.Now(), quiet: how == "none" || len(trials) == 0}
	for i := range trials {
		seconds, _ := p.Expected(trials[i : i+1])
		s.expectedS = append(s.expectedS, seconds)
	}
	if s.quiet {
		return s
	}
	seconds, _ := p.Expected(trials)
	fmt.Fprintf(s.w, "sweep: %s: %s in %s, about %s\n", p.Name, counted(len(trials), "trial"), counted(p.Blocks, "block"), roundTime(seconds))
	if how == "auto" && terminalOf(a.stderr) != nil {
		s.startBars()
	}
	return s
}

func (s *progress) startBars() {
	s.label.Store("launching")
	s.counts.Store(ofRequests)
	s.bars = mpb.New(mpb.WithOutput(s.w), mpb.WithWidth(40), mpb.WithRefreshRate(200*time.Millisecond))
	s.whole = s.bars.AddBar(int64(len(s.trials)),
		mpb.PrependDecorators(decor.Name(s.plan.Name+" ", decor.WCSyncSpaceR), decor.CountersNoUnit("%d/%d trials", decor.WCSyncSpace)),
		mpb.AppendDecorators(decor.Any(func(st decor.Statistics) string { return " " + s.left(int(st.Current)) })))
	// A bar that is made with a total stands still once it is reached, whatever total it has later.
	s.now = s.bars.AddBar(0,
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return s.label.Load().(string) }, decor.WCSyncSpaceR),
			decor.Any(func(st decor.Statistics) string { return fmt.Sprintf(s.counts.Load().(string), st.Current, st.Total) }, decor.WCSyncSpace)))
}

// event shows what happened.
func (s *progress) event(e runner.Event, rec *recording) {
	if s.quiet {
		return
	}
	switch e.Kind {
	case runner.TrialStarted:
		s.saidAt = time.Now()
		if s.bars != nil {
			s.label.Store(fmt.Sprintf("%s, block %d", e.Trial.Cell, e.Trial.Block))
			s.count(ofRequests, 0, s.about(e))
		}
	case runner.HeadPrimed:
		s.primed(e)
	case runner.RequestEnded:
		if s.bars != nil {
			s.now.SetCurrent(e.Requests)
		}
	case runner.TrialEnded:
		s.trialEnded(e, rec)
	}
}

// about is how many requests the running trial is expected to send.
func (s *progress) about(e runner.Event) int {
	return max(s.plan.CellNamed(e.Trial.Cell).Requests, 1) * 5 / 4
}

// count has the lower bar count something.
func (s *progress) count(what string, n, of int) {
	s.counts.Store(what)
	s.now.SetTotal(int64(of), false)
	s.now.SetCurrent(int64(n))
}

// primed shows how far the prefix cache is filled: in lines only where that takes long. The runner says so of one head at a
// time.
func (s *progress) primed(e runner.Event) {
	switch {
	case s.bars != nil && e.Primed == e.Heads:
		s.count(ofRequests, 0, s.about(e))
	case s.bars != nil:
		s.count(ofHeads, e.Primed, e.Heads)
	case time.Since(s.saidAt) >= lineEvery:
		s.saidAt = time.Now()
		fmt.Fprintf(s.w, "block %d  %s: "+ofHeads+"\n", e.Trial.Block, e.Trial.Cell, e.Primed, e.Heads)
	}
}

func (s *progress) trialEnded(e runner.Event, rec *recording) {
	ended := e.Summary.Done + e.Summary.Failed + e.Summary.Blocked + e.Summary.Interrupted
	if s.bars != nil {
		s.whole.SetCurrent(int64(ended))
		d := rec.lastDerived()
		well := e.Trial.Status == sweep.StatusDone && (d == nil || d.Row.Verdict != string(sweep.Invalid))
		if well || e.Trial.Status == sweep.StatusInterrupted {
			return
		}
		fmt.Fprintf(s.bars, "%s\n", s.trialLine(e, ended, rec))
		return
	}
	fmt.Fprintf(s.w, "%s; %s\n", s.trialLine(e, ended, rec), s.left(ended))
}

// trialLine is one trial in one line: what it was, how it ended, and what it showed.
func (s *progress) trialLine(e runner.Event, ended int, rec *recording) string {
	t := e.Trial
	width := len(fmt.Sprint(e.Total))
	line := fmt.Sprintf("[%*d/%d] block %d  %s: %s", width, ended, e.Total, t.Block, t.Cell, t.Status)
	if t.Status != sweep.StatusDone {
		if t.Reason != "" {
			line += ", " + strings.ReplaceAll(t.Reason, "\n", " | ")
		}
		return line
	}
	d := rec.lastDerived()
	if d == nil {
		return line
	}
	line += fmt.Sprintf(", %d of %d requests ok", d.Row.OK, d.Row.Due)
	for _, g := range d.Goodput {
		if g.GoodputReqS != nil && g.Attainment != nil {
			line += fmt.Sprintf(", goodput %.4g/s, attainment %.1f %%", *g.GoodputReqS, 100**g.Attainment)
			break
		}
	}
	if d.Row.Verdict != sweep.VerdictValid {
		line += ", " + d.Row.Verdict + ": " + strings.Join(doubtsOf(d), ", ")
	}
	return line
}

// doubtsOf are the codes behind a trial's verdict: its own, or else the worst of its cell's.
func doubtsOf(d *sweep.TrialDerived) []string {
	var codes []string
	for _, f := range d.Flags {
		if string(f.Severity) == d.Row.Verdict && !slices.Contains(codes, f.Code) {
			codes = append(codes, f.Code)
		}
	}
	if len(codes) == 0 {
		codes = d.Row.Flags[:min(1, len(d.Row.Flags))]
	}
	return codes
}

// left says how much time is left, by what the trials that ended took against what was expected.
func (s *progress) left(ended int) string {
	done, rest := 0.0, 0.0
	for i, seconds := range s.expectedS {
		if i < ended {
			done += seconds
		} else {
			rest += seconds
		}
	}
	if done == 0 || rest == 0 {
		return roundTime(rest) + " left"
	}
	return roundTime(rest*time.Since(s.startedAt).Seconds()/done) + " left"
}

func (s *progress) close() {
	if s.bars == nil {
		return
	}
	s.now.Abort(true)
	s.whole.Abort(false)
	s.bars.Wait()
}

// roundTime is a time for people: 45s, 1m58s, 7h30m.
func roundTime(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < time.Hour:
		return d.Round(time.Second).String()
	case d < 100*time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return strings.TrimSuffix(d.Round(time.Hour).String(), "0m0s")
}

// counted is a number of things: 1 trial, 2 trials.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
