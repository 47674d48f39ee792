package stream

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// port is a TCP connection whose bytes a loop reads while an exchange waits for them. All else is the connection's own:
// writing, and reading between exchanges, goes through Go's poller as ever.
type port struct {
	*net.TCPConn
	loop *loop
	fd   int // the connection's, valid until Close

	// Deadlines of reading are set by the owner, and by take during a push.
	readBy time.Time
	timer  *time.Timer // of a push

	mu     sync.Mutex
	take   func(b []byte, err error) (over bool) // nil where nobody reads
	over   chan struct{}
	closed bool
}

// join has the loop read a TCP connection without TLS, and leaves any other to its exchanges.
func (c *Client) join(cn *conn) {
	t, ok := cn.raw.(*net.TCPConn)
	if !ok || c.base.secure {
		return
	}
	p := &port{TCPConn: t, loop: &c.loop, fd: -1, over: make(chan struct{}, 1)}
	rc, err := t.SyscallConn()
	if err != nil || rc.Control(func(fd uintptr) { p.fd = int(fd) }) != nil || c.loop.enter() != nil {
		return
	}
	cn.Conn, cn.raw, cn.push = p, p, p.push
}

// push has the loop call take with each read's bytes, or with the error that it brought, until take answers over, as it
// does for every error but a deadline: for that, take is called with os.ErrDeadlineExceeded, and may set another. Where
// the loop cannot, push answers false at once: Read says why, or does instead.
func (p *port) push(take func(b []byte, err error) (over bool)) bool {
	if !p.begin(take) {
		return false
	}
	<-p.over
	return true
}

func (p *port) begin(take func(b []byte, err error) (over bool)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || !p.loop.watch(p) {
		return false
	}
	p.take = take
	p.setTimer()
	return true
}

// ready is called by the loop: there is something to read.
func (p *port) ready(buf []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.take == nil {
		return
	}
	n, errno := readNow(p.fd, buf)
	var err error
	switch {
	case errno == syscall.EAGAIN:
		return
	case errno != 0:
		err = p.failure(os.NewSyscallError("read", errno))
	case n == 0:
		err = io.EOF
	}
	if p.take(buf[:n], err) || err != nil {
		p.finish()
	}
}

// finish ends a push. The lock is held.
func (p *port) finish() {
	p.take = nil
	p.loop.unwatch(p)
	if p.timer != nil {
		p.timer.Stop()
	}
	p.over <- struct{}{}
}

// failure is a read's error as Go's own connections have it.
func (p *port) failure(err error) error {
	return &net.OpError{Op: "read", Net: "tcp", Source: p.LocalAddr(), Addr: p.RemoteAddr(), Err: err}
}

// expire is called by the timer. It may come late, for a deadline that has moved since.
func (p *port) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.take == nil || p.readBy.IsZero() {
		return
	}
	if time.Until(p.readBy) > 0 {
		p.setTimer()
		return
	}
	if p.take(nil, os.ErrDeadlineExceeded) {
		p.finish()
	}
}

func (p *port) setTimer() {
	switch {
	case p.readBy.IsZero():
		if p.timer != nil {
			p.timer.Stop()
		}
	case p.timer == nil:
		p.timer = time.AfterFunc(time.Until(p.readBy), p.expire)
	default:
		p.timer.Reset(time.Until(p.readBy))
	}
}

// Read is for the time outside of a push.
func (p *port) Read(b []byte) (int, error) {
	if err := p.TCPConn.SetReadDeadline(p.readBy); err != nil {
		return 0, err
	}
	return p.TCPConn.Read(b)
}

// Close may be called at any time, by anyone but take.
func (p *port) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return net.ErrClosed
	}
	p.closed = true
	if p.take != nil {
		p.take(nil, p.failure(net.ErrClosed))
		p.finish()
	}
	p.loop.leave()
	return p.TCPConn.Close()
}

func (p *port) SetDeadline(t time.Time) error {
	_ = p.SetReadDeadline(t)
	return p.SetWriteDeadline(t)
}

func (p *port) SetReadDeadline(t time.Time) error {
	p.readBy = t
	if p.take != nil { // it is take that calls
		p.setTimer()
	}
	return nil
}
