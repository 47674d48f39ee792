package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// figures are what one run of one client under one pattern comes to. What a pattern does not show is NaN.
type figures struct {
	CPUPerEventUS float64
	CPUSeconds    float64
	LagP50US      float64 // from the server's write to the client's stamp
	LagP99US      float64
	TTFTAddedMS   float64 // mean over the requests: the client's less the server's
	OnTheWayMS    float64 // the part of it before the server had read the request
	SendsMS       float64 // from the first request's sending to the last's
	GapSDMS       float64
	ServerGapSDMS float64
	BytesPerEvent float64
	Mallocs       float64
	Collections   float64
	EventsPerS    float64
	MemoryKB      float64 // of an idle stream
}

// runPattern runs one client under a pattern, against a server of its own.
func runPattern(client string, p pattern, profile string) (f figures, err error) {
	serverCPU, clientCPU := -1, -1
	if p.Pinned {
		serverCPU, clientCPU = 1, 0
	}
	server, err := startServer(p.Timing, serverCPU)
	if err != nil {
		return f, err
	}
	defer server.end()
	c, err := start(role{Name: client, Pattern: p, URL: server.URL, Profile: profile}, clientCPU)
	if err != nil {
		return f, err
	}
	defer c.end()
	var o outcome
	if err := c.out.Decode(&o); err != nil {
		return f, fmt.Errorf("%s under %s: %w", client, p.Name, err)
	}
	exchanges, err := server.take()
	if err != nil {
		return f, err
	}
	return evaluate(&o, exchanges, p)
}

// evaluate puts a client's times beside the server's.
func evaluate(o *outcome, exchanges []Exchange, p pattern) (f figures, err error) {
	var lags []int64
	var gaps, serverGaps []float64
	added, onTheWay, matched, events := 0.0, 0.0, 0, 0
	for _, x := range exchanges {
		var stream int
		if n, _ := fmt.Sscanf(strings.TrimPrefix(x.ID, measured), "%d", &stream); n != 1 || x.ID[:1] != measured {
			continue
		}
		at := o.AtNS[stream]
		if len(at) != p.Events {
			return f, fmt.Errorf("stream %d under %s: %d events seen of %d", stream, p.Name, len(at), p.Events)
		}
		matched++
		events += len(at)
		added += float64(at[0]-o.SentNS[stream]) - float64(x.WriteNS[0]-x.RequestNS)
		onTheWay += float64(x.RequestNS - o.SentNS[stream])
		for i, t := range at {
			write := i / max(p.PerWrite, 1)
			lags = append(lags, t-x.WriteNS[write])
			if i > 0 {
				gaps = append(gaps, float64(t-at[i-1]))
			}
			if i > 0 && i%max(p.PerWrite, 1) == 0 {
				serverGaps = append(serverGaps, float64(x.WriteNS[write]-x.WriteNS[write-1]))
			}
		}
	}
	if matched != p.Streams {
		return f, fmt.Errorf("%s: the server saw %d requests of %d", p.Name, matched, p.Streams)
	}
	slices.Sort(lags)
	n := float64(events)
	return figures{
		CPUPerEventUS: float64(o.CPUNS) / n / 1e3, CPUSeconds: float64(o.CPUNS) / 1e9,
		LagP50US: float64(percentile(lags, 50)) / 1e3, LagP99US: float64(percentile(lags, 99)) / 1e3,
		TTFTAddedMS: added / float64(matched) / 1e6, OnTheWayMS: onTheWay / float64(matched) / 1e6,
		SendsMS: float64(slices.Max(o.SentNS)-slices.Min(o.SentNS)) / 1e6, GapSDMS: deviation(gaps) / 1e6, ServerGapSDMS: deviation(serverGaps) / 1e6,
		BytesPerEvent: float64(o.Bytes) / n, Mallocs: float64(o.Mallocs) / n, Collections: float64(o.Collections),
		EventsPerS: n / (float64(o.WallNS) / 1e9), MemoryKB: math.NaN(),
	}, nil
}

// idleStreams are held open at once to see what one occupies.
const idleStreams = 8000

// runIdle says what an idle stream occupies in a client's process.
func runIdle(client string, n int) (f figures, err error) {
	server, err := startServer(Timing{TTFT: 10 * time.Millisecond, Events: 2, Hold: true}, -1)
	if err != nil {
		return f, err
	}
	defer server.end()
	c, err := start(role{Name: "idle-" + client, Pattern: pattern{Streams: n}, URL: server.URL}, -1)
	if err != nil {
		return f, err
	}
	defer c.end()
	for seen := 0; seen < n; {
		exchanges, err := server.take()
		if err != nil {
			return f, err
		}
		if seen += len(exchanges); c.cmd.ProcessState != nil {
			return f, fmt.Errorf("%s ended before %d streams had begun", client, n)
		}
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond)
	if _, err := c.in.Write([]byte("\n")); err != nil {
		return f, err
	}
	var o outcome
	if err := c.out.Decode(&o); err != nil {
		return f, err
	}
	f.MemoryKB = float64(o.ResidentBytes) / 1024 / float64(n)
	return f, nil
}

func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

func deviation(values []float64) float64 {
	mean, squares := 0.0, 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares / float64(len(values)-1))
}
