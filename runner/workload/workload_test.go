package workload_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/inference-sweep/sweep/runner/workload"
	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/sweep"
)

// everything is a server that understands all there is.
var everything = workload.Dialect{
	Model: `a "model"`, TokenIDs: true, IgnoreEOS: true, MinTokens: true, ReturnTokenIDs: true, StreamUsage: true, ContinuousUsage: true, NoCachePrompt: true,
}

func cell(change func(*schema.Contract)) *sweep.Cell {
	c := &sweep.Cell{}
	c.Contract = schema.Contract{Endpoint: "completions", Streaming: true, Prompt: schema.Prompt{IDs: schema.IDRange{From: 1000, To: 4000}}}
	c.Contract.Sampling.IgnoreEOS = true
	c.Contract.PrefixCache = schema.PrefixCache{Enabled: true, State: "cold", By: "salt"}
	if change != nil {
		change(&c.Contract)
	}
	return c
}

func maker(t testing.TB, c *sweep.Cell, d workload.Dialect, nonce string) *workload.Maker {
	t.Helper()
	m, err := workload.New(c, d, nonce)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// body is a request's body as a server reads it.
func body(t testing.TB, text []byte) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return fields
}

func ids(t testing.TB, text []byte) []int {
	t.Helper()
	var fields struct{ Prompt []int }
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	return fields.Prompt
}

// What the contract does not say, and what a server does not understand, is not sent.
func TestFields(t *testing.T) {
	half, three, seven := 0.5, int64(3), int64(7)
	tests := []struct {
		name    string
		change  func(*schema.Contract)
		dialect workload.Dialect
		want    string
	}{
		{"all that is understood", nil, everything,
			`ignore_eos=true max_tokens=16 min_tokens=16 return_token_ids=true stream=true stream_options=map[continuous_usage_stats:true include_usage:true] temperature=0`},
		{"a plain server", nil, workload.Dialect{TokenIDs: true}, `max_tokens=16 stream=true temperature=0`},
		{"usage at the end only", nil, workload.Dialect{StreamUsage: true}, `max_tokens=16 stream=true stream_options=map[include_usage:true] temperature=0`},
		{"not streamed", func(c *schema.Contract) { c.Streaming = false }, workload.Dialect{StreamUsage: true}, `max_tokens=16 stream=false temperature=0`},
		{"free to end", func(c *schema.Contract) { c.Sampling.IgnoreEOS = false }, workload.Dialect{IgnoreEOS: true, MinTokens: true}, `max_tokens=16 stream=true temperature=0`},
		{"sampling", func(c *schema.Contract) {
			c.Sampling = schema.Sampling{Temperature: 0.7, TopP: &half, TopK: &three, MinP: &half, Seed: &seven, Stop: []string{"\n", `"`}}
		}, workload.Dialect{}, "max_tokens=16 min_p=0.5 seed=7 stop=[\n \"] stream=true temperature=0.7 top_k=3 top_p=0.5"},
		{"another name for the limit", nil, workload.Dialect{MaxTokensField: "max_completion_tokens"}, `max_completion_tokens=16 stream=true temperature=0`},
		{"fields of its own", func(c *schema.Contract) {
			c.Request = &schema.Request{Extra: map[string]any{"cache_salt": "x", "priority": 1}}
		}, workload.Dialect{}, `cache_salt=x max_tokens=16 priority=1 stream=true temperature=0`},
		{"a cache that is off", func(c *schema.Contract) { c.PrefixCache = schema.PrefixCache{} }, workload.Dialect{NoCachePrompt: true},
			`cache_prompt=false max_tokens=16 stream=true temperature=0`},
	}
	for _, tt := range tests {
		fields := body(t, maker(t, cell(tt.change), tt.dialect, "n").Body(sweep.PhaseMeasure, 0, 8, 16))
		var said []string
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if name != "prompt" && name != "model" && name != "messages" {
				said = append(said, fmt.Sprintf("%s=%v", name, fields[name]))
			}
		}
		if got := strings.Join(said, " "); got != tt.want {
			t.Errorf("%s:\n%s, want\n%s", tt.name, got, tt.want)
		}
		if fields["model"] != tt.dialect.Model {
			t.Errorf("%s: model %v", tt.name, fields["model"])
		}
	}
}

func TestExtraFieldsThatTheContractHas(t *testing.T) {
	for _, name := range []string{"temperature", "stream", "stream_options"} {
		c := cell(func(c *schema.Contract) { c.Request = &schema.Request{Extra: map[string]any{name: 1}} })
		if _, err := workload.New(c, everything, "n"); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is taken: %v", name, err)
		}
	}
}

