package stream

import (
	"unicode/utf8"

	"github.com/inference-sweep/sweep/sweep"
)

// This file holds the definitions that decide what an event of a stream is: whether it stops the clock of the first
// token, how many tokens it carries, and who counted them.

// apply takes the event that was just read.
func (d *Decoder) apply(at int64) {
	d.good = true
	if d.ev.fault != nil {
		d.fault = d.ev.fault
		return
	}
	f := &d.facts
	grown, known := f.growth.of(&d.ev)
	kind, output := d.ev.kind(grown)
	if output {
		d.output(at, kind, d.tokens(grown, known))
	}
	f.growth.take(&d.ev, output)
	d.common()
	if d.ev.usage.present && len(d.ev.choices) == 0 {
		f.bare = true
	}
	for i := range d.ev.choices {
		d.reply(&d.ev.choices[i])
	}
	if d.Finished() {
		d.lastWord = at
	}
}

// kind says whether an event is an output event, and of which kind.
func (e *event) kind(grown int64) (kind sweep.ChunkKind, output bool) {
	silent := len(e.choices) > 0
	var text, reasoning, tool, ids bool
	for i := range e.choices {
		ch := &e.choices[i]
		text = text || !ch.text.empty()
		reasoning = reasoning || !ch.reasoning.empty()
		tool = tool || ch.tool
		ids = ids || ch.substance()
		silent = silent && len(ch.finish) == 0 && ch.mute()
	}
	switch {
	case text:
		return sweep.ChunkText, true
	case tool:
		return sweep.ChunkTool, true
	case reasoning:
		return sweep.ChunkReasoning, true
	case ids:
		return sweep.ChunkIDs, true
	}
	return sweep.ChunkUsage, silent && grown > 0
}

// mute says that a choice shows nothing: no text, no reasoning, no tool call.
func (ch *choice) mute() bool {
	return ch.text.empty() && ch.reasoning.empty() && !ch.tool
}

// substance says that a choice carries output: something to see, or token ids other than a lone end of sequence.
func (ch *choice) substance() bool {
	if !ch.mute() {
		return true
	}
	return ch.ids > 1 || ch.ids == 1 && string(ch.finish) != "stop"
}

// of is how much an event's usage grew over the stream's earlier one, and whether that growth is this event's alone.
func (g *usageGrowth) of(e *event) (grown int64, known bool) {
	if !e.usage.present || e.usage.completion == sweep.None {
		return 0, false
	}
	grown = e.usage.completion - g.base
	return max(grown, 0), grown >= 0 && !g.gap
}

func (g *usageGrowth) take(e *event, output bool) {
	if e.usage.present && e.usage.completion != sweep.None {
		g.base, g.gap = max(g.base, e.usage.completion), false
	} else if output {
		g.gap = true
	}
}

// tokens is the number of tokens in an output event: its token ids, or the growth of the usage while one choice is all
// there is; else None.
func (d *Decoder) tokens(grown int64, known bool) int64 {
	ids, counted, whole := int64(0), false, true
	for i := range d.ev.choices {
		switch ch := &d.ev.choices[i]; {
		case ch.ids >= 0:
			ids, counted = ids+ch.ids, true
		case !ch.mute():
			whole = false
		}
	}
	byIDs := whole && counted
	d.facts.idsWhole = d.facts.idsWhole && byIDs
	switch {
	case byIDs:
		return ids
	case known && d.single():
		return grown
	}
	return sweep.None
}

// single says that this stream has one choice, as far as can be seen.
func (d *Decoder) single() bool {
	return len(d.facts.replies) <= 1 && len(d.ev.choices) == 1 && d.ev.choices[0].index == 0
}

// output records an output event.
func (d *Decoder) output(at int64, kind sweep.ChunkKind, tokens int64) {
	f := &d.facts
	previous := int64(0)
	if f.chunks == 0 {
		f.first, f.firstTokens, f.byUsage = at, tokens, kind == sweep.ChunkUsage
	} else {
		previous = f.last
	}
	f.log = sweep.AppendChunk(f.log, previous, sweep.Chunk{AtNS: at, Tokens: tokens, Kind: kind})
	f.last = at
	f.chunks++
	d.lastOutput = at
	switch kind {
	case sweep.ChunkReasoning:
		f.thought = true
	case sweep.ChunkText, sweep.ChunkTool:
		f.answered(at)
	}
	f.substance = f.substance || kind != sweep.ChunkUsage
}

// answered records output that is not reasoning. Without a thought before it, silent events before the first text were
// half a character of it: the answer then began with them.
func (f *facts) answered(at int64) {
	if f.answer != sweep.None {
		return
	}
	if f.answer = at; !f.thought {
		f.answer = f.first
	}
}

// common takes what stands beside the choices.
func (d *Decoder) common() {
	f, e := &d.facts, &d.ev
	if f.model == "" && len(e.model) > 0 {
		if string(e.model) != d.modelName {
			d.modelName = string(e.model)
		}
		f.model = d.modelName
	}
	if e.usage.present {
		f.usage.take(e.usage)
	}
	for i := range e.choices {
		if n := e.choices[i].ids; n > 0 {
			f.ids += n
		}
	}
	keep(&f.queueNS, e.queueNS)
	keep(&f.cachedN, e.cachedN)
	keep(&f.promptIDs, e.promptIDs)
}

func keep(to *int64, n int64) {
	if n >= 0 {
		*to = n
	}
}

// take lets the usage with the largest count of completion tokens win; of equals, what the later one knows.
func (u *usage) take(next usage) {
	if u.completion >= 0 && next.completion < u.completion {
		return
	}
	u.present = true
	keep(&u.completion, next.completion)
	keep(&u.prompt, next.prompt)
	keep(&u.cached, next.cached)
	keep(&u.thinking, next.thinking)
}

// reply takes what an event says about one choice.
func (d *Decoder) reply(ch *choice) {
	f := &d.facts
	i := int(min(max(ch.index, 0), maxReplies-1))
	for len(f.replies) <= i {
		f.replies = grow(f.replies)
	}
	r := &f.replies[i]
	r.seen = true
	if len(ch.finish) > 0 {
		r.finish = finishName(ch.finish)
	}
	if d.opts.KeepText && !ch.text.empty() && !r.full {
		r.text = appendText(r.text, ch.text)
		r.text, r.full = clipText(r.text, d.opts.TextCap)
	}
}

// grow adds a reply, with the buffer of an earlier answer where there is one.
func grow(replies []reply) []reply {
	n := len(replies)
	if n == cap(replies) {
		return append(replies, reply{})
	}
	replies = replies[:n+1]
	replies[n] = reply{text: replies[n].text[:0]}
	return replies
}

// clipText keeps a text within a limit (0: none), whole characters only, and says whether the limit was met.
func clipText(text []byte, limit int) ([]byte, bool) {
	if limit <= 0 || len(text) <= limit {
		return text, false
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit], true
}

// finishName is the finish reason without an allocation for the common ones.
func finishName(b []byte) string {
	switch string(b) {
	case "stop":
		return "stop"
	case "length":
		return "length"
	case "tool_calls":
		return "tool_calls"
	}
	return string(b)
}
