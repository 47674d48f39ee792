package engine

import (
	"strconv"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// loopback is where a launched server listens: it is measured from this machine, and by nobody else.
const loopback = "127.0.0.1"

var dialects = map[string]*dialect{
	"sim": {
		program: []string{"sweep", "sim"},
		model: func(c *sweep.Cell) []string {
			m := c.Contract.Model
			return append([]string{"--model", m.Id, "--revision", m.Revision}, served("--served-model-name", c)...)
		},
		negates:  true,
		cacheOn:  []string{"--enable-prefix-caching"},
		cacheOff: []string{"--no-enable-prefix-caching"},
		kvCaches: precision{"bf16": nil, "fp16": nil, "fp8": nil, "int8": nil},
		owned: owned("model", "contract.model.id", "revision", "contract.model.revision", "served-model-name", "server.servedModel",
			"host", "the target", "port", "the target", "with-parent", "the target", "enable-prefix-caching", "contract.prefixCache.enabled"),
	},
	"vllm": {
		program: []string{"vllm", "serve"},
		model: func(c *sweep.Cell) []string {
			m := c.Contract.Model
			return append([]string{m.Id, "--revision", m.Revision}, served("--served-model-name", c)...)
		},
		address:  address,
		negates:  true,
		always:   []string{"--enable-prompt-tokens-details"},
		parallel: [][]string{{"tensor-parallel-size"}, {"pipeline-parallel-size"}, {"data-parallel-size"}},
		dtypes:   torchTypes,
		kvCaches: precision{
			"bf16": {"--kv-cache-dtype", "bfloat16"},
			"fp16": {"--kv-cache-dtype", "float16"},
			"fp8":  {"--kv-cache-dtype", "fp8"},
		},
		recipes: []string{
			"awq", "awq_marlin", "bitsandbytes", "compressed-tensors", "experts_int8", "fbgemm_fp8", "fp8", "gguf", "gptq",
			"gptq_marlin", "modelopt", "modelopt_fp4", "moe_wna16", "mxfp4", "quark", "torchao",
		},
		cacheOn:  []string{"--enable-prefix-caching"},
		cacheOff: []string{"--no-enable-prefix-caching"},
		owned: owned("model", "contract.model.id", "revision", "contract.model.revision", "served-model-name", "server.servedModel",
			"host", "the target", "port", "server.port", "kv-cache-dtype", "contract.precision.kvCache",
			"enable-prefix-caching", "contract.prefixCache.enabled", "api-key", "server.env, as a secret"),
	},
	"sglang": {
		program: []string{"python3", "-m", "sglang.launch_server"},
		model: func(c *sweep.Cell) []string {
			m := c.Contract.Model
			return append([]string{"--model-path", m.Id, "--revision", m.Revision}, served("--served-model-name", c)...)
		},
		address: address,
		always:  []string{"--enable-metrics", "--enable-cache-report"},
		parallel: [][]string{
			{"tp-size", "tensor-parallel-size", "tp"},
			{"pp-size", "pipeline-parallel-size", "pp"},
		},
		dtypes: torchTypes,
		kvCaches: precision{
			"bf16": {"--kv-cache-dtype", "bf16"},
			"fp8":  {"--kv-cache-dtype", "fp8_e4m3"},
		},
		recipes: []string{
			"awq", "awq_marlin", "bitsandbytes", "compressed-tensors", "fp8", "gguf", "gptq", "gptq_marlin", "modelopt",
			"modelopt_fp4", "moe_wna16", "mxfp4", "w4afp8", "w8a8_fp8", "w8a8_int8",
		},
		cacheOff: []string{"--disable-radix-cache"},
		owned: owned("model-path", "contract.model.id", "model", "contract.model.id", "revision", "contract.model.revision",
			"served-model-name", "server.servedModel", "host", "the target", "port", "server.port",
			"kv-cache-dtype", "contract.precision.kvCache", "disable-radix-cache", "contract.prefixCache.enabled",
			"api-key", "server.env, as a secret"),
	},
	"trtllm": {
		program: []string{"trtllm-serve", "serve"},
		model: func(c *sweep.Cell) []string {
			m := c.Contract.Model
			return append([]string{m.Id, "--revision", m.Revision}, served("--served_model_name", c)...)
		},
		address:     address,
		underscores: true,
		parallel: [][]string{
			{"tp-size", "tensor-parallel-size"},
			{"pp-size", "pipeline-parallel-size"},
			{"cp-size", "context-parallel-size"},
		},
		file: []string{"config", "extra-llm-api-options"},
		owned: owned("model", "contract.model.id", "revision", "contract.model.revision", "served-model-name", "server.servedModel",
			"host", "the target", "port", "server.port"),
	},
	"llamacpp": {
		program: []string{"llama-server"},
		model: func(c *sweep.Cell) []string {
			id := c.Contract.Model.Id
			from := "--hf-repo"
			if strings.HasSuffix(id, ".gguf") {
				from = "--model"
			}
			name := c.Server.ServedModel
			if name == "" {
				name = id
			}
			return []string{from, id, "--alias", name}
		},
		address: address,
		negates: true,
		always:  []string{"--metrics"},
		noGPU:   []string{"--device", "none"},
		kvCaches: precision{
			"bf16": {"--cache-type-k", "bf16", "--cache-type-v", "bf16"},
			"fp16": {"--cache-type-k", "f16", "--cache-type-v", "f16"},
			"int8": {"--cache-type-k", "q8_0", "--cache-type-v", "q8_0"},
		},
		cacheOn:  []string{"--cache-prompt"},
		cacheOff: []string{"--no-cache-prompt"},
		owned: owned("model", "contract.model.id", "hf-repo", "contract.model.id", "alias", "server.servedModel",
			"host", "the target", "port", "server.port", "cache-type-k", "contract.precision.kvCache",
			"cache-type-v", "contract.precision.kvCache", "cache-prompt", "contract.prefixCache.enabled",
			"api-key", "server.env, as a secret"),
	},
}

var torchTypes = precision{
	"fp32": {"--dtype", "float32"},
	"bf16": {"--dtype", "bfloat16"},
	"fp16": {"--dtype", "float16"},
}

func address(port int64) []string {
	return []string{"--host", loopback, "--port", strconv.FormatInt(port, 10)}
}

func served(option string, c *sweep.Cell) []string {
	if c.Server.ServedModel == "" {
		return nil
	}
	return []string{option, c.Server.ServedModel}
}

// owned pairs options with the leaves that decide them.
func owned(pairs ...string) map[string]string {
	out := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}
