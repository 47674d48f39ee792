package stream

import (
	"context"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// slowListener accepts one connection every 20 ms, and lets eight wait for that.
type slowListener struct{ net.Listener }

func (l slowListener) Accept() (net.Conn, error) {
	time.Sleep(20 * time.Millisecond)
	return l.Listener.Accept()
}

func listenSlowly(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	rc, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := rc.Control(func(fd uintptr) { err = syscall.Listen(int(fd), 8) }); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	slow := slowListener{l}
	acceptAll(t, slow, func(nc net.Conn) { serve(nc, always(scene{script: s0short})) })
	return slow
}

// E18: a burst on connections that are not there yet, at a server that accepts them slowly. Some come to it only when
// the kernel has asked again, a second or more later, and some never: a wait for the connection is in the time of
// dialling and not in what the server took, and a request without one was not sent.
func TestBurstBeyondTheBacklog(t *testing.T) {
	t.Parallel()
	const requests = 200
	limits := usualTimeouts
	limits.Connect, limits.Idle = 3*time.Second, 3*time.Second
	l := listenSlowly(t)
	c := mustClient(t, Config{Base: "http://" + l.Addr().String(), Timeouts: limits})
	defer c.Close()
	rows := burstOf(c, requests)
	ok, askedAgain, unconnected := 0, 0, 0
	for i := range rows {
		r := &rows[i]
		switch {
		case !r.ConnNew || r.DialNS <= 0:
			t.Errorf("%s: dialled for %s ms", summary(r, false), ms(r.DialNS))
		case r.Status == sweep.RequestOK:
			ok++
		case r.SentNS == sweep.None && (r.Error == sweep.ErrConnect || r.Error == sweep.ErrTimeout):
			unconnected++
		case r.SentNS == sweep.None || r.Error != sweep.ErrStalled && r.Error != sweep.ErrReset:
			// The kernel may say that it is connected where the server's has no room for that.
			t.Errorf("%s: %s", summary(r, false), r.ErrorMessage)
		}
		if r.DialNS >= int64(time.Second) && r.SentNS != sweep.None {
			askedAgain++
			if r.SentNS < r.DialNS {
				t.Errorf("sent at %s ms, dialled for %s ms", ms(r.SentNS), ms(r.DialNS))
			}
		}
	}
	t.Logf("%d of %d requests succeeded, %d had no connection, %d had one on a second try of the kernel's", ok, requests, unconnected, askedAgain)
	if ok < 9 || askedAgain == 0 {
		t.Errorf("the backlog did not fill")
	}
}

func burstOf(c *Client, n int) []sweep.Request {
	epoch := time.Now()
	rows := make([]sweep.Request, n)
	var all sync.WaitGroup
	all.Add(n)
	for i := range rows {
		rows[i] = newRecord()
		c.Start(context.Background(), epoch, chatRequest(), &rows[i], all.Done)
	}
	all.Wait()
	return rows
}

// E18, as a trial does it: the connections are made before, a few at a time, and the burst dials none.
func TestBurstOnWarmConnections(t *testing.T) {
	t.Parallel()
	const requests = 60
	l := listenSlowly(t)
	c := mustClient(t, Config{Base: "http://" + l.Addr().String(), Timeouts: usualTimeouts})
	defer c.Close()
	if err := c.Warm(context.Background(), requests); err != nil {
		t.Fatal(err)
	}
	rows := burstOf(c, requests)
	for i := range rows {
		if r := &rows[i]; r.Status != sweep.RequestOK || r.ConnNew || r.DialNS != 0 {
			t.Errorf("%s, new connection %t, dialled in %s ms", summary(r, false), r.ConnNew, ms(r.DialNS))
		}
	}
}
