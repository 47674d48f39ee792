package stream

import (
	"strconv"

	"github.com/inference-sweep/sweep/sweep"
)

// event holds the facts of one JSON payload: a chunk of a stream, or a whole answer. Its byte slices point into the
// payload and live no longer than it does.
type event struct {
	seen    seenKeys
	choices []choice
	usage   usage
	model   []byte
	// queueNS is the server's own word for the time in its queue, cachedN its count of cached prompt tokens outside the
	// usage, promptIDs the number of prompt token ids; each is None where the payload does not say.
	queueNS, cachedN, promptIDs int64
	// fault is the server's error, nil if there is none.
	fault *fault

	form form
}

// fault is an error as the server reports it.
type fault struct {
	message string
	code    int64 // or None
}

// choice is one entry of choices. Its texts are as they stand between the quotes.
type choice struct {
	index           int64
	seen            seenKeys
	text, reasoning rawText
	tool            bool // a tool call's name or non-empty arguments
	ids             int64
	finish          []byte // nil where null or missing
}

// rawText is the text of a JSON string before its escapes are resolved, or the text itself where plain.
type rawText struct {
	b       []byte
	escaped bool
}

func (t rawText) empty() bool { return len(t.b) == 0 }

// usage is the server's count of tokens; None where it does not say.
type usage struct {
	present                              bool
	prompt, completion, cached, thinking int64
}

var noUsage = usage{prompt: sweep.None, completion: sweep.None, cached: sweep.None, thinking: sweep.None}

// seenKeys remembers which keys an object has had: one that comes twice is left to the slow way.
type seenKeys uint32

const (
	keyChoices seenKeys = 1 << iota
	keyUsage
	keyModel
	keyError
	keyObject
	keyMetrics
	keyTimings
	keyPromptIDs
	keyIndex
	keyText
	keyDelta
	keyFinish
	keyIDs
	keyReasoning
	keyReasoningContent
	keyTool
	keyFunction
	keyName
	keyArguments
	keyPromptDetails
	keyCompletionDetails
)

func (s *seenKeys) first(k seenKeys) bool {
	if *s&k != 0 {
		return false
	}
	*s |= k
	return true
}

func (e *event) reset() {
	e.seen, e.choices, e.usage, e.model = 0, e.choices[:0], noUsage, nil
	e.queueNS, e.cachedN, e.promptIDs, e.fault = sweep.None, sweep.None, sweep.None, nil
	e.form.known = false
}

// scan reads a payload in place. It answers false for what it does not understand, valid or not: decode then decides.
func (e *event) scan(b []byte) bool { return e.scanAll(&cursor{b: b}) }

func (e *event) scanAll(c *cursor) bool {
	e.reset()
	c.space()
	if c.null() || !c.object(func(key []byte) bool { return e.scanTop(c, key) }) {
		return false
	}
	c.space()
	return c.i == len(c.b)
}

func (e *event) scanTop(c *cursor, key []byte) bool {
	switch string(key) {
	case "choices":
		return e.seen.first(keyChoices) && c.array(func(n int) bool { return e.scanChoice(c, n) })
	case "usage":
		return e.seen.first(keyUsage) && e.scanUsage(c)
	case "model":
		return e.seen.first(keyModel) && c.wordOr(&e.model)
	case "error":
		return e.seen.first(keyError) && c.null()
	case "object":
		var word []byte
		return e.seen.first(keyObject) && c.wordOr(&word) && string(word) != "error"
	case "metrics":
		return e.seen.first(keyMetrics) && e.scanMetrics(c)
	case "timings":
		return e.seen.first(keyTimings) && c.memberOr("cache_n", &e.cachedN)
	case "prompt_token_ids":
		return e.seen.first(keyPromptIDs) && c.countOr(&e.promptIDs)
	case "id":
		return c.skipWord()
	}
	return c.skip()
}

func (e *event) scanChoice(c *cursor, n int) bool {
	e.choices = append(e.choices, choice{index: int64(n), ids: sweep.None})
	ch := &e.choices[n]
	return !c.null() && c.object(func(key []byte) bool {
		switch string(key) {
		case "index":
			return ch.seen.first(keyIndex) && ch.scanIndex(c)
		case "text":
			return ch.seen.first(keyText) && ch.scanText(c)
		case "delta", "message":
			return ch.seen.first(keyDelta) && ch.scanDelta(c)
		case "finish_reason":
			return ch.seen.first(keyFinish) && c.wordOr(&ch.finish)
		case "token_ids":
			return ch.seen.first(keyIDs) && c.countOr(&ch.ids)
		case "prompt_token_ids":
			return e.seen.first(keyPromptIDs) && c.countOr(&e.promptIDs)
		}
		return c.skip()
	})
}

func (ch *choice) scanIndex(c *cursor) bool {
	if c.null() {
		return true
	}
	start := c.i
	n, ok := c.integer()
	if ok && n != sweep.None {
		ch.index = n
	}
	c.markNumber(start, n, &ch.index)
	return ok
}

func (ch *choice) scanText(c *cursor) bool {
	start := c.i
	if !c.textOr(&ch.text) {
		return false
	}
	if c.b[start] == '"' {
		c.mark(hole{start: start, kind: textHole, text: &ch.text})
	}
	return true
}

