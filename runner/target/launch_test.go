package target

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/inference-sweep/sweep/runner/sim"
	"github.com/inference-sweep/sweep/sweep"
)

// child is a cell whose server is one of the test binary's.
func childCell(t *testing.T, name, port string, args ...string) *sweep.PlanCell {
	t.Helper()
	quoted := strconv.Quote(self())
	for _, arg := range args {
		quoted += "," + strconv.Quote(arg)
	}
	return cellOf(t, "launch", "openai", "server/port="+port, "server/command=["+quoted+"]",
		fmt.Sprintf("server/env={%q:%q,\"CHILD_KEY\":{\"fromEnv\":\"KEY\"},\"GORACE\":\"atexit_sleep_ms=0\"}", childName, name))
}

var childEnv = Deps{Getenv: env("KEY", "sk-very-secret")}

func TestLaunchAndStop(t *testing.T) {
	port := freePort(t)
	s := open(t, childCell(t, "serve", port, port), childEnv)
	l := s.Launch
	if s.Base != "http://127.0.0.1:"+port || l.Attached || l.Command[0] != self() {
		t.Errorf("base %s, launch %+v", s.Base, l)
	}
	if l.PortNS <= 0 || l.FirstTokenNS < l.PortNS || l.ReadyNS < l.FirstTokenNS {
		t.Errorf("port after %d, first token after %d, ready after %d", l.PortNS, l.FirstTokenNS, l.ReadyNS)
	}
	if l.ExitCode != sweep.None || !l.StoppedAt.IsZero() || s.Epitaph() != "" {
		t.Errorf("it runs, and %+v, %q", l, s.Epitaph())
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l := s.Launch; l.ExitCode != 0 || l.StoppedAt.IsZero() || l.Log != "key is $KEY\n" {
		t.Errorf("%+v", l)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("stopping twice: %v", err)
	}
	select {
	case <-s.Exited():
	default:
		t.Error("Exited is open")
	}
}

// TestPortIsFreeAgain is G03: a server that cannot share its port starts again at once, because the client closed first.
func TestPortIsFreeAgain(t *testing.T) {
	port := freePort(t)
	for range 3 {
		s := open(t, childCell(t, "serve", port, port), childEnv)
		if err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPortIsTaken: whoever holds the port is named, and left alone.
func TestPortIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_, err = Open(t.Context(), childCell(t, "serve", port, port), childEnv)
	if err == nil || !strings.Contains(err.Error(), "server.port: ") {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%s is taken by pid %d", port, os.Getpid()); portHolder(l.Addr().(*net.TCPAddr).Port) != 0 && !strings.Contains(err.Error(), want) {
		t.Errorf("%q does not say %q", err, want)
	}
}

func TestExitDuringStart(t *testing.T) {
	port := freePort(t)
	_, err := Open(t.Context(), childCell(t, "crash", port), childEnv)
	var failure *Failure
	if !errors.As(err, &failure) {
		t.Fatalf("%T %v", err, err)
	}
	want := filepath.Base(self()) + " ended with exit code 3 before it answered a completion: ValueError: max_num_seqs must be positive, key $KEY"
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	if l := failure.Launch; l.ExitCode != 3 || !strings.HasPrefix(l.Log, "loading $KEY\n") || l.ReadyNS != sweep.None || l.StoppedAt.IsZero() {
		t.Errorf("%+v", l)
	}
	_, err = Open(t.Context(), cellOf(t, "launch", "openai", "server/port="+port, `server/command=["no-such-program"]`), Deps{})
	if err == nil || !strings.HasPrefix(err.Error(), "launch no-such-program: ") {
		t.Error(err)
	}
}

// TestExitUnderLoad is G08.
func TestExitUnderLoad(t *testing.T) {
	port := freePort(t)
	s := open(t, childCell(t, "dies", port, port), childEnv)
	if err := s.Probe(t.Context()); err == nil {
		t.Error("a server that died answers")
	}
	<-s.Exited()
	if want := filepath.Base(self()) + " ended with exit code 137: CUDA out of memory"; s.Epitaph() != want {
		t.Errorf("got %q, want %q", s.Epitaph(), want)
	}
	if err := s.Stop(t.Context()); err != nil || s.Launch.ExitCode != 137 || !strings.HasSuffix(s.Launch.Log, "CUDA out of memory\n") {
		t.Errorf("%v, %+v", err, s.Launch)
	}
}

// TestNothingSurvives is G05: what a server started is gone before the next one starts, though it does not want to be.
func TestNothingSurvives(t *testing.T) {
	for _, where := range []string{"in its group", "apart"} {
		t.Run(where, func(t *testing.T) {
			if where == "apart" && portHolder(1) == 0 && commandLine(os.Getpid()) == "" {
				t.Skip("processes that left the group cannot be found on this system")
			}
			port, lock := freePort(t), filepath.Join(t.TempDir(), "lock")
			c := childCell(t, "forks", port, port, lock, where)
			c.Cell.Timeout.Stop = "200ms"
			s := open(t, c, childEnv)
			if unlocked(lock) {
				t.Fatal("the lock is free while the process that holds it runs")
			}
			if err := s.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			if !unlocked(lock) {
				t.Error("the orphan still holds its lock")
			}
		})
	}
}

// TestClientKilled: a client that is killed leaves no server behind.
func TestClientKilled(t *testing.T) {
	port := freePort(t)
	client := exec.Command(self(), port)
	client.Env = append(os.Environ(), childName+"=client")
	out, err := client.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
		t.Fatalf("the client says %q", line)
	}
	if err := client.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = client.Wait()
	n, _ := strconv.Atoi(port)
	eventually(t, "free", func() bool { return portFree(n) == nil })
}

func TestLaunchSim(t *testing.T) {
	d := Deps{Executable: self(), Getenv: env()}
	s := open(t, cellOf(t, "sim", "sim", fmt.Sprintf("server/env={%q:\"sim\"}", childName)), d)
	if !strings.HasPrefix(s.Base, "http://127.0.0.1:") || s.Launch.Command[0] != "sweep" {
		t.Errorf("%s, %q", s.Base, s.Launch.Command)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := "arguments sim --model org/model --revision abcdef0 --enable-prefix-caching --port 0 --with-parent\n"
	if !strings.Contains(s.Launch.Log, want) {
		t.Errorf("got %q, want %q", s.Launch.Log, want)
	}
	_, err := Open(t.Context(), cellOf(t, "sim", "sim", fmt.Sprintf("server/env={%q:\"crash\"}", childName)), d)
	if err == nil || !strings.Contains(err.Error(), "sweep ended with exit code 3") {
		t.Error(err)
	}
}

// engineBehindPipe launches the embedded engine in this process, in virtual time.
func engineBehindPipe(t *testing.T, change func(*sim.Config)) (Deps, *[]Spec) {
	t.Helper()
	var specs []Spec
	p := sim.NewPipe()
	start := func(_ context.Context, spec Spec) (*Process, error) {
		specs = append(specs, spec)
		config := sim.Default()
		config.Model = "org/model"
		change(&config)
		server, err := sim.New(config)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithCancel(context.Background())
		exited := make(chan struct{})
		go func() {
			_ = server.Serve(ctx, p)
			close(exited)
		}()
		return &Process{Addr: "engine:1", Exited: exited, Stop: func(context.Context, time.Duration) error {
			cancel()
			<-exited
			return nil
		}}, nil
	}
	return Deps{Dial: p.Dial, Start: start}, &specs
}

// TestEngineLoads is G01 with the embedded engine: its port is open long before it answers.
func TestEngineLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, specs := engineBehindPipe(t, func(c *sim.Config) { c.Startup = 5 * time.Second; c.BlockSize = 32 })
		s, err := Open(t.Context(), cellOf(t, "sim", "sim"), d)
		if err != nil {
			t.Fatal(err)
		}
		l := s.Launch
		if l.PortNS > int64(time.Second) || l.ReadyNS < int64(5*time.Second) || l.ReadyNS > int64(7*time.Second) || l.FirstTokenNS > l.ReadyNS {
			t.Errorf("port after %v, ready after %v, first token after %v", time.Duration(l.PortNS), time.Duration(l.ReadyNS), time.Duration(l.FirstTokenNS))
		}
		if len(*specs) != 1 || !(*specs)[0].Sim || len(s.Refused) != 0 {
			t.Errorf("%+v, refused %q", *specs, s.Refused)
		}
		o := l.Observed
		if o[sweep.ObsEngineVersion] != sim.Version || o[sweep.ObsServedModel] != "org/model" || o[sweep.ObsBlockSize] != int64(32) {
			t.Errorf("observed %v", o)
		}
		if _, ok := o[sweep.ObsHost]; ok {
			t.Error("the embedded engine is on no host")
		}
		if running, waiting, ok := s.Running(t.Context()); !ok || running != 0 || waiting != 0 {
			t.Errorf("running %v, waiting %v, %v", running, waiting, ok)
		}
		if n, ok, err := s.CountTokens(t.Context(), "some words"); n == 0 || !ok || err != nil {
			t.Errorf("counted %d, %v, %v", n, ok, err)
		}
		if err := s.ResetCache(t.Context()); err != nil {
			t.Error(err)
		}
		if queries, hits, ok := s.CacheCounters(t.Context()); !ok || queries == 0 || hits != 0 {
			t.Errorf("%v of %v tokens from the cache, %v", hits, queries, ok)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// dying is a process that ends after a while with some last words.
func dying(after time.Duration, words string) *Process {
	exited := make(chan struct{})
	time.AfterFunc(after, func() { close(exited) })
	return &Process{Addr: "engine:1", Exited: exited, ExitCode: func() int { return 1 }, Log: func() string { return words }}
}

// TestStartsAgainWherePortWasTaken: only a port that was still taken is worth another start, and not for ever.
func TestStartsAgainWherePortWasTaken(t *testing.T) {
	const taken = "OSError: [Errno 98] Address already in use\n"
	for _, test := range []struct {
		name   string
		words  []string
		starts int
		says   string
	}{
		{"twice", []string{taken, taken, ""}, 3, ""},
		{"for ever", []string{taken, taken, taken, taken, taken}, 1 + len(portRetries), "Address already in use"},
		{"another reason", []string{"OutOfMemoryError\n", ""}, 1, "OutOfMemoryError"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				starts := 0
				d := serve(t, &fake{})
				dial := d.Dial
				d.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
					if test.words[starts-1] != "" {
						return nil, errors.New("connection refused")
					}
					return dial(ctx, network, addr)
				}
				d.Start = func(context.Context, Spec) (*Process, error) {
					words := test.words[starts]
					starts++
					if words == "" {
						return &Process{Addr: "engine:1"}, nil
					}
					return dying(time.Second, words), nil
				}
				c := cellOf(t, "launch", "openai", `server/command=["serve"]`, `timeout/ready="10m"`)
				s, err := Open(t.Context(), c, d)
				if starts != test.starts {
					t.Errorf("started %d times, want %d", starts, test.starts)
				}
				if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
					t.Error(err)
				}
				if s != nil {
					_ = s.Stop(t.Context())
				}
			})
		})
	}
}

