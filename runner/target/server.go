package target

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/inference-sweep/sweep/runner/engine"
	"github.com/inference-sweep/sweep/sweep"
)

// Deps is what a target needs of the world. The zero value is the real one.
type Deps struct {
	// Dial connects to the server; nil means the network.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Start launches a server; nil means StartProcess.
	Start func(ctx context.Context, spec Spec) (*Process, error)
	// Getenv reads the variables that secrets name; nil means os.LookupEnv.
	Getenv func(name string) (string, bool)
	// Executable is the path of this program, which the embedded engine is a verb of. Empty means that "sweep" is
	// looked up like any other command.
	Executable string
	// Output runs a command to its end and gives what it printed, for nvidia-smi; nil means to run it.
	Output func(ctx context.Context, name string, args ...string) ([]byte, error)
}

func (d Deps) withDefaults() Deps {
	if d.Dial == nil {
		d.Dial = new(net.Dialer).DialContext
	}
	if d.Start == nil {
		d.Start = StartProcess
	}
	if d.Getenv == nil {
		d.Getenv = os.LookupEnv
	}
	if d.Output == nil {
		d.Output = output
	}
	return d
}

// Server is a server that answered a completion. Its methods are for one goroutine at a time, but Exited.
type Server struct {
	// Base is the URL that the API's paths are appended to, without /v1 and without a slash at its end.
	Base string
	// Launch is what there is to record of this life of the server, or of attaching to it. Its identifiers, sweep,
	// sitting and ordinal are the caller's to set. Stop completes it.
	Launch sweep.Launch
	// Profile is what this server understands: its engine's, without what it refused.
	Profile engine.Profile
	// Model is the name to ask for.
	Model string
	// Refused lists the fields of a request that the server was found to refuse before any load; Profile is without
	// them. "prompt" stands for a prompt of token ids.
	Refused []string

	cell      *sweep.Cell
	deps      Deps
	transport *http.Transport
	client    *http.Client
	header    http.Header
	secrets   secrets
	process   *Process
	stop      sync.Once
	stopErr   error
	gpus      []gpu // that the server was last seen to use, where it runs on this host
	// idleTTFT is the shortest time to a first token that a short completion showed, where no gauge says what runs.
	idleTTFT time.Duration
}

// Failure is why a server could not be had, with what there is to record of the attempt. Its text holds no secret.
type Failure struct {
	// Launch has the process's exit code and log where there was a process.
	Launch sweep.Launch
	// Reason is one sentence.
	Reason string
	// Status is what the server last answered, by HTTP or inside a 200; 0 where nothing did.
	Status int
	cause  error
}

func (f *Failure) Error() string { return f.Reason }

func (f *Failure) Unwrap() error { return f.cause }

// Open attaches to the cell's server or launches it, and waits until it answers a completion with the fields that the
// cell's requests will have, at most for timeout.ready. The process that it starts outlives ctx: Stop ends it. What
// cannot heal by waiting ends the wait at once: the exit of the process, or an answer that will not change. An error is
// a *Failure; whatever was started is then stopped.
func Open(ctx context.Context, c *sweep.PlanCell, d Deps) (*Server, error) {
	s, err := newServer(c, d.withDefaults())
	if err == nil {
		err = s.open(ctx)
	}
	if err == nil {
		return s, nil
	}
	// The reason is made before the process is stopped, so that it tells what the process did by itself.
	reason := s.secrets.redact(err.Error())
	if stopErr := s.Stop(context.WithoutCancel(ctx)); stopErr != nil {
		reason += "; then " + stopErr.Error()
	}
	failure := &Failure{Launch: s.Launch, Reason: reason, cause: err}
	if r := (*refusal)(nil); errors.As(err, &r) {
		failure.Status = r.status
	}
	return nil, failure
}

