package stream

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

const (
	readSize     = 4 << 10
	readSizeLong = 64 << 10 // once a read has filled the small buffer
	errorLimit   = 64 << 10 // what is kept of an error's body
)

// exchange is one request on one connection, and the buffers that it lends to the next. All its times are nanoseconds
// since sent, but for sent itself.
type exchange struct {
	c   *Client
	req *Request
	rec *sweep.Request
	cn  *conn

	epoch time.Time
	sent  int64 // since epoch

	dec      Decoder
	out      []byte // the request's header, and its body where joined
	joined   bool
	pushed   pushed // take, for a loop
	end      Ending // of what was pushed
	small    []byte // nil until a read of its own
	long     *[readSizeLong]byte
	errBody  []byte
	lastByte int64
	armed    int64 // the read deadline that is set, 0 for none
	final    bool  // it is not set anew
	heard    bool  // a byte of the response came
	kept     bool  // the connection has served before, or waited to
	leftover bool  // bytes came behind the response

	flight flight
}

// Do sends one request and fills the row with all that happens on the wire, its status included; it returns when the
// row is final. Times count from epoch, the trial's start. Cancelling ctx ends it at once.
func (c *Client) Do(ctx context.Context, epoch time.Time, req *Request, rec *sweep.Request) {
	x := c.exchange(epoch, req, rec)
	if x.ready() {
		x.do(ctx)
	}
	x.recycle()
}

// exchange makes one, or takes one that has been used before.
func (c *Client) exchange(epoch time.Time, req *Request, rec *sweep.Request) *exchange {
	c.mu.Lock()
	x := last(&c.spare)
	c.mu.Unlock()
	if x == nil {
		x = &exchange{c: c}
		x.pushed = func(at time.Time, b []byte, err error) (over bool) { x.end, over = x.take(at, b, err); return over }
		x.flight.init(x)
	}
	x.req, x.rec, x.epoch = req, rec, epoch
	return x
}

// recycle keeps an exchange that is over for the next request.
func (x *exchange) recycle() {
	x.req, x.rec, x.cn, x.out = nil, nil, nil, shrink(x.out)
	if x.long != nil {
		x.c.longs.Put(x.long)
		x.long = nil
	}
	x.c.mu.Lock()
	x.c.spare = append(x.c.spare, x)
	x.c.mu.Unlock()
}

// ready starts the row and makes the request's bytes; where it cannot, the row is final.
func (x *exchange) ready() bool {
	rec := x.rec
	rec.RequestID, rec.ConnNew, rec.DialNS, rec.Chunks = x.req.ID, false, 0, 0
	err := x.build()
	if err != nil {
		conclude(rec, Ending{sweep.ErrNotSent, err.Error()})
	}
	return err == nil
}

// do sends a request that is ready, and waits for its end.
func (x *exchange) do(ctx context.Context) {
	if err := x.connect(ctx); err != nil {
		conclude(x.rec, Ending{kindOf(err), err.Error()})
		return
	}
	x.stamp()
	end, untouched := x.attempt(ctx)
	x.finish(ctx, end, untouched)
}

// stamp takes the time from which all others of the row count.
func (x *exchange) stamp() {
	x.sent = int64(time.Since(x.epoch))
	x.rec.SentNS = x.sent
}

// finish makes the row of what a first attempt came to.
func (x *exchange) finish(ctx context.Context, end Ending, untouched bool) {
	if end.Kind == sweep.ErrStale {
		end, untouched = x.again(ctx, end, untouched)
	}
	x.settle(end)
	x.release(untouched)
}

// attempt sends the request on the connection that there is. A cancelled context closes that; untouched says that it
// did not.
func (x *exchange) attempt(ctx context.Context) (end Ending, untouched bool) {
	stop := x.guard(ctx)
	return unguard(ctx, stop, x.run())
}

// guard has a cancelled context close the connection, until stop, which says that it did not.
func (x *exchange) guard(ctx context.Context) (stop func() bool) {
	if ctx.Done() == nil {
		return func() bool { return true }
	}
	return context.AfterFunc(ctx, x.cn.kill)
}

