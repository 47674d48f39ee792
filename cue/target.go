package cue

import (
	"errors"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// target refuses what cannot stand in a table, and a URL that no request could go to, or that would be recorded with a
// password in it.
func (c *cellCheck) target() {
	target := c.cell.Target
	if strings.ContainsFunc(target, unprintable) {
		c.report("target", "has a character that does not print", plainWord) // without the text, which may have a password
		return
	}
	if !strings.HasPrefix(target, "http://") && !strings.HasPrefix(target, "https://") {
		return
	}
	_, err := sweep.BaseURL(target)
	if refused, ok := errors.AsType[*sweep.PlanError](err); ok {
		c.report("target", refused.Message, refused.Hint)
	}
}
