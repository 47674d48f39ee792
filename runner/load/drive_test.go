package load_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/inference-sweep/sweep/runner/load"
	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/sweep"
)

// bench plays a server in virtual time: serve takes as long as a request takes, and says whether it was served.
type bench struct {
	mu       sync.Mutex
	rows     []*sweep.Request
	open     int
	mostOpen int
	serve    func(ctx context.Context, r *sweep.Request)
}

func (b *bench) drive(tail time.Duration) *load.Drive {
	epoch := time.Now()
	d := &load.Drive{
		Epoch: epoch, Wait: &load.Waiter{}, TailNS: int64(tail),
		Prepare: func(load.Slot) []byte { return nil },
		Send: func(ctx context.Context, _ []byte, r *sweep.Request) {
			b.mu.Lock()
			b.open++
			b.mostOpen = max(b.mostOpen, b.open)
			b.mu.Unlock()
			r.SentNS = int64(time.Since(epoch))
			r.Status = sweep.RequestOK
			b.serve(ctx, r)
			if ctx.Err() != nil {
				r.Status, r.Error = sweep.RequestFailed, sweep.ErrCancelled
			}
			r.EndNS = int64(time.Since(epoch)) - r.SentNS
			b.mu.Lock()
			b.open--
			b.mu.Unlock()
		},
		Ended: func(r *sweep.Request) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.rows = append(b.rows, r)
		},
	}
	d.Start = func(ctx context.Context, body []byte, r *sweep.Request, ended func()) {
		go func() {
			d.Send(ctx, body, r)
			ended()
		}()
	}
	return d
}

// takes is a server that answers each request after a time, whatever else it does.
func takes(d time.Duration) func(context.Context, *sweep.Request) {
	return func(ctx context.Context, _ *sweep.Request) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
}

func phases(rows []*sweep.Request) map[sweep.Phase]int {
	n := map[sweep.Phase]int{}
	for _, r := range rows {
		n[r.Phase]++
	}
	return n
}

// Every due request becomes one row, sent when it is due, whether or not the server keeps up.
func TestOpenKeepsItsSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{serve: takes(700 * time.Millisecond)}
		s := draw(t, openCell(100, nil), 1)
		out, err := b.drive(1500*time.Millisecond).Open(t.Context(), s, 0)
		if err != nil || out.T0NS != s.T0NS || out.T1NS != s.T1NS || out.Drained != 0 {
			t.Fatalf("%+v, %v", out, err)
		}
		n := phases(b.rows)
		if n[sweep.PhaseWarmup] != s.Warmup || n[sweep.PhaseMeasure] != s.Measured || n[sweep.PhaseTail] == 0 {
			t.Errorf("rows %v of %d and %d", n, s.Warmup, s.Measured)
		}
		seen := map[int64]bool{}
		var lastMeasured int64
		for _, r := range b.rows {
			if r.SentNS != r.DueNS || r.QueueNS != 0 || seen[r.Seq] {
				t.Fatalf("row %+v", r)
			}
			seen[r.Seq] = true
			if r.Phase == sweep.PhaseMeasure {
				lastMeasured = max(lastMeasured, r.SentNS+r.EndNS)
			}
		}
		// Load is kept up until the last measured request has ended, and not longer.
		for _, r := range b.rows {
			if r.Phase == sweep.PhaseTail && r.DueNS > lastMeasured {
				t.Errorf("a tail request is due at %d, after the last measured one ended at %d", r.DueNS, lastMeasured)
			}
			if r.Phase == sweep.PhaseTail && r.Status == sweep.RequestFailed && r.SentNS+r.EndNS != lastMeasured {
				t.Errorf("a tail request was cut at %d, not at %d", r.SentNS+r.EndNS, lastMeasured)
			}
		}
		if out.EndNS != lastMeasured {
			t.Errorf("the trial ended at %d, its last measured request at %d", out.EndNS, lastMeasured)
		}
	})
}

// A server that is faster than the window leaves no tail, but the window lasts.
func TestOpenWindowLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{serve: takes(time.Millisecond)}
		s := draw(t, openCell(20, nil), 2)
		out, err := b.drive(time.Second).Open(t.Context(), s, 0)
		if err != nil || out.EndNS < out.T1NS || phases(b.rows)[sweep.PhaseTail] != 0 {
			t.Errorf("%+v, %v, %v", out, err, phases(b.rows))
		}
	})
}

