package runner

import (
	"context"
	"fmt"
	"maps"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/inference-sweep/sweep/runner/host"
	"github.com/inference-sweep/sweep/runner/load"
	"github.com/inference-sweep/sweep/sweep"
)

// coldRequests are sent one after another to a server that has just been launched.
const coldRequests = 3

// quiesceLimit is how long a server may go on with the requests of a trial before, until the next one starts.
const quiesceLimit = 10 * time.Second

// before brings the server into the state that the contract asks for: cold once a launch, its cache as it is to be.
func (x *trial) before(ctx context.Context) error {
	s := x.server
	if x.busy > 0 {
		if err := x.observe("server", sweep.ObsBusyAtStart, int64(x.busy)); err != nil {
			return err
		}
	}
	if s.again {
		if err := x.observe("server", sweep.ObsRestarted, true); err != nil {
			return err
		}
		s.again = false
	}
	if err := x.observeLife(ctx); err != nil {
		return err
	}
	if s.cold {
		if err := x.sequence(ctx, sweep.PhaseCold, coldRequests); err != nil {
			return err
		}
		s.cold = false
	}
	cache := x.cell.Cell.Contract.PrefixCache
	if cache.Enabled && cache.By == "reset" {
		if err := s.ResetCache(ctx); err != nil {
			return fmt.Errorf("resetting the prefix cache: %w", err)
		}
	}
	if err := x.prime(ctx); err != nil {
		return err
	}
	if err := x.observeClocks(ctx); err != nil {
		return err
	}
	x.client.Warm(ctx, x.connections()) // a connection that is not there yet is made, and recorded, when it is needed
	return ctx.Err()
}

// connections is how many the load is expected to keep busy at once, so that none is dialled in the window.
func (x *trial) connections() int {
	load := x.cell.Cell.Contract.Load
	switch {
	case load.Closed != nil:
		return int(load.Closed.Clients)
	case load.Open == nil:
		return int(x.cell.Cell.Measure.Requests)
	}
	expected := int(math.Ceil(load.Open.Rate * openRequestS))
	if limit := int(load.Open.MaxInFlight); limit > 0 {
		expected = min(expected, limit)
	}
	return min(max(expected, 4), maxWarmed)
}

// openRequestS is a guess at how long a request of an open loop is in flight: the warm-up opens what it needs beyond it.
const openRequestS, maxWarmed = 0.2, 512

// sequence sends requests one after another at the cell's own shape, outside the load.
func (x *trial) sequence(ctx context.Context, phase sweep.Phase, n int) error {
	lengths, err := load.Lengths(&x.cell.Cell, x.plan.Seed, x.record.Block, phase, x.plan.Traces)
	if err != nil {
		return err
	}
	for i := range n {
		input, output := lengths()
		x.alone(ctx, phase, x.maker.Body(phase, i, input, output), input, output)
	}
	return context.Cause(ctx)
}

// alone sends one request and waits for its end.
func (x *trial) alone(ctx context.Context, phase sweep.Phase, body []byte, input, output int64) {
	r := x.row(phase, input, output)
	x.send(ctx, body, r)
	x.take(r)
}

// row starts the record of a request outside the load.
func (x *trial) row(phase sweep.Phase, input, output int64) *sweep.Request {
	r := sweep.NewRequest()
	r.Seq, r.Phase, r.InputAsked, r.OutputAsked = x.next, phase, input, output
	x.next++
	r.DueNS, r.QueueNS = int64(time.Since(x.epoch)), 0
	return r
}

// after records what the window looked like from the client's side, and what became of the server.
func (x *trial) after(ctx context.Context, m meterReading, out load.Outcome) error {
	if err := x.observeClocks(ctx); err != nil {
		return err
	}
	facts := map[string]any{
		sweep.ObsGCCycles:  m.GCCycles,
		sweep.ObsGCPauseNS: m.GCPauseNS,
		sweep.ObsDrained:   int64(out.Drained),
	}
	if !math.IsNaN(m.CPUShare) {
		facts[sweep.ObsClientCPUShare] = m.CPUShare
	}
	if m.SchedP99NS != sweep.None {
		facts[sweep.ObsSchedP99NS] = m.SchedP99NS
	}
	if x.FloorNS > 0 {
		facts[sweep.ObsFloorNS] = x.FloorNS
	}
	if out.SteadyNS != sweep.None {
		facts[sweep.ObsSteadyAt] = out.SteadyNS
	}
	for _, key := range slices.Sorted(maps.Keys(facts)) {
		if err := x.observe("client", key, facts[key]); err != nil {
			return err
		}
	}
	if !x.server.Launch.Attached || x.server.gone() {
		return nil
	}
	// Nobody but its owner restarts an attached server, so what it says of itself is asked again after each trial.
	observed, err := x.server.Observe(ctx)
	if err != nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(observed)) {
		if err := x.observe("server", key, observed[key]); err != nil {
			return err
		}
	}
	return nil
}

// observeLife records which process answers where the server is not ours: what is observed after the trial tells whether it
// still is that one.
func (x *trial) observeLife(ctx context.Context) error {
	if !x.server.Launch.Attached {
		return nil
	}
	began, ok := x.server.ProcessStart(ctx)
	if !ok {
		return nil
	}
	return x.observe("server", sweep.ObsProcessStart, began)
}

// observeClocks records what has held the GPUs' clocks back so far. It runs a program of the driver's for up to a second,
// and so never while there is load.
func (x *trial) observeClocks(ctx context.Context) error {
	slowed := x.server.Slowdowns(ctx)
	for _, key := range slices.Sorted(maps.Keys(slowed)) {
		if err := x.observe("server", key, slowed[key]); err != nil {
			return err
		}
	}
	return nil
}

func (x *trial) observe(source, key string, value any) error {
	return recorded(x.Record.Observe(sweep.Observation{
		Trial: x.record.ID, AtNS: int64(time.Since(x.epoch)), Source: source, Key: key, Value: value,
	}))
}

// memoryLimit is where garbage is collected even inside a window.
const memoryLimit = 2 << 30

// meter watches the client while it measures, and keeps the garbage collector out of it.
type meter struct {
	host    *host.Meter
	percent int
	limit   int64
}

type meterReading = host.Reading

func startMeter() *meter {
	runtime.GC()
	return &meter{percent: debug.SetGCPercent(-1), limit: debug.SetMemoryLimit(memoryLimit), host: host.Start()}
}

func (m *meter) stop() meterReading {
	reading := m.host.Stop()
	debug.SetGCPercent(m.percent)
	debug.SetMemoryLimit(m.limit)
	return reading
}