func (ch *choice) scanDelta(c *cursor) bool {
	return c.object(func(key []byte) bool {
		switch string(key) {
		case "content":
			return ch.seen.first(keyText) && ch.scanText(c)
		case "reasoning_content":
			return ch.seen.first(keyReasoningContent) && ch.scanReasoning(c)
		case "reasoning":
			return ch.seen.first(keyReasoning) && ch.scanReasoning(c)
		case "tool_calls":
			return ch.seen.first(keyTool) && c.array(func(int) bool { return !c.null() && ch.scanTool(c) })
		case "token_ids":
			return ch.seen.first(keyIDs) && c.countOr(&ch.ids)
		case "function_call":
			return c.null()
		}
		return c.skip()
	})
}

// scanReasoning takes either of two names. Some servers send the same text under both: what they then have in common is
// no form.
func (ch *choice) scanReasoning(c *cursor) bool {
	var t rawText
	start := c.i
	if !c.textOr(&t) || !t.empty() && !ch.reasoning.empty() && string(t.b) != string(ch.reasoning.b) {
		return false
	}
	if t.empty() {
		return true
	}
	if ch.reasoning.empty() {
		c.mark(hole{start: start, kind: textHole, text: &ch.reasoning})
	} else {
		c.form = nil
	}
	ch.reasoning = t
	return true
}

func (ch *choice) scanTool(c *cursor) bool {
	var seen seenKeys
	return c.object(func(key []byte) bool {
		if string(key) != "function" {
			return c.skip()
		}
		return seen.first(keyFunction) && c.object(func(key []byte) bool {
			var t rawText
			switch string(key) {
			case "name":
				return seen.first(keyName) && c.textOr(&t) && ch.foundTool(t)
			case "arguments":
				return seen.first(keyArguments) && c.textOr(&t) && ch.foundTool(t)
			}
			return c.skip()
		})
	})
}

func (ch *choice) foundTool(t rawText) bool {
	ch.tool = ch.tool || !t.empty()
	return true
}

func (e *event) scanUsage(c *cursor) bool {
	e.usage.present = !c.nullAhead()
	var seen seenKeys
	return c.object(func(key []byte) bool {
		switch string(key) {
		case "prompt_tokens":
			return c.intOr(&e.usage.prompt)
		case "completion_tokens":
			return c.intOr(&e.usage.completion)
		case "prompt_tokens_details":
			return seen.first(keyPromptDetails) && c.memberOr("cached_tokens", &e.usage.cached)
		case "completion_tokens_details":
			return seen.first(keyCompletionDetails) && c.memberOr("reasoning_tokens", &e.usage.thinking)
		case "reasoning_tokens":
			return c.intOr(&e.usage.thinking)
		case "total_tokens":
			return c.skipNumber()
		}
		return c.skip()
	})
}

func (e *event) scanMetrics(c *cursor) bool {
	return c.object(func(key []byte) bool {
		if string(key) != "queue_time_ms" {
			return c.skip()
		}
		if e.queueNS != sweep.None {
			return false
		}
		if c.null() {
			return true
		}
		raw, ok := c.number()
		if !ok {
			return false
		}
		ms, err := strconv.ParseFloat(string(raw), 64)
		e.queueNS = millis(ms)
		return err == nil
	})
}

// millis turns a server's milliseconds into nanoseconds; what cannot be a duration is None.
func millis(ms float64) int64 {
	if ms >= 0 && ms < 1e12 {
		return int64(ms * 1e6)
	}
	return sweep.None
}

// memberOr consumes an object, or null, and keeps the whole number that stands under one key.
func (c *cursor) memberOr(want string, to *int64) bool {
	return c.object(func(key []byte) bool {
		if string(key) == want {
			return c.intOr(to)
		}
		return c.skip()
	})
}

// nullAhead says whether the next value is null, without consuming it.
func (c *cursor) nullAhead() bool {
	ahead := *c
	return ahead.null()
}

// intOr consumes a whole number into a place that is still None, or a null.
func (c *cursor) intOr(to *int64) bool {
	if *to != sweep.None {
		return false
	}
	if c.null() {
		return true
	}
	start := c.i
	n, ok := c.integer()
	if ok {
		*to = n
		c.markNumber(start, n, to)
	}
	return ok
}

// textOr consumes a string that does not come on top of another text, or a null.
func (c *cursor) textOr(to *rawText) bool {
	if c.null() {
		return true
	}
	raw, escaped, ok := c.str()
	if !ok || !to.empty() {
		return false
	}
	*to = rawText{raw, escaped}
	return true
}

// wordOr consumes a string without escapes, or a null.
func (c *cursor) wordOr(to *[]byte) bool {
	if c.null() {
		return true
	}
	raw, escaped, ok := c.str()
	*to = raw
	return ok && !escaped
}

// countOr consumes an array of whole numbers and keeps their number, or a null.
func (c *cursor) countOr(to *int64) bool {
	if c.null() {
		return true
	}
	n := int64(0)
	if !c.array(func(int) bool { n++; return c.id() }) {
		return false
	}
	*to = n
	return true
}

// id consumes a whole number that only counts.
func (c *cursor) id() bool {
	start := c.i
	n, ok := c.integer()
	c.markNumber(start, n, nil)
	return ok
}
