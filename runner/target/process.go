package target

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Spec says what to start.
type Spec struct {
	Command []string
	// Env is added to this process's environment, as NAME=VALUE.
	Env []string
	// Sim says that the command chooses its port, prints "listening on http://HOST:PORT" on its standard output, and
	// ends at the end of its standard input.
	Sim bool
	// Port is where any other command will listen, on the loopback address.
	Port int
	// LogLimit is how much of the end of the output to keep, in bytes.
	LogLimit int
}

// Process is a server that was started. A function that is nil does nothing.
type Process struct {
	// Addr is host:port.
	Addr string
	// Exited is closed when the process has ended; nil means that it never does.
	Exited <-chan struct{}
	// ExitCode is the exit status after Exited; 128 + the signal's number where a signal ended it.
	ExitCode func() int
	// Log is the end of the output so far.
	Log func() string
	// PIDs lists what runs of the process and what it started.
	PIDs func() []int
	// Stop ends the process and everything that it started: asked first, killed after grace or when ctx ends. An error
	// names what is left.
	Stop func(ctx context.Context, grace time.Duration) error
}

func (p *Process) exitCode() int {
	if p.ExitCode == nil {
		return 0
	}
	return p.ExitCode()
}

func (p *Process) log() string {
	if p.Log == nil {
		return ""
	}
	return p.Log()
}

func (p *Process) pids() []int {
	if p.PIDs == nil {
		return nil
	}
	return p.PIDs()
}

func (p *Process) stop(ctx context.Context, grace time.Duration) error {
	if p.Stop == nil {
		return nil
	}
	return p.Stop(ctx, grace)
}

// markName is a variable that everything a launched server starts inherits: by it a process that left the process group
// is still known to be ours.
const markName = "SWEEP_LAUNCH"

// child is a process of the operating system and the group that it leads.
type child struct {
	cmd    *exec.Cmd
	spec   Spec
	mark   string
	tail   *tail
	exited chan struct{}
	code   int
	guard  *guard
	// empty says that nothing was left at some time after the end: the group's number may by now be somebody else's.
	empty atomic.Bool
}

// StartProcess starts spec as a process of its own, in its own process group. It returns as soon as the process runs;
// for a Sim, when it said where it listens, has ended, or ctx ends. A process outlives ctx, but not this process,
// however that ends. A port that is taken is refused with who holds it.
func StartProcess(ctx context.Context, spec Spec) (*Process, error) {
	if !spec.Sim {
		if err := portFree(spec.Port); err != nil {
			return nil, err
		}
	}
	c := &child{
		spec: spec, mark: markName + "=" + rand.Text(), exited: make(chan struct{}),
		cmd:  exec.Command(spec.Command[0], spec.Command[1:]...),
		tail: &tail{limit: spec.LogLimit, listening: make(chan string, 1)},
	}
	c.cmd.Env = append(append(os.Environ(), spec.Env...), c.mark)
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.cmd.Stdout, c.cmd.Stderr = c.tail, c.tail
	// What the process started may hold its output open after it has gone.
	c.cmd.WaitDelay = 500 * time.Millisecond
	// The other end is never written to: its end is what tells a Sim that this process is gone.
	if _, err := c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go c.wait()
	p := &Process{Exited: c.exited, ExitCode: func() int { return c.code }, Log: c.tail.String, PIDs: c.pids, Stop: c.stop}
	if !spec.Sim {
		var err error
		if c.guard, err = startGuard(c.cmd.Process.Pid); err != nil {
			_ = c.stop(ctx, 0)
			return nil, fmt.Errorf("guard: %w", err)
		}
		p.Addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(spec.Port))
		return p, nil
	}
	select {
	case p.Addr = <-c.tail.listening:
	case <-c.exited:
	case <-ctx.Done():
	}
	return p, nil
}

func (c *child) wait() {
	_ = c.cmd.Wait()
	c.code = exitCode(c.cmd.ProcessState)
	close(c.exited)
	c.pids()
}

