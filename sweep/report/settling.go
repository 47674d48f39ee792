package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// settled is when a cell's blocks settled beside how long they were warmed up, in milliseconds and in order.
type settled struct {
	// lengths are of all blocks, founds of those in which it was found, offs of those that have requests enough to say.
	lengths, founds, offs []float64
	// late is how many blocks settled after their warm-up, never in how many it was not found.
	late, never int
}

func (s *scope) settled(sub subject) settled {
	var all settled
	for _, r := range s.settlings[sub.name] {
		if x := finite(r.WarmupMS); x != nil {
			all.lengths = append(all.lengths, *x)
		}
		found := finite(r.FoundMS)
		if r.Settled == nil || found == nil {
			continue
		}
		if off := windowOff(r); off != nil {
			all.offs = append(all.offs, *off)
		}
		switch {
		case !*r.Settled:
			all.never++
			continue
		case r.CutN > r.WarmupN:
			all.late++
		}
		all.founds = append(all.founds, *found)
	}
	slices.Sort(all.lengths)
	slices.Sort(all.founds)
	slices.Sort(all.offs)
	return all
}

// windowOff is by how many percent the mean TTFT of a block's window differs from that of what is kept of it: 0 where the
// cut ends before the window.
func windowOff(r *sweep.SettlingRow) *float64 {
	off := 0.0
	if r.CutN > r.WarmupN {
		whole, kept := finite(r.TTFTMS), finite(r.TTFTCutMS)
		if whole == nil || kept == nil || *kept == 0 {
			return nil
		}
		off = 100 * (*whole / *kept - 1)
	}
	return &off
}

// middle is the median of sorted values, of two the lower one; nil where there are none.
func middle(sorted []float64) *float64 {
	if len(sorted) == 0 {
		return nil
	}
	return &sorted[(len(sorted)-1)/2]
}

// furthest is the one of sorted values that is furthest from 0; nil where there are none.
func furthest(sorted []float64) *float64 {
	if len(sorted) == 0 {
		return nil
	}
	first, last := &sorted[0], &sorted[len(sorted)-1]
	if math.Abs(*first) > math.Abs(*last) {
		return first
	}
	return last
}

// settlingValues are the length of a cell's warm-up and when it had settled, in seconds, and how far its window is off, in
// percent.
func (s *scope) settlingValues(sub subject) []Value {
	all := s.settled(sub)
	var doubts []string
	if all.late > 0 {
		doubts = append(doubts, fmt.Sprintf("late %d/%d", all.late, len(all.founds)+all.never))
	}
	if all.never > 0 {
		doubts = append(doubts, fmt.Sprintf("none %d/%d", all.never, len(all.founds)+all.never))
	}
	length, settled := plain(inSeconds(middle(all.lengths)), significant2), plain(inSeconds(middle(all.founds)), significant2)
	switch doubt := strings.Join(doubts, ", "); {
	case doubt == "":
	case settled.Missing():
		settled = words(doubt)
	default:
		settled.Suffix = " " + doubt
	}
	if length.Missing() || settled.Missing() {
		s.notSettled(sub)
	}
	return []Value{length, settled, plain(furthest(all.offs), 1)}
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

// settlingRows are the same as rows of the view, in milliseconds and percent; of the blocks that are late, and of those in
// which it was not found, there is only their number.
func (s *scope) settlingRows(sub subject) [][]any {
	all := s.settled(sub)
	var rows [][]any
	add := func(metric string, n int, least, middle, most any) {
		rows = append(rows, []any{s.Plan.Name, sub.name, nil, string(sweep.PhaseWarmup), metric, int64(n), least, middle, nil, most})
	}
	for _, figure := range []struct {
		metric string
		values []float64
	}{{"warmup_ms", all.lengths}, {"found_ms", all.founds}, {"window_off_percent", all.offs}} {
		if n := len(figure.values); n > 0 {
			add(figure.metric, n, null(&figure.values[0]), null(middle(figure.values)), null(&figure.values[n-1]))
		}
	}
	if len(all.founds)+all.never > 0 {
		add("late_blocks", all.late, nil, nil, nil)
		add("unsettled_blocks", all.never, nil, nil, nil)
	}
	return rows
}
