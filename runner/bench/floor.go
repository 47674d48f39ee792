package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/inference-sweep/sweep/runner/stream"
	"github.com/inference-sweep/sweep/sweep"
)

// Spread says how readings spread: percentiles by nearest rank, in nanoseconds.
type Spread struct {
	N            int
	P50NS, P99NS int64
}

// spread puts readings in order of size.
func spread(ns []int64) Spread {
	slices.Sort(ns)
	return Spread{N: len(ns), P50NS: percentile(ns, 50), P99NS: percentile(ns, 99)}
}

// percentile is that of values in order of size.
func percentile(sorted []int64, percent int) int64 {
	return sorted[(len(sorted)*percent+99)/100-1]
}

const (
	floorRequests = 200
	floorWarmups  = 10
	floorLimit    = 250 * time.Millisecond
)

// floorTiming answers after a millisecond: by then client and machine have gone to sleep, as before a real first token.
var floorTiming = Timing{TTFT: time.Millisecond, Events: 1}

// Floor is the time to first token, in nanoseconds, that is this client's and not the server's: the median of TTFT. It
// takes less than 300 ms on a machine that is not overloaded.
func Floor(ctx context.Context) (int64, error) {
	s, err := TTFT(ctx)
	return s.P50NS, err
}

// TTFT is what this client adds to times to first token on this machine: what it measures against a null server, less
// what that kept. One request follows another on a kept connection over loopback, as many as a quarter of a second lets
// through and 200 at most.
func TTFT(ctx context.Context) (Spread, error) {
	epoch := time.Now()
	server, client, err := pair(floorTiming, epoch)
	if err != nil {
		return Spread{}, fmt.Errorf("the client's floor: %w", err)
	}
	defer server.Close()
	defer client.Close()
	var added []int64
	for n := 0; len(added) < floorRequests && (len(added) == 0 || time.Since(epoch) < floorLimit); n++ {
		row := ask(ctx, client, epoch, "")
		if err := failure(row); err != nil {
			return Spread{}, fmt.Errorf("the client's floor: %w", err)
		}
		if x := server.Take()[0]; n >= floorWarmups {
			added = append(added, row.FirstTokenNS-(x.WriteNS[0]-x.RequestNS))
		}
	}
	return spread(added), nil
}

// lagTiming has 20 streams bring an event each 5 ms: 4,000 events a second, each with a wake-up of its own.
var lagTiming = Timing{TTFT: 20 * time.Millisecond, Gap: 5 * time.Millisecond, Events: 100, Spread: 20}

// EventLag is how long after the server's write the client stamps an event, over many streams that are open at once.
// It takes half a second.
func EventLag(ctx context.Context) (Spread, error) {
	lags, err := eventLags(ctx, lagTiming)
	if err != nil {
		return Spread{}, fmt.Errorf("the client's lag: %w", err)
	}
	return spread(lags), nil
}

func eventLags(ctx context.Context, t Timing) ([]int64, error) {
	epoch := time.Now()
	server, client, err := pair(t, epoch)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	defer client.Close()
	if err := client.Warm(ctx, t.Spread); err != nil {
		return nil, err
	}
	rows := make([]*sweep.Request, t.Spread)
	var all sync.WaitGroup
	for i := range rows {
		all.Go(func() { rows[i] = ask(ctx, client, epoch, fmt.Sprint(i)) })
	}
	all.Wait()
	writes := map[string][]int64{}
	for _, x := range server.Take() {
		writes[x.ID] = x.WriteNS
	}
	var lags []int64
	for i, row := range rows {
		at, err := chunkTimes(row)
		if err != nil {
			return nil, err
		}
		for j, written := range writes[fmt.Sprint(i)] {
			lags = append(lags, at[j]-written)
		}
	}
	return lags, nil
}

// chunkTimes are when the events of an answer came, counted from the epoch.
func chunkTimes(row *sweep.Request) ([]int64, error) {
	if err := failure(row); err != nil {
		return nil, err
	}
	at := make([]int64, 0, row.Chunks)
	for chunk, err := range sweep.Chunks(row.ChunkLog) {
		if err != nil {
			return nil, err
		}
		at = append(at, row.SentNS+chunk.AtNS)
	}
	return at, nil
}

func failure(row *sweep.Request) error {
	if row.Status == sweep.RequestOK {
		return nil
	}
	return errors.New(row.Error + ": " + row.ErrorMessage)
}

// pair starts a null server on loopback and makes a client for it.
func pair(t Timing, epoch time.Time) (*Server, *stream.Client, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	server, err := Serve(listener, t, epoch)
	if err != nil {
		return nil, nil, errors.Join(err, listener.Close())
	}
	client, err := newClient(server.URL())
	if err != nil {
		return nil, nil, errors.Join(err, server.Close())
	}
	return server, client, nil
}

// newClient makes a client with the time limits that a trial has by default: they are part of what a request costs.
func newClient(url string) (*stream.Client, error) {
	return stream.New(stream.Config{Base: url, Timeouts: stream.Timeouts{
		Connect: 10 * time.Second, Idle: time.Minute, NoToken: 2 * time.Minute, Total: 10 * time.Minute, Grace: 2 * time.Second,
	}})
}

// question is a body like those that a trial sends: 32 tokens in.
var question = []byte(`{"model":"tiny","prompt":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32],"max_tokens":100,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true}}`)

// ask sends one request and returns its row.
func ask(ctx context.Context, client *stream.Client, epoch time.Time, id string) *sweep.Request {
	row := sweep.NewRequest()
	client.Do(ctx, epoch, asked(id), row)
	return row
}

func asked(id string) *stream.Request {
	return &stream.Request{Path: "/v1/completions", Body: question, ID: id, Stream: true, GraceUsage: true}
}
