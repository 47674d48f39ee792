package host

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/inference-sweep/sweep/sweep"
	"golang.org/x/sys/unix"
)

// Meter watches this process over a window.
type Meter struct {
	start time.Time
	at    state
}

// state is what has been counted since the process started.
type state struct {
	cpuNS      int64
	gcCycles   int64
	gcPauseNS  int64
	scheduling *metrics.Float64Histogram
}

// Reading is what happened in a window.
type Reading struct {
	WallNS int64
	// CPUNS is the processor time of the whole process, its own and the kernel's on its behalf, or sweep.None.
	CPUNS int64
	// CPUShare is CPUNS ÷ (GOMAXPROCS · WallNS): 1 means that the process had all that it may have. NaN for a window
	// without length or where CPUNS is not known.
	CPUShare float64
	// GCCycles is how many collections ended in the window, GCPauseNS their pauses added up.
	GCCycles, GCPauseNS int64
	// SchedP99NS is the time that a goroutine which could run waited for a processor, at the 99th percentile: the upper
	// end of its histogram's bucket. sweep.None where none was counted.
	SchedP99NS int64
}

// Start begins a window.
func Start() *Meter {
	return &Meter{at: now(), start: time.Now()}
}

// Stop ends the window. It can be called again for a longer one.
func (m *Meter) Stop() Reading {
	wall := time.Since(m.start)
	end := now()
	r := Reading{
		WallNS:     wall.Nanoseconds(),
		CPUNS:      sweep.None,
		CPUShare:   math.NaN(),
		GCCycles:   end.gcCycles - m.at.gcCycles,
		GCPauseNS:  end.gcPauseNS - m.at.gcPauseNS,
		SchedP99NS: p99(m.at.scheduling, end.scheduling),
	}
	if m.at.cpuNS != sweep.None && end.cpuNS != sweep.None {
		r.CPUNS = end.cpuNS - m.at.cpuNS
		if wall > 0 {
			r.CPUShare = float64(r.CPUNS) / (float64(runtime.GOMAXPROCS(0)) * float64(wall))
		}
	}
	return r
}

const schedLatencies = "/sched/latencies:seconds"

func now() state {
	s := state{cpuNS: sweep.None}
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	s.gcCycles, s.gcPauseNS = gc.NumGC, gc.PauseTotal.Nanoseconds()
	sample := []metrics.Sample{{Name: schedLatencies}}
	metrics.Read(sample)
	if sample[0].Value.Kind() == metrics.KindFloat64Histogram {
		s.scheduling = sample[0].Value.Float64Histogram()
	}
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) == nil {
		s.cpuNS = usage.Utime.Nano() + usage.Stime.Nano()
	}
	return s
}

// p99 is the 99th percentile, in nanoseconds, of what was counted between two states of a histogram of seconds.
func p99(before, after *metrics.Float64Histogram) int64 {
	if before == nil || after == nil || len(before.Counts) != len(after.Counts) {
		return sweep.None
	}
	var n uint64
	for i := range after.Counts {
		n += after.Counts[i] - before.Counts[i]
	}
	if n == 0 {
		return sweep.None
	}
	rank := (n*99 + 99) / 100
	var seen uint64
	for i := range after.Counts {
		if seen += after.Counts[i] - before.Counts[i]; seen >= rank {
			bound := after.Buckets[i+1]
			if math.IsInf(bound, 1) {
				bound = after.Buckets[i]
			}
			return int64(math.Round(bound * 1e9))
		}
	}
	return sweep.None
}
