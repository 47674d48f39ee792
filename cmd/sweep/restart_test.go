package main

import (
	"context"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/runner"
	"github.com/inference-sweep/sweep/runner/sim"
	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
)

// A neighbour is an engine that somebody else runs, on a port of this machine.
type neighbour struct {
	t     *testing.T
	addr  string
	began time.Time
	end   func()
}

func (s *neighbour) up() {
	s.t.Helper()
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	engine, err := sim.New(ordinaryEngine(nil))
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); engine.Serve(ctx, listener) }()
	s.addr, s.began = listener.Addr().String(), time.Now()
	s.end = func() { cancel(); <-ended }
}

// again ends the engine and brings up another on the same port, long enough after the first began for the two to be told
// apart by that.
func (s *neighbour) again() {
	s.end()
	time.Sleep(time.Until(s.began.Add(2 * time.Second)))
	s.up()
}

// TestRestartedBetweenTrials: an attached server that comes up anew, with the same version, is told by what it says of its
// process; one that is left alone carries no flag.
func TestRestartedBetweenTrials(t *testing.T) {
	for name, restarted := range map[string]bool{"restarted": true, "left alone": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &neighbour{t: t, addr: "127.0.0.1:0"}
			server.up()
			defer func() { server.end() }()
			n := &night{cell: lines{"target": `"http://` + server.addr + `"`, "contract.load.open": "rate: 100", "warmup": "requests: 5", "measure": "requests: 20"}}
			p, db := n.plan(t, "standing"), newDatabase(t)
			sitting, err := db.BeginSitting(store.Sitting{Sweep: p.Name, StartedAt: time.Now()}, p)
			if err != nil {
				t.Fatal(err)
			}
			w := db.NewWriter()
			summary, err := runner.Run(t.Context(), p, p.Trials, runner.Config{
				Record: newRecording(db, w, p).recorder(), Nonce: nonce, Sitting: sitting, Node: "here",
				Progress: func(e runner.Event) {
					if e.Kind == runner.TrialEnded && e.Trial.Block == 1 && restarted {
						server.again()
					}
				},
			})
			if err != nil || summary.Done != 3 {
				t.Fatalf("%+v, %v", summary, err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			d, err := derive(db, p)
			if err != nil {
				t.Fatal(err)
			}
			var blocks []int
			for _, f := range d.Flags {
				switch f.Code {
				case "server-restarted":
					blocks = append(blocks, f.Block)
				case "contract-drift":
					t.Errorf("%+v", f)
				}
			}
			if want := map[bool][]int{true: {2}}[restarted]; !slices.Equal(blocks, want) {
				t.Errorf("restarted before the trials of blocks %v, want %v", blocks, want)
			}
			for _, trial := range []int64{1, 2, 3} {
				facts, err := db.Facts(trial)
				if err != nil {
					t.Fatal(err)
				}
				readings := slices.DeleteFunc(facts.Observations, func(o sweep.Observation) bool { return o.Key != sweep.ObsProcessStart })
				if len(readings) != 2 {
					t.Errorf("trial %d has %d readings of its server's process, want one before it and one after", trial, len(readings))
				}
			}
		})
	}
}
