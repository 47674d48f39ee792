package verdict

import (
	"fmt"
	"math"
	"slices"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/analysis"
	"github.com/inference-sweep/sweep/sweep/stats"
)

// maxInFlight says whether requests may wait in the client by the contract's own will.
func (j *judged) maxInFlight() bool {
	open := j.cell.Cell.Contract.Load.Open
	return open != nil && open.MaxInFlight > 0
}

// medianTTFT is the median TTFT of the measured requests in nanoseconds, from due or from sent; NaN where there is none.
func (j *judged) medianTTFT() float64 { return j.TTFT(j.Load != sweep.LoadClosed).PercentileNS(500) }

// checkLateness: requests that left the client late for no declared reason, or never.
func checkLateness(j *judged) {
	if unsent := j.Due - j.Sent - j.Unconnected; float64(unsent) > unsentShare*float64(j.Due) {
		j.raise(lateSends, sweep.Invalid, fmt.Sprintf("%d of %d requests were never sent", unsent, j.Due))
		return
	}
	latenessNS := lateness(j.Arrivals, j.maxInFlight())
	medianNS := j.medianTTFT()
	for _, severity := range []sweep.Severity{sweep.Invalid, sweep.Suspect} {
		limit := lateLimits[severity]
		limitNS := limit.floorNS
		if byTTFT := limit.ofTTFT * medianNS; byTTFT > limitNS {
			limitNS = byTTFT
		}
		late, worstNS := 0, 0.0
		for _, ns := range latenessNS {
			if ns > limitNS {
				late++
				worstNS = max(worstNS, ns)
			}
		}
		if late >= rules[lateSends].least && float64(late) > rules[lateSends].suspect*float64(j.Due) {
			j.raise(lateSends, severity, fmt.Sprintf("%d of %d requests left more than %s late, up to %s", late, j.Due, ms(limitNS), ms(worstNS)))
			return
		}
	}
}

// lateness is how late each request was sent, in nanoseconds, apart from its connecting and, where slots are limited,
// its wait for one.
func lateness(arrivals []analysis.Arrival, slots bool) []float64 {
	var late []float64
	for _, a := range arrivals {
		if a.SentNS == sweep.None {
			continue
		}
		ns := a.SentNS - a.DueNS - max(a.DialNS, 0)
		if slots {
			ns -= max(a.QueueNS, 0)
		}
		late = append(late, float64(ns))
	}
	return late
}

// times are the due times and the sorted sent times of an open loop's measured requests, but for those that found no
// server to be sent to.
func (j *judged) times() (due, sent []float64) {
	for _, a := range j.Arrivals {
		if a.Unconnected {
			continue
		}
		due = append(due, float64(a.DueNS))
		if a.SentNS != sweep.None {
			sent = append(sent, float64(a.SentNS))
		}
	}
	slices.Sort(sent)
	return due, sent
}

// scheduled is the severity of a departure from the schedule: with a limit on requests in flight it is the contract's own.
func (j *judged) scheduled(severity sweep.Severity) sweep.Severity {
	if j.maxInFlight() {
		return sweep.Note
	}
	return severity
}

// checkRate: the rate sent against the schedule's own.
func checkRate(j *judged) {
	if j.Load != sweep.LoadOpen {
		return
	}
	due, sent := j.times()
	if len(sent) < rules[rateMissed].least {
		return
	}
	asked, reached := ratePerS(due), ratePerS(sent)
	off := math.Abs(reached/asked - 1)
	if severity, ok := beyond(rateMissed, off); ok {
		j.raise(rateMissed, j.scheduled(severity), reached, asked, percent(off))
	}
}

// ratePerS is (n − 1) ÷ (last − first) of sorted times in nanoseconds.
func ratePerS(timesNS []float64) float64 {
	return float64(len(timesNS)-1) / ((timesNS[len(timesNS)-1] - timesNS[0]) / 1e9)
}

// checkArrivals: the law of the gaps sent against that of the gaps scheduled.
func checkArrivals(j *judged) {
	if j.Load != sweep.LoadOpen {
		return
	}
	due, sent := j.times()
	open := j.cell.Cell.Contract.Load.Open
	what, sample := "gaps", gapSteps
	if open.Rate > countedAbovePerS {
		what, sample = "counts per 10 ms", binCounts
	}
	if len(sent) < rules[arrivalLaw].least {
		return
	}
	d := distance(sample(sent), sample(due), latticed(open.Arrival))
	if severity, ok := beyond(arrivalLaw, d); ok {
		j.raise(arrivalLaw, j.scheduled(severity), what, d, rules[arrivalLaw].suspect)
	}
}

// latticed says whether a schedule's gaps repeat, so that they pile up on a few steps.
func latticed(arrival string) bool { return arrival == "constant" || arrival == "trace" }

// gapSteps are the gaps between sorted times, rounded up to whole steps.
func gapSteps(timesNS []float64) []float64 {
	var gaps []float64
	for i := 1; i < len(timesNS); i++ {
		gaps = append(gaps, math.Ceil((timesNS[i]-timesNS[i-1])/gapStepNS))
	}
	return gaps
}

// binCounts are the counts of sorted times in equal bins from the first on; an incomplete last bin is left out.
func binCounts(timesNS []float64) []float64 {
	first := timesNS[0]
	counts := make([]float64, int((timesNS[len(timesNS)-1]-first)/countBinNS))
	for _, ns := range timesNS {
		if i := int((ns - first) / countBinNS); i < len(counts) {
			counts[i]++
		}
	}
	return counts
}

// distance is the Kolmogorov–Smirnov distance of two samples of whole steps. Where the schedule piles up on a few steps,
// a microsecond moves a whole pile to the next one; then what lies one step off counts as equal.
func distance(sent, scheduled []float64, tolerant bool) float64 {
	if !tolerant {
		return stats.KSTwoSample(sent, scheduled)
	}
	slices.Sort(sent)
	slices.Sort(scheduled)
	d := 0.0
	for _, x := range slices.Concat(sent, scheduled) {
		d = max(d, share(sent, x)-share(scheduled, x+1), share(scheduled, x)-share(sent, x+1))
	}
	return d
}

// share is the part of a sorted sample that is at most x.
func share(sorted []float64, x float64) float64 {
	n, _ := slices.BinarySearchFunc(sorted, x, func(v, x float64) int {
		if v <= x {
			return -1
		}
		return 1
	})
	return float64(n) / float64(len(sorted))
}

// checkClient: the client's own processor time, and its floor against the figure.
func checkClient(j *judged) {
	if busy, ok := j.observed.number(sweep.ObsClientCPUShare); ok {
		if severity, ok := beyond(clientLimited, busy); ok {
			j.raise(clientLimited, severity, "the client used "+percent(busy)+" of its processors")
		}
	}
	floorNS, ok := j.observed.number(sweep.ObsFloorNS)
	if medianNS := j.medianTTFT(); ok && floorNS > floorShare*medianNS {
		j.raise(clientLimited, sweep.Suspect, fmt.Sprintf(
			"a server that answers at once gives a TTFT of %s here, more than %s of the median %s", ms(floorNS), percent(floorShare), ms(medianNS)))
	}
}

// checkLocal: requests for which the client had no port or descriptor.
func checkLocal(j *judged) {
	if j.LocalFailures > 0 {
		j.raise(clientLimited, sweep.Invalid, fmt.Sprintf("the client had no port or descriptor for %d requests", j.LocalFailures))
	}
}
