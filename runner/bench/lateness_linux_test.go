package bench

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"github.com/inference-sweep/sweep/runner/load"
	"golang.org/x/sys/unix"
)

// The ways to wait for an instant that are compared.
const (
	lateWaiter = "waiter" // runner/load's
	lateSpin   = "waiter, last 100 µs spun"
	lateThread = "nanosleep thread" // the reference: a thread of its own, without timer slack
	lateSleep  = "time.Sleep"
)

var lateKinds = []string{lateThread, lateWaiter, lateSpin, lateSleep}

// lateFigures are what one way to wait came to.
type lateFigures struct{ p50US, p99US, cpuPercent float64 }

// lateOutcome is what a process that measured lateness found.
type lateOutcome struct {
	LateNS []int64
	CPUNS  int64
	WallNS int64
}

func playLateness(kind string) error {
	waiter, err := load.NewWaiter()
	if err != nil {
		return err
	}
	until := waiter.Until
	switch kind {
	case lateWaiter:
	case lateSpin:
		until = func(ctx context.Context, t time.Time) error { return spinUntil(ctx, waiter, t) }
	case lateThread:
		runtime.LockOSThread()
		if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
			return err
		}
		until = nanosleepUntil
	case lateSleep:
		until = func(_ context.Context, t time.Time) error { time.Sleep(time.Until(t)); return nil }
	default:
		return fmt.Errorf("there is no role %q", kind)
	}
	var o outcome
	u := begin()
	late, err := lateness(context.Background(), until, 2*wakeUps, wakeUpPeriod)
	if err != nil {
		return err
	}
	u.end(&o)
	return gob.NewEncoder(os.Stdout).Encode(lateOutcome{late, o.CPUNS, o.WallNS})
}

func spinUntil(ctx context.Context, w *load.Waiter, t time.Time) error {
	if err := w.Until(ctx, t.Add(-100*time.Microsecond)); err != nil {
		return err
	}
	for time.Until(t) > 0 {
	}
	return nil
}

func nanosleepUntil(_ context.Context, t time.Time) error {
	wait := time.Until(t)
	if wait <= 0 {
		return nil
	}
	spec := unix.NsecToTimespec(int64(wait))
	_, _, errno := unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&spec)), 0, 0)
	if errno != 0 && errno != unix.EINTR {
		return errno
	}
	return nil
}

// compareLateness measures every way to wait once.
func compareLateness() (map[string]lateFigures, error) {
	found := map[string]lateFigures{}
	for _, kind := range lateKinds {
		p, err := start(role{Name: kind}, -1)
		if err != nil {
			return nil, err
		}
		var o lateOutcome
		err = p.out.Decode(&o)
		if err := errors.Join(err, p.end()); err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		slices.Sort(o.LateNS)
		found[kind] = lateFigures{
			p50US: float64(percentile(o.LateNS, 50)) / 1e3, p99US: float64(percentile(o.LateNS, 99)) / 1e3,
			cpuPercent: 100 * float64(o.CPUNS) / float64(o.WallNS),
		}
	}
	return found, nil
}
