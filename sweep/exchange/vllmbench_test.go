package exchange_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/exchange"
)

// cellWith is a cell whose parts are given as JSON, the rest being ordinary.
func cellWith(t *testing.T, changes map[string]string) *sweep.PlanCell {
	t.Helper()
	parts := map[string]string{
		"target": `"http://h100:8000/v1/"`, "server": `{"port": 8000}`, "measure": `{"requests": 1000}`, "warmup": `{"requests": 100}`,
		"model": `{"id": "org/model", "revision": "0e9e39f"}`, "endpoint": `"completions"`, "streaming": `true`,
		"prompt": `{"length": {"fixed": 128}, "ids": {"from": 1000, "to": 4000}}`, "output": `{"length": {"fixed": 64}}`,
		"sampling": `{"temperature": 0, "ignoreEOS": true}`, "prefixCache": `{"enabled": false}`, "load": `{"open": {"rate": 8, "arrival": "poisson"}}`,
		"slo": `null`, "request": `null`,
	}
	for part, text := range changes {
		parts[part] = text
	}
	cell := &sweep.PlanCell{Requests: 1000, Digest: "sha256:0"}
	text := `{"cell": "rate=8", "target": ` + parts["target"] + `, "server": ` + parts["server"] + `, "measure": ` + parts["measure"] + `, "warmup": ` + parts["warmup"] + `, "contract": {`
	for _, part := range []string{"model", "endpoint", "streaming", "prompt", "output", "sampling", "prefixCache", "load", "slo", "request"} {
		text += `"` + part + `": ` + parts[part] + `,`
	}
	if err := json.Unmarshal([]byte(strings.TrimSuffix(text, ",")+"}}"), &cell.Cell); err != nil {
		t.Fatal(err)
	}
	return cell
}

func script(t *testing.T, changes map[string]string) string {
	t.Helper()
	plan := &sweep.Plan{Definition: sweep.Definition{Name: "night", Seed: 7, Blocks: 6, Traces: map[string][]float64{"lengths.txt": {30, 10, 20}}}}
	return exchange.VLLMBench(plan, cellWith(t, changes)).Script("A cell.")
}

// The lesson's own example: 128/128-like lengths, a rate, percentiles, all of it saved.
func TestVLLMBench(t *testing.T) {
	got := script(t, nil)
	_, command, _ := strings.Cut(got, "vllm bench serve")
	want := ` \
  --backend openai \
  --endpoint /v1/completions \
  --base-url http://h100:8000 \
  --model org/model \
  --dataset-name random \
  --random-input-len 128 \
  --random-output-len 64 \
  --temperature 0 \
  --ignore-eos \
  --request-rate 8 \
  --num-prompts 1000 \
  --num-warmups 100 \
  --seed 7 \
  --percentile-metrics ttft,tpot,itl,e2el \
  --metric-percentiles 50,95,99 \
  --save-result \
  --save-detailed \
  --metadata sweep=night cell=rate=8 digest=sha256:0
`
	if command != want {
		t.Errorf("%s\nwant%s", command, want)
	}
}

