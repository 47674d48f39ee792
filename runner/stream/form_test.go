package stream

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// similar are payloads of one stream and the next, alike but for what the form of an event must not overlook.
var similar = []string{
	`{"id":"c1","object":"text_completion","model":"tiny","choices":[{"index":0,"text":"a","logprobs":null,"finish_reason":null,"token_ids":[3806]}],"usage":{"prompt_tokens":8,"total_tokens":10,"completion_tokens":2}}`,
	`{"id":"c1","object":"text_completion","model":"tiny","choices":[{"index":0,"text":"longer \" \u00e9","logprobs":null,"finish_reason":null,"token_ids":[7]}],"usage":{"prompt_tokens":8,"total_tokens":11,"completion_tokens":3}}`,
	`{"id":"c2","object":"text_completion","model":"tiny","choices":[{"index":1,"text":"","logprobs":null,"finish_reason":null,"token_ids":[0]}],"usage":{"prompt_tokens":8,"total_tokens":1234567,"completion_tokens":400}}`,
	`{"id":"c2","object":"text_completion","model":"tiny","choices":[{"index":-1,"text":"b","logprobs":null,"finish_reason":null,"token_ids":[-3]}],"usage":{"prompt_tokens":-1,"total_tokens":-2,"completion_tokens":5}}`,
	`{"id":"c2","object":"text_completion","model":"tiny","choices":[{"index":0,"text":"b","logprobs":null,"finish_reason":null,"token_ids":[3,4]}],"usage":{"prompt_tokens":8.0,"total_tokens":9.5,"completion_tokens":5}}`,
	`{"id":"c2","object":"text_completion","model":"tiny","choices":[{"index":0,"text":"b","logprobs":null,"finish_reason":"stop","token_ids":[3]}],"usage":{"prompt_tokens":8,"total_tokens":12,"completion_tokens":5}}`,
	`{"id":"c2","object":"text_completion","model":"tiny","choices":[{"index":0,"text":null,"logprobs":null,"finish_reason":null,"token_ids":null}],"usage":null}`,
	`{"id":"c2","object":"text_completion","model":"huge","choices":[{"index":0,"text":"x","logprobs":null,"finish_reason":null,"token_ids":null}],"usage":null}`,
	`{"id":null,"object":"text_completion","model":"huge","choices":[{"index":0,"text":"x","logprobs":null,"finish_reason":null,"token_ids":null}],"usage":null}`,
	`{"id":"c2","object":"error","model":"huge","choices":[{"index":0,"text":"x","logprobs":null,"finish_reason":null,"token_ids":null}],"usage":null}`,
	`{"id":"c2","object":"text_completion","model":"huge","choices":[{"index":0,"text":"x","logprobs":null,"finish_reason":null,"token_ids":null}],"usage":null}x`,
	`{"id":"c2","object":"text_completion","model":"huge","choices":[{"index":0,"text":"x\q","logprobs":null,"finish_reason":null,"token_ids":null}],"usage":null}`,
	"{\"id\":\"c2\",\"object\":\"text_completion\",\"model\":\"huge\",\"choices\":[{\"index\":0,\"text\":\"x\x01\",\"logprobs\":null,\"finish_reason\":null,\"token_ids\":null}],\"usage\":null}",
	`{"id":"c2","object":"text_completion","model":"huge","choices":[{"index":0,"text":"","finish_reason":null},{"index":1,"text":"y","finish_reason":null}],"usage":null}`,
	`{"id":"c2","object":"text_completion","model":"huge","choices":[{"index":0,"text":"z","finish_reason":null},{"index":1,"text":"","finish_reason":null}],"usage":null}`,
	`{"id":"c2","choices":[],"usage":{"prompt_tokens":8,"total_tokens":12,"completion_tokens":5}}`,
	`{"id":"c2","choices":[],"usage":{"prompt_tokens":8,"total_tokens":12,"completion_tokens":6,"prompt_tokens_details":{"cached_tokens":3}}}`,
	`{"choices":[{"index":0,"delta":{"content":"","reasoning_content":"so"},"finish_reason":null}]}`,
	`{"choices":[{"index":0,"delta":{"content":"","reasoning_content":""},"finish_reason":null}]}`,
	`{"choices":[{"index":0,"delta":{"content":"so","reasoning_content":""},"finish_reason":null}]}`,
	`{"choices":[{"index":0,"delta":{"reasoning":"so","reasoning_content":"so"},"finish_reason":null}]}`,
	`{"choices":[{"index":0,"delta":{"reasoning":"no","reasoning_content":"so"},"finish_reason":null}]}`,
	`{"choices":[{"index":0,"delta":{"reasoning":"","reasoning_content":"so"},"finish_reason":null}]}`,
	`{"choices":[{"index":0,"delta":{"content":null,"tool_calls":[{"index":0,"function":{"name":"","arguments":""}}]},"finish_reason":null}]}`,
	`{"choices":[{"index":0,"delta":{"content":null,"tool_calls":[{"index":0,"function":{"name":"","arguments":"{"}}]},"finish_reason":null}]}`,
	`{"choices":[{"index":0,"text":"a"}],"usage":{"completion_tokens":-1,"completion_tokens":5}}`,
	`{"choices":[{"index":0,"text":"a"}],"usage":{"completion_tokens":3,"completion_tokens":5}}`,
	`{"choices":[{"index":0,"text":"a"}],"timings":{"cache_n":3,"x":0.5},"metrics":{"queue_time_ms":0.5}}`,
	`{"choices":[{"index":0,"text":"a"}],"timings":{"cache_n":4,"x":0.5},"metrics":{"queue_time_ms":0.5}}`,
	`{"choices":[{"index":0,"text":"a","token_ids":[1,2,3,4,5,6,7,8,9]}]}`,
	`{"choices":[{"index":0,"text":"a","token_ids":[1,2,3,4,5,6,7,8,90]}]}`,
	`{"choices":[{"index":0,"text":"a"}],"error":null}`,
	`{"choices":[{"index":0,"text":"a"}],"error":{"message":"m"}}`,
	`{"choices":[{"index":00,"text":"a"}]}`, `{"choices":[{"index":1234567890123456789,"text":"a"}]}`,
}

