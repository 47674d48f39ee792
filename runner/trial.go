package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/inference-sweep/sweep/runner/load"
	"github.com/inference-sweep/sweep/runner/stream"
	"github.com/inference-sweep/sweep/runner/workload"
	"github.com/inference-sweep/sweep/sweep"
)

// trial is one trial in progress.
type trial struct {
	*runner
	cell   *sweep.PlanCell
	record *sweep.TrialRecord
	index  int
	client *stream.Client
	header []stream.Header
	maker  *workload.Maker
	path   string
	usage  bool // the server is asked for token counts
	epoch  time.Time
	busy   int // requests that still ran on the server when the trial started
	waiter *load.Waiter
	cancel context.CancelCauseFunc
	next   int64 // sequence number of the next request sent outside the load

	ended  atomic.Int64
	mu     sync.Mutex
	health health
	steady steadiness
}

// trial runs one trial on the server that is up. The error is of the environment only.
func (r *runner) trial(ctx context.Context, cell *sweep.PlanCell, t sweep.Trial, index int) error {
	record := r.record(t)
	record.Nonce, record.ServedModel = r.seedOf(t), r.server.Model
	if cache := cell.Cell.Contract.PrefixCache; cache.Enabled {
		record.CacheMethod = cache.By
	}
	x := &trial{runner: r, cell: cell, record: record, index: index, path: workload.Path(cell.Cell.Contract.Endpoint)}
	if err := x.equip(); err != nil {
		return r.skip(t, sweep.StatusFailed, err.Error())
	}
	defer x.client.Close()
	defer x.waiter.Close()
	x.busy = r.server.Quiesce(ctx, quiesceLimit)
	x.epoch = time.Now()
	record.StartedAt = x.epoch
	if err := r.start(record); err != nil {
		return err
	}
	r.Progress(Event{Kind: TrialStarted, Trial: record, Index: index, Total: r.total, Summary: r.summary})
	err := x.run(ctx)
	x.conclude(ctx, err)
	r.server.suspect = record.Status != sweep.StatusDone
	if finishErr := r.finish(record); finishErr != nil {
		return finishErr
	}
	if errors.Is(err, errRecorder) {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// seedOf is the seed of a trial's text.
func (r *runner) seedOf(t sweep.Trial) string {
	if r.Replay != nil {
		if seed := r.Replay(t); seed != "" {
			return seed
		}
	}
	return r.Nonce()
}

// equip makes what a trial sends with.
func (x *trial) equip() error {
	s := x.server
	dialect := s.dialectFor(x.cell)
	x.usage = dialect.StreamUsage
	var err error
	if x.maker, err = workload.New(&x.cell.Cell, dialect, x.record.Nonce); err != nil {
		return err
	}
	if x.record.WorkloadHash, err = load.WorkloadHash(&x.cell.Cell, x.plan.Seed, x.record.Block, x.plan.Traces); err != nil {
		return err
	}
	if x.client, x.header, err = s.newClient(x.cell, x.Config); err != nil {
		return err
	}
	x.waiter, err = x.NewWaiter()
	return err
}

// run goes through the phases.
func (x *trial) run(parent context.Context) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	x.cancel = cancel
	stopWatch := x.watchServer(ctx)
	defer stopWatch()
	if err := x.before(ctx); err != nil {
		return err
	}
	meter := startMeter()
	out, err := x.load(ctx)
	x.record.T0NS, x.record.T1NS, x.record.EndNS = out.T0NS, out.T1NS, out.EndNS
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return errors.Join(err, x.after(context.WithoutCancel(parent), meter.stop(), out))
}

// watchServer ends the trial when the server's process ends.
func (x *trial) watchServer(ctx context.Context) (stop func()) {
	watch, stop := context.WithCancel(ctx)
	exited := x.server.Exited()
	go func() {
		select {
		case <-exited:
			x.cancel(errors.New("the server ended in the middle of the trial"))
		case <-watch.Done():
		}
	}()
	return stop
}

// load runs warm-up, window and tail.
func (x *trial) load(ctx context.Context) (load.Outcome, error) {
	cell := &x.cell.Cell
	d := &load.Drive{
		Epoch: x.epoch, Wait: x.waiter, StartNS: int64(time.Since(x.epoch)), FirstSeq: x.next,
		Prepare: func(s load.Slot) []byte { return x.maker.Body(s.Phase, s.Index, s.Input, s.Output) },
		Send:    x.send, Start: x.start, Ended: x.take, TailNS: int64(sweep.Duration(cell.Tail)),
	}
	if cell.Warmup.Until == "steady" {
		d.Steady = x.settled
	}
	seed, block, traces := x.plan.Seed, x.record.Block, x.plan.Traces
	if open := cell.Contract.Load.Open; open != nil {
		schedule, err := load.Draw(cell, seed, block, traces)
		if err != nil {
			return load.Outcome{T0NS: sweep.None, T1NS: sweep.None, EndNS: sweep.None}, err
		}
		return d.Open(ctx, schedule, int(open.MaxInFlight))
	}
	warmup, err := load.Lengths(cell, seed, block, sweep.PhaseWarmup, traces)
	if err != nil {
		return load.Outcome{}, err
	}
	measure, err := load.Lengths(cell, seed, block, sweep.PhaseMeasure, traces)
	if err != nil {
		return load.Outcome{}, err
	}
	if cell.Contract.Load.Closed != nil {
		return d.Closed(ctx, cell, warmup, measure)
	}
	return d.Burst(ctx, cell, warmup, measure)
}

// send carries out one request.
func (x *trial) send(ctx context.Context, body []byte, r *sweep.Request) {
	x.client.Do(ctx, x.epoch, x.request(body, r), r)
}

// start has one request carried out.
func (x *trial) start(ctx context.Context, body []byte, r *sweep.Request, ended func()) {
	x.client.Start(ctx, x.epoch, x.request(body, r), r, ended)
}

func (x *trial) request(body []byte, r *sweep.Request) *stream.Request {
	r.RequestID = x.requestID(r.Seq)
	return &stream.Request{
		Path: x.path, Body: body, Header: x.header, ID: r.RequestID, Stream: x.cell.Cell.Contract.Streaming, GraceUsage: x.usage,
	}
}

func (x *trial) requestID(seq int64) string { return fmt.Sprintf("%s-%d", x.record.Nonce, seq) }

// take keeps a request that has ended, and watches whether latencies settle.
func (x *trial) take(r *sweep.Request) {
	x.keep(r)
	x.mu.Lock()
	x.steady.take(r)
	x.mu.Unlock()
	n := x.ended.Add(1)
	x.Progress(Event{Kind: RequestEnded, Trial: x.record, Index: x.index, Total: x.total, Requests: n, Summary: x.summary})
}

// keep hands a request that has ended to the recorder and watches the trial's health.
func (x *trial) keep(r *sweep.Request) {
	if err := x.Record.Put(x.record.ID, r); err != nil {
		x.cancel(recorded(err))
	}
	x.mu.Lock()
	why := x.health.take(r, x.cell.Cell.ErrorLimit)
	x.mu.Unlock()
	if why != nil {
		x.cancel(why)
	}
}

func (x *trial) settled() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.steady.settled()
}

// conclude says how a trial ended.
func (x *trial) conclude(ctx context.Context, err error) {
	record := x.record
	switch {
	case ctx.Err() != nil:
		record.Status, record.Reason = sweep.StatusInterrupted, "" // the status says it all
	case err != nil:
		record.Status, record.Reason = sweep.StatusFailed, x.reason(err)
	case x.health.measuredOK == 0:
		record.Status, record.Reason = sweep.StatusFailed, "no measured request succeeded: "+x.health.sentence()
	default:
		record.Status = sweep.StatusDone
	}
}

// reason is why a trial failed, with the end of the server's output where that has ended.
func (x *trial) reason(err error) string {
	if x.server.gone() {
		return x.server.Epitaph()
	}
	return err.Error()
}
