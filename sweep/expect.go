package sweep

import (
	"math"
	"time"

	"github.com/inference-sweep/sweep/schema"
)

// Guesses that stand in for what only a run can tell. They size a night; no figure is made from them.
const (
	guessedTTFTS     = 0.05
	guessedTokenS    = 0.01
	guessedDrainS    = 0.3
	simLaunchS       = 0.45
	realLaunchS      = 90.0
	rowBytes         = 200
	tokenBytes       = 5
	trialBytes       = 6000
	guessedTraceMean = 256.0
)

// Duration reads one of the schema's durations, which the schema has checked; an absent one is 0.
func Duration[T ~string](text T) time.Duration {
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return 0
	}
	return d
}

// meanLength is the expected length of a distribution in tokens.
func meanLength(l schema.Lengths) float64 {
	switch {
	case l.Fixed > 0:
		return float64(l.Fixed)
	case l.Uniform != nil:
		return float64(l.Uniform.Min+l.Uniform.Max) / 2
	case l.Lognormal != nil:
		mean := float64(l.Lognormal.Median) * math.Exp(l.Lognormal.Sigma*l.Lognormal.Sigma/2)
		if l.Lognormal.Max > 0 {
			mean = min(mean, float64(l.Lognormal.Max))
		}
		return mean
	}
	return guessedTraceMean
}

// expectedRatePerS is how many requests a second a cell is expected to send: its rate, or a guess for a closed loop.
func expectedRatePerS(c *Cell) float64 {
	load := c.Contract.Load
	if load.Open != nil {
		return load.Open.Rate
	}
	if load.Closed != nil && c.Target == "sim" {
		prompt, output := meanLength(c.Contract.Prompt.Length), meanLength(c.Contract.Output.Length)
		return simClosedRatePerS(c.Contract.Engine.Args, prompt, output, float64(load.Closed.Clients), Duration(load.Closed.Think).Seconds())
	}
	if load.Closed != nil {
		each := guessedTTFTS + guessedTokenS*meanLength(c.Contract.Output.Length) + Duration(load.Closed.Think).Seconds()
		return float64(load.Closed.Clients) / each
	}
	return float64(c.Measure.Requests)
}

// expectedRequests is the number of requests expected to be due in a trial's window.
func expectedRequests(c *Cell) int { return int(min(math.Round(expectedDue(c)), 1<<53)) }

func expectedDue(c *Cell) float64 {
	if c.Measure.Requests > 0 {
		return float64(c.Measure.Requests)
	}
	due := expectedRatePerS(c) * Duration(c.Measure.Duration).Seconds()
	return max(due, float64(c.Measure.MinRequests))
}

// expectedLoadS is how long one trial's load is expected to take, in seconds, and how many requests it has.
func expectedLoadS(c *Cell, requests int) (seconds float64, sent float64) {
	rate := expectedRatePerS(c)
	window := max(Duration(c.Measure.Duration).Seconds(), float64(requests)/rate)
	warmup := Duration(c.Warmup.Duration).Seconds()
	if c.Warmup.Requests != nil {
		warmup = max(warmup, float64(*c.Warmup.Requests)/rate)
	}
	drain := guessedDrainS
	if c.Target != "sim" {
		drain = guessedTTFTS + guessedTokenS*meanLength(c.Contract.Output.Length)
	}
	drain = min(drain, max(Duration(c.Tail).Seconds(), guessedDrainS))
	seconds = warmup + window + drain
	return seconds, rate * seconds
}

// Times are how long the parts of a run took before, in seconds: a trial by its digest, and the start of a server, or 0.
type Times struct {
	Trial  map[string]float64
	Launch float64
}

// Expected is how long trials are expected to take in seconds, and how much the database grows by them in bytes.
func (p *Plan) Expected(trials []Trial) (seconds float64, bytes int64) {
	return p.ExpectedFrom(Times{}, trials)
}

// ExpectedFrom is Expected where some of it was measured before; the rest is guessed.
func (p *Plan) ExpectedFrom(known Times, trials []Trial) (seconds float64, bytes int64) {
	size := 0.0
	for _, t := range trials {
		cell := p.CellNamed(t.Cell)
		s, sent := expectedLoadS(&cell.Cell, cell.Requests)
		s += expectedPrimingS(&cell.Cell)
		if measured, ok := known.Trial[t.Digest]; ok {
			s = measured
		}
		seconds += s
		size += trialBytes + sent*(rowBytes+tokenBytes*meanLength(cell.Cell.Contract.Output.Length)) + float64(cell.Cell.Heads())*(rowBytes+tokenBytes)
	}
	launch := known.Launch
	if launch == 0 {
		launch = p.launchS()
	}
	return seconds + float64(p.countLaunches(trials))*launch, int64(size)
}

func (p *Plan) launchS() float64 {
	if p.Cells[0].Cell.Target == "sim" {
		return simLaunchS
	}
	return realLaunchS
}