// Beyond the tail's limit no new load comes, and measured requests run on.
func TestOpenDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{serve: takes(5 * time.Second)}
		s := draw(t, openCell(20, nil), 1)
		out, err := b.drive(1500*time.Millisecond).Open(t.Context(), s, 0)
		if err != nil || out.Drained != s.Measured {
			t.Fatalf("%+v, %v, want all %d drained", out, err, s.Measured)
		}
		for _, r := range b.rows {
			if r.Phase == sweep.PhaseMeasure && r.Status != sweep.RequestOK {
				t.Errorf("a measured request was cut: %+v", r)
			}
			if r.Phase == sweep.PhaseTail && r.Status == sweep.RequestOK {
				t.Errorf("a tail request was let end: %+v", r)
			}
		}
	})
}

// With a cap, the rest wait in the client in their order, and their wait is recorded (500 ms answers at 10/s, one at a
// time: 0, 400, 800 … ms).
func TestMaxInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{serve: takes(500 * time.Millisecond)}
		none := int64(0)
		s := draw(t, openCell(10, func(c *sweep.Cell) {
			c.Contract.Load.Open.Arrival = "constant"
			c.Warmup = schema.Warmup{Requests: &none}
			c.Measure = schema.Measure{Requests: 8}
		}), 1)
		if _, err := b.drive(0).Open(t.Context(), s, 1); err != nil {
			t.Fatal(err)
		}
		if b.mostOpen != 1 {
			t.Errorf("%d were open at once", b.mostOpen)
		}
		for _, r := range b.rows {
			i := r.Seq
			if r.Phase != sweep.PhaseMeasure {
				continue
			}
			if want := i * 400e6; r.QueueNS != want || r.SentNS-r.DueNS != want {
				t.Errorf("request %d waited %v, want %v", r.Seq, time.Duration(r.QueueNS), time.Duration(want))
			}
		}
	})
}

func TestOpenIsCutByItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{serve: takes(time.Hour)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := b.drive(time.Second).Open(ctx, draw(t, openCell(100, nil), 1), 0)
		if err == nil || time.Since(time.Now()) > time.Second {
			t.Errorf("error %v", err)
		}
		for _, r := range b.rows {
			if r.Status != sweep.RequestFailed || r.Error != sweep.ErrCancelled {
				t.Errorf("row %+v", r)
			}
		}
		if n := len(b.rows); n < 60 || n > 150 {
			t.Errorf("%d rows of about 100 that were due", n)
		}
	})
}

// A warm-up that runs until latencies settle ends early, and the window moves with it.
func TestSteadyWarmup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{serve: takes(time.Millisecond)}
		d := b.drive(time.Second)
		d.Steady = func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			return len(b.rows) >= 10
		}
		s := draw(t, openCell(100, func(c *sweep.Cell) { c.Warmup.Duration = "10s" }), 1)
		out, err := d.Open(t.Context(), s, 0)
		if err != nil || out.SteadyNS == sweep.None || out.T0NS != out.SteadyNS || out.T1NS-out.T0NS != s.T1NS-s.T0NS {
			t.Fatalf("%+v, %v", out, err)
		}
		n := phases(b.rows)
		if n[sweep.PhaseWarmup] < 10 || n[sweep.PhaseWarmup] > 12 || n[sweep.PhaseMeasure] != s.Measured {
			t.Errorf("rows %v", n)
		}
		if time.Duration(out.EndNS) > 4*time.Second {
			t.Errorf("ended after %v: the warm-up was not cut", time.Duration(out.EndNS))
		}
	})
}

func closedCell(clients schema.Positive, change func(*sweep.Cell)) *sweep.Cell {
	return openCell(1, func(c *sweep.Cell) {
		c.Contract.Load = schema.Load{Closed: &schema.Closed{Clients: clients}}
		if change != nil {
			change(c)
		}
	})
}

func fixedLengths() (int64, int64) { return 128, 16 }

// Clients of a closed loop that find no server come back after 100 ms, 200 ms and so on, at most after a second, and are as
// quick as before once it is there again.
func TestClosedWithoutServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{serve: takes(100 * time.Millisecond)}
		d := b.drive(time.Second)
		send, away := d.Send, [2]int64{500e6, 1600e6}
		d.Send = func(ctx context.Context, body []byte, r *sweep.Request) {
			if now := int64(time.Since(d.Epoch)); now >= away[0] && now < away[1] {
				r.Status, r.Error = sweep.RequestFailed, sweep.ErrConnect
				return
			}
			send(ctx, body, r)
		}
		if _, err := d.Closed(t.Context(), closedCell(10, nil), fixedLengths, fixedLengths); err != nil {
			t.Fatal(err)
		}
		failed, after := 0, 0
		for _, r := range b.rows {
			if r.Status == sweep.RequestFailed && r.Error == sweep.ErrConnect {
				failed++
				if r.SentNS != sweep.None || r.DueNS < away[0] {
					t.Errorf("sent %d, due %d", r.SentNS, r.DueNS)
				}
			} else if r.Phase == sweep.PhaseMeasure && r.DueNS >= 2000e6 {
				after++
			}
		}
		// At 0.5, 0.6, 0.8 and 1.2 s; from 2.0 s on they are served.
		if failed != 40 || after != 20 {
			t.Errorf("%d requests failed and %d were measured afterwards, want 40 and 20", failed, after)
		}
	})
}