// unguard ends a guard, and puts the cancelling in place of what it made of the exchange.
func unguard(ctx context.Context, stop func() bool, end Ending) (_ Ending, untouched bool) {
	if untouched = stop(); !untouched && end.Kind != "" {
		end = Ending{sweep.ErrCancelled, context.Cause(ctx).Error()}
	}
	return end, untouched
}

// again sends a request once more, on a connection of its own, whose kept connection died before any response byte:
// servers close those when they please, some after each answer and without a word. It is one try, it is marked, and it
// goes on counting from the first, so that its cost is in the row's times. Where it fares no better, the row is stale.
func (x *exchange) again(ctx context.Context, stale Ending, untouched bool) (Ending, bool) {
	cn, err := x.c.dial(ctx)
	if err != nil {
		return stale, untouched
	}
	x.cn.kill()
	x.cn, x.kept, x.rec.EndNS = cn, false, sweep.None
	end, untouched := x.attempt(ctx)
	x.rec.Marks = append(x.rec.Marks, MarkRetriedStale)
	if !x.heard && (end.Kind == sweep.ErrEOF || end.Kind == sweep.ErrReset) {
		end = stale
	}
	return end, untouched
}

// connect finds a kept connection or makes one, where there is none yet.
func (x *exchange) connect(ctx context.Context) error {
	if ctx.Err() != nil {
		if x.cn != nil {
			x.cn.kill()
		}
		return &dialError{sweep.ErrCancelled, context.Cause(ctx)}
	}
	start := time.Now()
	if x.cn == nil {
		x.cn = x.c.pool.get()
	}
	if x.kept = x.cn != nil; x.kept {
		return nil
	}
	var err error
	x.rec.ConnNew = true
	x.cn, err = x.c.dial(ctx)
	x.rec.DialNS = int64(time.Since(start))
	return err
}

func kindOf(err error) string {
	var d *dialError
	if errors.As(err, &d) {
		return d.kind
	}
	return sweep.ErrConnect
}

// now is the time since sent.
func (x *exchange) now() int64 { return int64(time.Since(x.epoch)) - x.sent }

// reset forgets the response before.
func (x *exchange) reset() {
	x.cn.response.reset(x.c.cfg.ModelHeader)
	x.lastByte, x.armed, x.final, x.heard, x.leftover, x.errBody = 0, 0, false, false, false, x.errBody[:0]
	x.dec.Reset(Options{Stream: x.req.Stream, KeepText: x.c.cfg.KeepText, TextCap: x.c.cfg.TextCap})
}

// run writes the request and reads the response, and says how that ended.
func (x *exchange) run() Ending {
	x.reset()
	if x.aside() {
		return x.writeAside()
	}
	end := x.write(0)
	switch end.Kind {
	case "":
		x.arm()
		return x.read()
	case sweep.ErrReset:
		return x.lastWord(end)
	}
	return end
}

// read reads the response until it, or the wait for it, is over.
func (x *exchange) read() Ending {
	if x.cn.push != nil && x.cn.push(x.pushed) {
		return x.end
	}
	if x.small == nil {
		x.small = make([]byte, readSize)
	}
	buf := x.small
	for {
		n, err := x.cn.Read(buf)
		if end, over := x.take(time.Now(), buf[:n], err); over {
			return end
		}
		if n == len(buf) && n < readSizeLong {
			buf = x.longBuffer()
		}
	}
}

// take takes what a read brought when it returned; over says that nothing more is waited for.
func (x *exchange) take(returned time.Time, b []byte, err error) (end Ending, over bool) {
	at := int64(returned.Sub(x.epoch)) - x.sent
	if len(b) > 0 {
		x.hear(at)
		if end, over = x.feed(at, b); over {
			x.rec.EndNS = at
			return end, true
		}
		x.hurry()
	}
	if err != nil {
		if end, over = x.failed(at, err); over {
			x.rec.EndNS = at
		}
	}
	return end, over
}

