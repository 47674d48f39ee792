package stream

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// port is a TCP connection whose bytes a loop reads while an exchange wants them, and to which a launch writes as much as
// there is room for. All else is the connection's own: writing that may have to wait, and reading between exchanges, goes
// through Go's poller as ever.
type port struct {
	*net.TCPConn
	loop *loop
	fd   int // the connection's, valid until Close

	// Deadlines of reading are set by the owner, and by take during a push.
	readBy time.Time
	timer  *time.Timer // of a push

	mu      sync.Mutex
	take    pushed // nil where nobody reads
	ended   func() // called once take has had its last
	watched bool   // by the loop; it stays so from one push to the next
	closed  bool

	over   chan struct{} // of a push
	signal func()        // sends to over
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
	p.signal = func() { p.over <- struct{}{} }
	cn.Conn, cn.raw = p, p
	cn.push, cn.launch, cn.writeNow, cn.quiet = p.push, p.launch, p.writeNow, p.quiet
}

// push has the loop call take with each read's bytes, or with the error that it brought, until take answers over, as it
// does for every error but a deadline: for that, take is called with os.ErrDeadlineExceeded, and may set another. Where
// the loop cannot, push answers false at once: Read says why, or does instead.
func (p *port) push(take pushed) bool {
	if !p.begin(take, p.signal) {
		return false
	}
	<-p.over
	return true
}

// begin starts a push, after which ended is called: in the loop, which it must not hold up.
func (p *port) begin(take pushed, ended func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.open(take, ended) {
		return false
	}
	p.setTimer()
	return true
}

// launch starts a push for one who does not wait, and has depart write the request before take or ended can be called.
// Where depart answers false nothing was written, and nothing is read.
func (p *port) launch(take pushed, ended func(), depart func() bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.open(take, ended) {
		return false
	}
	if !depart() {
		p.shut()
		return false
	}
	return true
}

// writeNow writes as much as there is room for; not ok says that writing fails. It is for depart alone.
func (p *port) writeNow(b []byte) (n int, ok bool) {
	n, errno := writeNow(p.fd, b)
	return n, errno == 0 || errno == syscall.EAGAIN
}

// open has the loop read for take. The lock is held.
func (p *port) open(take pushed, ended func()) bool {
	if p.closed || !p.watched && !p.loop.watch(p) {
		return false
	}
	p.watched, p.take, p.ended = true, take, ended
	return true
}

// shut has the loop read no more. The lock is held.
func (p *port) shut() {
	p.take = nil
	if p.timer != nil {
		p.timer.Stop()
	}
}

// quiet is what quiet says of a connection.
func (p *port) quiet() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.closed && nothingNow(p.fd)
}

// arrival is what one read brought, and when.
type arrival struct {
	port *port
	at   time.Time
	b    []byte
	err  error
}

// fetch is called by the loop: there is something to read. Where that came to something, the port is locked until its
// delivery.
func (p *port) fetch(buf []byte) (a arrival, ok bool) {
	p.mu.Lock()
	if p.take == nil { // what came is for Read, or an end that quiet will see: the loop would be told of it for ever
		p.unwatch()
		p.mu.Unlock()
		return a, false
	}
	n, errno := readNow(p.fd, buf)
	a = arrival{port: p, at: time.Now(), b: buf[:n]}
	switch {
	case errno == syscall.EAGAIN:
		p.mu.Unlock()
		return a, false
	case errno != 0:
		a.err = p.failure(os.NewSyscallError("read", errno))
	case n == 0:
		a.err = io.EOF
	}
	return a, true
}

// deliver hands an arrival on.
func (a *arrival) deliver() {
	p := a.port
	if p.take(a.at, a.b, a.err) || a.err != nil {
		p.finish()
	}
	p.mu.Unlock()
}

// finish ends a push. The lock is held.
func (p *port) finish() {
	p.shut()
	p.ended()
}

// unwatch has the loop forget the port, until the next push. The lock is held.
func (p *port) unwatch() {
	if p.watched {
		p.loop.unwatch(p)
		p.watched = false
	}
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
	if p.take(time.Now(), nil, os.ErrDeadlineExceeded) {
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
		p.take(time.Now(), nil, p.failure(net.ErrClosed))
		p.finish()
	}
	p.unwatch()
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
