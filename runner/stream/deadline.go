package stream

import (
	"fmt"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// A read deadline is set at the earliest moment at which a timeout could strike, and set anew only when it has come and
// bytes have moved the true one since: once a timeout's length, not once a read. Only the grace after the finish reason
// can come before a deadline that is already set.

// limits are the moments at which each timeout strikes, 0 where there is none.
type limits struct{ idle, token, total, grace int64 }

func (x *exchange) limits() limits {
	t := &x.c.cfg.Timeouts
	l := limits{total: int64(t.Total)}
	if x.req.Stream || x.heard {
		l.idle = after(x.lastByte, t.Idle)
	}
	if x.req.Stream {
		l.token = after(x.dec.lastOutput, t.NoToken)
	}
	if x.dec.Finished() {
		l.idle, l.token = 0, 0
		l.grace = after(x.dec.lastWord, t.Grace)
	}
	return l
}

func after(at int64, d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return at + int64(d)
}

// earliest is the smallest of the moments that exist, 0 if none does.
func earliest(moments ...int64) int64 {
	least := int64(0)
	for _, m := range moments {
		if m > 0 && (least == 0 || m < least) {
			least = m
		}
	}
	return least
}

// arm sets the read deadline.
func (x *exchange) arm() {
	l := x.limits()
	x.armed = earliest(l.idle, l.token, l.total, l.grace)
	if x.armed == 0 {
		_ = x.cn.SetReadDeadline(time.Time{})
		return
	}
	_ = x.cn.SetReadDeadline(x.epoch.Add(time.Duration(x.sent + x.armed)))
}

// hurry moves the deadline forward once the finish reason is there.
func (x *exchange) hurry() {
	if !x.dec.Finished() {
		return
	}
	if l := x.limits(); x.armed == 0 || l.grace < x.armed {
		x.arm()
	}
}

// expired says which timeout has struck, if one truly has.
func (x *exchange) expired(at int64) (end Ending, over bool) {
	l, t := x.limits(), &x.c.cfg.Timeouts
	switch {
	case l.grace > 0 && at >= l.grace:
		return Ending{}, true
	case l.total > 0 && at >= l.total:
		return Ending{sweep.ErrTimeout, fmt.Sprintf("not over after %s", t.Total)}, true
	case l.idle > 0 && at >= l.idle:
		return Ending{sweep.ErrStalled, fmt.Sprintf("no byte for %s", t.Idle)}, true
	case l.token > 0 && at >= l.token:
		return Ending{sweep.ErrStalled, fmt.Sprintf("no token for %s", t.NoToken)}, true
	}
	return Ending{}, false
}
