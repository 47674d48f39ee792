package engine

// profiles holds one value an engine, from the engines' own files. vLLM's also fits the embedded engine, which speaks
// its wire.
var profiles = map[string]Profile{
	"vllm":     vllm,
	"sim":      sim(),
	"sglang":   sglang,
	"trtllm":   trtllm,
	"llamacpp": llamacpp,
	"openai":   openai,
}

var vllm = Profile{
	Name:                "vllm",
	CanLaunch:           true,
	TokenIDPrompts:      true,
	IgnoreEOS:           true,
	MinTokens:           true,
	ReturnTokenIDs:      true,
	StreamUsage:         true,
	ContinuousUsage:     true,
	ChatMaxTokens:       "max_tokens",
	CompletionMaxTokens: "max_tokens",

	Health:        "/health",
	Version:       "/version",
	Models:        "/v1/models",
	ServerInfo:    "/server_info",
	Metrics:       "/metrics",
	Tokenize:      "/tokenize",
	TokenizeField: "prompt",
	ResetCache:    "/reset_prefix_cache",

	RunningGauge: "vllm:num_requests_running",
	WaitingGauge: "vllm:num_requests_waiting",
	CacheHits:    "vllm:prefix_cache_hits_total",
	CacheQueries: []string{"vllm:prefix_cache_queries_total"},
	CacheInfo:    "vllm:cache_config_info",
}

func sim() Profile {
	p := vllm
	p.Name = "sim"
	return p
}

// SGLang's metrics exist only under --enable-metrics, its cached tokens only under --enable-cache-report; Command gives
// both.
var sglang = Profile{
	Name:                "sglang",
	CanLaunch:           true,
	TokenIDPrompts:      true,
	IgnoreEOS:           true,
	MinTokens:           true,
	ReturnTokenIDs:      true,
	StreamUsage:         true,
	ContinuousUsage:     true,
	ChatMaxTokens:       "max_tokens",
	CompletionMaxTokens: "max_tokens",

	Health:        "/health",
	Models:        "/v1/models",
	ServerInfo:    "/server_info",
	Metrics:       "/metrics",
	Tokenize:      "/tokenize",
	TokenizeField: "prompt",
	// A flush is refused while requests run; the server waits that long for them.
	ResetCache: "/flush_cache?timeout=5",

	RunningGauge: "sglang:num_running_reqs",
	WaitingGauge: "sglang:num_queue_reqs",
	CacheHits:    "sglang:cached_tokens_total",
	CacheQueries: []string{"sglang:prompt_tokens_total"},
}

// TensorRT-LLM refuses unknown fields. Its /metrics and /perf_metrics are emptied by reading them, so they are not read.
var trtllm = Profile{
	Name:                "trtllm",
	CanLaunch:           true,
	TokenIDPrompts:      true,
	IgnoreEOS:           true,
	MinTokens:           true,
	StreamUsage:         true,
	ContinuousUsage:     true,
	ChatMaxTokens:       "max_tokens",
	CompletionMaxTokens: "max_tokens",

	Health:     "/health",
	Version:    "/version",
	Models:     "/v1/models",
	ServerInfo: "/server_info",
	Metrics:    "/prometheus/metrics",
}

// llama.cpp counts the cached and the processed tokens of a prompt apart, and caches by the token.
var llamacpp = Profile{
	Name:                "llamacpp",
	CanLaunch:           true,
	TokenIDPrompts:      true,
	IgnoreEOS:           true,
	StreamUsage:         true,
	NoCachePrompt:       true,
	ChatMaxTokens:       "max_tokens",
	CompletionMaxTokens: "max_tokens",

	Health:        "/health",
	Version:       "/props",
	Models:        "/v1/models",
	ServerInfo:    "/props",
	Metrics:       "/metrics",
	Tokenize:      "/tokenize",
	TokenizeField: "content",
	BlockTokens:   1,

	RunningGauge: "llamacpp:requests_processing",
	WaitingGauge: "llamacpp:requests_deferred",
	CacheHits:    "llamacpp:prompt_tokens_cached_total",
	CacheQueries: []string{"llamacpp:prompt_tokens_total", "llamacpp:prompt_tokens_cached_total"},
}

// openai is any server that speaks the OpenAI API and of which no more is known.
var openai = Profile{
	Name:                "openai",
	TokenIDPrompts:      true,
	StreamUsage:         true,
	ChatMaxTokens:       "max_tokens",
	CompletionMaxTokens: "max_tokens",

	Models: "/v1/models",
}
