package target

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary is also the servers that the tests launch: TestMain runs one of these instead of the tests where the
// environment names it.
const childName = "SWEEP_TEST_CHILD"

var children = map[string]func(args []string){
	"serve":  func(args []string) { childServes(args[0], nil) },
	"crash":  func([]string) { childCrashes() },
	"dies":   func(args []string) { childServes(args[0], func() { os.Exit(137) }) },
	"forks":  childForks,
	"orphan": childHolds,
	"sim":    func([]string) { childSim() },
	"client": childLaunches,
}

func TestMain(m *testing.M) {
	if name := os.Getenv(childName); name != "" {
		children[name](os.Args[1:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

// listenBare listens without SO_REUSEADDR, so that connections of an earlier life keep the port taken.
func listenBare(port string) (net.Listener, error) {
	l := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 0) })
	}}
	return l.Listen(context.Background(), "tcp", "127.0.0.1:"+port)
}

// childServes answers completions until it is asked to end; then may be nil, or what to do after the first.
func childServes(port string, then func()) {
	listener, err := listenBare(port)
	if err != nil {
		fmt.Println(err)
		os.Exit(98)
	}
	fmt.Println("key is", os.Getenv("CHILD_KEY"))
	answered := 0
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			if answered++; answered > 1 && then != nil {
				fmt.Println("CUDA out of memory")
				then()
			}
			writeCompletion(w)
		}
	})}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	go func() {
		<-stop
		_ = server.Close()
	}()
	_ = server.Serve(listener)
}

func childCrashes() {
	fmt.Println("loading", os.Getenv("CHILD_KEY"))
	fmt.Fprintln(os.Stderr, "ValueError: max_num_seqs must be positive, key", os.Getenv("CHILD_KEY"))
	os.Exit(3)
}

// childForks serves and leaves behind a process that does not want to end: in its group, or ("apart") in one of its own.
func childForks(args []string) {
	port, lock, apart := args[0], args[1], args[2] == "apart"
	cmd := exec.Command(self(), lock)
	cmd.Env = append(os.Environ(), childName+"=orphan")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: apart}
	if err := cmd.Start(); err != nil {
		os.Exit(1)
	}
	for {
		if text, _ := os.ReadFile(lock); len(text) > 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	childServes(port, nil)
}

// childHolds ignores SIGTERM and holds a lock for ten seconds.
func childHolds(args []string) {
	signal.Ignore(syscall.SIGTERM)
	f, err := os.OpenFile(args[0], os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil || syscall.Flock(int(f.Fd()), syscall.LOCK_EX) != nil {
		os.Exit(1)
	}
	fmt.Fprintln(f, os.Getpid())
	time.Sleep(10 * time.Second)
}

// childSim does what the embedded engine's command does.
func childSim() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		os.Exit(1)
	}
	go func() {
		_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { writeCompletion(w) }))
	}()
	fmt.Fprintln(os.Stderr, "arguments", strings.Join(os.Args[1:], " "))
	fmt.Printf("listening on http://%s\n", listener.Addr())
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// childLaunches is a client: it starts a server and waits to be killed.
func childLaunches(args []string) {
	var port int
	fmt.Sscan(args[0], &port)
	p, err := StartProcess(context.Background(), Spec{
		Command: []string{self(), args[0]}, Env: []string{childName + "=serve"}, Port: port, LogLimit: 1000,
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for {
		conn, err := net.Dial("tcp", p.Addr)
		if err == nil {
			conn.Close()
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println("up")
	time.Sleep(20 * time.Second)
}

// writeCompletion is a short answer as vLLM streams it.
func writeCompletion(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	fmt.Fprint(w, `data: {"id":"cmpl-1","object":"text_completion","model":"org/model","choices":[{"index":0,"text":"a","finish_reason":null}]}`+"\n\n")
	fmt.Fprint(w, `data: {"id":"cmpl-1","object":"text_completion","model":"org/model","choices":[{"index":0,"text":"b","finish_reason":"length"}]}`+"\n\n")
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// freePort is a port that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// eventually waits for what is bound to happen, however busy the machine is.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatal("never " + what)
}

func unlocked(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}
