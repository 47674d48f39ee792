package cue

import (
	"maps"
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

const (
	plainName = "cells are called by it: write it without control characters"
	plainWord = "write it without control characters"
)

// names checks that what names cells stands on one line, in the order in which it is written.
func (c *sweepCheck) names() {
	if strings.ContainsFunc(c.name, unprintable) {
		p := Problem{File: c.reader.name, Message: "the sweep's name " + notPrinted(c.name), Hint: plainName}
		written, _ := c.outline.find([]string{c.name})
		c.found = append(c.found, p.at(written.label))
	}
	if title, err := c.lookup("title").String(); err == nil && strings.ContainsFunc(title, unprintable) {
		c.report(notPrinted(title), "tables are headed by it: write one line without control characters", "title")
	}
	for _, factor := range c.order {
		for i, v := range c.levels[factor] {
			text, err := v.String()
			if err == nil && strings.ContainsFunc(text, unprintable) {
				c.report("level "+notPrinted(text), plainName, levelPath(factor, i)...)
			}
		}
	}
}

// notPrinted says that a text cannot stand in a table.
func notPrinted(text string) string {
	return strconv.QuoteToASCII(text) + " has a character that does not print"
}

// words checks that what a cell calls things by can stand in a table: names, not what is sent or run.
func (c *cellCheck) words() {
	contract, server := &c.cell.Contract, &c.cell.Server
	words := map[string]string{
		"contract.model.id":            contract.Model.Id,
		"contract.engine.revision":     contract.Engine.Revision,
		"contract.engine.image":        contract.Engine.Image,
		"contract.hardware.gpu":        contract.Hardware.Gpu,
		"contract.hardware.host":       contract.Hardware.Host,
		"contract.hardware.driver":     contract.Hardware.Driver,
		"contract.hardware.cuda":       contract.Hardware.Cuda,
		"contract.precision.recipe":    contract.Precision.Recipe,
		"contract.prompt.length.trace": contract.Prompt.Length.Trace,
		"contract.output.length.trace": contract.Output.Length.Trace,
		"server.servedModel":           server.ServedModel,
	}
	if adapter := contract.Model.Adapter; adapter != nil {
		words["contract.model.adapter.id"] = adapter.Id
	}
	if open := contract.Load.Open; open != nil {
		words["contract.load.open.trace"] = open.Trace
	}
	for _, path := range slices.Sorted(maps.Keys(words)) {
		if strings.ContainsFunc(words[path], unprintable) {
			c.report(path, notPrinted(words[path]), plainWord)
		}
	}
	for path, of := range map[string]map[string]any{"contract.engine.args": contract.Engine.Args, "server.env": server.Env} {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if strings.ContainsFunc(name, unprintable) {
				c.report(path, notPrinted(name), plainWord)
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