func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// pids lists what is left of the process and what it started.
func (c *child) pids() []int {
	if c.empty.Load() {
		return nil
	}
	left := descendants(c.cmd.Process.Pid, c.mark)
	select {
	case <-c.exited:
		c.empty.Store(len(left) == 0)
	default:
	}
	return left
}

// signal sends to every process that is left.
func (c *child) signal(sig syscall.Signal) {
	for _, pid := range c.pids() {
		_ = syscall.Kill(pid, sig)
	}
}

// killed is how long a process may take to go after SIGKILL, and a port to be free again.
const killed = 5 * time.Second

func (c *child) stop(ctx context.Context, grace time.Duration) error {
	defer func() {
		if c.guard != nil {
			c.guard.dismiss()
		}
	}()
	limit, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	c.signal(syscall.SIGTERM)
	if !c.gone(limit, 0) {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), killed)
		defer cancel()
		if !c.gone(limit, syscall.SIGKILL) {
			return fmt.Errorf("still running after SIGKILL: %s", names(c.pids()))
		}
	}
	<-c.exited
	if c.spec.Sim {
		return nil
	}
	return waitPortFree(context.WithoutCancel(ctx), c.spec.Port)
}

// gone waits until nothing is left, and meanwhile sends sig, where it is not 0, to whatever is: processes may go on
// starting others. False means that ctx ended first.
func (c *child) gone(ctx context.Context, sig syscall.Signal) bool {
	for len(c.pids()) > 0 {
		if sig != 0 {
			c.signal(sig)
		}
		if !sleep(ctx, 25*time.Millisecond) {
			return false
		}
	}
	return true
}

// names lists processes for a sentence.
func names(pids []int) string {
	var out []string
	for _, pid := range pids {
		out = append(out, strings.TrimSpace(fmt.Sprintf("pid %d %s", pid, commandLine(pid))))
	}
	return strings.Join(out, ", ")
}

// portFree refuses a port that somebody listens on. One that cannot be bound and on which nobody listens is held by the
// ends of old connections: whether that matters depends on how the next server asks for it.
func portFree(port int) error {
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	listener, err := net.Listen("tcp", addr)
	if err == nil {
		return listener.Close()
	}
	conn, dialErr := net.DialTimeout("tcp", addr, time.Second)
	if dialErr == nil {
		conn.Close()
	} else if errors.Is(dialErr, syscall.ECONNREFUSED) {
		return nil
	}
	if pid := portHolder(port); pid != 0 {
		return fmt.Errorf("server.port: %d is taken by %s", port, names([]int{pid}))
	}
	return fmt.Errorf("server.port: %w", err)
}

func waitPortFree(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, killed)
	defer cancel()
	for {
		err := portFree(port)
		if err == nil || !sleep(ctx, 50*time.Millisecond) {
			return err
		}
	}
}

var listeningLine = regexp.MustCompile(`(?m)^listening on http://(\S+)\r?$`)

// tail keeps the end of what is written to it, and looks for where the writer says that it listens.
type tail struct {
	limit     int
	listening chan string

	mu    sync.Mutex
	text  []byte
	found bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if !t.found {
		// Only whole lines: the address may be cut.
		whole := t.text[:bytes.LastIndexByte(t.text, '\n')+1]
		if m := listeningLine.FindSubmatch(whole); m != nil {
			t.found = true
			t.listening <- string(m[1])
		}
	}
	// Twice the limit before cutting, so that each byte is moved once.
	if limit := max(t.limit, 1); len(t.text) > 2*limit {
		t.text = append(t.text[:0], t.text[len(t.text)-limit:]...)
	}
	return len(p), nil
}

// String is the end of the text, from the start of a line where it had to be cut.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := t.text
	if limit := max(t.limit, 1); len(text) > limit {
		text = text[len(text)-limit:]
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			text = text[i+1:]
		}
	}
	return strings.ToValidUTF8(string(text), "")
}