// sameAsScan reads payloads one after the other, as a stream's and each by itself, and compares.
func sameAsScan(t *testing.T, e *event, payloads [][]byte) {
	t.Helper()
	buf := make([]byte, 0, 1<<10) // as a connection's, in which the next bytes lie over the last
	for i, p := range payloads {
		buf = append(buf[:0], p...)
		var alone event
		got, want := e.read(buf), alone.scan(p)
		if got != want {
			t.Fatalf("%s\nbehind %q: %t, want %t", p, payloads[:i], got, want)
		}
		if !want {
			continue
		}
		if e.String() != alone.String() || e.seen != alone.seen || (e.fault == nil) != (alone.fault == nil) {
			t.Fatalf("%s\nbehind %q\nread %s %x\nscan %s %x", p, payloads[:i], e, e.seen, &alone, alone.seen)
		}
		var slow event
		if !slow.decode(p) {
			t.Fatalf("encoding/json refuses %q", p)
		}
		if utf8.Valid(p) && e.String() != slow.String() {
			t.Fatalf("%s\nread   %s\ndecode %s", p, e, &slow)
		}
	}
}

// Whatever came before, an event has the facts that it has alone: every payload behind every other, twice.
func TestFormOverlooksNothing(t *testing.T) {
	payloads := similar
	for _, s := range commonEvents {
		if data, ok := strings.CutPrefix(s, "data: "); ok {
			payloads = append(payloads, strings.TrimSpace(data))
		}
	}
	for _, first := range payloads {
		for _, second := range payloads {
			var e event
			sameAsScan(t, &e, [][]byte{[]byte(first), []byte(second), []byte(second), []byte(first)})
		}
	}
}

// Sequences of events, of which each is a payload that was known, as it is or changed at one place.
func FuzzForm(f *testing.F) {
	f.Add([]byte(similar[0]), []byte(similar[1]), uint16(0), []byte("9"))
	f.Add([]byte(similar[7]), []byte(similar[7]), uint16(95), []byte(`"`))
	for i, s := range similar {
		f.Add([]byte(s), []byte(similar[(i+1)%len(similar)]), uint16(7*i), []byte(`-1`))
		f.Add([]byte(s), []byte(s), uint16(13*i), []byte(`null`))
		f.Add([]byte(s), []byte(s), uint16(17*i), []byte(`\u00e9`))
	}
	f.Fuzz(func(t *testing.T, a, b []byte, at uint16, with []byte) {
		edit := func(p []byte) []byte {
			i := int(at) % (len(p) + 1)
			over := append(append(bytes.Clone(p[:i]), with...), p[min(i+len(with), len(p)):]...)
			return over
		}
		insert := func(p []byte) []byte {
			i := int(at) % (len(p) + 1)
			return append(append(bytes.Clone(p[:i]), with...), p[i:]...)
		}
		var e event
		sameAsScan(t, &e, [][]byte{a, b, edit(a), a, insert(a), a, edit(b), b, a, insert(b), edit(a)})
	})
}

// What engines send in their streams is nearly always of the form before.
func TestMostEventsAreOfOneForm(t *testing.T) {
	fit, all := 0, 0
	for _, r := range recordings(t) {
		var e event
		for _, read := range r.Reads {
			for line := range strings.Lines(read[1].(string)) {
				data, ok := strings.CutPrefix(line, "data: ")
				if !ok || strings.HasPrefix(data, "[DONE]") {
					continue
				}
				p := bytes.TrimSpace(latin1(data))
				all++
				if e.fits(p) {
					fit++
				} else {
					e.learn(p)
				}
			}
		}
	}
	if fit*2 < all {
		t.Errorf("%d of %d recorded events were of the form of the one before", fit, all)
	}
	t.Log(fmt.Sprintf("%d of %d", fit, all))
}
