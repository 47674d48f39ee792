package host

import (
	"math"
	"os"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/sweep"
	"golang.org/x/sys/unix"
)

func TestMeter(t *testing.T) {
	m := Start()
	for range 3 {
		runtime.GC()
	}
	// Processor time moves in the kernel's ticks: work until it did.
	for end := time.Now().Add(10 * time.Second); now().cpuNS-m.at.cpuNS < int64(20*time.Millisecond) && time.Now().Before(end); {
		spin()
	}
	r := m.Stop()
	if r.WallNS <= 0 || r.CPUNS < int64(20*time.Millisecond) {
		t.Errorf("wall %d, processor %d", r.WallNS, r.CPUNS)
	}
	if want := float64(r.CPUNS) / float64(r.WallNS) / float64(runtime.GOMAXPROCS(0)); math.Abs(r.CPUShare-want) > 1e-9 {
		t.Errorf("share %v, want %v", r.CPUShare, want)
	}
	if r.GCCycles < 3 || r.GCPauseNS <= 0 {
		t.Errorf("%d collections, %d ns", r.GCCycles, r.GCPauseNS)
	}
	if r.SchedP99NS != sweep.None && r.SchedP99NS < 0 {
		t.Errorf("latency %d", r.SchedP99NS)
	}
}

func spin() {
	x := 1.0
	for range 100_000 {
		x = math.Sqrt(x + 1)
	}
	runtime.KeepAlive(x)
}

func TestP99(t *testing.T) {
	bounds := []float64{math.Inf(-1), 0, 1e-6, 1e-3, math.Inf(1)}
	h := func(counts ...uint64) *metrics.Float64Histogram {
		return &metrics.Float64Histogram{Counts: counts, Buckets: bounds}
	}
	for _, test := range []struct {
		name          string
		before, after *metrics.Float64Histogram
		want          int64
	}{
		{"the 99th of 100", h(0, 0, 0, 0), h(0, 99, 1, 0), 1_000},
		{"the 99th of 100, the two worst alike", h(0, 0, 0, 0), h(0, 98, 2, 0), 1_000_000},
		{"only what is new counts", h(0, 0, 500, 0), h(0, 10, 500, 0), 1_000},
		{"the open end gives its lower bound", h(0, 0, 0, 0), h(0, 0, 0, 1), 1_000_000},
		{"nothing counted", h(0, 5, 0, 0), h(0, 5, 0, 0), sweep.None},
		{"no histogram", nil, h(0, 5, 0, 0), sweep.None},
	} {
		if got := p99(test.before, test.after); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	f := Describe()
	name, _ := os.Hostname()
	if f.Name != name || f.Kernel == "" || f.CPUs < 1 || f.GOMAXPROCS != runtime.GOMAXPROCS(0) || f.Descriptors == 0 || f.DescriptorsMax < f.Descriptors {
		t.Errorf("%+v", f)
	}
	if f.Ports != sweep.None && (f.Ports < 1 || f.Ports > 65536) {
		t.Errorf("%d ports", f.Ports)
	}
}

// TestRaiseDescriptors is E15: the soft limit is raised to what is needed, or the limit that stands in the way is named.
func TestRaiseDescriptors(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit) }()
	low := limit
	low.Cur = 200
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	if err := RaiseDescriptors(150); err != nil || Describe().Descriptors != 200 {
		t.Errorf("%v; enough was lowered or raised to %d", err, Describe().Descriptors)
	}
	if err := RaiseDescriptors(300); err != nil || Describe().Descriptors != 300 {
		t.Errorf("%v; raised to %d", err, Describe().Descriptors)
	}
	if limit.Max == math.MaxUint64 {
		return
	}
	if err := RaiseDescriptors(limit.Max + 1); err == nil {
		t.Error("more than the hard limit")
	}
}

func TestFreeDisk(t *testing.T) {
	if n, err := FreeDisk(t.TempDir()); err != nil || n <= 0 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := FreeDisk("/no/such/folder"); err == nil {
		t.Error("a folder that is not there has space")
	}
}
