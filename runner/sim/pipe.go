package sim

import (
	"context"
	"net"
	"sync"
)

// Pipe is a listener in memory: the way to a Server in one process, and in virtual time, without sockets. Its
// connections buffer nothing, coalesce nothing and are never reset.
type Pipe struct {
	conns  chan net.Conn
	closed chan struct{}
	close  sync.Once
}

// NewPipe returns an open listener.
func NewPipe() *Pipe {
	return &Pipe{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial connects to whoever accepts; it fits http.Transport.DialContext, whose network and address it does not look at.
func (p *Pipe) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Addr: p.Addr(), Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept waits for a Dial.
func (p *Pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and refuses every later Dial; connections stay open.
func (p *Pipe) Close() error {
	p.close.Do(func() { close(p.closed) })
	return nil
}

// Addr names the listener.
func (p *Pipe) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }
