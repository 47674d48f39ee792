package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/inference-sweep/sweep/runner/engine"
	"github.com/inference-sweep/sweep/sweep"
)

// cell makes a cell from the parts that decide a launch; later sets win.
func cell(t *testing.T, target, name string, sets ...string) *sweep.Cell {
	t.Helper()
	tree := map[string]any{}
	set := func(path, value string) {
		node := tree
		parts := strings.Split(path, "/")
		for _, part := range parts[:len(parts)-1] {
			next, ok := node[part].(map[string]any)
			if !ok {
				next = map[string]any{}
				node[part] = next
			}
			node = next
		}
		var v any
		if err := json.Unmarshal([]byte(value), &v); err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		node[parts[len(parts)-1]] = v
	}
	set("target", fmt.Sprintf("%q", target))
	set("contract/model/id", `"org/model"`)
	set("contract/model/revision", `"abcdef0"`)
	set("contract/engine/name", fmt.Sprintf("%q", name))
	set("contract/engine/args", `{}`)
	set("contract/hardware/gpus", `1`)
	set("contract/precision/weights", `"bf16"`)
	set("contract/precision/kvCache", `"auto"`)
	set("contract/prefixCache/enabled", `true`)
	set("contract/prefixCache/by", `"salt"`)
	set("server/port", `8000`)
	for _, s := range sets {
		path, value, _ := strings.Cut(s, "=")
		set(path, value)
	}
	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	c := new(sweep.Cell)
	if err := json.Unmarshal(text, c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCommand(t *testing.T) {
	const off = "contract/prefixCache/enabled=false"
	for _, test := range []struct {
		name, target, engine string
		sets                 []string
		want                 string
	}{
		{"sim", "sim", "sim", []string{off, "contract/engine/args/max-num-seqs=16"},
			"sweep sim --model org/model --revision abcdef0 --no-enable-prefix-caching --max-num-seqs 16"},
		{"sim with a cache, other precision and more GPUs", "sim", "sim",
			[]string{"contract/hardware/gpus=8", "contract/precision/kvCache=\"fp8\"", "contract/engine/args/enable-chunked-prefill=false"},
			"sweep sim --model org/model --revision abcdef0 --enable-prefix-caching --no-enable-chunked-prefill"},
		{"sim under another name", "sim", "sim", []string{`server/servedModel="toy"`},
			"sweep sim --model org/model --revision abcdef0 --served-model-name toy --enable-prefix-caching"},

		{"vllm", "launch", "vllm", nil,
			"vllm serve org/model --revision abcdef0 --host 127.0.0.1 --port 8000 --dtype bfloat16 --enable-prefix-caching --enable-prompt-tokens-details"},
		{"vllm, options in the order of their names", "launch", "vllm",
			[]string{off, "server/port=9000", "contract/engine/args/max-num-seqs=256", "contract/engine/args/gpu-memory-utilization=0.9",
				"contract/engine/args/enforce-eager=true", "contract/engine/args/async_scheduling=false"},
			"vllm serve org/model --revision abcdef0 --host 127.0.0.1 --port 9000 --dtype bfloat16 --no-enable-prefix-caching --enable-prompt-tokens-details" +
				" --no-async_scheduling --enforce-eager --gpu-memory-utilization 0.9 --max-num-seqs 256"},
		{"vllm, parallel over all GPUs", "launch", "vllm", []string{"contract/hardware/gpus=4"},
			"vllm serve org/model --revision abcdef0 --host 127.0.0.1 --port 8000 --tensor-parallel-size 4 --dtype bfloat16 --enable-prefix-caching --enable-prompt-tokens-details"},
		{"vllm, parallel as its options say", "ssh://h100", "vllm",
			[]string{"contract/hardware/gpus=8", "contract/engine/args/tensor_parallel_size=4", "contract/engine/args/data-parallel-size=2.0"},
			"vllm serve org/model --revision abcdef0 --host 127.0.0.1 --port 8000 --dtype bfloat16 --enable-prefix-caching --enable-prompt-tokens-details" +
				" --data-parallel-size 2 --tensor_parallel_size 4"},
		{"vllm, a quantised checkpoint says so itself", "launch", "vllm", []string{`contract/precision/weights="fp8"`},
			"vllm serve org/model --revision abcdef0 --host 127.0.0.1 --port 8000 --enable-prefix-caching --enable-prompt-tokens-details"},
		{"vllm, quantised by one of its methods", "launch", "vllm",
			[]string{`contract/precision/weights="fp8"`, `contract/precision/recipe="fp8"`, `contract/precision/kvCache="fp8"`},
			"vllm serve org/model --revision abcdef0 --host 127.0.0.1 --port 8000 --quantization fp8 --kv-cache-dtype fp8 --enable-prefix-caching --enable-prompt-tokens-details"},
		{"vllm, a cache of the model's own type", "launch", "vllm", []string{`contract/precision/kvCache="bf16"`},
			"vllm serve org/model --revision abcdef0 --host 127.0.0.1 --port 8000 --dtype bfloat16 --enable-prefix-caching --enable-prompt-tokens-details"},
		{"vllm without what is otherwise always asked for", "launch", "vllm", []string{"contract/engine/args/enable-prompt-tokens-details=false"},
			"vllm serve org/model --revision abcdef0 --host 127.0.0.1 --port 8000 --dtype bfloat16 --enable-prefix-caching --no-enable-prompt-tokens-details"},
		{"vllm on the processor", "launch", "vllm", []string{"contract/hardware/gpus=0", `contract/precision/weights="fp32"`},
			"vllm serve org/model --revision abcdef0 --host 127.0.0.1 --port 8000 --dtype float32 --enable-prefix-caching --enable-prompt-tokens-details"},
		{"a value that looks like an option", "launch", "vllm", []string{`contract/engine/args/x="-1"`, `contract/engine/args/y=-2`},
			"vllm serve org/model --revision abcdef0 --host 127.0.0.1 --port 8000 --dtype bfloat16 --enable-prefix-caching --enable-prompt-tokens-details --x=-1 --y=-2"},

		{"sglang", "launch", "sglang", []string{off, `server/servedModel="m"`, "contract/engine/args/max-running-requests=256", "contract/engine/args/disable-cuda-graph=false"},
			"python3 -m sglang.launch_server --model-path org/model --revision abcdef0 --served-model-name m --host 127.0.0.1 --port 8000" +
				" --dtype bfloat16 --disable-radix-cache --enable-metrics --enable-cache-report --max-running-requests 256"},
		{"sglang, parallel", "launch", "sglang", []string{"contract/hardware/gpus=2", `contract/precision/kvCache="fp8"`},
			"python3 -m sglang.launch_server --model-path org/model --revision abcdef0 --host 127.0.0.1 --port 8000 --tp-size 2" +
				" --dtype bfloat16 --kv-cache-dtype fp8_e4m3 --enable-metrics --enable-cache-report"},

		{"trtllm", "launch", "trtllm", []string{"contract/hardware/gpus=2", "contract/engine/args/max_batch_size=64"},
			"trtllm-serve serve org/model --revision abcdef0 --host 127.0.0.1 --port 8000 --tp_size 2 --max_batch_size 64"},
		{"trtllm with a file that switches its cache off", "launch", "trtllm", []string{off, `contract/engine/args/config="off.yaml"`},
			"trtllm-serve serve org/model --revision abcdef0 --host 127.0.0.1 --port 8000 --config off.yaml"},

		{"llamacpp from a file, on the processor", "launch", "llamacpp",
			[]string{off, "contract/hardware/gpus=0", `contract/model/id="tiny.gguf"`, "contract/engine/args/parallel=4", `contract/precision/kvCache="int8"`},
			"llama-server --model tiny.gguf --alias tiny.gguf --host 127.0.0.1 --port 8000 --device none --cache-type-k q8_0 --cache-type-v q8_0" +
				" --no-cache-prompt --metrics --parallel 4"},
		{"llamacpp from the hub", "launch", "llamacpp", []string{`server/servedModel="tiny"`},
			"llama-server --hf-repo org/model --alias tiny --host 127.0.0.1 --port 8000 --cache-prompt --metrics"},

		{"by hand", "launch", "openai", []string{`server/command=["./serve", "--fast"]`}, "./serve --fast"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := engine.Command(cell(t, test.target, test.engine, test.sets...))
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(got, " "); text != test.want {
				t.Errorf("got\n%s\nwant\n%s", text, test.want)
			}
		})
	}
}

func TestCommandRefuses(t *testing.T) {
	for _, test := range []struct {
		name, target, engine string
		sets                 []string
		leaf, says           string
	}{
		{"an engine that is only spoken to", "launch", "openai", nil, "contract.engine.name", "cannot be launched"},
		{"another engine in the embedded one's place", "sim", "vllm", nil, "contract.engine.name", "embedded engine"},
		{"options that other leaves decide", "launch", "vllm", []string{"contract/engine/args/port=1"}, "contract.engine.args.port", "server.port"},
		{"the same, switched off", "launch", "vllm", []string{"contract/engine/args/no_enable_prefix_caching=true"},
			"contract.engine.args.no_enable_prefix_caching", "contract.prefixCache.enabled"},
		{"a key in the open", "launch", "vllm", []string{`contract/engine/args/api-key="sk"`}, "contract.engine.args.api-key", "server.env"},
		{"one option twice", "launch", "vllm", []string{"contract/engine/args/max-num-seqs=1", "contract/engine/args/max_num_seqs=2"},
			"contract.engine.args.max_num_seqs", "same option"},
		{"dashes", "launch", "vllm", []string{"contract/engine/args/--seed=1"}, "contract.engine.args.--seed", "without their dashes"},
		{"a structure", "launch", "vllm", []string{"contract/engine/args/x={}"}, "contract.engine.args.x", "neither"},
		{"other GPUs than the contract's", "launch", "vllm", []string{"contract/hardware/gpus=4", "contract/engine/args/tensor-parallel-size=2"},
			"contract.hardware.gpus", "4, but contract.engine.args ask for 2 (tensor-parallel-size 2)"},
		{"no number of GPUs", "launch", "sglang", []string{`contract/engine/args/tp="all"`}, "contract.engine.args.tp", "not a number"},
		{"another precision than the contract's", "launch", "vllm", []string{`contract/engine/args/dtype="float16"`},
			"contract.engine.args.dtype", "contract.precision.weights"},
		{"two ways of quantising", "launch", "vllm",
			[]string{`contract/precision/weights="int4"`, `contract/precision/recipe="awq"`, `contract/engine/args/quantization="gptq"`},
			"contract.engine.args.quantization", "contract.precision.recipe"},
		{"a cache of a type that it has not", "launch", "vllm", []string{`contract/precision/kvCache="int8"`}, "contract.precision.kvCache", "int8"},
		{"a cache of a type that is not the weights'", "launch", "trtllm",
			[]string{`contract/precision/weights="fp8"`, `contract/precision/kvCache="fp8"`}, "contract.precision.kvCache", "fp8"},
		{"a cache that cannot be switched off", "launch", "trtllm", []string{"contract/prefixCache/enabled=false"},
			"contract.prefixCache.enabled", "config or extra-llm-api-options"},
		{"an adapter", "launch", "vllm", []string{`contract/model/adapter={"id":"a","revision":"0000000"}`}, "contract.model.adapter", "server.command"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := engine.Command(cell(t, test.target, test.engine, test.sets...))
			if err == nil {
				t.Fatalf("got %q", got)
			}
			if !strings.HasPrefix(err.Error(), test.leaf+": ") || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v: want it to begin with %q and to say %q", err, test.leaf, test.says)
			}
		})
	}
}

func TestSetting(t *testing.T) {
	const url = "http://127.0.0.1:8000"
	for _, test := range []struct {
		name           string
		target, engine string
		a, b           []string
		same           bool
	}{
		{"equal numbers", "sim", "sim", []string{"contract/engine/args/x=8"}, []string{"contract/engine/args/x=8.0"}, true},
		{"an option", "sim", "sim", []string{"contract/engine/args/x=8"}, []string{"contract/engine/args/x=9"}, false},
		{"what only requests obey", "launch", "vllm", nil, []string{"contract/sampling/temperature=1", `contract/load/open={"rate":4}`}, true},
		{"the environment", "launch", "vllm", nil, []string{`server/env/A="1"`}, false},
		{"a secret's name", "launch", "vllm", []string{`server/env/A={"fromEnv":"X"}`}, []string{`server/env/A={"fromEnv":"Y"}`}, false},
		{"the image", "launch", "vllm", nil, []string{`contract/engine/image="i@sha256:1"`}, false},
		{"how a cache is emptied", "launch", "vllm", nil, []string{`contract/prefixCache/by="reset"`}, false},
		{"at a URL: an option", url, "openai", nil, []string{"contract/engine/args/x=9"}, false},
		{"at a URL: GPUs", url, "trtllm", nil, []string{"contract/hardware/gpus=2"}, false},
		{"at a URL: the cache", url, "trtllm", nil, []string{"contract/prefixCache/enabled=false"}, false},
		{"at a URL: load", url, "openai", nil, []string{`contract/load/open={"rate":4}`, "server/port=9"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, errA := engine.Setting(cell(t, test.target, test.engine, test.a...))
			b, errB := engine.Setting(cell(t, test.target, test.engine, test.b...))
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			if !strings.HasPrefix(a, "sha256:") || (a == b) != test.same {
				t.Errorf("%s and %s: want same %v", a, b, test.same)
			}
		})
	}
	here, _ := engine.Setting(cell(t, "launch", "vllm"))
	there, _ := engine.Setting(cell(t, "ssh://h100", "vllm"))
	if here == there {
		t.Error("two targets share a launch")
	}
}

// TestCommandIsDeterministic renders many times: options come from a map.
func TestCommandIsDeterministic(t *testing.T) {
	var sets []string
	for i := range 12 {
		sets = append(sets, fmt.Sprintf("contract/engine/args/option-%d=%d", i, i))
	}
	first, err := engine.Command(cell(t, "launch", "vllm", sets...))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if again, _ := engine.Command(cell(t, "launch", "vllm", sets...)); !slices.Equal(first, again) {
			t.Fatalf("%q\n%q", first, again)
		}
	}
}

func TestEnv(t *testing.T) {
	reset := []string{`contract/prefixCache/by="reset"`}
	if got := engine.Env(cell(t, "launch", "vllm", reset...))["VLLM_SERVER_DEV_MODE"]; got != "1" {
		t.Errorf("a cache emptied by request: dev mode is %v", got)
	}
	own := append(reset, `server/env/VLLM_SERVER_DEV_MODE="0"`)
	if got := engine.Env(cell(t, "launch", "vllm", own...))["VLLM_SERVER_DEV_MODE"]; got != "0" {
		t.Errorf("server.env does not win: %v", got)
	}
	if got := engine.Env(cell(t, "launch", "vllm")); len(got) != 0 {
		t.Errorf("a cache made cold by salt needs %v", got)
	}
}

func TestWithout(t *testing.T) {
	for _, name := range []string{"vllm", "sim", "sglang", "trtllm", "llamacpp", "openai"} {
		p, ok := engine.For(name)
		if !ok || p.Name != name || p.Models == "" {
			t.Errorf("%s: %+v", name, p)
		}
		for _, endpoint := range []string{"chat", "completions"} {
			optional := p.Optional(endpoint)
			if left := p.Without(optional...); len(left.Optional(endpoint)) != 0 {
				t.Errorf("%s %s: without all of %v there are still %v", name, endpoint, optional, left.Optional(endpoint))
			}
		}
	}
	p, _ := engine.For("openai")
	if got := p.Without(engine.FieldMaxTokens).MaxTokensField("chat"); got != "max_completion_tokens" {
		t.Errorf("refused max_tokens gives way to %q", got)
	}
	if _, ok := engine.For("nothing"); ok {
		t.Error("there is an engine called nothing")
	}
}
