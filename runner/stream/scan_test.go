package stream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// facts of an event in words, to compare two ways of reading it.
func (e *event) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "model=%q usage=%+v queue=%d cached=%d prompt=%d fault=%v", e.model, e.usage, e.queueNS, e.cachedN, e.promptIDs, e.fault)
	for _, c := range e.choices {
		fmt.Fprintf(&b, " [%d text=%q reasoning=%q tool=%t ids=%d finish=%q]", c.index, clean(c.text), clean(c.reasoning), c.tool, c.ids, c.finish)
	}
	return b.String()
}

// clean resolves a text's escapes; encoding/json replaces what is not UTF-8, which the scan keeps as it came.
func clean(t rawText) string { return string([]rune(string(appendText(nil, t)))) }

var scanSeeds = []string{
	`{"id":"x1","object":"chat.completion.chunk","created":1700000000,"model":"toy","choices":[{"index":0,"delta":{"role":"assistant","content":"a\n\u00e9\ud83d\ude42\ud83d"},"logprobs":null,"finish_reason":null,"token_ids":[1,2]}]}`,
	`{"choices":[{"text":"","index":1,"finish_reason":"length","prompt_token_ids":[3,4]}],"usage":{"completion_tokens":4094,"prompt_tokens":2,"prompt_tokens_details":{"cached_tokens":0,"x":null},"completion_tokens_details":{"reasoning_tokens":7}},"timings":{"cache_n":3,"prompt_ms":0.8e-1},"metrics":{"queue_time_ms":0.0463,"speculative":{"a":[1,-2.5E+3,true,false]}}}`,
	`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"get","arguments":"{}"}}],"reasoning":"r","reasoning_content":"r"}}],"error":null,"usage":null}`,
	`{"choices":[{"delta":{"content":[{"type":"text","text":"a"}]}}]}`, `{"error":{"message":"m","code":500}}`, `{"error":"m"}`, `{"object":"error","message":"m"}`,
	`{"\u0063hoices":[]}`, `{"choices":[],"choices":[{}]}`, `{"usage":{"prompt_tokens":5.0,"completion_tokens":-1}}`, `{"usage":{"prompt_tokens":12345678901234567890}}`,
	`{}`, `[]`, `null`, `{"a":`, `{"a":01}`, `{"a":1.}`, `{"a":"\x"}`, "{\"a\":\"\x01\"}", `{"a":tru}`, `{"a":1,}`, `{,}`, `{"a" "b"}`, ` {"a" : [ 1 , { } , [ ] ] } `, `{"a":1}x`,
	`{"choices":[null]}`, `{"choices":{}}`, `{"choices":[{"index":null,"delta":null,"text":null}]}`, `{"model":null,"choices":null}`, `{"usage":{"reasoning_tokens":3}}`,
	strings.Repeat(`{"a":`, 200) + `1` + strings.Repeat(`}`, 200),
}

// What the scan accepts, encoding/json accepts, with the same facts.
func FuzzScan(f *testing.F) {
	for _, s := range scanSeeds {
		f.Add([]byte(s))
	}
	for _, r := range recordings(f) {
		for _, read := range r.Reads {
			for line := range strings.Lines(read[1].(string)) {
				if data, ok := strings.CutPrefix(line, "data: "); ok {
					f.Add(latin1(data))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var fast, slow event
		if !fast.scan(b) {
			return
		}
		if !json.Valid(b) {
			t.Fatalf("accepted %q", b)
		}
		if !slow.decode(b) {
			t.Fatalf("encoding/json refuses %q", b)
		}
		if !utf8.Valid(b) {
			return
		}
		if fast.String() != slow.String() {
			t.Fatalf("%s\nscan   %s\ndecode %s", b, &fast, &slow)
		}
	})
}

// The slow way accepts what encoding/json does, where that is an object.
func FuzzDecode(f *testing.F) {
	for _, s := range scanSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var e event
		var top map[string]any
		want := json.Unmarshal(b, &top) == nil && top != nil
		if got := e.decode(b); got != want {
			t.Fatalf("%q: %t, want %t", b, got, want)
		}
	})
}

// Everything that the common engines send is read in place, errors and other odd events apart.
func TestScanTakesWhatEnginesSend(t *testing.T) {
	events, odd := 0, 0
	for _, r := range recordings(t) {
		for _, read := range r.Reads {
			for line := range strings.Lines(read[1].(string)) {
				data, ok := strings.CutPrefix(line, "data: ")
				if !ok || strings.HasPrefix(data, "[DONE]") {
					continue
				}
				var e event
				events++
				if b := bytes.TrimSpace(latin1(data)); !e.scan(b) {
					odd++
					if !strings.Contains(data, `"error"`) {
						t.Errorf("%s/%s: not read in place: %s", r.engine, r.Name, data)
					}
				}
			}
		}
	}
	if events < 400 || odd > 3 {
		t.Errorf("%d of %d events were odd", odd, events)
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{``, `a`, `\n\t\"\\\/\b\f\r`, `\u00e9`, `\ud83d\ude42`, `\ud83d`, `\ude42`, `\ud83d\u0041`, `\ud83d\ud83d\ude42`, `汉字🙂`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want string
		quoted := `"` + s + `"`
		if json.Unmarshal([]byte(quoted), &want) != nil {
			return
		}
		c := cursor{b: []byte(quoted)}
		raw, escaped, ok := c.str()
		if !ok || c.i != len(quoted) {
			return // white space around the string
		}
		if got := clean(rawText{raw, escaped}); got != want {
			t.Fatalf("%s: %q, want %q", s, got, want)
		}
	})
}
