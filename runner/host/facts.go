package host

import (
	"fmt"
	"os"
	"runtime"

	"github.com/inference-sweep/sweep/sweep"
	"golang.org/x/sys/unix"
)

// Facts is what this machine is and allows.
type Facts struct {
	Name string `json:"name"`
	// System is the operating system and the architecture, as linux/amd64; Kernel its release.
	System string `json:"system"`
	Kernel string `json:"kernel"`
	CPUs   int    `json:"cpus"`
	// GOMAXPROCS is how many processors this process may use at once.
	GOMAXPROCS int `json:"gomaxprocs"`
	// ClockSource is what the kernel reads the time from, empty where it does not say.
	ClockSource string `json:"clock_source,omitempty"`
	// Descriptors is how many files and sockets this process may hold open now, DescriptorsMax how far it can raise
	// that.
	Descriptors    uint64 `json:"descriptors"`
	DescriptorsMax uint64 `json:"descriptors_max"`
	// Ports is how many local ports there are for connections to one address of a server; sweep.None where unknown.
	Ports int64 `json:"ports"`
}

// Describe reads the facts. What cannot be read is left out.
func Describe() Facts {
	f := Facts{
		System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0),
		ClockSource: clockSource(), Ports: sweep.None,
	}
	f.Name, _ = os.Hostname()
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		f.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		f.Descriptors, f.DescriptorsMax = limit.Cur, limit.Max
	}
	if low, high, ok := portRange(); ok {
		f.Ports = high - low + 1
	}
	return f
}

// RaiseDescriptors sees to it that this process may hold need descriptors open, raising its soft limit as far as that
// takes. An error says what the limit is.
func RaiseDescriptors(need uint64) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	if limit.Cur >= need {
		return nil
	}
	if limit.Max < need {
		return fmt.Errorf("%d open files are needed, and this process may have at most %d (ulimit -Hn)", need, limit.Max)
	}
	limit.Cur = need
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("raise the limit of open files to %d: %w", need, err)
	}
	return nil
}

// FreeDisk is how many bytes an unprivileged process can still write on the file system of path.
func FreeDisk(path string) (bytes int64, err error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", path, err)
	}
	return int64(fs.Bavail) * int64(fs.Bsize), nil
}
