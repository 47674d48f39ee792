package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/inference-sweep/sweep/cue"
	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
)

// The exit codes, as the README lists them.
const (
	exitOK          = 0
	exitEnvironment = 1
	exitUsage       = 2
	exitPartly      = 3
	exitInterrupted = 130
)

// usageError is a mistake in the arguments: one sentence, and what to do.
type usageError struct{ message, hint string }

func (e *usageError) Error() string { return e.message }

func usage(message, hint string) error { return &usageError{message, hint} }

// hintError adds what to do to an error of the environment.
type hintError struct {
	error
	hint string
}

func (e *hintError) Unwrap() error { return e.error }

// partlyError says that a run ended with trials that failed, are blocked, or are left over.
type partlyError struct{ message, hint string }

func (e *partlyError) Error() string { return e.message }

// statusHint is what to do about trials that are not there.
const statusHint = "sweep status lists them; the same command tries them again"

// errInterrupted is the cause of a run's context after SIGINT or SIGTERM.
var errInterrupted = errors.New("interrupted: all that ended is stored, and the same command goes on")

// exitCode prints an error, once, and chooses the code.
func (a *app) exitCode(err error) int {
	var (
		usageErr   *usageError
		planErr    *sweep.PlanError
		definition cue.Errors
		partly     *partlyError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errInterrupted):
		a.explain(errInterrupted.Error(), "")
		return exitInterrupted
	case errors.As(err, &definition):
		fmt.Fprintln(a.stderr, definition.Error()) // lines with positions: an editor jumps there
		return exitUsage
	case errors.As(err, &planErr):
		fmt.Fprintln(a.stderr, planErr.Error())
		return exitUsage
	case errors.As(err, &usageErr):
		a.explain(usageErr.message, usageErr.hint)
		return exitUsage
	case errors.As(err, &partly):
		a.explain(partly.message, partly.hint)
		return exitPartly
	case errors.Is(err, context.Canceled):
		a.explain(errInterrupted.Error(), "")
		return exitInterrupted
	}
	hint := ""
	if h := (*hintError)(nil); errors.As(err, &h) {
		hint = h.hint
	} else if store.WriteRefused(err) {
		hint = "the system does not let the file grow: see its limit on the size of files (ulimit -f), the quota, and whether the disk fails; then the same command goes on"
	}
	a.explain(err.Error(), hint)
	return exitEnvironment
}

// explain prints what happened on one line, and what to do on the next.
func (a *app) explain(message, hint string) {
	fmt.Fprintln(a.stderr, "sweep: "+strings.TrimSpace(message))
	if hint != "" {
		fmt.Fprintln(a.stderr, "  hint: "+hint)
	}
}
