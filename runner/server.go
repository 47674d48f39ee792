package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/inference-sweep/sweep/runner/engine"
	"github.com/inference-sweep/sweep/runner/stream"
	"github.com/inference-sweep/sweep/runner/target"
	"github.com/inference-sweep/sweep/runner/workload"
	"github.com/inference-sweep/sweep/sweep"
)

// server is the server that is up, with the client that measures it.
type server struct {
	*target.Server
	life string // which trials it may serve: see lifeOf
	// cold says that nothing but the probe has been asked yet.
	cold bool
	// perWord is how many tokens the server makes of a word of a text prompt.
	perWord float64
	// again says that this server was lost and had to be opened once more for trials that shared it.
	again bool
	// suspect says that the last trial failed: the server has to answer before it is used again.
	suspect bool
}

// lifeOf is what one launch may serve: equal for trials that can share it.
func lifeOf(cell *sweep.PlanCell, t sweep.Trial) string {
	if engine.Attached(&cell.Cell) {
		return cell.Cell.Target + " " + cell.Cell.Contract.Endpoint
	}
	switch cell.Cell.Server.Restart {
	case sweep.RestartTrial:
		return fmt.Sprintf("%s trial %s %d %d", t.Setting, t.Digest, t.Block, t.Copy)
	case sweep.RestartSetting:
		return t.Setting
	}
	return fmt.Sprintf("%s block %d", t.Setting, t.Block)
}

// need sees to it that the server is up which a trial needs.
func (r *runner) need(ctx context.Context, cell *sweep.PlanCell, t sweep.Trial) error {
	s := r.server
	same := s != nil && s.life == lifeOf(cell, t)
	if same && !s.gone() && !s.spentFor(cell) && !r.silent(ctx) {
		return nil
	}
	if err := r.stop(ctx); err != nil {
		return err
	}
	if err := r.open(ctx, cell, t); err != nil {
		return err
	}
	// Within one life, only a server that was lost is opened again, but for a cache that is made by restarting it.
	r.server.again = same && !s.spentFor(cell)
	return nil
}

// spentFor says that the server was used, and that the cell's cache is to be made by a restart.
func (s *server) spentFor(cell *sweep.PlanCell) bool {
	cache := cell.Cell.Contract.PrefixCache
	return !s.Launch.Attached && cache.Enabled && cache.By == "restart" && !s.cold
}

// silent says that the server failed a trial and does not answer any more.
func (r *runner) silent(ctx context.Context) bool {
	return r.server.suspect && r.server.Probe(ctx) != nil
}

func (s *server) gone() bool {
	select {
	case <-s.Exited():
		return true
	default:
		return false
	}
}

// open launches or attaches, waits until the server answers, and records the launch.
func (r *runner) open(ctx context.Context, cell *sweep.PlanCell, t sweep.Trial) error {
	r.ordinal++
	launch := &sweep.Launch{
		Sweep: r.plan.Name, Sitting: r.Sitting, Ordinal: r.ordinal, Target: cell.Cell.Target, Node: r.Node, Setting: t.Setting,
		Command: cell.Command, Attached: engine.Attached(&cell.Cell), StartedAt: time.Now(),
		PortNS: sweep.None, ReadyNS: sweep.None, FirstTokenNS: sweep.None, ExitCode: sweep.None,
	}
	if err := recorded(r.Record.StartLaunch(launch)); err != nil {
		return err
	}
	r.Progress(Event{Kind: LaunchStarted, Launch: launch, Total: r.total, Summary: r.summary})
	up, err := target.Open(ctx, cell, r.Target)
	if err != nil {
		if failure := (*target.Failure)(nil); errors.As(err, &failure) {
			launch.PortNS, launch.ExitCode, launch.Log = failure.Launch.PortNS, failure.Launch.ExitCode, failure.Launch.Log
		}
		launch.StoppedAt = time.Now()
		if recordErr := recorded(r.Record.UpdateLaunch(launch)); recordErr != nil {
			return recordErr
		}
		return err
	}
	up.Launch.ID, up.Launch.Sweep, up.Launch.Sitting = launch.ID, launch.Sweep, launch.Sitting
	up.Launch.Ordinal, up.Launch.Node, up.Launch.Setting = launch.Ordinal, launch.Node, launch.Setting
	s := &server{Server: up, life: lifeOf(cell, t), cold: !up.Launch.Attached}
	r.server = s
	if err := s.learn(ctx); err != nil {
		return err
	}
	if err := recorded(r.Record.UpdateLaunch(&up.Launch)); err != nil {
		return err
	}
	r.Progress(Event{Kind: LaunchReady, Launch: &up.Launch, Total: r.total, Summary: r.summary})
	return nil
}