// TestNeverListens: the deadline is the cell's, and what was started is stopped.
func TestNeverListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := false
		d := Deps{
			Dial: func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED },
			Start: func(context.Context, Spec) (*Process, error) {
				return &Process{Addr: "engine:1", Log: func() string { return "loading shards\n" }, Stop: func(context.Context, time.Duration) error {
					stopped = true
					return errors.New("still running after SIGKILL: pid 7")
				}}, nil
			},
		}
		start := time.Now()
		_, err := Open(t.Context(), cellOf(t, "launch", "openai", `server/command=["serve"]`), d)
		want := "serve: not ready within 20s (timeout.ready): connection refused; then still running after SIGKILL: pid 7"
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if time.Since(start) != 20*time.Second || !stopped {
			t.Errorf("after %v, stopped %v", time.Since(start), stopped)
		}
		var failure *Failure
		if errors.As(err, &failure); failure.Launch.Log != "loading shards\n" {
			t.Errorf("log %q", failure.Launch.Log)
		}
	})
}

func TestTail(t *testing.T) {
	tail := &tail{limit: 40, listening: make(chan string, 1)}
	for i := range 100 {
		fmt.Fprintf(tail, "line %d\n", i)
	}
	if got, want := tail.String(), "line 95\nline 96\nline 97\nline 98\nline 99\n"; got != want && got != strings.TrimPrefix(want, "line 95\n") {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(tail.text) > 2*tail.limit {
		t.Errorf("kept %d bytes", len(tail.text))
	}
	fmt.Fprint(tail, "listening on http://127.0.0.1:80")
	select {
	case addr := <-tail.listening:
		t.Fatalf("half a line is the address %s", addr)
	default:
	}
	fmt.Fprint(tail, "81\nlistening on http://later\n")
	if addr := <-tail.listening; addr != "127.0.0.1:8081" {
		t.Errorf("address %s", addr)
	}
}

func TestLastLine(t *testing.T) {
	for log, want := range map[string]string{
		"":               "",
		"\n \n":          "",
		"loading\nbye\n": ": bye",
		"sweep: no such option\n  hint: sweep sim --help\n": ": sweep: no such option",
		"hint: alone": "",
		"Traceback:\n  x\nValueError: bad option\n[rank0] destroying process group\n\n": ": ValueError: bad option",
		"RuntimeError: one\nRuntimeError: two\nleaked semaphores":                       ": RuntimeError: two",
		strings.Repeat("x", 400): ": " + strings.Repeat("x", 300) + "…",
	} {
		if got := lastLine(log); got != want {
			t.Errorf("%q: %q, want %q", log, got, want)
		}
	}
}
