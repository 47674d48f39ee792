package bench

import (
	"bufio"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// roleVariable carries what a process of a comparison is to be.
const roleVariable = "SWEEP_BENCH_ROLE"

// role is what a process of a comparison is to do.
type role struct {
	Name    string // server, raw, ours, idle-raw, idle-ours, or a kind of lateness
	Pattern pattern
	URL     string
	Profile string // a file for a processor profile
}

func digits(n int) string { return strconv.Itoa(n) }

// bootEpoch is an instant from which time.Since is the reading of the machine's monotonic clock, which all processes
// share. Anything that comes between the two readings makes it later, so the earliest of several is the best.
func bootEpoch() time.Time {
	var epoch time.Time
	for i := range 100 {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
			panic(err)
		}
		if e := time.Now().Add(-time.Duration(now.Nano())); i == 0 || e.Before(epoch) {
			epoch = e
		}
	}
	return epoch
}

// process is a running role: what it says comes as gob values.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *gob.Decoder
}

// start runs this binary in a role, on one processor where cpu is not negative.
func start(r role, cpu int) (*process, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(self)}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = gob.NewDecoder(bufio.NewReaderSize(out, 1<<20))
	if err := onProcessor(cpu, p.cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", r.Name, err)
	}
	return p, nil
}

// onProcessor calls start on a thread bound to one processor, which a process that it starts inherits.
func onProcessor(cpu int, start func() error) error {
	if cpu < 0 || runtime.NumCPU() < 2 {
		return start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	for found, c := 0, 0; c < 1024; c++ {
		if before.IsSet(c) {
			if found == cpu {
				one.Set(c)
				break
			}
			found++
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return err
	}
	defer unix.SchedSetaffinity(0, &before)
	return start()
}

// end closes a process's standard input, at whose end it ends.
func (p *process) end() error {
	p.in.Close()
	return p.cmd.Wait()
}

// serverProcess is a null server in a process of its own.
type serverProcess struct {
	*process
	URL string
}

func startServer(t Timing, cpu int) (*serverProcess, error) {
	p, err := start(role{Name: "server", Pattern: pattern{Timing: t}}, cpu)
	if err != nil {
		return nil, err
	}
	s := &serverProcess{process: p}
	if err := p.out.Decode(&s.URL); err != nil {
		p.end()
		return nil, fmt.Errorf("the null server's address: %w", err)
	}
	return s, nil
}

// take fetches the exchanges that have ended.
func (s *serverProcess) take() ([]Exchange, error) {
	if _, err := s.in.Write([]byte("take\n")); err != nil {
		return nil, err
	}
	var all []Exchange
	return all, s.out.Decode(&all)
}

// play is what a process of a comparison does.
func play(text string) error {
	var r role
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return err
	}
	switch r.Name {
	case "server":
		return playServer(r.Pattern.Timing)
	case "raw", "ours":
		return playClient(r)
	case "idle-raw", "idle-ours":
		return playIdle(r)
	}
	return playLateness(r.Name)
}

func playServer(t Timing) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s, err := Serve(l, t, bootEpoch())
	if err != nil {
		return err
	}
	out := gob.NewEncoder(os.Stdout)
	if err := out.Encode(s.URL()); err != nil {
		return err
	}
	for commands := bufio.NewScanner(os.Stdin); commands.Scan(); {
		if err := out.Encode(s.Take()); err != nil {
			return err
		}
	}
	return s.Close()
}
