package exchange

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// Equivalent is a command of another tool that comes closest to one window of a cell.
type Equivalent struct {
	Args []Word
	// Before are commands that start the server and bring it where the contract wants it.
	Before []string
	// Unsaid is what the command cannot say, each in one line that begins with a path of the cell.
	Unsaid []string
}

// vllmBench is the command in the making.
type vllmBench struct {
	Equivalent
	plan *sweep.Plan
	cell *sweep.PlanCell
	body map[string]any // fields that have no option
}

// VLLMBench is a cell as a command of vllm bench serve.
func VLLMBench(p *sweep.Plan, cell *sweep.PlanCell) Equivalent {
	b := &vllmBench{plan: p, cell: cell, body: map[string]any{}}
	b.add("vllm", "bench", "serve")
	b.server()
	b.prompts()
	b.sampling()
	b.request()
	b.load()
	b.window()
	b.judgement()
	b.record()
	return b.Equivalent
}

func (b *vllmBench) add(words ...string) {
	for _, word := range words {
		b.Args = append(b.Args, Word{Text: word})
	}
}

func (b *vllmBench) option(name string, value any) { b.add("--"+name, scalar(value)) }

func (b *vllmBench) unsaid(path, format string, args ...any) {
	b.Unsaid = append(b.Unsaid, path+": "+fmt.Sprintf(format, args...))
}

func scalar(value any) string {
	switch v := value.(type) {
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case *float64:
		return strconv.FormatFloat(*v, 'g', -1, 64)
	case *int64:
		return strconv.FormatInt(*v, 10)
	}
	return fmt.Sprint(value)
}

// base is where the cell's server is, or will be once it is launched by hand.
func (b *vllmBench) base() string {
	target := b.cell.Cell.Target
	if strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") {
		return strings.TrimSuffix(strings.TrimRight(target, "/"), "/v1")
	}
	return fmt.Sprintf("http://127.0.0.1:%d", b.cell.Cell.Server.Port)
}

func (b *vllmBench) server() {
	k := &b.cell.Cell.Contract
	if k.Endpoint == "chat" {
		b.add("--backend", "openai-chat", "--endpoint", "/v1/chat/completions")
	} else {
		b.add("--backend", "openai", "--endpoint", "/v1/completions")
	}
	b.option("base-url", b.base())
	b.option("model", k.Model.Id)
	switch {
	case b.cell.Cell.Server.ServedModel != "":
		b.option("served-model-name", b.cell.Cell.Server.ServedModel)
	case k.Model.Adapter != nil:
		b.option("served-model-name", k.Model.Adapter.Id)
	}
	if len(b.cell.Command) > 0 {
		command := slices.Clone(b.cell.Command)
		if b.cell.Cell.Target == "sim" {
			command = append(command, "--port", strconv.FormatInt(b.cell.Cell.Server.Port, 10))
		}
		b.Before = append(b.Before, CommandLine(command...))
	}
	b.unsaid("contract.model.revision, contract.engine, contract.hardware", "nothing of the server is checked or stored")
}

// prompts chooses the data set of random tokens that has the contract's lengths.
func (b *vllmBench) prompts() {
	k := &b.cell.Cell.Contract
	inputKind, input, inputReach := sweep.LengthRange(k.Prompt.Length, b.plan.Traces)
	outputKind, output, outputReach := sweep.LengthRange(k.Output.Length, b.plan.Traces)
	b.stands("contract.prompt.length", inputKind)
	b.stands("contract.output.length", outputKind)
	switch shared := k.Prompt.Shared; {
	case shared == nil:
		b.add("--dataset-name", "random")
		b.option("random-input-len", input)
		b.option("random-output-len", output)
	case shared.Groups > 1:
		b.add("--dataset-name", "prefix_repetition")
		b.option("prefix-repetition-prefix-len", shared.Tokens)
		b.option("prefix-repetition-suffix-len", input-int64(shared.Tokens))
		b.option("prefix-repetition-num-prefixes", shared.Groups)
		b.option("prefix-repetition-output-len", output)
	default:
		b.add("--dataset-name", "random")
		b.option("random-prefix-len", shared.Tokens)
		b.option("random-input-len", input-int64(shared.Tokens))
		b.option("random-output-len", output)
	}
	b.spread(inputReach, outputReach)
	if k.Endpoint != "chat" {
		b.unsaid("contract.prompt", "prompts go as text, which the server may count as another number of tokens; the ids are those of the tokenizer, not %d to %d", k.Prompt.IDs.From, k.Prompt.IDs.To)
	}
}

// stands says that one length stands for a distribution that the data set has not.
func (b *vllmBench) stands(path, kind string) {
	if kind == sweep.LengthLognormal || kind == sweep.LengthTrace {
		b.unsaid(path, "%s lengths; their median stands for all", kind)
	}
}

// spread gives both lengths one range, which is all that the data set takes.
func (b *vllmBench) spread(input, output float64) {
	if input == 0 && output == 0 {
		return
	}
	if b.cell.Cell.Contract.Prompt.Shared != nil || math.Abs(input-output) > 1e-9 {
		b.unsaid("contract.prompt.length, contract.output.length", "uniform lengths of different spread, or behind a shared head; their middles stand for all")
		return
	}
	b.option("random-range-ratio", input)
}

