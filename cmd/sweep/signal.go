package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptible is a context that SIGINT, SIGTERM and, unless it is ignored as under nohup, SIGHUP end. A second SIGINT or
// SIGTERM ends the process at once; a terminal that goes away may say so twice.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		<-signals
		cancel(errInterrupted)
		for s := range signals {
			if s != syscall.SIGHUP {
				os.Exit(exitInterrupted)
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel(nil) }
}

// outlivePipes lets a run go on when whoever read its messages or its tables has gone. The signal is caught, not ignored:
// servers that are launched would inherit that.
func (a *app) outlivePipes() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if out, ok := a.stdout.(*result); ok {
		out.goesOn = true
	}
}
