package stream

import "bytes"

// form is what the events of a stream have in common: the last payload that was read in full, and the places in it whose
// values change from event to event. A payload that differs from it in nothing else has its facts, but for those values,
// and comparing bytes takes a small part of the time that reading JSON does.
type form struct {
	known bool
	text  []byte // a copy: the event's slices point into it
	holes []hole // in their order
}

// hole is a value that changes, at text[start:end].
type hole struct {
	start, end int
	kind       holeKind
	text       *rawText // where a text is kept
	number     *int64   // where a number is kept, nil where it only counts that it is one
}

type holeKind uint8

const (
	textHole holeKind = iota
	wordHole          // a string that nobody keeps
	numberHole
)

// Longer payloads, and those with more changing values, are read in full each time.
const (
	formLimit = 4 << 10
	maxHoles  = 8
)

// read is scan, for events that tend to be alike.
func (e *event) read(b []byte) bool { return e.fits(b) || e.learn(b) }

// fits reads a payload of the known form. Where it answers false, the event's facts are spoilt.
func (e *event) fits(b []byte) bool {
	f := &e.form
	if !f.known {
		return false
	}
	c, at := cursor{b: b}, 0
	for i := range f.holes {
		h := &f.holes[i]
		if !c.same(f.text[at:h.start]) || !h.fill(&c) {
			return false
		}
		at = h.end
	}
	return bytes.Equal(c.b[c.i:], f.text[at:])
}

func (c *cursor) same(want []byte) bool {
	if !bytes.HasPrefix(c.b[c.i:], want) {
		return false
	}
	c.i += len(want)
	return true
}

// fill takes a hole's value. What scan would treat in another way than the value that was there, it refuses.
func (h *hole) fill(c *cursor) bool {
	if h.kind == numberHole {
		n, ok := c.integer()
		if h.number != nil {
			*h.number = n
		}
		return ok && n >= 0
	}
	raw, escaped, ok := c.str()
	if h.kind == textHole {
		*h.text = rawText{raw, escaped}
	}
	return ok
}

// learn scans a payload and makes it the known form.
func (e *event) learn(b []byte) bool {
	f := &e.form
	if len(b) > formLimit {
		return e.scan(b)
	}
	f.text, f.holes = append(f.text[:0], b...), f.holes[:0]
	c := cursor{b: f.text, form: f}
	ok := e.scanAll(&c)
	// Holes of several choices would point to where the first of them were before the others came.
	f.known = ok && c.form != nil && len(e.choices) == 1 && len(f.holes) <= maxHoles
	return ok
}

// mark marks the value that ends here as one that changes.
func (c *cursor) mark(h hole) {
	if c.form != nil && len(c.form.holes) <= maxHoles {
		h.end = c.i
		c.form.holes = append(c.form.holes, h)
	}
}

// markNumber marks the number that ends here. A negative one may mean that there is none: it stays as it is.
func (c *cursor) markNumber(start int, n int64, to *int64) {
	if n >= 0 {
		c.mark(hole{start: start, kind: numberHole, number: to})
	}
}

// skipNumber consumes any value; a whole number may be another in the next event.
func (c *cursor) skipNumber() bool {
	start := c.i
	if n, ok := c.integer(); ok {
		c.markNumber(start, n, nil)
		return true
	}
	c.i = start
	return c.skip()
}

// skipWord consumes any value; a string may be another in the next event.
func (c *cursor) skipWord() bool {
	start := c.i
	if !c.skip() {
		return false
	}
	if c.b[start] == '"' {
		c.mark(hole{start: start, kind: wordHole})
	}
	return true
}