func TestClosed(t *testing.T) {
	five := int64(5)
	tests := []struct {
		name       string
		change     func(*sweep.Cell)
		t0MS, t1MS int64
		measured   int
	}{
		// Ten clients with answers of 100 ms: ten requests every 100 ms.
		{"by durations", nil, 400, 2200, 180},
		{"by requests", func(c *sweep.Cell) {
			c.Warmup = schema.Warmup{Requests: &five}
			c.Measure = schema.Measure{Requests: 25}
		}, 0, 300, 25},
		{"with a pause", func(c *sweep.Cell) { c.Contract.Load.Closed.Think = "100ms" }, 400, 2200, 90},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			b := &bench{serve: takes(100 * time.Millisecond)}
			out, err := b.drive(time.Second).Closed(t.Context(), closedCell(10, tt.change), fixedLengths, fixedLengths)
			if err != nil || out.T0NS != tt.t0MS*1e6 || out.T1NS != tt.t1MS*1e6 {
				t.Fatalf("%s: %+v, %v", tt.name, out, err)
			}
			if n := phases(b.rows); n[sweep.PhaseMeasure] != tt.measured {
				t.Errorf("%s: rows %v, want %d measured", tt.name, n, tt.measured)
			}
			for _, r := range b.rows {
				if r.DueNS != r.SentNS {
					t.Errorf("%s: due %d, sent %d", tt.name, r.DueNS, r.SentNS)
				}
				if r.Phase == sweep.PhaseMeasure && (r.DueNS < out.T0NS || r.DueNS >= out.T1NS || r.Status != sweep.RequestOK) {
					t.Errorf("%s: measured row %+v outside [%d, %d)", tt.name, r, out.T0NS, out.T1NS)
				}
			}
			if b.mostOpen != 10 {
				t.Errorf("%s: %d were open at once", tt.name, b.mostOpen)
			}
		})
	}
}

// Everything at once against a server that serves one at a time: what is measured is the queue.
func TestBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slot := make(chan struct{}, 1) // a mutex would not let virtual time pass
		b := &bench{serve: func(context.Context, *sweep.Request) {
			slot <- struct{}{}
			defer func() { <-slot }()
			time.Sleep(100 * time.Millisecond)
		}}
		two := int64(2)
		c := openCell(1, func(c *sweep.Cell) {
			c.Contract.Load = schema.Load{Burst: &schema.Burst{}}
			c.Warmup = schema.Warmup{Requests: &two}
			c.Measure = schema.Measure{Requests: 50}
		})
		out, err := b.drive(0).Burst(t.Context(), c, fixedLengths, fixedLengths)
		if err != nil || out.T0NS != 200e6 || out.T1NS != 5200e6 || out.EndNS != out.T1NS {
			t.Fatalf("%+v, %v", out, err)
		}
		measured := 0
		for _, r := range b.rows {
			if r.Phase != sweep.PhaseMeasure {
				continue
			}
			measured++
			if r.DueNS != out.T0NS || r.EndNS != int64(measured)*100e6 {
				t.Errorf("request %d ended after %v", measured, time.Duration(r.EndNS))
			}
		}
		if measured != 50 || b.mostOpen != 50 {
			t.Errorf("%d measured, %d open at once", measured, b.mostOpen)
		}
	})
}

func TestPreciseWaiter(t *testing.T) {
	w, err := load.NewWaiter()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, wait := range []time.Duration{0, time.Microsecond, 3 * time.Millisecond} {
		instant := time.Now().Add(wait)
		if err := w.Until(t.Context(), instant); err != nil || time.Now().Before(instant) {
			t.Errorf("waiting %v: %v, %v early", wait, err, time.Until(instant))
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if err := w.Until(ctx, time.Now().Add(time.Hour)); err == nil {
		t.Error("a cancelled wait went on")
	}
	if err := w.Until(t.Context(), time.Now().Add(time.Millisecond)); err != nil {
		t.Errorf("after a cancelled wait: %v", err)
	}
}
