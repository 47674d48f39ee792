package load

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// timer is a timerfd read through Go's poller. The runtime's own timers wake an idle program up to a millisecond late,
// because its poller waits in whole milliseconds (golang/go#53824); a timerfd is not subject to that.
type timer struct {
	file *os.File
	fd   int
}

// NewWaiter makes a waiter on a precise timer.
func NewWaiter() (*Waiter, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("precise timer: %w", err)
	}
	t := &timer{file: os.NewFile(uintptr(fd), "timerfd"), fd: fd}
	return &Waiter{Sleep: t.sleep, close: t.file.Close}, nil
}

func (t *timer) sleep(ctx context.Context, wait time.Duration) error {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(wait))}
	if err := unix.TimerfdSettime(t.fd, 0, &spec, nil); err != nil {
		return fmt.Errorf("precise timer: %w", err)
	}
	// A cancelled context ends the read through its deadline; the next sleep clears it.
	stop := context.AfterFunc(ctx, func() { t.file.SetReadDeadline(time.Unix(1, 0)) })
	var expirations [8]byte
	_, err := t.file.Read(expirations[:])
	if !stop() {
		t.file.SetReadDeadline(time.Time{})
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("precise timer: %w", err)
	}
	return nil
}
