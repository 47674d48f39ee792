package cue

import (
	"errors"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// target refuses a URL that no request could go to, or that would be recorded with a password in it.
func (c *cellCheck) target() {
	target := c.cell.Target
	if !strings.HasPrefix(target, "http://") && !strings.HasPrefix(target, "https://") {
		return
	}
	_, err := sweep.BaseURL(target)
	if refused, ok := errors.AsType[*sweep.PlanError](err); ok {
		c.report("target", refused.Message, refused.Hint)
	}
}
