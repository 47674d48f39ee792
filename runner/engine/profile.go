package engine

import "slices"

// Profile is what one engine understands. An empty path or metric means that the engine offers none.
type Profile struct {
	Name string
	// CanLaunch says that Command can render what starts the engine.
	CanLaunch bool

	// What a request's body may hold beyond what every engine takes.
	TokenIDPrompts  bool // prompt as a list of token ids, on the completions endpoint
	IgnoreEOS       bool // ignore_eos
	MinTokens       bool // min_tokens
	ReturnTokenIDs  bool // return_token_ids
	StreamUsage     bool // stream_options.include_usage
	ContinuousUsage bool // stream_options.continuous_usage_stats
	// NoCachePrompt says that cache_prompt: false keeps a request out of the prefix cache.
	NoCachePrompt bool
	// ChatMaxTokens and CompletionMaxTokens name the field that limits the answer's length.
	ChatMaxTokens       string
	CompletionMaxTokens string

	// Paths below the base URL. All are asked with GET, but Tokenize and ResetCache, which are posted to.
	Health     string
	Version    string // a JSON object with "version" or "build_info"
	Models     string
	ServerInfo string
	Metrics    string // Prometheus text
	Tokenize   string
	ResetCache string
	// TokenizeField is where the text stands in the body that Tokenize takes.
	TokenizeField string
	// BlockTokens is the size of a prefix cache's block where the server does not say it, or 0.
	BlockTokens int64

	// Metric names. Gauges count requests, counters count tokens; series that differ in labels are added up.
	RunningGauge string
	WaitingGauge string
	CacheHits    string
	// CacheQueries are the counters whose sum is how many prompt tokens were looked up.
	CacheQueries []string
	// CacheInfo is a gauge whose labels are the cache's settings, block_size among them.
	CacheInfo string
}

// MaxTokensField names the body's field for the answer's length at an endpoint: chat or completions.
func (p Profile) MaxTokensField(endpoint string) string {
	if endpoint == "chat" {
		return p.ChatMaxTokens
	}
	return p.CompletionMaxTokens
}

// The optional things of a request, by the name under which a server refuses them.
const (
	FieldReturnTokenIDs  = "return_token_ids"
	FieldContinuousUsage = "continuous_usage_stats"
	FieldStreamOptions   = "stream_options"
	FieldMinTokens       = "min_tokens"
	FieldIgnoreEOS       = "ignore_eos"
	FieldNoCachePrompt   = "cache_prompt"
	// FieldPrompt is the prompt as token ids; without it the prompt is text.
	FieldPrompt = "prompt"
	// FieldMaxTokens gives way to max_completion_tokens.
	FieldMaxTokens = "max_tokens"
)

// Optional lists the fields that a request to endpoint carries and could do without, those that the fewest servers know
// first.
func (p Profile) Optional(endpoint string) []string {
	var fields []string
	add := func(known bool, field string) {
		if known {
			fields = append(fields, field)
		}
	}
	add(p.ReturnTokenIDs, FieldReturnTokenIDs)
	add(p.StreamUsage && p.ContinuousUsage, FieldContinuousUsage)
	add(p.NoCachePrompt, FieldNoCachePrompt)
	add(p.MinTokens, FieldMinTokens)
	add(p.IgnoreEOS, FieldIgnoreEOS)
	add(p.StreamUsage, FieldStreamOptions)
	add(p.TokenIDPrompts && endpoint != "chat", FieldPrompt)
	add(p.MaxTokensField(endpoint) == FieldMaxTokens && endpoint == "chat", FieldMaxTokens)
	return fields
}

// Without is the profile of a server that refuses fields.
func (p Profile) Without(fields ...string) Profile {
	for _, field := range fields {
		switch field {
		case FieldReturnTokenIDs:
			p.ReturnTokenIDs = false
		case FieldContinuousUsage:
			p.ContinuousUsage = false
		case FieldStreamOptions:
			p.StreamUsage, p.ContinuousUsage = false, false
		case FieldNoCachePrompt:
			p.NoCachePrompt = false
		case FieldMinTokens:
			p.MinTokens = false
		case FieldIgnoreEOS:
			p.IgnoreEOS = false
		case FieldPrompt:
			p.TokenIDPrompts = false
		case FieldMaxTokens:
			p.ChatMaxTokens = "max_completion_tokens"
		}
	}
	return p
}

// For is the profile of a named engine.
func For(name string) (Profile, bool) {
	p, ok := profiles[name]
	p.CacheQueries = slices.Clone(p.CacheQueries)
	return p, ok
}
