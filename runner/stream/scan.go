package stream

import (
	"encoding/binary"
	"math/bits"
)

// cursor walks JSON text in place. Its methods leave it behind what they consumed and answer false for text that is not
// valid JSON, or that they are not made for; it is then of no further use. What it accepts, encoding/json accepts too.
type cursor struct {
	b []byte
	i int

	form *form // where to mark the values that change, nil for nowhere
}

// maxDepth bounds the nesting that is walked in place; deeper text is the odd event's.
const maxDepth = 64

// Masks for the bytes of a word, eight at a time.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// stops marks, with its high bit, the first byte of a word that does not stand for itself inside a JSON string: a
// quote, a backslash or a control character. Later bytes may be marked wrongly.
func stops(w uint64) uint64 {
	quote, back := w^('"'*ones), w^('\\'*ones)
	return ((quote-ones)&^quote | (back-ones)&^back | (w-' '*ones)&^w) & highs
}

// plainLen is the number of bytes at the beginning of b that stand for themselves inside a JSON string.
func plainLen(b []byte) int {
	i := 0
	for len(b)-i >= 8 {
		if m := stops(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

func (c *cursor) space() {
	if c.i < len(c.b) && c.b[c.i] <= ' ' {
		c.spaces()
	}
}

func (c *cursor) spaces() {
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case ' ', '\t', '\n', '\r':
			c.i++
		default:
			return
		}
	}
}

func (c *cursor) take(want byte) bool {
	if c.i < len(c.b) && c.b[c.i] == want {
		c.i++
		return true
	}
	return false
}

func (c *cursor) literal(want string) bool {
	if len(c.b)-c.i >= len(want) && string(c.b[c.i:c.i+len(want)]) == want {
		c.i += len(want)
		return true
	}
	return false
}

func (c *cursor) null() bool { return c.literal("null") }

// str consumes a string and returns what stands between its quotes, as it stands; escaped says that it has escapes.
func (c *cursor) str() (raw []byte, escaped, ok bool) {
	if !c.take('"') {
		return nil, false, false
	}
	b, start, i := c.b, c.i, c.i
	for {
		i += plainLen(b[i:])
		if i >= len(b) {
			return nil, false, false
		}
		switch b[i] {
		case '"':
			c.i = i + 1
			return b[start:i], escaped, true
		case '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return nil, false, false
			}
			escaped = true
			i += n
		default:
			return nil, false, false
		}
	}
}

// escapeLen is the length of the valid escape sequence that b begins with, or 0.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) >= 6 && isHex(b[2]) && isHex(b[3]) && isHex(b[4]) && isHex(b[5]) {
			return 6
		}
	}
	return 0
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// number consumes a number and returns it as it stands.
func (c *cursor) number() (raw []byte, ok bool) {
	start := c.i
	c.take('-')
	switch {
	case c.take('0'):
	case !c.digits():
		return nil, false
	}
	if c.take('.') && !c.digits() {
		return nil, false
	}
	if c.take('e') || c.take('E') {
		_ = c.take('+') || c.take('-')
		if !c.digits() {
			return nil, false
		}
	}
	return c.b[start:c.i], true
}

func (c *cursor) digits() bool {
	start := c.i
	for c.i < len(c.b) && isDigit(c.b[c.i]) {
		c.i++
	}
	return c.i > start
}

// integer consumes a whole number of at most 18 digits; a fraction or an exponent is not its business.
func (c *cursor) integer() (int64, bool) {
	raw, ok := c.number()
	if !ok || len(raw) > 18 {
		return 0, false
	}
	negative := raw[0] == '-'
	if negative {
		raw = raw[1:]
	}
	n := int64(0)
	for _, d := range raw {
		if !isDigit(d) {
			return 0, false
		}
		n = n*10 + int64(d-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

// object consumes an object, or null, and calls visit at the value of each member, which visit consumes. A key with
// escapes is refused.
func (c *cursor) object(visit func(key []byte) bool) bool {
	if c.null() {
		return true
	}
	if !c.take('{') {
		return false
	}
	c.space()
	if c.take('}') {
		return true
	}
	for {
		key, escaped, ok := c.str()
		if !ok || escaped {
			return false
		}
		c.space()
		if !c.take(':') {
			return false
		}
		c.space()
		if !visit(key) {
			return false
		}
		c.space()
		if c.take('}') {
			return true
		}
		if !c.take(',') {
			return false
		}
		c.space()
	}
}

// array consumes an array, or null, and calls visit at each element, which visit consumes.
func (c *cursor) array(visit func(n int) bool) bool {
	if c.null() {
		return true
	}
	if !c.take('[') {
		return false
	}
	c.space()
	if c.take(']') {
		return true
	}
	for n := 0; ; n++ {
		if !visit(n) {
			return false
		}
		c.space()
		if c.take(']') {
			return true
		}
		if !c.take(',') {
			return false
		}
		c.space()
	}
}

// skip consumes any value.
func (c *cursor) skip() bool { return c.skipAt(0) }

func (c *cursor) skipAt(depth int) bool {
	if c.i >= len(c.b) || depth > maxDepth {
		return false
	}
	switch c.b[c.i] {
	case '"':
		_, _, ok := c.str()
		return ok
	case '{':
		return c.object(func([]byte) bool { return c.skipAt(depth + 1) })
	case '[':
		return c.array(func(int) bool { return c.skipAt(depth + 1) })
	case 't':
		return c.literal("true")
	case 'f':
		return c.literal("false")
	case 'n':
		return c.null()
	}
	_, ok := c.number()
	return ok
}
