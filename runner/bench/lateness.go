package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/inference-sweep/sweep/runner/load"
)

// wakeUps at a period that no timer's tick divides show how late a dispatcher is.
const (
	wakeUps      = 500
	wakeUpPeriod = 1300 * time.Microsecond
)

// Lateness is by how much the timer that paces a load wakes up too late on this machine. It takes 650 ms.
func Lateness(ctx context.Context) (Spread, error) {
	waiter, err := load.NewWaiter()
	if err != nil {
		return Spread{}, err
	}
	late, err := lateness(ctx, waiter.Until, wakeUps, wakeUpPeriod)
	if err != nil {
		return Spread{}, fmt.Errorf("timer lateness: %w", err)
	}
	return spread(late), waiter.Close()
}

// lateness wakes up n times at instants a period apart and says by how many nanoseconds each wake-up was late.
func lateness(ctx context.Context, until func(context.Context, time.Time) error, n int, period time.Duration) ([]int64, error) {
	late := make([]int64, n)
	start := time.Now()
	for i := range late {
		due := start.Add(time.Duration(i+1) * period)
		if err := until(ctx, due); err != nil {
			return nil, err
		}
		late[i] = int64(time.Since(due))
	}
	return late, nil
}

// ClockNS is what one reading of the clock costs, in nanoseconds: the least of several rounds.
func ClockNS() float64 {
	const rounds, readings = 20, 10_000
	base, least := time.Now(), time.Duration(0)
	for range rounds {
		start := time.Since(base)
		for range readings - 1 {
			_ = time.Since(base)
		}
		if took := time.Since(base) - start; least == 0 || took < least {
			least = took
		}
	}
	return float64(least) / readings
}
