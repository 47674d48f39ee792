//go:build unix

package stream

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// The server of the benchmark is this binary again, so that its processor time is not the client's.
const paceServerEnv = "STREAM_TEST_PACE_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(paceServerEnv) != "" {
		paceServer()
		return
	}
	os.Exit(m.Run())
}

const (
	paceTokens = 100
	paceGap    = 20 * time.Millisecond
)

// paceServer answers each request with paceTokens events, paceGap apart, until its standard input ends.
func paceServer() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }()
	event := commonEvents["chat"]
	for {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			r := bufio.NewReader(nc)
			for {
				if _, err := readRequest(r); err != nil {
					return
				}
				_, _ = io.WriteString(nc, streamHead+"Transfer-Encoding: chunked\r\n\r\n")
				start := time.Now()
				for i := range paceTokens {
					time.Sleep(time.Until(start.Add(time.Duration(i+1) * paceGap)))
					_, _ = fmt.Fprintf(nc, "%x\r\n%s\r\n", len(event), event)
				}
				play(nc, scene{script: `f("stop")+u(5,100)+done+raw("0\r\n\r\n") raw("")`})
			}
		}()
	}
}

// BenchmarkProcessorTime is what an event costs in processor time where each has a wake-up of its own: by this client,
// and by a loop that only reads. Streams start spread over one gap.
func BenchmarkProcessorTime(b *testing.B) {
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), paceServerEnv+"=1")
	stdin, err := server.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = stdin.Close(); _ = server.Wait() }()
	addr, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	addr = addr[:len(addr)-1]
	c, err := New(Config{Base: "http://" + addr, Timeouts: usualTimeouts})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for _, streams := range []int{50, 200} {
		b.Run(fmt.Sprintf("client/%d", streams), func(b *testing.B) {
			paced(b, streams, func() {
				rec := newRecord()
				if c.Do(context.Background(), time.Now(), chatRequest(), &rec); rec.Status != sweep.RequestOK || rec.Chunks != paceTokens {
					b.Errorf("%s", summary(&rec, false))
				}
			})
		})
		b.Run(fmt.Sprintf("reading only/%d", streams), func(b *testing.B) {
			paced(b, streams, func() { readOnly(b, addr) })
		})
	}
}

func paced(b *testing.B, streams int, one func()) {
	used := time.Duration(0)
	for b.Loop() {
		before := processorTime()
		var all sync.WaitGroup
		for i := range streams {
			all.Go(func() {
				time.Sleep(paceGap * time.Duration(i) / time.Duration(streams))
				one()
			})
		}
		all.Wait()
		used += processorTime() - before
	}
	b.ReportMetric(float64(used.Nanoseconds())/float64(b.N*streams*paceTokens), "cpu-ns/event")
}

func readOnly(b *testing.B, addr string) {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		b.Error(err)
		return
	}
	defer func() { _ = nc.Close() }()
	_, _ = fmt.Fprintf(nc, "POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n")
	buf := make([]byte, readSize)
	for {
		n, err := nc.Read(buf)
		if err != nil || bytes.HasSuffix(buf[:n], []byte("0\r\n\r\n")) {
			return
		}
	}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