// newServer reads the cell and touches nothing. The server it returns with an error serves only to be recorded.
func newServer(c *sweep.PlanCell, d Deps) (*Server, error) {
	cell := &c.Cell
	s := &Server{cell: cell, deps: d, Model: ModelName(cell)}
	s.Launch = sweep.Launch{
		Target: cell.Target, Setting: c.Setting, Attached: engine.Attached(cell), StartedAt: time.Now(),
		PortNS: sweep.None, ReadyNS: sweep.None, FirstTokenNS: sweep.None, ExitCode: sweep.None,
		Observed: map[string]any{},
	}
	connect := parseDuration(cell.Timeout.Connect, 10*time.Second)
	s.transport = &http.Transport{
		DialContext:         within(connect, d.Dial),
		TLSHandshakeTimeout: connect,
		// Shorter than any server's, so that it is the client that closes: a server that closes first keeps its port
		// busy for a minute after it has gone.
		IdleConnTimeout: 2 * time.Second,
	}
	s.client = &http.Client{Transport: s.transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	var ok bool
	if s.Profile, ok = engine.For(cell.Contract.Engine.Name); !ok {
		return s, fmt.Errorf("contract.engine.name: there is no engine %q", cell.Contract.Engine.Name)
	}
	if strings.HasPrefix(cell.Target, "ssh://") {
		return s, errors.New("target: servers on other hosts are not launched yet: start one there and give its URL")
	}
	var err error
	if s.header, err = s.secrets.header(cell, d.Getenv); err != nil {
		return s, err
	}
	if s.Launch.Attached {
		if s.Base, err = sweep.BaseURL(cell.Target); err != nil {
			return s, fmt.Errorf("target: %w", err)
		}
		return s, nil
	}
	if s.Launch.Command = slices.Clone(c.Command); len(c.Command) == 0 {
		s.Launch.Command, err = engine.Command(cell)
	}
	return s, err
}

// within bounds a dial.
func within(limit time.Duration, dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(ctx context.Context, network, addr string) (net.Conn, error) {
	late := fmt.Errorf("no connection within %v (timeout.connect)", limit)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, limit, late)
		defer cancel()
		conn, err := dial(ctx, network, addr)
		if err != nil && context.Cause(ctx) == late {
			err = late
		}
		return conn, err
	}
}

// ModelName is what a cell's requests ask for: the served name where the cell gives one, else the adapter's or the
// model's id.
func ModelName(c *sweep.Cell) string {
	switch {
	case c.Server.ServedModel != "":
		return c.Server.ServedModel
	case c.Contract.Model.Adapter != nil:
		return c.Contract.Model.Adapter.Id
	}
	return c.Contract.Model.Id
}

// Header is one header of a request.
type Header struct{ Name, Value string }

// HeaderFor is what every request of a cell carries: the bearer key and contract.request.headers, secrets resolved, in
// the order of their names.
func (s *Server) HeaderFor(c *sweep.Cell) ([]Header, error) {
	header, err := s.secrets.header(c, s.deps.Getenv)
	var out []Header
	for _, name := range slices.Sorted(maps.Keys(header)) {
		out = append(out, Header{Name: name, Value: header.Get(name)})
	}
	return out, err
}

// Probe asks for one short completion, at most for timeout.noToken: a server that is up and does not answer is dead.
func (s *Server) Probe(ctx context.Context) error {
	limit := s.noToken()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("nothing for %v (timeout.noToken)", limit))
	defer cancel()
	if _, err := s.ask(ctx, s.Profile); err != nil {
		return errors.New(s.secrets.redact(fmt.Sprintf("%s: %v", s.Base, err)))
	}
	return nil
}

// noToken is how long a completion of the cell may go without output.
func (s *Server) noToken() time.Duration { return parseDuration(s.cell.Timeout.NoToken, 2*time.Minute) }

// Epitaph is how the launched process ended, in a sentence with its last words; empty while it runs.
func (s *Server) Epitaph() string { return s.epitaph("") }

func (s *Server) epitaph(when string) string {
	if s.process == nil {
		return ""
	}
	select {
	case <-s.process.Exited:
	default:
		return ""
	}
	name := filepath.Base(s.Launch.Command[0])
	return s.secrets.redact(fmt.Sprintf("%s ended with exit code %d%s%s", name, s.process.exitCode(), when, lastLine(s.process.log())))
}

// Exited is closed when the process that Open started has ended. At a URL it is nil: nobody here can tell.
func (s *Server) Exited() <-chan struct{} {
	if s.process == nil {
		return nil
	}
	return s.process.Exited
}

// Stop closes the connections that this package made and, where it launched the server, asks the process group to end,
// kills what is left after timeout.stop or when ctx ends, and completes Launch. The caller closes its own connections
// first: a port that a client still holds on to cannot be listened on again. An error names the processes that are left.
// A server that was already up is left alone.
func (s *Server) Stop(ctx context.Context) error {
	s.stop.Do(func() {
		s.transport.CloseIdleConnections()
		if s.process == nil {
			return
		}
		s.stopErr = s.process.stop(ctx, parseDuration(s.cell.Timeout.Stop, 30*time.Second))
		s.Launch.StoppedAt = time.Now()
		s.Launch.Log = s.secrets.redact(s.process.log())
		select {
		case <-s.process.Exited:
			s.Launch.ExitCode = int64(s.process.exitCode())
		default:
		}
	})
	return s.stopErr
}

// parseDuration reads a duration that the schema has checked; absent means the given one.
func parseDuration(text string, absent time.Duration) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return absent
	}
	return d
}
