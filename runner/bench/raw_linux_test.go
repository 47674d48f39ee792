package bench

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// raw is the reference: one thread that waits with epoll, reads, takes chunks and events apart, and stamps each event.
// It asks nothing of Go's scheduler or poller and makes no row; all it knows of HTTP is what the null server says.
type raw struct {
	epoch   time.Time
	epoll   int
	streams []rawStream
	open    int
	buf     []byte
}

// rawStream is one connection. Its parser stands behind the last whole line.
type rawStream struct {
	fd   int
	sent int64
	at   []int64 // when each event came
	head bool    // the header is over
	part []byte  // what a read left of a line
}

// newRaw opens connections.
func newRaw(url string, n int, epoch time.Time) (*raw, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	to, err := netip.ParseAddrPort(strings.TrimPrefix(url, "http://"))
	if err != nil {
		return nil, err
	}
	r := &raw{epoch: epoch, epoll: epoll, streams: make([]rawStream, n), buf: make([]byte, 64<<10)}
	for i := range r.streams {
		if err := r.connect(i, to); err != nil {
			return nil, fmt.Errorf("connection %d: %w", i, err)
		}
	}
	return r, nil
}

func (r *raw) connect(i int, to netip.AddrPort) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	r.streams[i].fd = fd
	if err := unix.Connect(fd, &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())}); err != nil {
		return err
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return err
	}
	return unix.EpollCtl(r.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)})
}

// ask sends one request on every connection; prefix distinguishes their ids. It expects events on each.
func (r *raw) ask(prefix string, events int) error {
	for i := range r.streams {
		s := &r.streams[i]
		if cap(s.at) < events {
			s.at = make([]int64, 0, events)
		}
		s.at, s.head, s.part = s.at[:0], false, s.part[:0]
		text := fmt.Appendf(nil, "POST /v1/completions HTTP/1.1\r\nHost: null\r\nContent-Type: application/json\r\nX-Request-Id: %s%d\r\nContent-Length: %d\r\n\r\n%s",
			prefix, i, len(question), question)
		s.sent = int64(time.Since(r.epoch))
		if n, err := unix.Write(s.fd, text); err != nil || n < len(text) {
			return fmt.Errorf("request %d: %d bytes written: %w", i, n, err)
		}
	}
	r.open = len(r.streams)
	return nil
}

var errRawEnd = errors.New("the server closed the connection")

// read reads until every answer is over. It does not give its thread back while it waits.
func (r *raw) read() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var ready [256]unix.EpollEvent
	for r.open > 0 {
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(r.epoll), uintptr(unsafe.Pointer(&ready)), uintptr(len(ready)), ^uintptr(0), 0, 0)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return errno
		}
		for _, e := range ready[:n] {
			if err := r.readOne(&r.streams[e.Fd]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *raw) readOne(s *rawStream) error {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(s.fd), uintptr(unsafe.Pointer(&r.buf[0])), uintptr(len(r.buf)))
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return nil
	case errno != 0:
		return errno
	case n == 0:
		return errRawEnd
	}
	at := int64(time.Since(r.epoch))
	b := r.buf[:n]
	if len(s.part) > 0 {
		s.part = append(s.part, b...)
		b = s.part
	}
	rest, over := s.parse(at, b)
	s.part = append(s.part[:0], rest...)
	if over {
		r.open--
	}
	return nil
}

// parse takes the whole chunks out of b and returns what is left of it.
func (s *rawStream) parse(at int64, b []byte) (rest []byte, over bool) {
	if !s.head {
		end := bytes.Index(b, []byte("\r\n\r\n"))
		if end < 0 {
			return b, false
		}
		s.head, b = true, b[end+4:]
	}
	for {
		size, n := 0, 0
		for ; n < len(b) && b[n] != '\r'; n++ {
			size = size<<4 | int(hexDigit(b[n]))
		}
		if len(b) < n+2+size+2 {
			return b, false
		}
		if size == 0 {
			return b[n+4:], true
		}
		s.events(at, b[n+2:n+2+size])
		b = b[n+2+size+2:]
	}
}

func hexDigit(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c - 'a' + 10
}

// events stamps the events of a chunk that have choices.
func (s *rawStream) events(at int64, b []byte) {
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			return
		}
		line := b[:end]
		b = b[end+1:]
		if bytes.HasPrefix(line, []byte("data: {")) && !bytes.Contains(line, []byte(`"choices":[]`)) {
			s.at = append(s.at, at)
		}
	}
}

func (r *raw) close() {
	for _, s := range r.streams {
		unix.Close(s.fd)
	}
	unix.Close(r.epoll)
}
