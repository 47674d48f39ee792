// Package workload turns the lengths of a request into its body: prompts that no server has seen, and the fields that a
// contract asks for.
//
// Text is seeded by the trial's nonce, so that a trial's record makes the same bodies again, byte for byte. The package
// knows nothing of when a request is sent, of connections, nor of what an engine is: a Dialect says what it understands.
package workload

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/inference-sweep/sweep/sweep"
)

// Dialect is what a server understands.
type Dialect struct {
	// Model is the name to ask for.
	Model string
	// TokenIDs says that prompts can be sent as token ids to the contract's endpoint.
	TokenIDs bool
	// TokensPerWord is how many tokens the server makes of a word, where prompts are text.
	TokensPerWord float64
	// OverheadTokens is what a chat template adds to every prompt, where that is known.
	OverheadTokens int64
	IgnoreEOS      bool
	MinTokens      bool
	ReturnTokenIDs bool
	// StreamUsage and ContinuousUsage ask for token counts at the end of a stream, and on every event of it.
	StreamUsage     bool
	ContinuousUsage bool
	// NoCachePrompt keeps each request out of the prefix cache by a field of its own, where the contract has it off.
	NoCachePrompt bool
	// MaxTokensField is the name of the output limit: max_tokens where empty.
	MaxTokensField string
}

// Endpoints of the contract.
const (
	EndpointCompletions = "completions"
	EndpointChat        = "chat"
)

// Path is where a contract's requests go, below a server's base URL.
func Path(endpoint string) string {
	if endpoint == EndpointChat {
		return "/v1/chat/completions"
	}
	return "/v1/completions"
}

// Maker makes the bodies of one trial's requests. It can be used by several goroutines at once.
type Maker struct {
	cell    *sweep.Cell
	dialect Dialect
	nonce   string
	// head comes before the prompt, fields after it and the lengths.
	head, fields []byte
}

// New prepares a trial's bodies.
func New(cell *sweep.Cell, dialect Dialect, nonce string) (*Maker, error) {
	m := &Maker{cell: cell, dialect: dialect, nonce: nonce}
	fields, err := m.constantFields()
	if err != nil {
		return nil, err
	}
	model, err := json.Marshal(dialect.Model)
	if err != nil {
		return nil, fmt.Errorf("model name: %w", err)
	}
	m.head = fmt.Appendf(nil, `{"model":%s,`, model)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value, err := json.Marshal(fields[name])
		if err != nil {
			return nil, fmt.Errorf("contract.request.extra.%s: %w", name, err)
		}
		m.fields = fmt.Appendf(m.fields, `,%q:%s`, name, value)
	}
	return m, nil
}

// constantFields are the fields that all of a trial's bodies share. What the contract does not say is not sent.
func (m *Maker) constantFields() (map[string]any, error) {
	contract := &m.cell.Contract
	fields := map[string]any{"temperature": contract.Sampling.Temperature, "stream": contract.Streaming}
	s := contract.Sampling
	for name, value := range map[string]*float64{"top_p": s.TopP, "min_p": s.MinP} {
		if value != nil {
			fields[name] = *value
		}
	}
	for name, value := range map[string]*int64{"top_k": s.TopK, "seed": s.Seed} {
		if value != nil {
			fields[name] = *value
		}
	}
	if len(s.Stop) > 0 {
		fields["stop"] = s.Stop
	}
	if s.IgnoreEOS && m.dialect.IgnoreEOS {
		fields["ignore_eos"] = true
	}
	if contract.Streaming && m.dialect.StreamUsage {
		options := map[string]any{"include_usage": true}
		if m.dialect.ContinuousUsage {
			options["continuous_usage_stats"] = true
		}
		fields["stream_options"] = options
	}
	if m.dialect.ReturnTokenIDs {
		fields["return_token_ids"] = true
	}
	if m.dialect.NoCachePrompt && !contract.PrefixCache.Enabled {
		fields["cache_prompt"] = false
	}
	if contract.Request != nil {
		for name, value := range contract.Request.Extra {
			if _, taken := fields[name]; taken {
				return nil, fmt.Errorf("contract.request.extra.%s: the contract has a place of its own for that field", name)
			}
			fields[name] = value
		}
	}
	return fields, nil
}

// Body is the body of a request: phase and index say which, input and output how long it is in tokens.
func (m *Maker) Body(phase sweep.Phase, index int, input, output int64) []byte {
	return m.body(m.prompt(phase, index, input), output)
}

func (m *Maker) body(p promptWords, output int64) []byte {
	body := make([]byte, 0, len(m.head)+len(m.fields)+8*len(p.ids)+len(p.text)+128)
	body = append(body, m.head...)
	switch {
	case m.cell.Contract.Endpoint == EndpointChat:
		body = append(body, `"messages":[{"role":"user","content":`...)
		body = strconv.AppendQuote(body, p.text)
		body = append(body, `}]`...)
	case m.dialect.TokenIDs:
		body = append(body, `"prompt":[`...)
		for i, id := range p.ids {
			if i > 0 {
				body = append(body, ',')
			}
			body = strconv.AppendInt(body, id, 10)
		}
		body = append(body, ']')
	default:
		body = append(body, `"prompt":`...)
		body = strconv.AppendQuote(body, p.text)
	}
	limit := m.dialect.MaxTokensField
	if limit == "" {
		limit = "max_tokens"
	}
	body = fmt.Appendf(body, `,%q:%d`, limit, output)
	if m.cell.Contract.Sampling.IgnoreEOS && m.dialect.MinTokens {
		body = fmt.Appendf(body, `,"min_tokens":%d`, output)
	}
	body = append(body, m.fields...)
	return append(body, '}')
}

// asText says whether prompts are words rather than token ids.
func (m *Maker) asText() bool {
	return m.cell.Contract.Endpoint == EndpointChat || !m.dialect.TokenIDs
}

// words is how many words make a number of tokens, at least one.
func (m *Maker) words(tokens int64) int {
	perWord := m.dialect.TokensPerWord
	if perWord <= 0 {
		perWord = 1
	}
	return max(int(math.Round(float64(tokens)/perWord)), 1)
}
