package analysis

import (
	"slices"
	"strconv"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/stats"
)

// Metrics are the times of the view latency, in its order.
var Metrics = []string{"ttft", "ttft_due", "tpot", "gap", "itl", "e2e", "e2e_due", "queue", "server_queue", "answer"}

// Places of Metrics.
const (
	ttft = iota
	ttftDue
	tpot
	gap
	itl
	e2e
	e2eDue
	queue
	serverQueue
	answer
	metricCount
)

// streamed are the metrics that a whole answer at once does not have.
var streamed = [metricCount]bool{ttft: true, ttftDue: true, tpot: true, gap: true, itl: true, answer: true}

// timeNS is a request's value of each metric that it has one of, in nanoseconds; gaps apart, which are many a request.
func timeNS(metric int, r *sweep.Request) (float64, bool) {
	ns := int64(sweep.None)
	switch metric {
	case ttft:
		ns = r.FirstTokenNS
	case ttftDue:
		ns = r.FromDueNS(r.FirstTokenNS)
	case tpot:
		return r.TPOTNS()
	case e2e:
		ns = r.LastTokenNS
	case e2eDue:
		ns = r.FromDueNS(r.LastTokenNS)
	case queue:
		ns = r.QueueNS
	case serverQueue:
		ns = r.ServerQueueNS
	case answer:
		ns = r.AnswerNS
	}
	return float64(ns), ns != sweep.None
}

// Figures of a block that are not percentiles.
const (
	GoodputReqS    = "goodput_req_s"
	GoodputTokS    = "goodput_tok_s"
	GoodputTokSGPU = "goodput_tok_s_gpu"
	RequestRate    = "request_rate"
	InputRate      = "input_rate"
	OutputRate     = "output_rate"
	Attainment     = "attainment"
)

// HigherIsBetter says in which direction a metric improves: rates and attainment up, times down.
func HigherIsBetter(metric string) bool {
	switch metric {
	case GoodputReqS, GoodputTokS, GoodputTokSGPU, RequestRate, InputRate, OutputRate, Attainment:
		return true
	}
	return false
}

// percentileName is METRIC_pNN.
func percentileName(metric, perMille int) string {
	return Metrics[metric] + "_p" + strconv.Itoa(perMille/10)
}

// Exists says that a block of a cell can have a metric, by what the cell is; whether it has requests enough is Needs' to
// say.
func Exists(metric string, cell *sweep.PlanCell) bool {
	contract := &cell.Cell.Contract
	switch metric {
	case GoodputReqS, GoodputTokS, GoodputTokSGPU, Attainment:
		return contract.SLO != nil
	}
	m, _ := percentileOf(metric)
	switch {
	case m < 0:
		return true
	case m == tpot || m == gap || m == itl:
		return contract.Streaming && contract.Output.Length.Fixed != 1
	}
	return contract.Streaming || !streamed[m]
}

// Needs is how many requests a block needs for a value of a metric: 0 for what is no percentile, and for those of gaps, of
// which a request has many.
func Needs(metric string) int {
	switch m, perMille := percentileOf(metric); {
	case m < 0:
		return 0
	case perMille >= 990:
		return p99Requests
	case m == gap || m == itl:
		return 0
	default:
		return stats.Floor(perMille)
	}
}

// percentileOf takes METRIC_pNN apart; the metric is negative where it is none of these.
func percentileOf(name string) (metric, perMille int) {
	base, percent, found := strings.Cut(name, "_p")
	p, err := strconv.Atoi(percent)
	if !found || err != nil {
		return -1, 0
	}
	return slices.Index(Metrics, base), 10 * p
}
