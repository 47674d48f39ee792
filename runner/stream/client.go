package stream

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Config says how a server is reached. The zero value of everything but Base is usable.
type Config struct {
	// Base is http://host:port or https://host:port with an optional path prefix; a trailing /v1 is dropped.
	Base string
	// Dial connects; nil is a net.Dialer. TLS, where Base asks for it, is spoken over what it returns.
	Dial     func(ctx context.Context, network, addr string) (net.Conn, error)
	TLS      *tls.Config
	Timeouts Timeouts
	// KeepIdle is how long a connection is trusted after its last response. The default of 4 s is under the 5 s after
	// which common servers close theirs. Those that Warm made wait a minute for their first request.
	KeepIdle time.Duration
	// ModelHeader names a response header that says which model answered, before the body's word for it; empty for none.
	ModelHeader string
	// KeepText keeps the answer in the row, up to TextCap bytes (0: no limit).
	KeepText bool
	TextCap  int
}

// Timeouts of a request; 0 is none, but for Grace.
type Timeouts struct {
	Connect time.Duration // connecting, with TLS
	Idle    time.Duration // since the last byte of the response
	NoToken time.Duration // since the last output event; comments do not count
	Total   time.Duration // from sent to the end
	Grace   time.Duration // after the finish reason, for the usage and [DONE]; 0 is 2 s
}

// Header is one line of a request's header.
type Header struct{ Name, Value string }

// Request is a POST to be sent once. Do only reads it; one Request may be sent many times.
type Request struct {
	Path   string // /v1/completions; it follows the base's prefix
	Body   []byte
	Header []Header
	ID     string // sent as X-Request-Id
	// Stream says that an event stream was asked for: a whole answer is then a failure.
	Stream bool
	// GraceUsage says that usage was asked for: a stream that ends without it is marked no-usage.
	GraceUsage bool
}

// Client sends requests to one server and keeps its connections. It is safe for concurrent use.
type Client struct {
	cfg  Config
	base base
	tls  *tls.Config
	pool pool
	loop loop

	mu    sync.Mutex
	spare []*exchange // with their buffers: a pool of the runtime's would let go of some in a window
	longs sync.Pool   // of *[readSizeLong]byte
}

// base is where a server is.
type base struct {
	addr   string // host:port
	host   string // for the Host header
	prefix string // of every path
	secure bool
}

// New returns a client; it connects to nothing yet.
func New(cfg Config) (*Client, error) {
	b, name, err := parseBase(cfg.Base)
	if err != nil {
		return nil, err
	}
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	if cfg.KeepIdle == 0 {
		cfg.KeepIdle = 4 * time.Second
	}
	if cfg.Timeouts.Grace == 0 {
		cfg.Timeouts.Grace = 2 * time.Second
	}
	cfg.ModelHeader = strings.ToLower(cfg.ModelHeader)
	c := &Client{cfg: cfg, base: b, pool: pool{keepIdle: cfg.KeepIdle}}
	if b.secure {
		c.tls = new(tls.Config)
		if cfg.TLS != nil {
			c.tls = cfg.TLS.Clone()
		}
		if c.tls.ServerName == "" {
			c.tls.ServerName = name
		}
		c.tls.NextProtos = []string{"http/1.1"}
	}
	return c, nil
}

// parseBase takes a base URL apart; name is its host without the port.
func parseBase(s string) (b base, name string, err error) {
	u, err := url.Parse(s)
	if err != nil {
		return base{}, "", fmt.Errorf("base URL: %w", err)
	}
	port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	switch {
	case port == "":
		return base{}, "", fmt.Errorf("base URL %q: the scheme is not http or https", s)
	case u.Hostname() == "":
		return base{}, "", fmt.Errorf("base URL %q has no host", s)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return base{}, "", fmt.Errorf("base URL of %s: only a path may follow the host", u.Host)
	}
	if u.Port() != "" {
		port = u.Port()
	}
	prefix := strings.TrimSuffix(strings.TrimRight(u.EscapedPath(), "/"), "/v1")
	return base{
		addr: net.JoinHostPort(u.Hostname(), port), host: u.Host, prefix: strings.TrimRight(prefix, "/"), secure: u.Scheme == "https",
	}, u.Hostname(), nil
}

// warmDials is how many connections Warm makes at once: under the smallest backlog that servers listen with.
const warmDials = 8

// Warm opens connections until n are unused and ready. It returns the first error, and then leaves what it has opened.
func (c *Client) Warm(ctx context.Context, n int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var missing atomic.Int64
	missing.Store(int64(n - c.pool.ready()))
	var dials sync.WaitGroup
	for range min(warmDials, missing.Load()) {
		dials.Go(func() {
			for missing.Add(-1) >= 0 && ctx.Err() == nil {
				cn, err := c.dial(ctx)
				if err != nil {
					cancel(fmt.Errorf("open a connection to %s: %w", c.base.addr, err))
					return
				}
				c.pool.put(cn)
			}
		})
	}
	dials.Wait()
	return context.Cause(ctx)
}

// CloseIdle closes the connections that no request uses.
func (c *Client) CloseIdle() { c.pool.closeIdle(false) }

// Close closes them too, and those in use as their requests end.
func (c *Client) Close() { c.pool.closeIdle(true) }
