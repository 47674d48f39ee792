package cue

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"cuelang.org/go/cue"
)

// unprintable says that a rune would break a line, or the order of what is read on it: control characters, separators of
// lines and paragraphs, marks of direction, and a byte order mark.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) || r == '\ufeff'
}

const plainName = "cells are called by it: write it without control characters"

// names checks that what names cells stands on one line, in the order in which it is written.
func (c *sweepCheck) names() {
	if strings.ContainsFunc(c.name, unprintable) {
		p := Problem{File: c.reader.name, Message: "the sweep's name " + strconv.QuoteToASCII(c.name) + " has a character that does not print", Hint: plainName}
		written, _ := c.outline.find([]string{c.name})
		c.found = append(c.found, p.at(written.label))
	}
	for _, factor := range c.order {
		for i, v := range c.levels[factor] {
			text, err := v.String()
			if err == nil && strings.ContainsFunc(text, unprintable) {
				c.report("level "+strconv.QuoteToASCII(text)+" has a character that does not print", plainName, levelPath(factor, i)...)
			}
		}
	}
}

// levelPath is where the ith of a factor's baseline and levels stands.
func levelPath(factor string, i int) []string {
	if i == 0 {
		return []string{"factors", factor, "baseline"}
	}
	return []string{"factors", factor, "levels", strconv.Itoa(i - 1)}
}

// overflow refuses levels that are no number here, though they are one to CUE.
func (c *sweepCheck) overflow() {
	for _, factor := range c.order {
		for i, v := range c.levels[factor] {
			if !slices.Contains([]cue.Kind{cue.IntKind, cue.FloatKind, cue.NumberKind}, v.Kind()) {
				continue
			}
			if text, err := v.MarshalJSON(); err == nil && !isFloat(string(text)) {
				c.report("invalid value "+string(text)+" (too large or too small for a number)", floatHint, levelPath(factor, i)...)
			}
		}
	}
}
