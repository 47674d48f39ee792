package stream

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

const (
	copySize = 32 << 10 // up to here a body is copied behind its header, to be one write

	// From these sizes on, a request is written by a goroutine of its own, so that a server which answers before it has
	// read everything is heard. Smaller ones fit into the buffers of a socket; a pipe has none.
	asideSocket = 1 << 20
	asidePipe   = 4 << 10
)

// past is a deadline that is over.
var past = time.Unix(1, 0)

// build makes the request's bytes, so that nothing but writing is left to do once it is sent.
func (x *exchange) build() error {
	b, req := &x.c.base, x.req
	out := append(x.out[:0], "POST "...)
	out = append(out, b.prefix...)
	out = append(out, req.Path...)
	out = append(out, " HTTP/1.1\r\n"...)
	accept := "application/json"
	if req.Stream {
		accept = "text/event-stream"
	}
	for _, h := range [...]Header{
		{"Host", b.host}, {"User-Agent", "sweep"}, {"Content-Type", "application/json"}, {"Accept", accept}, {"X-Request-Id", req.ID},
	} {
		if h.Value != "" && !overridden(req.Header, h.Name) {
			out = appendHeader(out, h)
		}
	}
	for _, h := range req.Header {
		if strings.ContainsAny(h.Name, "\r\n: ") || strings.ContainsAny(h.Value, "\r\n") {
			return fmt.Errorf("header %q cannot be sent", h.Name)
		}
		if !strings.EqualFold(h.Name, "Content-Length") && !strings.EqualFold(h.Name, "Transfer-Encoding") {
			out = appendHeader(out, h)
		}
	}
	out = append(out, "Content-Length: "...)
	out = strconv.AppendInt(out, int64(len(req.Body)), 10)
	x.out = append(out, "\r\n\r\n"...)
	if x.joined = len(req.Body) <= copySize; x.joined {
		x.out = append(x.out, req.Body...)
	}
	return nil
}

func appendHeader(out []byte, h Header) []byte {
	out = append(out, h.Name...)
	out = append(out, ": "...)
	out = append(out, h.Value...)
	return append(out, "\r\n"...)
}

func overridden(headers []Header, name string) bool {
	for _, h := range headers {
		if strings.EqualFold(h.Name, name) {
			return true
		}
	}
	return false
}

func (x *exchange) aside() bool {
	size := max(len(x.out), len(x.req.Body))
	if _, socket := x.cn.raw.(syscall.Conn); socket {
		return size > asideSocket
	}
	return size > asidePipe
}

// send writes header and body from an offset on, in one system call where there is one. Only a body that is joined to
// its header has an offset.
func (x *exchange) send(from int) error {
	if x.joined {
		_, err := x.cn.Write(x.out[from:])
		return err
	}
	parts := net.Buffers{x.out, x.req.Body}
	_, err := parts.WriteTo(x.cn.Conn)
	return err
}

// write writes the request from an offset on, under the deadline after which its server has stalled.
func (x *exchange) write(from int) Ending {
	t := &x.c.cfg.Timeouts
	if limit := earliest(int64(t.Idle), int64(t.Total)); limit > 0 {
		_ = x.cn.SetWriteDeadline(x.epoch.Add(time.Duration(x.sent + limit)))
	}
	err := x.send(from)
	switch {
	case err == nil:
		x.rec.WrittenNS = x.now()
		return Ending{}
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return wireEnding(err)
	case t.Idle > 0 && (t.Total <= 0 || t.Idle < t.Total):
		return Ending{sweep.ErrStalled, fmt.Sprintf("the request was not read for %s", t.Idle)}
	}
	return Ending{sweep.ErrTimeout, fmt.Sprintf("not over after %s", t.Total)}
}

// writeAside writes a large request while it reads.
func (x *exchange) writeAside() Ending {
	written := make(chan Ending, 1)
	go func() { written <- x.write(0) }()
	x.arm()
	end := x.read()
	x.cutWriter(written)
	return end
}

// cutWriter ends a write that went on while the answer was read. A server may answer without reading everything: the
// rest of the request is then not written.
func (x *exchange) cutWriter(written <-chan Ending) {
	_ = x.cn.SetWriteDeadline(past)
	switch w := <-written; {
	case w.Kind != "":
		x.cn.response.close = true
	case x.cn.response.status == 200 && x.rec.WrittenNS > x.rec.TTFBNS:
		x.rec.WrittenNS = x.rec.TTFBNS // the writer was not woken before the reader
	}
}

// lastWord looks for the answer of a server that closed the connection before it had the whole request.
func (x *exchange) lastWord(write Ending) Ending {
	const wait = time.Second
	x.armed, x.final = x.now()+int64(wait), true
	_ = x.cn.SetReadDeadline(time.Now().Add(wait))
	if end := x.read(); end.Kind != sweep.ErrTimeout {
		return end
	}
	return write
}
