//go:build !linux

package load

import (
	"context"
	"time"
)

type timer struct{}

// NewWaiter makes a waiter on the runtime's timers: only Linux has a more precise one.
func NewWaiter() (*Waiter, error) { return &Waiter{}, nil }

func (*timer) close() error                               { return nil }
func (*timer) sleep(context.Context, time.Duration) error { return nil }