func (b *vllmBench) sampling() {
	s := b.cell.Cell.Contract.Sampling
	b.option("temperature", s.Temperature)
	if s.TopP != nil {
		b.option("top-p", s.TopP)
	}
	if s.TopK != nil {
		b.option("top-k", s.TopK)
	}
	if s.MinP != nil {
		b.option("min-p", s.MinP)
	}
	if s.Seed != nil {
		b.body["seed"] = *s.Seed
	}
	if len(s.Stop) > 0 {
		b.body["stop"] = s.Stop
	}
	if s.IgnoreEOS {
		b.add("--ignore-eos")
	}
	if !b.cell.Cell.Contract.Streaming {
		b.unsaid("contract.streaming", "answers are always streamed")
	}
}

// request adds what requests carry besides. A secret stands by its variable's name.
func (b *vllmBench) request() {
	if r := b.cell.Cell.Contract.Request; r != nil {
		maps.Copy(b.body, r.Extra)
		if len(r.Headers) > 0 {
			b.add("--header")
		}
		for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
			b.Args = append(b.Args, headerWord(name, r.Headers[name]))
		}
	}
	if len(b.body) > 0 {
		text, err := json.Marshal(b.body)
		if err != nil {
			b.unsaid("contract.request.extra", "%v", err)
		} else {
			b.option("extra-body", string(text))
		}
	}
	if key := b.cell.Cell.Server.Key; key != nil {
		b.Before = append(b.Before, "export OPENAI_API_KEY=$"+key.FromEnv)
	}
}

func headerWord(name string, value any) Word {
	if secret, ok := value.(map[string]any); ok {
		return Word{Text: fmt.Sprintf("%s=$%v", name, secret["fromEnv"]), Expand: true}
	}
	return Word{Text: fmt.Sprintf("%s=%v", name, value)}
}

func (b *vllmBench) load() {
	l := b.cell.Cell.Contract.Load
	switch {
	case l.Closed != nil:
		b.add("--request-rate", "inf")
		b.option("max-concurrency", l.Closed.Clients)
		if l.Closed.Think != "" {
			b.unsaid("contract.load.closed.think", "clients do not pause between their requests")
		}
	case l.Open == nil:
		b.add("--request-rate", "inf")
	default:
		b.open()
	}
}

func (b *vllmBench) open() {
	o := b.cell.Cell.Contract.Load.Open
	b.option("request-rate", o.Rate)
	switch o.Arrival {
	case "gamma":
		b.option("burstiness", o.Shape)
	case "constant":
		b.unsaid("contract.load.open.arrival", "arrivals at constant gaps; Poisson ones stand for them")
	case "trace":
		b.unsaid("contract.load.open.arrival", "recorded arrivals; Poisson ones stand for them")
	}
	if o.MaxInFlight > 0 {
		b.option("max-concurrency", o.MaxInFlight)
	}
	b.unsaid("contract.load.open", "arrivals are stretched so that the last one falls on the mean; late sends are not recorded, and latency counts from sending")
}

// window says how many requests there are.
func (b *vllmBench) window() {
	c := &b.cell.Cell
	b.option("num-prompts", b.cell.Requests)
	if c.Measure.Duration != "" {
		b.unsaid("measure.duration", "a number of requests in place of %s", c.Measure.Duration)
	}
	warmups := int64(0)
	if c.Warmup.Requests != nil {
		warmups = *c.Warmup.Requests
	}
	if open := c.Contract.Load.Open; open != nil && c.Warmup.Duration != "" {
		warmups = max(warmups, int64(math.Round(open.Rate*sweep.Duration(c.Warmup.Duration).Seconds())))
	}
	switch {
	case warmups > 0:
		b.option("num-warmups", warmups)
	case c.Warmup.Duration != "":
		b.unsaid("warmup.duration", "none: how many requests %s of this load are depends on the server; --num-warmups N has N before", c.Warmup.Duration)
	}
	b.unsaid("warmup, tail", "load is not continuous: the warm-up ends before the window, and nothing is kept up behind it; rates are over the whole run, its end included")
}

func (b *vllmBench) judgement() {
	slo := b.cell.Cell.Contract.SLO
	if slo == nil {
		return
	}
	b.add("--goodput")
	for _, bar := range []struct{ name, text string }{{"ttft", string(slo.Ttft)}, {"tpot", string(slo.Tpot)}, {"e2el", string(slo.E2e)}} {
		if bar.text != "" {
			b.add(bar.name + ":" + scalar(sweep.Duration(bar.text).Seconds()*1000))
		}
	}
	b.unsaid("contract.slo", "an answer of one token or none has a time per token of 0")
	if b.cell.Cell.LoadKind() != sweep.LoadClosed {
		b.unsaid("contract.slo", "bars count from sending, not from due")
	}
}

// record names the run and its place among others.
func (b *vllmBench) record() {
	b.option("seed", b.plan.Seed)
	b.add("--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,95,99", "--save-result", "--save-detailed")
	b.add("--metadata", "sweep="+b.plan.Name, "cell="+b.cell.Name(), "digest="+b.cell.Digest)
	b.unsaid("blocks", "run it once in each of %d blocks, each time with another --seed: with the same one the prompts are the same, and in the prefix cache", b.plan.Blocks)
	if cache := b.cell.Cell.Contract.PrefixCache; cache.Enabled {
		if cache.By == "reset" {
			b.Before = append(b.Before, "curl -X POST "+b.base()+"/reset_prefix_cache")
		}
		if cache.State == "warm" {
			b.unsaid("contract.prefixCache", "warm only after a first run has sent the shared heads")
		}
	}
}