// Prompts have the length asked for, of ids in the range, and no two are alike: not of other requests, phases or trials.
func TestPromptsOfTokenIDs(t *testing.T) {
	seen := map[string]bool{}
	for _, nonce := range []string{"a", "b"} {
		m := maker(t, cell(nil), everything, nonce)
		for _, phase := range []sweep.Phase{sweep.PhaseCold, sweep.PhaseWarmup, sweep.PhaseMeasure} {
			for i := range 50 {
				prompt := ids(t, m.Body(phase, i, int64(20+i), 16))
				if len(prompt) != 20+i || slices.Min(prompt) < 1000 || slices.Max(prompt) >= 4000 {
					t.Fatalf("%s %d: %d ids from %d to %d", phase, i, len(prompt), slices.Min(prompt), slices.Max(prompt))
				}
				head := fmt.Sprint(prompt[:16])
				if seen[head] {
					t.Fatalf("%s %d begins as an earlier prompt does", phase, i)
				}
				seen[head] = true
			}
		}
	}
}

// A record makes the same bodies again, byte for byte; the tail goes on with the window's numbers.
func TestBodiesAreReproduced(t *testing.T) {
	a, b := maker(t, cell(nil), everything, "n"), maker(t, cell(nil), everything, "n")
	if string(a.Body(sweep.PhaseMeasure, 7, 128, 16)) != string(b.Body(sweep.PhaseMeasure, 7, 128, 16)) {
		t.Error("one nonce gives two bodies")
	}
	if string(a.Body(sweep.PhaseTail, 7, 128, 16)) != string(a.Body(sweep.PhaseMeasure, 7, 128, 16)) {
		t.Error("the tail's prompts are not those that the window would have gone on with")
	}
}

// A shared head stands at the front where the cache is to be warm, and behind some tokens of its own where it is to be
// cold: a cache hashes a prompt from its start.
func TestSharedHeads(t *testing.T) {
	shared := func(state string, enabled bool) *sweep.Cell {
		return cell(func(c *schema.Contract) {
			c.Prompt.Shared = &schema.Shared{Tokens: 64, Groups: 2}
			c.PrefixCache = schema.PrefixCache{Enabled: enabled, State: state, By: "salt"}
		})
	}
	common := func(a, b []int) int {
		n := 0
		for n < len(a) && a[n] == b[n] {
			n++
		}
		return n
	}
	for _, tt := range []struct {
		state      string
		enabled    bool
		one, other int // common tokens with a prompt of the same group, and of the other
	}{{"warm", true, 64, 0}, {"", false, 64, 0}, {"cold", true, 0, 0}} {
		m := maker(t, shared(tt.state, tt.enabled), everything, "n")
		prompt := func(i int) []int { return ids(t, m.Body(sweep.PhaseMeasure, i, 100, 16)) }
		if got := common(prompt(0), prompt(2)); got != tt.one {
			t.Errorf("%q: prompts of a group have %d tokens in common, want %d", tt.state, got, tt.one)
		}
		if got := common(prompt(0), prompt(1)); got != tt.other {
			t.Errorf("%q: prompts of two groups have %d tokens in common", tt.state, got)
		}
		if len(prompt(0)) != 100 {
			t.Errorf("%q: %d tokens, want 100", tt.state, len(prompt(0)))
		}
		if priming := ids(t, m.Priming(0)); tt.state == "warm" && common(priming, prompt(0)) != 64 {
			t.Errorf("the priming request does not fill in what the prompts begin with")
		}
	}
}

// Where a server takes no ids, or has a chat endpoint, prompts are words, as many as make the length in its tokens.
func TestPromptsOfWords(t *testing.T) {
	for _, tt := range []struct {
		endpoint string
		dialect  workload.Dialect
		words    int
	}{
		{"completions", workload.Dialect{}, 128},
		{"completions", workload.Dialect{TokensPerWord: 2}, 64},
		{"chat", workload.Dialect{TokenIDs: true, TokensPerWord: 0.5}, 256},
	} {
		m := maker(t, cell(func(c *schema.Contract) { c.Endpoint = tt.endpoint }), tt.dialect, "n")
		var fields struct {
			Prompt   string
			Messages []struct{ Role, Content string }
		}
		if err := json.Unmarshal(m.Body(sweep.PhaseMeasure, 0, 128, 16), &fields); err != nil {
			t.Fatal(err)
		}
		text := fields.Prompt
		if tt.endpoint == "chat" {
			if len(fields.Messages) != 1 || fields.Messages[0].Role != "user" || text != "" {
				t.Fatalf("%+v", fields)
			}
			text = fields.Messages[0].Content
		}
		if got := len(strings.Fields(text)); got != tt.words {
			t.Errorf("%s, %g tokens a word: %d words, want %d", tt.endpoint, tt.dialect.TokensPerWord, got, tt.words)
		}
	}
}

// The shortest prompt has one token, never none.
func TestShortestPrompt(t *testing.T) {
	if got := len(ids(t, maker(t, cell(nil), everything, "n").Body(sweep.PhaseMeasure, 0, 1, 1))); got != 1 {
		t.Errorf("%d tokens", got)
	}
	text := body(t, maker(t, cell(nil), workload.Dialect{TokensPerWord: 4}, "n").Body(sweep.PhaseMeasure, 0, 1, 1))["prompt"]
	if text == "" {
		t.Error("an empty prompt")
	}
}

func BenchmarkBody(b *testing.B) {
	m := maker(b, cell(nil), everything, "n")
	i := 0
	for b.Loop() {
		m.Body(sweep.PhaseMeasure, i, 1024, 16)
		i++
	}
}