// stop stops the server that is up, or leaves it alone where it is not ours. The clients of its trials have closed their
// connections by then, so that its port is free again at once.
func (r *runner) stop(ctx context.Context) error {
	s := r.server
	if s == nil {
		return nil
	}
	r.server = nil
	stopErr := s.Stop(context.WithoutCancel(ctx))
	if stopErr != nil {
		s.Launch.Log += "\n" + stopErr.Error()
	}
	if s.Launch.StoppedAt.IsZero() {
		s.Launch.StoppedAt = time.Now()
	}
	return recorded(r.Record.UpdateLaunch(&s.Launch))
}

// newClient makes the client that measures one trial.
func (s *server) newClient(cell *sweep.PlanCell, c Config) (*stream.Client, []stream.Header, error) {
	timeout := cell.Cell.Timeout
	client, err := stream.New(stream.Config{
		Base: s.Base, Dial: c.Dial, KeepText: c.KeepText, TextCap: keptTextBytes, ModelHeader: servedModelHeader,
		Timeouts: stream.Timeouts{
			Connect: sweep.Duration(timeout.Connect), Idle: sweep.Duration(timeout.Idle), NoToken: sweep.Duration(timeout.NoToken),
			Total: sweep.Duration(timeout.Total), Grace: sweep.Duration(timeout.Grace),
		},
	})
	if err != nil {
		return nil, nil, err
	}
	named, err := s.HeaderFor(&cell.Cell)
	if err != nil {
		return nil, nil, err
	}
	header := make([]stream.Header, len(named))
	for i, h := range named {
		header[i] = stream.Header{Name: h.Name, Value: h.Value}
	}
	return client, header, nil
}

// learn asks the server what it is.
func (s *server) learn(ctx context.Context) error {
	observed, err := s.Observe(ctx)
	if err != nil {
		return fmt.Errorf("observing the server: %w", err)
	}
	if s.perWord = s.tokensPerWord(ctx); s.perWord != 1 {
		observed[sweep.ObsTokensPerWord] = s.perWord
	}
	s.Launch.Observed = observed
	return nil
}

// servedModelHeader is where gateways say that another model answered than the one that the body names.
const servedModelHeader = "X-Served-Model"

// keptTextBytes bounds an answer that --keep-text stores.
const keptTextBytes = 1 << 20

// dialectFor is what a cell's requests may hold: the engine's profile less the fields that this server refused.
func (s *server) dialectFor(cell *sweep.PlanCell) workload.Dialect {
	p := s.Profile
	return workload.Dialect{
		Model: s.Model, TokenIDs: p.TokenIDPrompts, IgnoreEOS: p.IgnoreEOS, MinTokens: p.MinTokens, ReturnTokenIDs: p.ReturnTokenIDs,
		StreamUsage: p.StreamUsage, ContinuousUsage: p.ContinuousUsage, NoCachePrompt: p.NoCachePrompt,
		MaxTokensField: p.MaxTokensField(cell.Cell.Contract.Endpoint), TokensPerWord: s.perWord,
	}
}

// calibrationWords is enough text for a ratio, and short enough for any context.
const calibrationWords = 400

// tokensPerWord asks the server's tokenizer what a word of a prompt is worth; 1 where it has none.
func (s *server) tokensPerWord(ctx context.Context) float64 {
	tokens, ok, err := s.CountTokens(ctx, workload.Sample(calibrationWords))
	if err != nil || !ok || tokens <= 0 {
		return 1
	}
	return float64(tokens) / calibrationWords
}
