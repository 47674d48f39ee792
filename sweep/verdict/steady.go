package verdict

import (
	"math"
	"slices"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/analysis"
	"github.com/inference-sweep/sweep/sweep/stats"
)

// ttftInOrder are the TTFTs of the measured requests that have one, in the order in which they were due.
func (j *judged) ttftInOrder() []float64 {
	var series []float64
	for _, a := range j.Arrivals {
		if a.TTFTNS != sweep.None {
			series = append(series, float64(a.TTFTNS))
		}
	}
	return series
}

// checkTrend: TTFT that rises or falls through the window. A burst has no steady state to miss.
func checkTrend(j *judged) {
	series := j.ttftInOrder()
	if j.Load == sweep.LoadBurst || len(series) < rules[overloaded].least {
		return
	}
	medians := stats.BinMedians(series, steadyBins)
	trend := stats.MannKendall(medians)
	completed := float64(j.EndedOK) / float64(j.Due)
	if trend.PUp < trendP && completed < completedShare {
		j.raiseAlways(overloaded, steadyBins, trend.PUp, percent(completed))
		return
	}
	if len(series) < rules[noSteadyState].least {
		return
	}
	z := trend.Z / math.Sqrt(correlation(medians, trend.Sen))
	if p := tailP(math.Abs(z)); p < trendP {
		direction := "rose"
		if z < 0 {
			direction = "fell"
		}
		j.raiseAlways(noSteadyState, direction, steadyBins, p)
	}
}

// correlation is by how much the variance of a trend statistic grows because neighbouring bins depend on each other: a
// queue that fills and empties carries over from one to the next, where bins are not much longer than a request. It is
// taken from what is left of the series without its trend, and bounded so that a series which never turns stays a trend.
func correlation(medians []float64, slope float64) float64 {
	rest := make([]float64, len(medians))
	for i, x := range medians {
		rest[i] = x - slope*float64(i)
	}
	rho, _, _ := stats.Lag1(rest)
	if !(rho > 0) {
		return 1
	}
	return math.Min((1+rho)/(1-rho), mostCorrelation)
}

// tailP is the chance of a normal deviate beyond z.
func tailP(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// checkColdStart: first requests that paid for something the later ones did not. Where the warm-up had already seen the
// server answer far faster, what slows the window's start is a queue that came and went, not coldness.
func checkColdStart(j *judged) {
	series := j.ttftInOrder()
	first := int(coldShare * float64(len(series)))
	if first < rules[coldInWindow].least {
		return
	}
	startNS, restNS := median(series[:first]), median(series[first:])
	severity, ok := beyond(coldInWindow, startNS/restNS)
	if !ok {
		return
	}
	warmNS := j.WarmupTTFT(j.Load != sweep.LoadClosed).PercentileNS(warmPerMille)
	if startNS > rules[coldInWindow].suspect*warmNS {
		return
	}
	j.raise(coldInWindow, severity, first, ms(startNS), ms(restNS))
}

func median(series []float64) float64 {
	return stats.Percentile(slices.Sorted(slices.Values(series)), 500)
}

// driftFlags compare the first half of the baseline's blocks with the second. A server that gets slower with every block
// spreads both halves, so that Welch's test cannot tell it in the usual six blocks, however much it is: there the order of
// the blocks does.
func driftFlags(blocks []analysis.Values) []sweep.Flag {
	if len(blocks) < rules[drift].least {
		return nil
	}
	var flags []sweep.Flag
	for _, metric := range []string{analysis.GoodputReqS, "ttft_p50"} {
		logs, ok := logsOf(metric, blocks)
		if !ok {
			continue
		}
		half := len(logs) / 2
		_, _, halves := stats.WelchT(logs[:half], logs[half:])
		order := stats.MannKendall(logs).P
		before, _ := stats.Moments(logs[:half])
		after, _ := stats.Moments(logs[half:])
		change := math.Exp(after-before) - 1
		sized := math.Abs(change) > driftSize
		switch {
		case halves < driftP || halves < driftPWithSize && sized:
			flags = append(flags, flagged(drift, rules[drift].always, metric, percent(change), half, len(logs)-half, "Welch on logs", halves))
		case order < driftPWithSize && sized:
			flags = append(flags, flagged(drift, rules[drift].always, metric, percent(change), half, len(logs)-half, "Mann–Kendall over blocks", order))
		}
	}
	return flags
}

// logsOf are a metric's logarithms in block order; not ok where one does not exist.
func logsOf(metric string, blocks []analysis.Values) (logs []float64, ok bool) {
	for _, values := range blocks {
		x, ok := values[metric]
		if !ok || x <= 0 {
			return nil, false
		}
		logs = append(logs, math.Log(x))
	}
	return logs, true
}
