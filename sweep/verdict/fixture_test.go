package verdict_test

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/verdict"
)

const msNS = 1_000_000

// baseline is a cell for a vLLM server that the sweep launches, at 100 requests/s.
const baseline = `{
	"cell": "baseline", "factor": null, "level": null, "at": {}, "target": "launch",
	"contract": {
		"model": {"id": "org/model", "revision": "0e9e39f249a16976918f6564b8830bc894c89659"},
		"engine": {"name": "vllm", "revision": "v0.32.0", "args": {"max-num-seqs": 16}},
		"hardware": {"gpu": "H100-SXM5-80GB", "gpus": 1},
		"precision": {"weights": "bf16", "kvCache": "auto"},
		"endpoint": "completions", "streaming": true,
		"prompt": {"length": {"fixed": 128}, "ids": {"from": 1000, "to": 4000}},
		"output": {"length": {"fixed": 16}},
		"sampling": {"temperature": 0, "ignoreEOS": true},
		"prefixCache": {"enabled": false, "by": "salt"},
		"load": {"open": {"rate": 100, "arrival": "poisson"}},
		"slo": {"ttft": "150ms", "tpot": "10ms", "attainment": 0.99}
	},
	"server": {"port": 8000, "restart": "block"},
	"measure": {"duration": "20s"}, "warmup": {"duration": "2s"}, "tail": "5s",
	"timeout": {"ready": "20m", "connect": "10s", "idle": "60s", "noToken": "120s", "total": "10m", "grace": "2s", "stop": "30s"},
	"errorLimit": 1
}`

// edits change a cell: from a path to its new value, nil to remove it.
type edits map[string]any

// cellJSON is the baseline under another name, edited.
func cellJSON(t testing.TB, name, factor string, level any, at map[string]any, changes ...edits) sweep.Cell {
	t.Helper()
	var tree map[string]any
	if err := json.Unmarshal([]byte(baseline), &tree); err != nil {
		t.Fatal(err)
	}
	tree["cell"], tree["level"], tree["at"] = name, level, at
	if factor != "" {
		tree["factor"] = factor
	}
	for _, change := range changes {
		for path, value := range change {
			parts := strings.Split(path, ".")
			node := tree
			for _, part := range parts[:len(parts)-1] {
				next, ok := node[part].(map[string]any)
				if !ok {
					next = map[string]any{}
					node[part] = next
				}
				node = next
			}
			if last := parts[len(parts)-1]; value == nil {
				delete(node, last)
			} else {
				node[last] = value
			}
		}
	}
	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	var cell sweep.Cell
	if err := json.Unmarshal(text, &cell); err != nil {
		t.Fatal(err)
	}
	return cell
}