// Each part of a contract is an option, or a line that says what there is none for.
func TestVLLMBenchParts(t *testing.T) {
	for name, c := range map[string]struct {
		changes map[string]string
		has     []string
		lacks   []string
	}{
		"chat":              {map[string]string{"endpoint": `"chat"`}, []string{"--backend openai-chat", "--endpoint /v1/chat/completions"}, []string{"prompts go as text"}},
		"a served name":     {map[string]string{"server": `{"port": 1, "servedModel": "m"}`}, []string{"--served-model-name m"}, nil},
		"a key":             {map[string]string{"server": `{"key": {"fromEnv": "NIGHT_KEY"}}`}, []string{"# before: export OPENAI_API_KEY=$NIGHT_KEY"}, nil},
		"a launched server": {map[string]string{"target": `"launch"`, "server": `{"port": 8123}`}, []string{"--base-url http://127.0.0.1:8123"}, nil},
		"uniform lengths of one spread": {map[string]string{"prompt": `{"length": {"uniform": {"min": 50, "max": 150}}}`, "output": `{"length": {"uniform": {"min": 10, "max": 30}}}`},
			[]string{"--random-input-len 100", "--random-output-len 20", "--random-range-ratio 0.5"}, []string{"middles stand"}},
		"uniform lengths of two spreads": {map[string]string{"prompt": `{"length": {"uniform": {"min": 50, "max": 150}}}`},
			[]string{"--random-input-len 100", "their middles stand for all"}, []string{"--random-range-ratio"}},
		"lognormal and recorded lengths": {map[string]string{"prompt": `{"length": {"lognormal": {"median": 300, "sigma": 1}}}`, "output": `{"length": {"trace": "lengths.txt"}}`},
			[]string{"--random-input-len 300", "--random-output-len 20", "contract.prompt.length: lognormal lengths", "contract.output.length: trace lengths"}, nil},
		"one shared head": {map[string]string{"prompt": `{"length": {"fixed": 128}, "shared": {"tokens": 100, "groups": 1}}`},
			[]string{"--random-prefix-len 100", "--random-input-len 28"}, nil},
		"several shared heads": {map[string]string{"prompt": `{"length": {"fixed": 128}, "shared": {"tokens": 100, "groups": 5}}`},
			[]string{"--dataset-name prefix_repetition", "--prefix-repetition-prefix-len 100", "--prefix-repetition-suffix-len 28",
				"--prefix-repetition-num-prefixes 5", "--prefix-repetition-output-len 64"}, []string{"--random-"}},
		"sampling": {map[string]string{"sampling": `{"temperature": 0.7, "topP": 0.9, "topK": 40, "minP": 0.05, "seed": 3, "stop": ["a b"]}`},
			[]string{"--temperature 0.7", "--top-p 0.9", "--top-k 40", "--min-p 0.05", `--extra-body '{"seed":3,"stop":["a b"]}'`}, []string{"--ignore-eos"}},
		"whole answers": {map[string]string{"streaming": `false`}, []string{"contract.streaming: answers are always streamed"}, nil},
		"headers": {map[string]string{"request": `{"headers": {"X-Plain": "a b", "X-Secret": {"fromEnv": "TOKEN"}}, "extra": {"min_tokens": 3}}`},
			[]string{`--header 'X-Plain=a b' "X-Secret=$TOKEN"`, `--extra-body '{"min_tokens":3}'`}, nil},
		"gamma":         {map[string]string{"load": `{"open": {"rate": 2.5, "arrival": "gamma", "shape": 0.5, "maxInFlight": 16}}`}, []string{"--request-rate 2.5", "--burstiness 0.5", "--max-concurrency 16"}, nil},
		"constant gaps": {map[string]string{"load": `{"open": {"rate": 8, "arrival": "constant"}}`}, []string{"contract.load.open.arrival: arrivals at constant gaps"}, []string{"--burstiness"}},
		"closed":        {map[string]string{"load": `{"closed": {"clients": 32, "think": "1s"}}`}, []string{"--request-rate inf", "--max-concurrency 32", "contract.load.closed.think"}, nil},
		"burst":         {map[string]string{"load": `{"burst": {}}`}, []string{"--request-rate inf"}, []string{"--max-concurrency"}},
		"a warm-up by time without a rate": {map[string]string{"load": `{"closed": {"clients": 32}}`, "warmup": `{"duration": "5s"}`, "slo": `{"ttft": "200ms"}`},
			[]string{"warmup.duration: none: how many requests 5s of this load are", "contract.slo: an answer of one token"}, []string{"--num-warmups 4", "from due"}},
		"a window by time": {map[string]string{"measure": `{"duration": "60s"}`, "warmup": `{"duration": "5s"}`},
			[]string{"measure.duration: a number of requests in place of 60s", "--num-prompts 1000", "--num-warmups 40"}, nil},
		"an SLO":      {map[string]string{"slo": `{"ttft": "200ms", "tpot": "12.5ms", "e2e": "5s", "attainment": 0.99}`}, []string{"--goodput ttft:200 tpot:12.5 e2el:5000"}, nil},
		"cache reset": {map[string]string{"prefixCache": `{"enabled": true, "state": "cold", "by": "reset"}`}, []string{"# before: curl -X POST http://h100:8000/reset_prefix_cache"}, nil},
	} {
		got := script(t, c.changes)
		flat := strings.ReplaceAll(got, " \\\n  ", " ")
		for _, want := range c.has {
			if !strings.Contains(flat, want) {
				t.Errorf("%s: no %q in\n%s", name, want, got)
			}
		}
		for _, bad := range c.lacks {
			if strings.Contains(flat, bad) {
				t.Errorf("%s: %q in\n%s", name, bad, got)
			}
		}
	}
}

func TestCommandLine(t *testing.T) {
	got := exchange.CommandLine("sweep", "report", "--cell", "rate=*", "it's", "", "a=b/c.db")
	if want := `sweep report --cell 'rate=*' 'it'\''s' '' a=b/c.db`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
