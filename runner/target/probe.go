package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/inference-sweep/sweep/runner/engine"
)

// probeTokens is how long an answer the probe asks for.
const probeTokens = 4

// answer is a short completion that succeeded. first is zero where it was not streamed.
type answer struct {
	first, ended time.Time
	ttft         time.Duration
}

// missing is what an answer that was not read to its end lacks.
func (a answer) missing() string {
	if a.first.IsZero() {
		return "no output came"
	}
	return "the answer did not end"
}

// refusal is an answer that is no completion.
type refusal struct {
	status int // of HTTP, or the code inside a 200
	where  string
	// sentence is the server's own.
	sentence string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%s answers %d: %s", r.where, r.status, r.sentence)
}

// silence is a request that time ran out for.
type silence struct {
	what  string // was waited for
	cause error
}

func (s *silence) Error() string { return s.what + ": " + s.cause.Error() }

func (s *silence) Unwrap() error { return s.cause }

// silent says of a request that it got no answer before its time ran out, where that is why it failed.
func silent(ctx context.Context, err error, what string) error {
	if c := context.Cause(ctx); c != nil {
		return &silence{what, c}
	}
	return err
}

var (
	errNotStream = errors.New("asked for a stream, the server answered with a whole document")
	errAPage     = errors.New("asked for a stream, the server answered with a page")
)

// negotiable says that the same request without some field may be answered.
func negotiable(err error) bool {
	r := new(refusal)
	return errors.As(err, &r) && (r.status == http.StatusBadRequest || r.status == http.StatusUnprocessableEntity)
}

// final says that waiting will not change the answer.
func final(err error) bool {
	r := new(refusal)
	if !errors.As(err, &r) {
		return errors.Is(err, errNotStream) || errors.Is(err, errAPage)
	}
	switch r.status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	case http.StatusNotImplemented:
		return true
	}
	return r.status < 500
}

// loading says that the server, or what stands before it, asks for patience.
func loading(err error) bool {
	r := new(refusal)
	return errors.As(err, &r) && r.status != http.StatusInternalServerError && !final(err)
}

// negotiate asks for a short completion with every field that the engine knows. What the server names in a refusal is
// left out and recorded; where it names nothing, fields are left out one by one to find which. A success is final: the
// profile is then what the server understands.
func (s *Server) negotiate(ctx context.Context) (answer, error) {
	endpoint := s.cell.Contract.Endpoint
	profile, refused := s.Profile, []string(nil)
	for {
		a, err := s.ask(ctx, profile)
		if err == nil {
			s.learn(profile, refused)
			return a, nil
		}
		if !negotiable(err) {
			return a, err
		}
		named := namedFields(err, profile.Optional(endpoint))
		if len(named) == 0 {
			return s.search(ctx, profile, refused, err)
		}
		profile = profile.Without(named...)
		refused = append(refused, named...)
	}
}

func (s *Server) learn(profile engine.Profile, refused []string) {
	s.Profile = profile
	s.Refused = append(s.Refused, refused...)
}

// search finds which fields a server refuses that does not say. A prompt of token ids is not given up this way: that
// would be another workload. Where no fewer fields help, the answer to all of them stands.
func (s *Server) search(ctx context.Context, profile engine.Profile, refused []string, said error) (answer, error) {
	var dropped []string
	var a answer
	err := said
	for _, field := range profile.Optional(s.cell.Contract.Endpoint) {
		if field == engine.FieldPrompt {
			continue
		}
		dropped = append(dropped, field)
		if a, err = s.ask(ctx, profile.Without(dropped...)); err == nil {
			break
		} else if !negotiable(err) {
			return a, err
		}
	}
	if err != nil {
		return a, said
	}
	// The last one dropped is refused for certain; each of the others may have been innocent.
	for _, field := range dropped[:max(len(dropped)-1, 0)] {
		fewer := slices.DeleteFunc(slices.Clone(dropped), func(f string) bool { return f == field })
		if _, err := s.ask(ctx, profile.Without(fewer...)); err == nil {
			dropped = fewer
		}
	}
	s.learn(profile.Without(dropped...), append(refused, dropped...))
	return a, nil
}

// ofType are the words with which a server says that a prompt has to be text.
var ofType = regexp.MustCompile(`(?i)\b(string|str|array|list)\b`)

