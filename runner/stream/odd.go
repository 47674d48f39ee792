package stream

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// decode reads a payload with encoding/json: the slow way, for errors and for whatever scan does not understand. It
// answers false for text that is not one JSON object.
func (e *event) decode(b []byte) bool {
	e.reset()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var top map[string]any
	if d.Decode(&top) != nil || top == nil || len(bytes.TrimLeft(b[d.InputOffset():], " \t\r\n")) > 0 {
		return false
	}
	e.model = []byte(word(top["model"]))
	e.fault = faultOf(top)
	e.promptIDs = countOf(top["prompt_token_ids"])
	if timings, ok := top["timings"].(map[string]any); ok {
		e.cachedN = intOf(timings["cache_n"])
	}
	if metrics, ok := top["metrics"].(map[string]any); ok {
		if n, ok := metrics["queue_time_ms"].(json.Number); ok {
			ms, _ := n.Float64()
			e.queueNS = millis(ms)
		}
	}
	e.decodeUsage(top["usage"])
	choices, _ := top["choices"].([]any)
	for i, v := range choices {
		e.decodeChoice(i, v)
	}
	return true
}

func (e *event) decodeUsage(v any) {
	u, ok := v.(map[string]any)
	if !ok {
		return
	}
	e.usage = usage{present: true, prompt: intOf(u["prompt_tokens"]), completion: intOf(u["completion_tokens"]), cached: sweep.None, thinking: sweep.None}
	if details, ok := u["prompt_tokens_details"].(map[string]any); ok {
		e.usage.cached = intOf(details["cached_tokens"])
	}
	if details, ok := u["completion_tokens_details"].(map[string]any); ok {
		e.usage.thinking = intOf(details["reasoning_tokens"])
	}
	if e.usage.thinking == sweep.None {
		e.usage.thinking = intOf(u["reasoning_tokens"])
	}
}

func (e *event) decodeChoice(i int, v any) {
	c, ok := v.(map[string]any)
	if !ok {
		return
	}
	ch := choice{index: int64(i), ids: countOf(c["token_ids"])}
	if n := intOf(c["index"]); n != sweep.None {
		ch.index = n
	}
	if n := countOf(c["prompt_token_ids"]); n != sweep.None {
		e.promptIDs = n
	}
	if s, ok := c["finish_reason"].(string); ok {
		ch.finish = []byte(s)
	}
	ch.text.b = []byte(word(c["text"]))
	for _, key := range []string{"delta", "message"} {
		if delta, ok := c[key].(map[string]any); ok {
			ch.decodeDelta(delta)
		}
	}
	e.choices = append(e.choices, ch)
}

func (ch *choice) decodeDelta(delta map[string]any) {
	if ch.ids == sweep.None {
		ch.ids = countOf(delta["token_ids"])
	}
	if s, ok := delta["content"].(string); ok {
		ch.text.b = append(ch.text.b, s...)
	}
	parts, _ := delta["content"].([]any)
	for _, v := range parts {
		ch.decodePart(v)
	}
	for _, key := range []string{"reasoning_content", "reasoning"} {
		if ch.reasoning.empty() {
			ch.reasoning.b = []byte(word(delta[key]))
		}
	}
	tools, _ := delta["tool_calls"].([]any)
	for _, v := range tools {
		if tool, ok := v.(map[string]any); ok {
			ch.decodeCall(tool["function"])
		}
	}
	ch.decodeCall(delta["function_call"])
}

// decodePart reads one part of a content that is a list: text, or a thought.
func (ch *choice) decodePart(v any) {
	part, ok := v.(map[string]any)
	if !ok {
		return
	}
	if word(part["type"]) == "thinking" {
		ch.reasoning.b = append(ch.reasoning.b, flat(part["thinking"])...)
		return
	}
	ch.text.b = append(ch.text.b, word(part["text"])...)
}

func (ch *choice) decodeCall(v any) {
	call, ok := v.(map[string]any)
	if !ok {
		return
	}
	_, object := call["arguments"].(map[string]any)
	ch.tool = ch.tool || object || word(call["name"]) != "" || word(call["arguments"]) != ""
}

// flat is the text of a string, or of a list of parts.
func flat(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var out strings.Builder
	parts, _ := v.([]any)
	for _, p := range parts {
		if part, ok := p.(map[string]any); ok {
			out.WriteString(word(part["text"]))
		}
	}
	return out.String()
}

// faultOf finds a server's error: under "error" as an object or a sentence, or in an object that calls itself one.
func faultOf(top map[string]any) *fault {
	switch v := top["error"].(type) {
	case map[string]any:
		return &fault{message: sentence(v), code: intOf(v["code"])}
	case string:
		if v != "" {
			return &fault{message: v, code: sweep.None}
		}
	case bool:
		if v {
			return &fault{message: sentence(top), code: intOf(top["code"])}
		}
	case []any, json.Number:
		return &fault{message: compact(v), code: sweep.None}
	}
	if word(top["object"]) == "error" {
		return &fault{message: sentence(top), code: intOf(top["code"])}
	}
	return nil
}

// sentence is what an error object says: its message or detail, or all of it.
func sentence(v map[string]any) string {
	if s := said(v); s != "" {
		return s
	}
	return compact(v)
}

func said(v map[string]any) string {
	for _, key := range []string{"message", "detail", "msg", "error"} {
		if s := word(v[key]); s != "" {
			return s
		}
	}
	return ""
}

func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

func word(v any) string {
	s, _ := v.(string)
	return s
}

func countOf(v any) int64 {
	if list, ok := v.([]any); ok {
		return int64(len(list))
	}
	return sweep.None
}

// intOf is a whole number however it is written, 5, 5.0 or "5"; None for anything else.
func intOf(v any) int64 {
	var n json.Number
	switch v := v.(type) {
	case json.Number:
		n = v
	case string:
		n = json.Number(v)
	default:
		return sweep.None
	}
	if i, err := n.Int64(); err == nil {
		return i
	}
	f, err := n.Float64()
	if err != nil || math.Abs(f) > 1e15 || f != math.Trunc(f) {
		return sweep.None
	}
	return int64(f)
}

// messageOf is the server's sentence in the body of an error, or in the data of an error event: that of its JSON, or
// the body's first bytes.
func messageOf(body []byte) string {
	var top map[string]any
	if json.Unmarshal(body, &top) == nil {
		if f := faultOf(top); f != nil {
			return clip(f.message)
		}
		if s := said(top); s != "" {
			return clip(s)
		}
	}
	return clip(string(bytes.TrimSpace(body)))
}

// clip bounds a message, whole characters only.
func clip(s string) string {
	const limit = 2048
	if len(s) > limit {
		s = s[:limit]
	}
	return strings.ToValidUTF8(s, "")
}
