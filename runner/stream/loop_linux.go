package stream

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// loop waits for the bytes of many ports in one goroutine, and reads them. Its epoll lies inside Go's poller: it sleeps
// there as any goroutine that reads does, holds no thread meanwhile, and when it wakes takes all that has come. Against a
// goroutine for each connection, an event costs neither a switch nor a read that finds nothing.
//
// It runs while it has ports.
type loop struct {
	mu    sync.Mutex
	open  int      // ports
	epoll *os.File // nil while there are none
	fd    int      // of epoll
	ports []*port  // those that read, by descriptor
}

// loopBatch is how many ports that have bytes are asked for at once.
const loopBatch = 128

// enter counts a port in and starts the loop for the first.
func (l *loop) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.epoll == nil {
		if err := l.start(); err != nil {
			return err
		}
	}
	l.open++
	return nil
}

func (l *loop) start() error {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	if err := syscall.SetNonblock(fd, true); err != nil { // only then does Go's poller wait for it
		_ = syscall.Close(fd)
		return fmt.Errorf("epoll: %w", err)
	}
	epoll := os.NewFile(uintptr(fd), "epoll")
	waiting, err := epoll.SyscallConn()
	if err != nil {
		_ = epoll.Close()
		return err
	}
	l.epoll, l.fd = epoll, fd
	go l.run(waiting)
	return nil
}

// leave counts a port out. The last ends the loop.
func (l *loop) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open--; l.open == 0 {
		_ = l.epoll.Close()
		l.epoll = nil
	}
}

func (l *loop) watch(p *port) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if syscall.EpollCtl(l.fd, syscall.EPOLL_CTL_ADD, p.fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(p.fd)}) != nil {
		return false
	}
	for p.fd >= len(l.ports) {
		l.ports = append(l.ports, nil)
	}
	l.ports[p.fd] = p
	return true
}

func (l *loop) unwatch(p *port) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ports[p.fd] = nil
	_ = syscall.EpollCtl(l.fd, syscall.EPOLL_CTL_DEL, p.fd, nil)
}

// run is the loop. Each port has one read a turn: one that has more bytes than that is found again by the next wait. What
// a turn brings is read, and its time taken, before any of it is looked at, so that the last does not wait for the first.
func (l *loop) run(waiting syscall.RawConn) {
	buf := make([]byte, 2*readSizeLong)
	events := make([]syscall.EpollEvent, loopBatch)
	ready := make([]*port, 0, loopBatch)
	arrivals := make([]arrival, 0, loopBatch)
	n := 0
	some := func(fd uintptr) bool {
		n = epollNow(fd, events)
		return n > 0
	}
	for waiting.Read(some) == nil {
		ready = l.named(events[:n], ready[:0])
		room := buf
		for _, p := range ready {
			if len(room) < readSizeLong {
				arrivals, room = deliver(arrivals), buf
			}
			if a, ok := p.fetch(room[:readSizeLong]); ok {
				arrivals, room = append(arrivals, a), room[len(a.b):]
			}
		}
		arrivals = deliver(arrivals)
	}
}

// deliver hands arrivals on and returns an empty list.
func deliver(arrivals []arrival) []arrival {
	for i := range arrivals {
		arrivals[i].deliver()
	}
	clear(arrivals)
	return arrivals[:0]
}

// named are the ports of events. One that has ended since is among them no more.
func (l *loop) named(events []syscall.EpollEvent, ready []*port) []*port {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range events {
		if p := l.ports[e.Fd]; p != nil {
			ready = append(ready, p)
		}
	}
	return ready
}

// epollNow is how many events there are now. It does not wait, and so need not tell Go's scheduler.
func epollNow(fd uintptr, events []syscall.EpollEvent) int {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, fd, uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// readNow reads what there is from a descriptor that does not block.
func readNow(fd int, b []byte) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		if errno == 0 {
			return int(n), 0
		}
		if errno != syscall.EINTR {
			return 0, errno
		}
	}
}

// writeNow writes what a descriptor that does not block has room for.
func writeNow(fd int, b []byte) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		if errno == 0 {
			return int(n), 0
		}
		if errno != syscall.EINTR {
			return 0, errno
		}
	}
}

// nothingNow says that a descriptor that does not block has nothing to read, not even its end.
func nothingNow(fd int) bool {
	var b [1]byte
	const flags = syscall.MSG_PEEK | syscall.MSG_DONTWAIT
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b)), 1, flags, 0, 0)
	return errno == syscall.EAGAIN || errno == syscall.EINTR
}
