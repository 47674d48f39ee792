//go:build !linux

package load

// NewWaiter makes a waiter on the runtime's timers: only Linux has a more precise one.
func NewWaiter() (*Waiter, error) { return &Waiter{}, nil }
