package bench

import "time"

// pattern is a load under which clients are compared.
type pattern struct {
	Name string
	Timing
	Streams int
	// Pinned gives the client one processor and the server another: a client's processor time is then its own.
	Pinned bool
	// Burst starts all streams at once.
	Burst bool
	// Inner counts allocations only while no request begins or ends.
	Inner bool
}

// patterns are the loads of a comparison. The bursts start all streams at once and share all processors with the
// server; the others have their streams spread, so that every write wakes the client up.
func patterns() []pattern {
	all := []pattern{
		{Name: "paced", Streams: 200, Pinned: true, Timing: paced(100)},
		{Name: "coalesced", Streams: 100, Pinned: true, Timing: Timing{TTFT: 50 * time.Millisecond, Gap: 4 * time.Millisecond, Events: 16 * 300, PerWrite: 16, Spread: 100}},
		{Name: "flood", Streams: 16, Pinned: true, Timing: Timing{TTFT: 50 * time.Millisecond, Gap: 1, Events: 4000}},
		{Name: "flood16", Streams: 16, Pinned: true, Timing: Timing{TTFT: 50 * time.Millisecond, Gap: 1, Events: 16 * 2000, PerWrite: 16}},
	}
	for _, n := range []int{1, 10, 100, 500, 1000} {
		all = append(all, burst(n))
	}
	return all
}

// paced is 10,000 events a second on 200 streams, n events on each.
func paced(n int) Timing {
	return Timing{TTFT: 50 * time.Millisecond, Gap: 20 * time.Millisecond, Events: n, Spread: 200}
}

// known are the times that the bursts and other tools' clients are measured against.
var known = Timing{TTFT: 50 * time.Millisecond, Gap: 10 * time.Millisecond, Events: 100}

func burst(n int) pattern {
	return pattern{Name: "burst" + digits(n), Streams: n, Burst: true, Timing: known}
}

// rounds are three times as many for a burst: it has one first event a stream, all within milliseconds, and what else the
// machine does in these decides its mean.
func (p pattern) rounds() int {
	if p.Burst {
		return 3 * *roundsFlag
	}
	return *roundsFlag
}
