package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// lacking notes why a cell has no estimate of a metric over blocks, in the same words in every table.
func (s *scope) lacking(sub subject, metric string) {
	why := s.why(sub)
	name, p := percentileOf(metric)
	switch {
	case why != "":
		s.dash(sub.name, why)
	case sub.cell.Cell.Contract.SLO == nil && slices.Contains(judged, metric):
		s.dash(quantity(metric), "there is no SLO to judge by")
	case p != "":
		s.few(sub, name, p)
	case slices.Contains(counted, metric):
		s.dash(quantity(metric)+" of "+sub.name, "nobody counted the tokens")
	default:
		s.dash(quantity(metric)+" of "+sub.name, "no block has this figure")
	}
}

var (
	judged  = []string{"attainment", "goodput_req_s", "goodput_tok_s"}
	counted = []string{"output_rate", "goodput_tok_s"}
)

// percentileOf takes METRIC_pNN apart; p is empty where a metric is no percentile.
func percentileOf(metric string) (name, p string) {
	at := strings.LastIndex(metric, "_p")
	if at < 0 || !slices.Contains(percentiles, metric[at+1:]) {
		return metric, ""
	}
	return metric[:at], metric[at+1:]
}

// shortage is a percentile that blocks of some cells have too few values for.
type shortage struct {
	// what is the metric where its values are several a request, else empty: of requests, every metric has as many.
	what, p     string
	cells       []string
	least, most int64 // values of a block
}

// few notes that a cell's blocks have too few values of a metric for a percentile, or none.
func (s *scope) few(sub subject, metric, p string) {
	what := ""
	if metric == timeGap.metric || metric == timeITL.metric {
		what = timingOf(metric).name + " "
	}
	var least, most int64
	for i, r := range s.blockLatencies[measure{sub.name, metric, sweep.PhaseMeasure}] {
		if i == 0 || r.N < least {
			least = r.N
		}
		most = max(most, r.N)
	}
	if most == 0 {
		s.dash(timingOf(metric).name+" of "+sub.name, withoutValue(metric))
		return
	}
	at := slices.IndexFunc(s.shortages, func(o *shortage) bool { return o.what == what && o.p == p })
	if at < 0 {
		at = len(s.shortages)
		s.shortages = append(s.shortages, &shortage{what: what, p: p, least: least})
	}
	short := s.shortages[at]
	short.least, short.most = min(short.least, least), max(short.most, most)
	if !slices.Contains(short.cells, sub.name) {
		short.cells = append(short.cells, sub.name)
	}
}

// withoutValue says why no request has a time.
func withoutValue(metric string) string {
	switch metric {
	case timeTPOT.metric:
		return "no answer has two tokens that the server counted"
	case timeITL.metric:
		return "how many tokens a chunk holds is not known"
	}
	return "no successful request has it"
}

// floors are how many values of a block a percentile over blocks needs, as the between-block figures are defined.
var floors = map[string]string{
	"p50": "a block has %s: p50 needs 5",
	"p95": "a block has %s: p95 needs 59",
	"p99": "a block has %s: p99 over blocks needs 1,000 requests in each; of all blocks together it needs 299, and stands in the view latency",
}

// explained are the shortages as entries of the legend.
func (s *scope) explained() []Entry {
	figured := 0
	for _, sub := range s.cells {
		if s.why(sub) == "" {
			figured++
		}
	}
	var entries []Entry
	for _, short := range s.shortages {
		n := fmt.Sprint(short.least)
		if short.most > short.least {
			n += " to " + fmt.Sprint(short.most)
		}
		if n += " values"; n == "1 values" {
			n = "1 value"
		}
		where := short.what + short.p
		if len(short.cells) < figured {
			where += " of " + strings.Join(short.cells, ", ")
		}
		entries = append(entries, Entry{where, fmt.Sprintf(floors[short.p], n)})
	}
	return entries
}

// why says why a cell has no figure at all, or "" where it has trials that count.
func (s *scope) why(sub subject) string {
	if r := s.pooled(sub.name); r != nil && r.Blocks > 0 {
		return ""
	} else if r != nil && r.LeftOut > 0 {
		return sub.noneLeft(r.LeftOut)
	}
	status, reason := s.lastTrial(sub)
	switch {
	case status == "":
		return "it has not run"
	case status == sweep.StatusDone:
		return "its trials ended, but no figure was derived"
	}
	return statusWords(status, reason)
}

// noneLeft says that none of a cell's blocks counts, and what invalidates them.
func (sub subject) noneLeft(blocks int) string {
	text := "its only block does not count"
	if blocks > 1 {
		text = fmt.Sprintf("none of its %d blocks counts", blocks)
	}
	codes := sub.codes(string(sweep.Invalid), func(sweep.Flag) bool { return true })
	if len(codes) == 0 {
		return text
	}
	return text + ": invalid by " + strings.Join(codes, ", ")
}
