package bench

import (
	"bufio"
	"container/heap"
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/inference-sweep/sweep/runner/load"
)

// Timing is what a null server does with every request.
type Timing struct {
	// TTFT runs from the request's last byte to the first event, Gap from one write to the next. Both are kept on an
	// absolute schedule: a late write does not delay those after it.
	TTFT, Gap time.Duration
	// Events is how many output events an answer has, PerWrite how many of them each write brings (0 is 1).
	Events, PerWrite int
	// Spread sets the answers of so many consecutive requests apart, evenly over one gap; 0 does not.
	Spread int
	// Hold keeps an answer open behind its first write for as long as the client wants it.
	Hold bool
}

// Exchange is one answered request as the server saw it. Times count from the server's epoch.
type Exchange struct {
	ID string // its X-Request-Id
	// RequestNS is when the server had read the request, WriteNS just before each write.
	RequestNS int64
	WriteNS   []int64
}

// Server is a null server: it answers every POST with a stream of events on a fixed schedule, and stamps its own writes.
type Server struct {
	timing   Timing
	epoch    time.Time
	listener net.Listener
	waiter   *load.Waiter
	threads  sync.WaitGroup

	mu    sync.Mutex
	due   dueQueue
	wake  context.Context // of the clock's sleep; cancelled where something is due earlier
	kick  context.CancelFunc
	ended bool
	turn  int
	conns map[net.Conn]bool
	done  []Exchange
}

// answer is one stream in progress.
type answer struct {
	conn     net.Conn
	dueNS    int64
	chat     bool
	exchange Exchange
	sent     int // events
}

// Serve answers on a listener until Close. Stamps count from epoch.
func Serve(l net.Listener, t Timing, epoch time.Time) (*Server, error) {
	waiter, err := load.NewWaiter()
	if err != nil {
		return nil, err
	}
	t.PerWrite = max(t.PerWrite, 1)
	s := &Server{timing: t, epoch: epoch, listener: l, waiter: waiter, conns: map[net.Conn]bool{}}
	s.wake, s.kick = context.WithCancel(context.Background())
	s.threads.Go(s.accept)
	s.threads.Go(s.clock)
	return s, nil
}

// URL is the base URL of a server on TCP.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Close ends the server and every open answer.
func (s *Server) Close() error {
	err := s.listener.Close()
	s.mu.Lock()
	s.ended = true
	for c := range s.conns {
		err = errors.Join(err, c.Close())
	}
	s.kick()
	s.mu.Unlock()
	s.threads.Wait()
	return errors.Join(err, s.waiter.Close())
}

// Take returns the exchanges that have ended since the last call, in the order of their ends.
func (s *Server) Take() []Exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := s.done
	s.done = nil
	return done
}

func (s *Server) now() int64 { return int64(time.Since(s.epoch)) }

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.ended {
			s.mu.Unlock()
			c.Close()
			return
		}
		s.conns[c] = true
		s.mu.Unlock()
		s.threads.Go(func() { s.serve(c) })
	}
}

// serve reads the requests of one connection.
func (s *Server) serve(c net.Conn) {
	defer func() {
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
		c.Close()
	}()
	in := bufio.NewReaderSize(c, 2<<10)
	var scratch []byte
	for {
		r, err := readRequest(in)
		if err != nil {
			return
		}
		if !r.post {
			if _, err := c.Write(modelList); err != nil {
				return
			}
			continue
		}
		scratch = s.begin(c, r, scratch)
	}
}

// begin schedules an answer. One that is due at once is written at once.
func (s *Server) begin(c net.Conn, r request, scratch []byte) []byte {
	t := &s.timing
	now := s.now()
	a := &answer{conn: c, chat: r.chat, dueNS: now + int64(t.TTFT), exchange: Exchange{ID: r.id, RequestNS: now}}
	a.exchange.WriteNS = make([]int64, 0, (t.Events+t.PerWrite-1)/t.PerWrite)
	if t.TTFT == 0 {
		var more bool
		if scratch, more = s.write(a, scratch); !more {
			return scratch
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.Spread > 0 {
		a.dueNS += int64(t.Gap) * int64(s.turn%t.Spread) / int64(t.Spread)
		s.turn++
	}
	heap.Push(&s.due, a)
	if s.due[0] == a {
		s.kick()
	}
	return scratch
}

// clock makes all writes that are not due at once, each at its time.
func (s *Server) clock() {
	var scratch []byte
	for {
		a, wait := s.take()
		switch {
		case a != nil:
			var more bool
			if scratch, more = s.write(a, scratch); more {
				s.mu.Lock()
				heap.Push(&s.due, a)
				s.mu.Unlock()
			}
		case wait == nil:
			return
		default:
			wait()
		}
	}
}

// take takes the answer that is due out of the queue. Where there is none, wait returns when one may be; without a wait
// the server has ended.
func (s *Server) take() (a *answer, wait func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, nil
	}
	if s.wake.Err() != nil {
		s.wake, s.kick = context.WithCancel(context.Background())
	}
	wake := s.wake
	if len(s.due) == 0 {
		return nil, func() { <-wake.Done() }
	}
	dueNS := s.due[0].dueNS
	if dueNS <= s.now() {
		return heap.Pop(&s.due).(*answer), nil
	}
	return nil, func() { _ = s.waiter.Until(wake, s.epoch.Add(time.Duration(dueNS))) }
}

// write makes one write of an answer and says whether another is to follow. The exchange is kept before the last write:
// who has the whole answer can take it.
func (s *Server) write(a *answer, scratch []byte) (kept []byte, more bool) {
	t := &s.timing
	now := s.now()
	n := min(t.PerWrite, t.Events-a.sent)
	scratch = appendWrite(scratch[:0], a, now, n, t.Events)
	a.exchange.WriteNS = append(a.exchange.WriteNS, now)
	a.sent += n
	a.dueNS += int64(t.Gap)
	more = a.sent < t.Events && !t.Hold
	if !more {
		s.mu.Lock()
		s.done = append(s.done, a.exchange)
		s.mu.Unlock()
	}
	_, err := a.conn.Write(scratch)
	return scratch, more && err == nil
}

// dueQueue is a heap: the answer whose next write is due first is at its top.
type dueQueue []*answer

func (q dueQueue) Len() int           { return len(q) }
func (q dueQueue) Less(i, j int) bool { return q[i].dueNS < q[j].dueNS }
func (q dueQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *dueQueue) Push(a any)        { *q = append(*q, a.(*answer)) }
func (q *dueQueue) Pop() any {
	last := len(*q) - 1
	a := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return a
}