// namedFields finds which of the optional fields a refusal speaks of.
func namedFields(err error, optional []string) []string {
	r := new(refusal)
	if !errors.As(err, &r) {
		return nil
	}
	var named []string
	for _, field := range optional {
		if !regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(field) + `\b`).MatchString(r.sentence) {
			continue
		}
		if field == engine.FieldPrompt && !ofType.MatchString(r.sentence) {
			continue
		}
		named = append(named, field)
	}
	// A server that refuses one of the stream's options names both: only the inner one goes.
	if slices.Contains(named, engine.FieldContinuousUsage) {
		named = slices.DeleteFunc(named, func(f string) bool { return f == engine.FieldStreamOptions })
	}
	return named
}

// probeBody is a short completion of the cell's own kind with every optional field of the profile.
func (s *Server) probeBody(p engine.Profile) map[string]any {
	k := s.cell.Contract
	body := map[string]any{
		"model":                      s.Model,
		"stream":                     k.Streaming,
		"temperature":                k.Sampling.Temperature,
		p.MaxTokensField(k.Endpoint): probeTokens,
	}
	set := func(known bool, field string, value any) {
		if known {
			body[field] = value
		}
	}
	if k.Endpoint == "chat" {
		body["messages"] = []any{map[string]any{"role": "user", "content": "Say hello."}}
	} else {
		body["prompt"] = "Say hello."
		set(p.TokenIDPrompts, "prompt", s.probeIDs())
	}
	set(p.IgnoreEOS, engine.FieldIgnoreEOS, true)
	set(p.MinTokens, engine.FieldMinTokens, probeTokens)
	set(p.ReturnTokenIDs, engine.FieldReturnTokenIDs, true)
	set(p.NoCachePrompt, engine.FieldNoCachePrompt, false)
	if k.Streaming && p.StreamUsage {
		options := map[string]any{"include_usage": true}
		if p.ContinuousUsage {
			options[engine.FieldContinuousUsage] = true
		}
		body[engine.FieldStreamOptions] = options
	}
	if v := k.Sampling.TopP; v != nil {
		body["top_p"] = *v
	}
	if v := k.Sampling.TopK; v != nil {
		body["top_k"] = *v
	}
	if v := k.Sampling.MinP; v != nil {
		body["min_p"] = *v
	}
	if v := k.Sampling.Seed; v != nil {
		body["seed"] = *v
	}
	set(len(k.Sampling.Stop) > 0, "stop", k.Sampling.Stop)
	if k.Request != nil {
		maps.Copy(body, k.Request.Extra)
	}
	return body
}

// probeIDs are eight token ids spread over the cell's range: fewer than fill a block of a prefix cache.
func (s *Server) probeIDs() []int64 {
	ids := s.cell.Contract.Prompt.IDs
	out := make([]int64, 8)
	for i := range out {
		out[i] = ids.From + int64(i)*(ids.To-ids.From)/int64(len(out))
	}
	return out
}

// ask makes one attempt at a short completion.
func (s *Server) ask(ctx context.Context, p engine.Profile) (answer, error) {
	text, err := json.Marshal(s.probeBody(p))
	if err != nil {
		return answer{}, fmt.Errorf("contract.request.extra: %w", err)
	}
	path := "/v1/completions"
	if s.cell.Contract.Endpoint == "chat" {
		path = "/v1/chat/completions"
	}
	where := fmt.Sprintf("POST %s for model %q", path, s.Model)
	sent := time.Now()
	response, err := s.do(ctx, http.MethodPost, path, bytes.NewReader(text))
	if err != nil {
		return answer{}, silent(ctx, err, where+" was not answered")
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(response.Body, bodyLimit))
		return answer{}, &refusal{status: response.StatusCode, where: where, sentence: s.hint(response.StatusCode, sentence(body))}
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	streamed := kind == "text/event-stream"
	if s.cell.Contract.Streaming && !streamed {
		switch kind {
		case "application/json":
			return answer{}, errNotStream
		case "text/html":
			body, _ := io.ReadAll(io.LimitReader(response.Body, bodyLimit))
			return answer{}, fmt.Errorf("%s answers 200 with HTML, not an event stream (%w): %s", where, errAPage, sentence(body))
		}
	}
	a, err := readAnswer(response.Body, where, streamed || s.cell.Contract.Streaming)
	if err != nil {
		return answer{}, silent(ctx, err, where+" answers 200, and "+a.missing())
	}
	if !a.first.IsZero() {
		a.ttft = a.first.Sub(sent)
	}
	return a, nil
}

// hint adds to a refused key whether there was one.
func (s *Server) hint(status int, sentence string) string {
	if status == http.StatusUnauthorized && s.header.Get("Authorization") == "" {
		return sentence + " (server.key is not set)"
	}
	return sentence
}
