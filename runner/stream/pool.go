package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

// conn is one connection to the server. It belongs to one exchange, or to the pool.
type conn struct {
	net.Conn           // what is read and written: TLS, where it is spoken
	raw      net.Conn  // what was dialled
	returned time.Time // when it came to the pool
	// push reads in place of Read where it can, nil where there is no loop for that.
	push func(take pushed) bool
	// launch is push for one who does not wait, and writeNow what it may write with; nil likewise.
	launch   func(take pushed, ended func(), depart func() bool) bool
	writeNow func(b []byte) (n int, ok bool)
	quiet    func() bool // what quiet says, sooner
	// response is that of the last exchange; where [DONE] came before its end, its rest is still to be read.
	response response
}

// pushed takes what a read brought and when it returned, or the error that it came to. It answers over where it wants
// no more.
type pushed func(at time.Time, b []byte, err error) (over bool)

func (cn *conn) secure() bool { return cn.Conn != cn.raw }

// kill closes a connection at once, without the farewell of TLS.
func (cn *conn) kill() { _ = cn.raw.Close() }

// pool keeps the connections that no exchange uses. The last returned is the first reused, so that no more stay warm
// than are needed.
type pool struct {
	keepIdle time.Duration

	mu     sync.Mutex
	clean  []*conn // nothing more is due from the server
	fresh  []*conn // the same, and no request has been sent on it
	unread []*conn // the rest of a response is due
	closed bool
}

// freshIdle is how long a connection is trusted on which nothing was sent: the clock by which servers close idle
// connections commonly starts with the end of a response.
const freshIdle = time.Minute

// restWait is how long a new request waits for the rest of the response before it, where no other connection is free.
// Servers write it right behind [DONE].
const restWait = 5 * time.Millisecond

// get returns a connection on which nothing is due, or nil.
func (p *pool) get() *conn {
	for {
		cn, clean := p.pop()
		switch {
		case cn == nil:
			return nil
		case clean && quiet(cn):
			return cn
		case !clean && finishRest(cn) && quiet(cn):
			return cn
		}
		cn.kill()
		if !clean {
			return nil
		}
	}
}

// atOnce returns a connection on which nothing is due, or nil where that takes any waiting.
func (p *pool) atOnce() *conn {
	for {
		p.mu.Lock()
		cn := p.popClean()
		p.mu.Unlock()
		if cn == nil || quiet(cn) {
			return cn
		}
		go cn.kill() // closing takes longer than sending
	}
}

// pop takes a connection out of the pool, and closes those that have been there for too long.
func (p *pool) pop() (cn *conn, clean bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cn = p.popClean(); cn != nil {
		return cn, true
	}
	return last(&p.unread), false
}

// popClean is pop for the clean ones. The lock is held.
func (p *pool) popClean() *conn {
	p.prune()
	if cn := last(&p.clean); cn != nil {
		return cn
	}
	return last(&p.fresh)
}

// last takes the last of a list out of it; nil where there is none.
func last[T any](list *[]*T) *T {
	n := len(*list)
	if n == 0 {
		return nil
	}
	x := (*list)[n-1]
	(*list)[n-1] = nil
	*list = (*list)[:n-1]
	return x
}

func (p *pool) prune() {
	p.clean = prune(p.clean, p.keepIdle)
	p.fresh = prune(p.fresh, freshIdle)
	p.unread = prune(p.unread, p.keepIdle)
}

// prune closes the connections of a list that were returned too long ago; the oldest come first. Nobody waits for that:
// after a pause it may be all of them, while a request is due.
func prune(list []*conn, limit time.Duration) []*conn {
	n := 0
	for n < len(list) && time.Since(list[n].returned) > limit {
		n++
	}
	if n == 0 {
		return list
	}
	old := slices.Clone(list[:n])
	go func() {
		for _, cn := range old {
			cn.kill()
		}
	}()
	kept := copy(list, list[n:])
	clear(list[kept:])
	return list[:kept]
}

// put gives a connection to the pool.
func (p *pool) put(cn *conn) {
	cn.returned = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		cn.kill()
	case cn.response.state == statusLine:
		p.fresh = append(p.fresh, cn)
	case cn.response.state == complete:
		p.clean = append(p.clean, cn)
	default:
		p.unread = append(p.unread, cn)
	}
}

// ready is the number of connections that wait for a request.
func (p *pool) ready() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prune()
	return len(p.clean) + len(p.fresh)
}

func (p *pool) closeIdle(forGood bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, list := range []*[]*conn{&p.clean, &p.fresh, &p.unread} {
		for _, cn := range *list {
			cn.kill()
		}
		*list = nil
	}
	p.closed = p.closed || forGood
}

// finishRest reads what is left of a response and says whether the connection is then free.
func finishRest(cn *conn) bool {
	if cn.SetReadDeadline(time.Now().Add(restWait)) != nil {
		return false
	}
	var buf [512]byte
	for cn.response.state != complete {
		n, err := cn.Read(buf[:])
		for rest := buf[:n]; len(rest) > 0; {
			if cn.response.state == complete {
				return false
			}
			var bad error
			if _, rest, bad = cn.response.next(rest); bad != nil {
				return false
			}
		}
		if err != nil && cn.response.state != complete {
			return false
		}
	}
	return cn.response.reusable()
}

// dialError is a connection that did not come about, with the error kind it is.
type dialError struct {
	kind string
	err  error
}

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// dial makes a connection, with TLS where the base asks for it, within the connect timeout.
func (c *Client) dial(ctx context.Context) (*conn, error) {
	if limit := c.cfg.Timeouts.Connect; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errConnectTimeout)
		defer cancel()
	}
	nc, err := c.cfg.Dial(ctx, "tcp", c.base.addr)
	if err != nil {
		return nil, &dialError{dialKind(err), timeoutCause(ctx, err)}
	}
	cn := &conn{Conn: nc, raw: nc}
	if c.base.secure {
		t := tls.Client(nc, c.tls)
		if err := t.HandshakeContext(ctx); err != nil {
			_ = nc.Close()
			return nil, &dialError{tlsKind(err), timeoutCause(ctx, err)}
		}
		cn.Conn = t
	}
	c.join(cn)
	cn.response.reset("")
	return cn, nil
}

var errConnectTimeout = errors.New("connecting took longer than timeout.connect")

// timeoutCause puts the timeout that ended a dial in place of the error that it made.
func timeoutCause(ctx context.Context, err error) error {
	if context.Cause(ctx) == errConnectTimeout {
		return errConnectTimeout
	}
	return err
}
