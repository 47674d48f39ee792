package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// settled is when a cell's blocks settled beside how long they were warmed up, in milliseconds and in order. Where no
// steady state was found in a block, that is later than anything.
type settled struct {
	lengths, founds []float64
	never           int
}

func (s *scope) settled(sub subject) settled {
	var all settled
	for _, r := range s.settlings[sub.name] {
		if x := finite(r.WarmupMS); x != nil {
			all.lengths = append(all.lengths, *x)
		}
		switch found := finite(r.FoundMS); {
		case r.Settled == nil || found == nil:
		case *r.Settled:
			all.founds = append(all.founds, *found)
		default:
			all.founds = append(all.founds, math.Inf(1))
			all.never++
		}
	}
	slices.Sort(all.lengths)
	slices.Sort(all.founds)
	return all
}

// middle is the median of sorted values, of two the lower one; nil where there are none.
func middle(sorted []float64) *float64 {
	if len(sorted) == 0 {
		return nil
	}
	return &sorted[(len(sorted)-1)/2]
}

// settlingValues are the length of a cell's warm-up and when it had settled, in seconds.
func (s *scope) settlingValues(sub subject) []Value {
	all := s.settled(sub)
	length, found := finite(middle(all.lengths)), finite(middle(all.founds))
	var doubts []string
	if length != nil && found != nil && *found > *length {
		doubts = append(doubts, "late")
	}
	if all.never > 0 {
		doubts = append(doubts, fmt.Sprintf("none %d/%d", all.never, len(all.founds)))
	}
	settled := plain(inSeconds(found), significant2)
	switch doubt := strings.Join(doubts, ", "); {
	case found != nil && doubt != "":
		settled.Suffix = " " + doubt
	case found == nil && doubt != "":
		settled = words(doubt)
	}
	if length == nil || settled.Missing() {
		s.notSettled(sub)
	}
	return []Value{plain(inSeconds(length), significant2), settled}
}

// notSettled notes why a cell has no time at which it had settled.
func (s *scope) notSettled(sub subject) {
	if why := s.why(sub); why != "" {
		s.dash(sub.name, why)
		return
	}
	s.dash(groupSettling+" of "+sub.name, s.whyNotSettled(sub))
}

func (s *scope) whyNotSettled(sub subject) string {
	rows := s.settlings[sub.name]
	switch {
	case len(rows) > 0:
		most := slices.MaxFunc(rows, func(a, b *sweep.SettlingRow) int { return int(a.N - b.N) })
		return fmt.Sprintf("a block has at most %d requests: where they settle needs 50", most.N)
	case sub.cell.Cell.LoadKind() == sweep.LoadBurst:
		return "a burst has no load that settles"
	case !sub.cell.Cell.Contract.Streaming:
		return "answers do not stream: there is no TTFT that settles"
	}
	return "where it settled was not derived"
}

func inSeconds(ms *float64) *float64 {
	if ms = finite(ms); ms == nil {
		return nil
	}
	seconds := *ms / 1000
	return &seconds
}

// settlingRows are the same as rows of the view, in milliseconds.
func (s *scope) settlingRows(sub subject) [][]any {
	all := s.settled(sub)
	var rows [][]any
	for _, figure := range []struct {
		metric string
		values []float64
	}{{"warmup_ms", all.lengths}, {"found_ms", all.founds}} {
		if n := len(figure.values); n > 0 {
			rows = append(rows, []any{s.Plan.Name, sub.name, nil, string(sweep.PhaseWarmup), figure.metric, int64(n),
				null(&figure.values[0]), null(middle(figure.values)), nil, null(&figure.values[n-1])})
		}
	}
	return rows
}
