package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// attachPatience is how long a server that is said to be up may fail to answer sensibly: long enough for a restart by
// its supervisor to show as one, short enough that a wrong port number is told at once. A server that says that it is
// loading is waited for as long as a launched one.
const attachPatience = 3 * time.Second

// logLimit is how much of a server's output is kept, in bytes.
const logLimit = 64 << 10

func (s *Server) open(ctx context.Context) error {
	limit := parseDuration(s.cell.Timeout.Ready, 20*time.Minute)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not ready within %v (timeout.ready)", limit))
	defer cancel()
	if s.Launch.Attached {
		if err := s.waitAnswer(ctx, time.Now()); err != nil {
			return fmt.Errorf("%s: %w", s.Base, err)
		}
		s.Launch.Node = hostOf(s.Base)
	} else {
		if err := s.launch(ctx); err != nil {
			return err
		}
		s.Launch.Node, _ = os.Hostname()
	}
	observed, err := s.Observe(ctx)
	if err != nil {
		return err
	}
	s.Launch.Observed = observed
	return nil
}

// errExited ends a wait for a process that has ended.
var errExited = errors.New("the process ended")

// exitError is a process that ended before it answered, in words.
type exitError string

func (e exitError) Error() string { return string(e) }

// portRetries are the pauses before a server is started again that found its port still taken by connections of the one
// before: the kernel lets go of them within a minute.
var portRetries = []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second}

func (s *Server) launch(ctx context.Context) error {
	env, err := s.secrets.env(s.cell, s.deps.Getenv)
	if err != nil {
		return err
	}
	for attempt := 0; ; attempt++ {
		err := s.launchOnce(ctx, s.spec(env))
		if !errors.As(err, new(exitError)) || attempt == len(portRetries) || !portWasTaken(s.process.log()) {
			return err
		}
		if stopErr := s.process.stop(ctx, time.Second); stopErr != nil {
			return fmt.Errorf("%w; then %w", err, stopErr)
		}
		if !sleep(ctx, portRetries[attempt]) {
			return err
		}
	}
}

// spec is the launch of the cell's command. The embedded engine chooses its port and ends with this process.
func (s *Server) spec(env []string) Spec {
	spec := Spec{Command: s.Launch.Command, Env: env, LogLimit: logLimit}
	if c := spec.Command; len(c) >= 2 && c[0] == "sweep" && c[1] == "sim" {
		spec.Sim = true
		program := c[0]
		if s.deps.Executable != "" {
			program = s.deps.Executable
		}
		spec.Command = append(append([]string{program}, c[1:]...), "--port", "0", "--with-parent")
		return spec
	}
	spec.Port = int(s.cell.Server.Port)
	return spec
}

func (s *Server) launchOnce(ctx context.Context, spec Spec) error {
	name := filepath.Base(s.Launch.Command[0])
	start := time.Now()
	s.Launch.StartedAt = start
	process, err := s.deps.Start(ctx, spec)
	if err != nil {
		return fmt.Errorf("launch %s: %w", name, err)
	}
	s.process = process
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-process.Exited:
			cancel(errExited)
		case <-ctx.Done():
		}
	}()
	defer func() { cancel(nil); <-watched }()

	if err = s.waitPort(ctx, process.Addr, start); err == nil {
		s.Base = "http://" + process.Addr
		err = s.waitAnswer(ctx, start)
	}
	if errors.Is(context.Cause(ctx), errExited) {
		return exitError(s.epitaph(" before it answered a completion"))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// waitPort waits until the server accepts connections.
func (s *Server) waitPort(ctx context.Context, addr string, start time.Time) error {
	for {
		conn, err := s.deps.Dial(ctx, "tcp", addr)
		if err == nil {
			s.Launch.PortNS = time.Since(start).Nanoseconds()
			return conn.Close()
		}
		if !sleep(ctx, 25*time.Millisecond) {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// waitAnswer asks for a short completion until there is one. One that is not answered is asked for again: what took it up
// may have lost it, before the server was ready. Each time it may take twice as long as the time before, since there are
// servers that begin anew with a model when the client goes away that they load it for.
func (s *Server) waitAnswer(ctx context.Context, start time.Time) error {
	limit, sensible := s.noToken(), start
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		once, cancel := context.WithTimeout(ctx, limit)
		a, err := s.negotiate(once)
		cancel()
		var unanswered *silence
		switch {
		case err == nil:
			s.idleTTFT = a.ttft
			if !s.Launch.Attached {
				s.Launch.ReadyNS = a.ended.Sub(start).Nanoseconds()
				s.Launch.FirstTokenNS = sweep.None
				if !a.first.IsZero() {
					s.Launch.FirstTokenNS = a.first.Sub(start).Nanoseconds()
				}
			}
			return nil
		case context.Cause(ctx) != nil && errors.As(err, &unanswered):
			return fmt.Errorf("%w: %s", context.Cause(ctx), unanswered.what)
		case errors.As(err, &unanswered):
			limit, sensible = 2*limit, time.Now()
		case final(err):
			return err
		case loading(err):
			sensible = time.Now()
		case s.Launch.Attached && time.Since(sensible) >= attachPatience:
			return err
		}
		if !sleep(ctx, pause) {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// sleep waits; false means that ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// portWasTaken reads in a server's last words that it could not listen.
func portWasTaken(log string) bool {
	log = strings.ToLower(log)
	return strings.Contains(log, "address already in use") || strings.Contains(log, "eaddrinuse")
}

// errorWords mark the lines of a log that are likely to say why.
var errorWords = regexp.MustCompile(`(?i)(error|exception|panic|fatal)\w*:`)

// lastLine is the last of a log's lines that tells of an error, else the last, as the end of a sentence. A process that
// fails often tidies up aloud after it has said why.
func lastLine(log string) string {
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(log), "\n"), func(line string) bool {
		return strings.HasPrefix(strings.TrimSpace(line), "hint: ") // what the embedded engine says below the reason
	})
	if len(lines) == 0 {
		return ""
	}
	line := lines[len(lines)-1]
	for i := len(lines) - 1; i >= 0; i-- {
		if errorWords.MatchString(lines[i]) {
			line = lines[i]
			break
		}
	}
	if line = strings.TrimSpace(line); line == "" {
		return ""
	}
	return ": " + strings.ToValidUTF8(clip(line, 300), "")
}

// clip cuts a text to at most n bytes.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:n] + "…"
}
