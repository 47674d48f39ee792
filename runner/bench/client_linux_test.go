package bench

import (
	"bufio"
	"context"
	"encoding/gob"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync"
	"time"

	"github.com/inference-sweep/sweep/runner/host"
	"github.com/inference-sweep/sweep/runner/stream"
	"github.com/inference-sweep/sweep/sweep"
	"golang.org/x/sys/unix"
)

// measured begins the ids of the requests that count; those of the round before begin otherwise.
const measured, warmup = "m", "w"

// outcome is what a client's process found out. Times are the machine's monotonic clock.
type outcome struct {
	SentNS []int64   // by stream
	AtNS   [][]int64 // by stream, when each event came
	CPUNS  int64
	WallNS int64
	// Mallocs and Bytes were allocated while the streams ran; Collections is how many times garbage was collected.
	Mallocs, Bytes uint64
	Collections    int64
	ResidentBytes  int64
}

// usage is what a process had used at some moment.
type usage struct {
	mem   runtime.MemStats
	meter *host.Meter
}

// sweeping is how long what a collection leaves to the background is waited for: it is not the streams'.
const sweeping = 50 * time.Millisecond

func begin() *usage {
	u := new(usage)
	runtime.GC()
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(2 << 30)
	runtime.ReadMemStats(&u.mem)
	time.Sleep(sweeping)
	u.meter = host.Start()
	return u
}

func (u *usage) end(o *outcome) {
	reading := u.meter.Stop()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	o.CPUNS, o.WallNS = reading.CPUNS, reading.WallNS
	o.Mallocs, o.Bytes = mem.Mallocs-u.mem.Mallocs, mem.TotalAlloc-u.mem.TotalAlloc
	o.Collections = reading.GCCycles
}

func playClient(r role) error {
	run := runOurs
	if r.Name == "raw" {
		run = runRaw
	}
	o, err := run(r)
	if err != nil {
		return err
	}
	return gob.NewEncoder(os.Stdout).Encode(o)
}

func runRaw(r role) (*outcome, error) {
	c, err := newRaw(r.URL, r.Pattern.Streams, bootEpoch())
	if err != nil {
		return nil, err
	}
	defer c.close()
	o := new(outcome)
	for _, prefix := range []string{warmup, measured} {
		u := begin()
		if err := c.ask(prefix, r.Pattern.Events); err != nil {
			return nil, err
		}
		if err := c.read(); err != nil {
			return nil, err
		}
		u.end(o)
	}
	for i := range c.streams {
		o.SentNS = append(o.SentNS, c.streams[i].sent)
		o.AtNS = append(o.AtNS, c.streams[i].at)
	}
	return o, nil
}

func runOurs(r role) (*outcome, error) {
	ctx, cancel := context.WithCancel(context.Background()) // as a trial's, which ends its requests
	defer cancel()
	epoch := bootEpoch()
	c, err := newClient(r.URL)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	n := r.Pattern.Streams
	if err := c.Warm(ctx, n); err != nil {
		return nil, err
	}
	o := new(outcome)
	// The buffers that the first round has grown outlive one collection, that of begin, but no second.
	debug.SetGCPercent(-1)
	askAll(ctx, c, epoch, n, warmup)
	u := begin()
	stop, err := profile(r.Profile)
	if err != nil {
		return nil, err
	}
	inner := make(chan [2]runtime.MemStats, 1)
	if r.Pattern.Inner {
		go func() { inner <- innerWindow(r.Pattern) }()
	}
	rows := askAll(ctx, c, epoch, n, measured)
	stop()
	u.end(o)
	if r.Pattern.Inner {
		mem := <-inner
		o.Mallocs, o.Bytes = mem[1].Mallocs-mem[0].Mallocs, mem[1].TotalAlloc-mem[0].TotalAlloc
	}
	for _, row := range rows {
		at, err := chunkTimes(row)
		if err != nil {
			return nil, fmt.Errorf("request %s: %w", row.RequestID, err)
		}
		if row.ConnNew {
			return nil, fmt.Errorf("request %s had a connection made: none was to be", row.RequestID)
		}
		o.SentNS = append(o.SentNS, row.SentNS)
		o.AtNS = append(o.AtNS, at)
	}
	return o, nil
}

// innerWindow reads what has been allocated a tenth into a pattern's writes and a tenth before their end: in between no
// request begins or ends, so that what was allocated is the events'.
func innerWindow(p pattern) (mem [2]runtime.MemStats) {
	lasts := p.Gap * time.Duration(p.Events/max(p.PerWrite, 1))
	time.Sleep(p.TTFT + lasts/10)
	runtime.ReadMemStats(&mem[0])
	time.Sleep(lasts * 8 / 10)
	runtime.ReadMemStats(&mem[1])
	return mem
}

// askAll sends one request on each stream, all at once as a burst does, and waits for their ends.
func askAll(ctx context.Context, c *stream.Client, epoch time.Time, n int, prefix string) []*sweep.Request {
	rows := make([]*sweep.Request, n)
	var all sync.WaitGroup
	all.Add(n)
	for i := range rows {
		rows[i] = sweep.NewRequest()
		c.Start(ctx, epoch, asked(fmt.Sprintf("%s%d", prefix, i)), rows[i], all.Done)
	}
	all.Wait()
	return rows
}

// profile writes a processor profile until stop, where it has a path.
func profile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() { pprof.StopCPUProfile(); f.Close() }, nil
}

// playIdle opens streams that have begun and then wait, and says by how much each makes the process grow once a line
// on standard input says that all have begun.
func playIdle(r role) error {
	n := r.Pattern.Streams
	if err := host.RaiseDescriptors(uint64(n + 100)); err != nil {
		return err
	}
	before := resident()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		if r.Name == "idle-raw" {
			failed <- idleRaw(r.URL, n)
			return
		}
		failed <- idleOurs(ctx, r.URL, n)
	}()
	begun := make(chan error, 1)
	go func() { _, err := bufio.NewReader(os.Stdin).ReadString('\n'); begun <- err }()
	select {
	case err := <-failed:
		return fmt.Errorf("%d idle streams: %w", n, err)
	case err := <-begun:
		if err != nil {
			return err
		}
	}
	return gob.NewEncoder(os.Stdout).Encode(outcome{ResidentBytes: resident() - before})
}

func idleRaw(url string, n int) error {
	c, err := newRaw(url, n, bootEpoch())
	if err != nil {
		return err
	}
	if err := c.ask(measured, 1); err != nil {
		return err
	}
	return c.read()
}

func idleOurs(ctx context.Context, url string, n int) error {
	c, err := newClient(url)
	if err != nil {
		return err
	}
	if err := c.Warm(ctx, n); err != nil {
		return err
	}
	begin()
	row := askAll(ctx, c, bootEpoch(), n, measured)[0]
	return fmt.Errorf("%s: %s", row.Error, row.ErrorMessage)
}

// resident is the memory that this process occupies, in bytes.
func resident() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	var size, pages int64
	if err == nil {
		_, err = fmt.Fscan(strings.NewReader(string(text)), &size, &pages)
	}
	if err != nil {
		return sweep.None
	}
	return pages * int64(unix.Getpagesize())
}
