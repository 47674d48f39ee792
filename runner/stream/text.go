package stream

import (
	"unicode/utf16"
	"unicode/utf8"
)

// appendText appends a JSON string's text, its escapes resolved; half of a surrogate pair is U+FFFD.
func appendText(dst []byte, t rawText) []byte {
	if !t.escaped {
		return append(dst, t.b...)
	}
	b := t.b
	for len(b) > 0 {
		i := 0
		for i < len(b) && b[i] != '\\' {
			i++
		}
		dst = append(dst, b[:i]...)
		if b = b[i:]; len(b) == 0 {
			break
		}
		if b[1] == 'u' {
			r, n := unicodeEscape(b)
			dst, b = utf8.AppendRune(dst, r), b[n:]
			continue
		}
		dst, b = append(dst, unescape(b[1])), b[2:]
	}
	return dst
}

func unescape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// unicodeEscape reads one \u escape, or the two of a surrogate pair, and says how many bytes they take.
func unicodeEscape(b []byte) (rune, int) {
	r := hex4(b[2:6])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(b[8:12])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

func hex4(b []byte) rune {
	r := rune(0)
	for _, c := range b {
		r = r<<4 + rune(hexValue(c))
	}
	return r
}
