package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/inference-sweep/sweep/runner/stream"
	"github.com/inference-sweep/sweep/runner/workload"
	"github.com/inference-sweep/sweep/sweep"
)

// shape is one request to be tried on a server: the fields of a cell's requests, at some length.
type shape struct {
	cell *sweep.PlanCell
	lengths
}

// How long the requests of a check may take: one of them, before it is cut, and all of a server's.
const (
	shapeLimit  = 15 * time.Second
	shapesLimit = 45 * time.Second
)

// shapesOf are the distinct requests of the cells of one server: their fields, each at its extreme lengths. The longest
// comes first.
func shapesOf(p *sweep.Plan, cells []*sweep.PlanCell) ([]shape, error) {
	var shapes []shape
	seen := map[string]bool{}
	for _, cell := range cells {
		k := cell.Cell.Contract
		fields, err := json.Marshal([]any{k.Endpoint, k.Streaming, k.Sampling, k.Request, k.Prompt.Shared, k.Prompt.IDs, k.PrefixCache.State})
		if err != nil {
			return nil, err
		}
		shortest, deepest, longest, err := extremes(p, cell)
		if err != nil {
			return nil, err
		}
		for _, l := range []lengths{longest, deepest, shortest} {
			key := fmt.Sprint(string(fields), l)
			if !seen[key] {
				seen[key] = true
				shapes = append(shapes, shape{cell, l})
			}
		}
	}
	slices.SortStableFunc(shapes, func(a, b shape) int { return int(b.total() - a.total()) })
	return shapes, nil
}

// checkShapes sends one request of each shape and keeps what came of it.
func checkShapes(ctx context.Context, s *server, cells []*sweep.PlanCell, longest lengths, out *Checked, c CheckConfig) {
	if limit, ok := s.Launch.Observed[sweep.ObsMaxModelLen].(int64); ok && longest.total() > limit {
		return // what the server would say has been said
	}
	shapes, err := shapesOf(out.Plan, cells)
	if err != nil {
		out.add(CheckFail, "request", "", "%v", err)
		return
	}
	rows := map[string][]*sweep.Request{}
	end := time.Now().Add(shapesLimit)
	for i, shape := range shapes {
		if time.Now().After(end) || ctx.Err() != nil {
			out.add(CheckSkip, "request", "", "%d more shapes: no time left", len(shapes)-i)
			break
		}
		r, err := s.try(ctx, shape, c)
		if err != nil {
			out.add(CheckFail, "request", "", "cell %s: %v", shape.cell.Name(), err)
			continue
		}
		out.request(shape, r)
		if r.Status == sweep.RequestOK {
			rows[shape.cell.Digest] = append(rows[shape.cell.Digest], r)
		}
	}
	for _, cell := range cells {
		out.Facts = append(out.Facts, out.facts(s, cell, rows[cell.Digest]))
	}
}

// try sends one request as a trial would, after what makes the cache as the contract wants it.
func (s *server) try(ctx context.Context, x shape, c CheckConfig) (*sweep.Request, error) {
	maker, err := workload.New(&x.cell.Cell, s.dialectFor(x.cell), c.Nonce())
	if err != nil {
		return nil, err
	}
	if cache := x.cell.Cell.Contract.PrefixCache; cache.Enabled && cache.State == "warm" && x.cell.Cell.Contract.Prompt.Shared != nil {
		head := x.cell.Cell.Contract.Prompt.Shared.Tokens
		if _, err := s.send(ctx, x.cell, maker.Priming(0), lengths{int64(head), 1}, c); err != nil {
			return nil, err
		}
	}
	return s.send(ctx, x.cell, maker.Body(sweep.PhaseMeasure, 0, x.input, x.output), x.lengths, c)
}

// send carries out one request through the client that measures. It is cut at the limit.
func (s *server) send(ctx context.Context, cell *sweep.PlanCell, body []byte, l lengths, c CheckConfig) (*sweep.Request, error) {
	client, header, err := s.newClient(cell, c.Config)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, shapeLimit)
	defer cancel()
	r := sweep.NewRequest()
	r.Phase, r.InputAsked, r.OutputAsked, r.DueNS, r.QueueNS = sweep.PhaseMeasure, l.input, l.output, 0, 0
	r.RequestID = c.Nonce()
	client.Do(ctx, time.Now(), &stream.Request{
		Path: workload.Path(cell.Cell.Contract.Endpoint), Body: body, Header: header, ID: r.RequestID,
		Stream: cell.Cell.Contract.Streaming, GraceUsage: s.Profile.StreamUsage,
	}, r)
	return r, nil
}

// request says what came of one request.
func (c *Checked) request(x shape, r *sweep.Request) {
	what := fmt.Sprintf("%d tokens in, %d out (cell %s)", x.input, x.output, x.cell.Name())
	switch {
	case r.Status == sweep.RequestOK && r.FirstTokenNS != sweep.None && x.cell.Cell.Contract.Streaming:
		c.add(CheckOK, "request", "", "%s: first token after %s, the last after %s", what, shortTime(r.FirstTokenNS), shortTime(r.LastTokenNS))
	case r.Status == sweep.RequestOK:
		c.add(CheckOK, "request", "", "%s: answered after %s", what, shortTime(r.EndNS))
	case r.Error == sweep.ErrCancelled && r.FirstTokenNS != sweep.None:
		c.add(CheckOK, "request", "", "%s: accepted, still answering when it was cut after %v", what, shapeLimit)
	case r.Error == sweep.ErrCancelled:
		c.add(CheckWarn, "request", "a trial needs longer than its request: compare measure and timeout with this", "%s: no answer within %v", what, shapeLimit)
	case r.Error == sweep.ErrHTTP:
		c.add(CheckFail, "request", "correct what it names in the definition, or serve the model with other options",
			"%s: HTTP %d: %s", what, r.HTTPStatus, r.ErrorMessage)
	default:
		c.add(CheckFail, "request", "every request of this shape would fail: the server's log should say more", "%s: %s: %s", what, r.Error, r.ErrorMessage)
	}
}

// facts are a cell's requests as a trial that has ended.
func (c *Checked) facts(s *server, cell *sweep.PlanCell, rows []*sweep.Request) sweep.TrialFacts {
	end := int64(time.Second)
	for i, r := range rows {
		r.Seq = int64(i)
		end = max(end, r.SentNS+r.EndNS+1)
	}
	launch := s.Launch
	return sweep.TrialFacts{
		Record: sweep.TrialRecord{
			Sweep: c.Plan.Name, Cell: cell.Name(), Key: sweep.Key{Digest: cell.Digest, Block: 1, Copy: 1}, Status: sweep.StatusDone,
			T0NS: 0, T1NS: end, EndNS: end, ServedModel: s.Model,
		},
		Launch: &launch,
		Rows: iter.Seq2[*sweep.Request, error](func(yield func(*sweep.Request, error) bool) {
			for _, r := range rows {
				if !yield(r, nil) {
					return
				}
			}
		}),
	}
}