func (x *exchange) longBuffer() []byte {
	if x.long, _ = x.c.longs.Get().(*[readSizeLong]byte); x.long == nil {
		x.long = new([readSizeLong]byte)
	}
	return x.long[:]
}

func (x *exchange) hear(at int64) {
	x.lastByte = at
	if !x.heard {
		x.heard = true
		x.rec.TTFBNS = at
		if !x.req.Stream {
			x.arm() // from now on silence counts
		}
	}
}

// feed takes what one read brought; over says that nothing more is waited for.
func (x *exchange) feed(at int64, b []byte) (end Ending, over bool) {
	r := &x.cn.response
	for len(b) > 0 {
		if r.state == complete {
			x.leftover = true
			break
		}
		piece, rest, err := r.next(b)
		if err != nil {
			return Ending{sweep.ErrMalformed, err.Error()}, true
		}
		b = rest
		if len(piece) > 0 && !x.takeBody(at, piece) {
			return Ending{}, true
		}
	}
	if r.headDone() && r.encoding != "" {
		return Ending{sweep.ErrMalformed, "the answer came with content encoding " + r.encoding}, true
	}
	return Ending{}, r.state == complete || x.dec.Done()
}

// takeBody takes a piece of the body; it answers false where no more of it is wanted.
func (x *exchange) takeBody(at int64, piece []byte) bool {
	r := &x.cn.response
	if r.status == 200 {
		x.dec.opts.EventStream = r.contentType == eventStream
		x.dec.Feed(at, piece)
		return true
	}
	room := errorLimit - len(x.errBody)
	x.errBody = append(x.errBody, piece[:min(room, len(piece))]...)
	return len(piece) < room
}

// failed takes a read error: a deadline that came too early is set again, any other ends the exchange.
func (x *exchange) failed(at int64, err error) (end Ending, over bool) {
	if errors.Is(err, os.ErrDeadlineExceeded) && !x.final {
		if end, over = x.expired(at); !over {
			x.arm()
		}
		return end, over
	}
	end = wireEnding(err)
	r := &x.cn.response
	switch {
	case end.Kind == sweep.ErrEOF && r.ended():
		r.state = complete
		return Ending{}, true
	case !x.heard && x.kept:
		return Ending{sweep.ErrStale, "a kept connection was closed before the response: " + end.Message}, true
	}
	return end, true
}

// settle writes the row of a response, however it ended.
func (x *exchange) settle(end Ending) {
	rec, r := x.rec, &x.cn.response
	if rec.EndNS == sweep.None {
		rec.EndNS = x.now()
	}
	if !r.headDone() {
		if end.Kind == "" {
			end.Kind = sweep.ErrEOF
		}
		conclude(rec, end)
		return
	}
	rec.HTTPStatus, rec.RetryAfterNS, rec.ResponseModel = int64(r.status), r.retryAfter, r.model
	if r.status != 200 {
		if end.Kind != sweep.ErrCancelled {
			end = Ending{sweep.ErrHTTP, messageOf(x.errBody)}
		}
		conclude(rec, end)
		return
	}
	x.dec.End(rec.EndNS, r.state == complete)
	x.dec.Fill(rec, end)
	if r.model != "" {
		rec.ResponseModel = r.model
	}
	if x.req.Stream && x.req.GraceUsage && rec.Status == sweep.RequestOK && rec.OutputSource != sourceUsage {
		rec.Marks = append(rec.Marks, MarkNoUsage)
	}
}

// release gives the connection back, or closes it.
func (x *exchange) release(untouched bool) {
	r := &x.cn.response
	resting := r.chunked && x.dec.done && r.state != complete && r.headDone() && !r.close
	if !untouched || x.leftover || !r.reusable() && !resting {
		x.cn.kill()
		return
	}
	_ = x.cn.SetDeadline(time.Time{})
	x.c.pool.put(x.cn)
}