// planOf plans a sweep of 6 blocks judged by goodput and TTFT. The command is made of the engine's options.
func planOf(t testing.TB, cells []sweep.Cell, changes ...func(*sweep.Definition)) *sweep.Plan {
	t.Helper()
	d := &sweep.Definition{
		Name: "night", Blocks: 6, Seed: 1, Cells: cells,
		Judge: schema.Judge{Metrics: []string{"goodput_req_s", "ttft_p50"}, Margin: .05},
	}
	for _, c := range cells {
		name := c.FactorOf()
		known := slices.ContainsFunc(d.Factors, func(f sweep.Factor) bool { return f.Name == name })
		if name != "" && !known {
			d.Factors = append(d.Factors, sweep.Factor{Name: name})
		}
	}
	for _, change := range changes {
		change(d)
	}
	command := func(c *sweep.Cell) ([]string, error) {
		args, err := json.Marshal(c.Contract.Engine.Args)
		return []string{"serve", c.Contract.Model.Id, string(args)}, err
	}
	plan, err := sweep.NewPlan(d, sweep.Rendering{Command: command, Setting: func(c *sweep.Cell) (string, error) {
		text, err := command(c)
		return c.Target + strings.Join(text, " "), err
	}})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// onlyBaseline is a plan of one cell, edited.
func onlyBaseline(t *testing.T, changes ...edits) *sweep.Plan {
	return planOf(t, []sweep.Cell{cellJSON(t, sweep.Baseline, "", nil, nil, changes...)})
}

// h100 is what a launched server on the right hardware says of itself.
func h100() map[string]any {
	return map[string]any{
		sweep.ObsEngineVersion: "0.32.0", sweep.ObsServedModel: "org/model", sweep.ObsModelRoot: "org/model",
		sweep.ObsModelAliases: []string{"org/model"}, sweep.ObsGPUNames: "NVIDIA H100 80GB HBM3", sweep.ObsGPUs: int64(1),
		sweep.ObsDriver: "570.86.15", sweep.ObsHost: "h100-01", sweep.ObsBlockSize: int64(16),
	}
}

// traffic says how a synthetic trial is to run: arrivals through a queue of slots in front of servers.
type traffic struct {
	seed      uint64
	ratePerS  float64
	arrival   string // poisson or constant
	slots     int
	serviceMS float64 // mean time in a slot
	frontMS   float64 // before and apart from it
	n         int     // measured requests
	clients   int     // of a closed loop
	jitterMS  float64 // uniform lateness of the client
}

func calm(seed uint64) traffic {
	return traffic{seed: seed, ratePerS: 100, arrival: "poisson", slots: 16, serviceMS: 90, frontMS: 40, n: 400, jitterMS: .3}
}

// run plays the traffic: a quarter as many requests of warm-up and of tail around the measured ones.
func (c traffic) run(plan *sweep.Plan, cell *sweep.PlanCell, block int) sweep.TrialFacts {
	rng := rand.New(rand.NewPCG(c.seed, 11))
	free := &times{}
	for range c.slots {
		heap.Push(free, 0.0)
	}
	var rs []*sweep.Request
	at := 0.0
	var clients times
	for range c.clients {
		heap.Push(&clients, rng.Float64()*5)
	}
	warm := c.n / 4
	t0, t1 := 0.0, 0.0
	for i := range warm + c.n + c.n/4 {
		switch {
		case c.clients > 0:
			at = heap.Pop(&clients).(float64)
		case c.arrival == "constant":
			at += 1000 / c.ratePerS
		default:
			at += rng.ExpFloat64() * 1000 / c.ratePerS
		}
		phase := sweep.PhaseWarmup
		if i == warm {
			t0 = at
		}
		if i >= warm {
			phase = sweep.PhaseMeasure
		}
		if i == warm+c.n {
			t1 = at
		}
		if i >= warm+c.n {
			phase = sweep.PhaseTail
		}
		sent := at
		if c.clients == 0 {
			sent += rng.Float64() * c.jitterMS
		}
		start := max(sent+c.frontMS, heap.Pop(free).(float64))
		service := c.serviceMS * (.8 + .4*rng.Float64())
		heap.Push(free, start+service)
		first := start + service/16
		r := answer(phase, at, sent, first-sent, service/16, 16)
		r.Seq = int64(i)
		rs = append(rs, r)
		if c.clients > 0 {
			heap.Push(&clients, sent+float64(r.EndNS)/msNS)
		}
	}
	f := facts(plan, cell, block, rs)
	f.Record.T0NS, f.Record.T1NS, f.Record.EndNS = int64(t0*msNS), int64(t1*msNS), int64((t1+5000)*msNS)
	return f
}

// batching plays an open loop against a continuous-batching engine like the demonstration's: 40 ms of front end, a step of
// 3 ms and 0.1 ms a sequence and 1.28 ms for each prompt admitted, 16 tokens an answer, 400 ms of warm-up from an idle start.
func batching(seed uint64, plan *sweep.Plan, ratePerS float64, slots int, windowMS float64) sweep.TrialFacts {
	rng := rand.New(rand.NewPCG(seed, 3))
	const warmMS, tailMS, frontMS, tokens = 400, 1500, 40, 16
	var due []float64
	for at := 0.0; at < warmMS+windowMS+tailMS; {
		at += rng.ExpFloat64() * 1000 / ratePerS
		due = append(due, at)
	}
	rs := make([]*sweep.Request, len(due))
	type sequence struct {
		i, left int
		firstMS float64
	}
	var running []sequence
	for next, nowMS := 0, 0.0; next < len(due) || len(running) > 0; {
		if len(running) == 0 {
			nowMS = max(nowMS, due[next]+frontMS)
		}
		admitted := 0.0
		for ; next < len(due) && due[next]+frontMS <= nowMS && len(running) < slots; next++ {
			running, admitted = append(running, sequence{i: next, left: tokens}), admitted+1
		}
		nowMS += (3 + .1*float64(len(running)) + 1.28*admitted) * (1 + .05*rng.NormFloat64())
		going := running[:0]
		for _, s := range running {
			if s.left == tokens {
				s.firstMS = nowMS
			}
			if s.left--; s.left > 0 {
				going = append(going, s)
				continue
			}
			phase := sweep.PhaseMeasure
			if due[s.i] < warmMS {
				phase = sweep.PhaseWarmup
			} else if due[s.i] >= warmMS+windowMS {
				phase = sweep.PhaseTail
			}
			rs[s.i] = answer(phase, due[s.i], due[s.i]+.2*rng.Float64(), s.firstMS-due[s.i], (nowMS-s.firstMS)/(tokens-1), tokens)
			rs[s.i].Seq = int64(s.i)
		}
		running = going
	}
	f := facts(plan, &plan.Cells[0], 1, rs)
	f.Record.T0NS, f.Record.T1NS, f.Record.EndNS = warmMS*msNS, int64((warmMS+windowMS)*msNS), int64((warmMS+windowMS+tailMS)*msNS)
	return f
}

// answer is a request that ended ok with n one-token events, the first after firstMS, one every gapMS.
func answer(phase sweep.Phase, dueMS, sentMS, firstMS, gapMS float64, n int64) *sweep.Request {
	r := sweep.NewRequest()
	r.Phase, r.Status = phase, sweep.RequestOK
	r.DueNS, r.SentNS, r.DialNS = int64(dueMS*msNS), int64(sentMS*msNS), 0
	r.QueueNS = r.SentNS - r.DueNS
	r.InputAsked, r.InputTokens, r.OutputAsked, r.OutputTokens, r.OutputSource = 128, 128, 16, n, "usage"
	prev := int64(0)
	for i := range n {
		c := sweep.Chunk{AtNS: int64((firstMS + float64(i)*gapMS) * msNS), Tokens: 1}
		r.ChunkLog = sweep.AppendChunk(r.ChunkLog, prev, c)
		prev = c.AtNS
	}
	r.FirstTokenNS = int64(firstMS * msNS)
	r.AnswerNS, r.LastTokenNS, r.EndNS, r.Chunks, r.FirstTokens = r.FirstTokenNS, prev, prev, n, 1
	r.ResponseModel = "org/model"
	return r
}

// facts makes a done trial of rows; its window is to be set.
func facts(plan *sweep.Plan, cell *sweep.PlanCell, block int, rs []*sweep.Request) sweep.TrialFacts {
	place := slices.IndexFunc(plan.Cells, func(c sweep.PlanCell) bool { return c.Name() == cell.Name() })
	id := int64(1000*block + 10*place + 1)
	return sweep.TrialFacts{
		Record: sweep.TrialRecord{
			ID: id, Sweep: plan.Name, Cell: cell.Name(), Key: sweep.Key{Digest: cell.Digest, Block: block, Copy: 1}, Attempt: 1,
			Sitting: 1, Status: sweep.StatusDone, StartedAt: time.Unix(id, 0).UTC(),
		},
		Launch: &sweep.Launch{ID: 1, Observed: h100()},
		Rows:   each(rs),
	}
}

func each(rs []*sweep.Request) iter.Seq2[*sweep.Request, error] {
	return func(yield func(*sweep.Request, error) bool) {
		for _, r := range rs {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// rowsOf collects a trial's rows, so that they can be changed.
func rowsOf(f sweep.TrialFacts) []*sweep.Request {
	var rs []*sweep.Request
	for r := range f.Rows {
		rs = append(rs, r)
	}
	return rs
}

// measuredOf are the measured rows of a trial.
func measuredOf(f sweep.TrialFacts) []*sweep.Request {
	return slices.DeleteFunc(rowsOf(f), func(r *sweep.Request) bool { return r.Phase != sweep.PhaseMeasure })
}

func deriveTrial(t *testing.T, plan *sweep.Plan, f sweep.TrialFacts) *sweep.TrialDerived {
	t.Helper()
	d, err := verdict.DeriveTrial(plan, f)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// deriveErr is DeriveTrial by itself.
var deriveErr = verdict.DeriveTrial

func derive(t *testing.T, plan *sweep.Plan, trials ...sweep.TrialFacts) *sweep.Derived {
	t.Helper()
	d, err := verdict.Derive(plan, trials)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// severities says how bad each code among flags is, for one cell and block where given.
func severities(flags []sweep.Flag) map[string]sweep.Severity {
	worst := map[string]sweep.Severity{}
	for _, f := range flags {
		if rank(f.Severity) > rank(worst[f.Code]) {
			worst[f.Code] = f.Severity
		}
	}
	return worst
}

func rank(s sweep.Severity) int {
	return slices.Index([]sweep.Severity{"", sweep.Note, sweep.Suspect, sweep.Invalid}, s)
}

// unclean are the flags that a clean run must not carry.
func unclean(flags []sweep.Flag) string {
	var bad []string
	for _, f := range flags {
		if f.Severity != sweep.Note {
			bad = append(bad, fmt.Sprintf("%s/%d %s (%s): %s", f.Cell, f.Block, f.Code, f.Severity, f.Detail))
		}
	}
	return strings.Join(bad, "\n")
}

// times is a heap of instants.
type times []float64

func (h times) Len() int           { return len(h) }
func (h times) Less(i, j int) bool { return h[i] < h[j] }
func (h times) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *times) Push(x any)        { *h = append(*h, x.(float64)) }
func (h *times) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
