package bench

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/runner/load"
)

func TestFloor(t *testing.T) {
	floor, err := Floor(context.Background())
	if err != nil || floor <= 0 {
		t.Errorf("%d ns, %v", floor, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Floor(ctx); err == nil {
		t.Error("a cancelled context has a floor")
	}
}

// No event is seen before it was written, and none is missing.
func TestEventLag(t *testing.T) {
	timing := Timing{TTFT: 2 * time.Millisecond, Gap: 2 * time.Millisecond, Events: 10, PerWrite: 1, Spread: 5}
	lags, err := eventLags(context.Background(), timing)
	if err != nil {
		t.Fatal(err)
	}
	if len(lags) != 50 || slices.Min(lags) <= 0 {
		t.Errorf("%d events, the first seen %d ns after its write", len(lags), slices.Min(lags))
	}
}

func TestLateness(t *testing.T) {
	late, err := lateness(context.Background(), new(load.Waiter).Until, 5, time.Millisecond)
	if err != nil || len(late) != 5 || slices.Min(late) < 0 {
		t.Errorf("%v, %v", late, err)
	}
	broken := errors.New("no timer")
	if _, err := lateness(context.Background(), func(context.Context, time.Time) error { return broken }, 5, time.Millisecond); err != broken {
		t.Error(err)
	}
}

func TestSpread(t *testing.T) {
	var hundred []int64
	for n := range int64(100) {
		hundred = append(hundred, 100-n)
	}
	for _, test := range []struct {
		values []int64
		want   Spread
	}{
		{[]int64{7}, Spread{1, 7, 7}},
		{[]int64{3, 1, 2}, Spread{3, 2, 3}},
		{hundred, Spread{100, 50, 99}},
	} {
		if got := spread(test.values); got != test.want {
			t.Errorf("%v, want %v", got, test.want)
		}
	}
}

func TestClock(t *testing.T) {
	if ns := ClockNS(); ns <= 0 {
		t.Errorf("%v ns", ns)
	}
}
