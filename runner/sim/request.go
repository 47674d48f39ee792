package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	maxBody        = 64 << 20 // bytes
	defaultTokens  = 16       // max_tokens of a completion that does not say
	longestAnswer  = 256      // tokens; an answer that ends by itself is not longer
	shortestAnswer = 2        // a word and the end of the sequence
)

// refusal is an answer other than 200, or an error event inside one.
type refusal struct {
	status         int
	kind           string
	param, message string
}

func badRequest(param, format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, "BadRequestError", param, fmt.Sprintf(format, args...)}
}

// body is the refusal as JSON.
func (r *refusal) body() any {
	type detail struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    int     `json:"code"`
	}
	d := detail{Message: r.message, Type: r.kind, Code: r.status}
	if r.param != "" {
		d.Param = &r.param
	}
	return struct {
		Error detail `json:"error"`
	}{d}
}

func writeError(w http.ResponseWriter, r *refusal) { writeJSON(w, r.status, r.body()) }

// message is one message of a chat.
type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is text, given as a string or as a list of parts.
type content string

func (c *content) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '[' {
		return json.Unmarshal(b, (*string)(c))
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		*c += content(p.Text)
	}
	return nil
}

// asked is a request body as far as it is understood; other fields are ignored.
type asked struct {
	Model               string          `json:"model"`
	Prompt              json.RawMessage `json:"prompt"`
	Messages            []message       `json:"messages"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	MinTokens           int             `json:"min_tokens"`
	IgnoreEOS           bool            `json:"ignore_eos"`
	Temperature         *float64        `json:"temperature"`
	Seed                *int64          `json:"seed"`
	N                   *int            `json:"n"`
	Stream              bool            `json:"stream"`
	StreamInterval      int             `json:"stream_interval"`
	StreamOptions       struct {
		IncludeUsage         bool `json:"include_usage"`
		ContinuousUsageStats bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	ReturnTokenIDs bool   `json:"return_token_ids"`
	CacheSalt      string `json:"cache_salt"`
}

// decode reads a JSON body to its end, from where on net/http notices a client that goes away.
func decode(w http.ResponseWriter, r *http.Request, into any) *refusal {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		return badRequest("", "body is not understood: %v", err)
	}
	return nil
}

// read decodes a request body and checks what does not depend on its prompt.
func (s *Server) read(w http.ResponseWriter, r *http.Request) (*asked, *refusal) {
	var a asked
	if refused := decode(w, r, &a); refused != nil {
		return nil, refused
	}
	switch {
	case a.Model != "" && a.Model != s.name:
		return nil, &refusal{http.StatusNotFound, "NotFoundError", "model",
			fmt.Sprintf("No model `%s` here; the one served is `%s`.", a.Model, s.name)}
	case a.N != nil && *a.N != 1:
		return nil, badRequest("n", "n is %d; this engine gives one answer a request.", *a.N)
	case a.Temperature != nil && *a.Temperature < 0:
		return nil, badRequest("temperature", "temperature is %g; it cannot be negative.", *a.Temperature)
	case a.MinTokens < 0:
		return nil, badRequest("min_tokens", "min_tokens is %d; it cannot be negative.", a.MinTokens)
	}
	return &a, nil
}

// promptTokens reads a prompt in any of its forms: a text, token ids, or a list of just one of these.
func promptTokens(raw json.RawMessage, vocab int) ([]int32, *refusal) {
	if tokens, ok := onePrompt(raw, vocab); ok {
		return tokens, nil
	}
	var several []json.RawMessage
	if json.Unmarshal(raw, &several) != nil || several == nil {
		return nil, badRequest("prompt", "prompt is missing, or neither a text nor a list of token ids.")
	}
	for _, p := range several {
		tokens, ok := onePrompt(p, vocab)
		switch {
		case !ok:
			return nil, badRequest("prompt", "prompt is a list of something other than texts or token ids.")
		case len(several) == 1:
			return tokens, nil
		}
	}
	return nil, badRequest("prompt", "prompt is a list of %d; this engine takes one prompt a request.", len(several))
}

// onePrompt reads a text or a list of token ids.
func onePrompt(raw json.RawMessage, vocab int) ([]int32, bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, false
	}
	if raw[0] == '"' {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return nil, false
		}
		return appendTokens(nil, text, vocab), true
	}
	var ids []int32
	return ids, json.Unmarshal(raw, &ids) == nil
}

// outside returns the first token id that the vocabulary does not have.
func outside(tokens []int32, vocab int) (int32, bool) {
	for _, id := range tokens {
		if id < 0 || int(id) >= vocab {
			return id, true
		}
	}
	return 0, false
}

// sequence turns a request with this prompt into what the scheduler computes. maxTokens is what to take where the
// request does not say; 0 stands for the rest of the context.
func (s *Server) sequence(a *asked, prompt []int32, maxTokens int, received time.Time) (*sequence, *refusal) {
	room := s.cfg.MaxModelLen - len(prompt)
	switch {
	case len(prompt) == 0:
		return nil, badRequest("prompt", "prompt has no tokens.")
	case room < 1:
		return nil, badRequest("prompt", "prompt has %d tokens; the context length of this model is %d tokens, answer included.",
			len(prompt), s.cfg.MaxModelLen)
	case a.MaxCompletionTokens != nil:
		maxTokens = *a.MaxCompletionTokens
	case a.MaxTokens != nil:
		maxTokens = *a.MaxTokens
	case maxTokens == 0 || maxTokens > room:
		maxTokens = room
	}
	switch {
	case maxTokens < 1:
		return nil, badRequest("max_tokens", "max_tokens is %d; it has to be at least 1.", maxTokens)
	case maxTokens > room:
		return nil, badRequest("max_tokens", "max_tokens is %d and the prompt has %d tokens; the context length of this model is %d tokens.",
			maxTokens, len(prompt), s.cfg.MaxModelLen)
	case a.MinTokens > maxTokens:
		return nil, badRequest("min_tokens", "min_tokens (%d) is more than max_tokens (%d).", a.MinTokens, maxTokens)
	}
	number := s.requests.Add(1)
	q := &sequence{
		number:   number,
		prompt:   prompt,
		salt:     a.CacheSalt,
		seed:     s.answerSeed(a, prompt, number),
		target:   maxTokens,
		interval: max(a.StreamInterval, s.cfg.StreamInterval),
		received: received,
		wake:     make(chan struct{}, 1),
	}
	if !a.Stream {
		q.interval = maxTokens
	}
	if shortest := max(a.MinTokens+1, shortestAnswer); !a.IgnoreEOS && shortest <= maxTokens {
		longest := max(shortest, min(maxTokens, longestAnswer))
		q.target = shortest + int(mix(q.seed, 0xe05)%uint64(longest-shortest+1))
		q.stops = true
	}
	return q, nil
}

// answerSeed decides an answer: equal for equal prompts at temperature 0 and for equal seeds, else of the request's own.
func (s *Server) answerSeed(a *asked, prompt []int32, number uint64) uint64 {
	h := mix(0, uint64(s.cfg.Seed))
	for _, id := range prompt {
		h = mix(h, uint64(id))
	}
	switch {
	case a.Temperature != nil && *a.Temperature == 0:
		return h
	case a.Seed != nil:
		return mix(mix(h, 1), uint64(*a.Seed))
	}
	return mix(mix(h, 2), number)
}
