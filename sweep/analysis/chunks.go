package analysis

import (
	"fmt"

	"github.com/inference-sweep/sweep/sweep"
)

// TinyGapNS is under what a gap between two events says that they were read together.
const TinyGapNS = 20_000

// An eventLog is one request's output events, decoded; the buffers are used again for the next request.
type eventLog struct {
	atNS   []int64
	tokens []int64
	// counted says that every event said how many tokens it carried.
	counted bool
}

func (l *eventLog) read(r *sweep.Request) error {
	l.atNS, l.tokens, l.counted = l.atNS[:0], l.tokens[:0], len(r.ChunkLog) > 0
	for c, err := range sweep.Chunks(r.ChunkLog) {
		if err != nil {
			return fmt.Errorf("request %d: %w", r.Seq, err)
		}
		l.atNS, l.tokens = append(l.atNS, c.AtNS), append(l.tokens, c.Tokens)
		l.counted = l.counted && c.Tokens != sweep.None
	}
	return nil
}

// gaps records the times between events, and, where the tokens of each event are known, the time of each token: an
// event's gap spread over its tokens. The time of an event without tokens belongs to the token that comes after it.
func (l *eventLog) gaps(between, perToken *Sample) error {
	if len(l.atNS) < 2 {
		return nil
	}
	between.requests++
	if l.counted {
		perToken.requests++
	}
	pendingNS := int64(0)
	for i := 1; i < len(l.atNS); i++ {
		gapNS := l.atNS[i] - l.atNS[i-1]
		if err := between.recordGap(gapNS, 1); err != nil {
			return err
		}
		if !l.counted {
			continue
		}
		pendingNS += gapNS
		if n := l.tokens[i]; n > 0 {
			if err := spread(perToken, pendingNS, n); err != nil {
				return err
			}
			pendingNS = 0
		}
	}
	return nil
}

// spread records a time split over n tokens, in whole nanoseconds whose sum is that time.
func spread(sample *Sample, ns, n int64) error {
	each, rest := ns/n, ns%n
	if err := sample.recordGap(each+1, rest); err != nil {
		return err
	}
	return sample.recordGap(each, n-rest)
}

// tiny counts the gaps too short to be two readings, and all gaps, each request's first apart: engines send the first
// two tokens together.
func (l *eventLog) tiny() (short, all int64) {
	for i := 2; i < len(l.atNS); i++ {
		all++
		if l.atNS[i]-l.atNS[i-1] < TinyGapNS {
			short++
		}
	}
	return short, all
}

// tokensWithin is how many of the request's tokens arrived in [fromNS, toNS), counted from its sending. An event's
// tokens are its own count or, where one of them has none, an even share of the request's total, which arrives whole
// with the last token where there is no log. It is not known where nobody counted.
func (l *eventLog) tokensWithin(r *sweep.Request, fromNS, toNS int64) (tokens float64, known bool) {
	inside := func(ns int64) bool { return fromNS <= ns && ns < toNS }
	switch {
	case l.counted:
		for i, ns := range l.atNS {
			if inside(ns) {
				tokens += float64(l.tokens[i])
			}
		}
		return tokens, true
	case r.OutputTokens == sweep.None:
		return 0, false
	case len(l.atNS) == 0:
		if r.LastTokenNS != sweep.None && inside(r.LastTokenNS) {
			tokens = float64(r.OutputTokens)
		}
		return tokens, true
	}
	events := 0
	for _, ns := range l.atNS {
		if inside(ns) {
			events++
		}
	}
	return float64(r.OutputTokens) * float64(events) / float64(len(l.atNS)), true
}
