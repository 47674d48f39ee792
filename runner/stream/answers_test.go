package stream

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/inference-sweep/sweep/sweep"
)

// response1 is a whole response with a Content-Length, written T ms after the request.
func response1(at int, head, body string) string {
	return fmt.Sprintf("@%d raw(%q) stay", at, fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", head, len(body), body))
}

const (
	chatAnswer = `{"id":"x1","object":"chat.completion","model":"toy","choices":[{"index":0,"message":{"role":"assistant","content":"abc"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}}`
	htmlPage   = "<html><head><title>502 Bad Gateway</title></head><body><center>nginx</center></body></html>"
	jsonType   = "200 OK\r\nContent-Type: application/json"
)

// Whole answers, asked for or not, and refusals.
func TestWholeAnswers(t *testing.T) {
	for _, c := range []struct {
		name, script, want, message string
		plain                       bool // no stream was asked for
	}{
		{"E01 a whole answer instead of a stream", response1(300, jsonType, chatAnswer),
			`failed/not_stream ttft=- answer=- last=- end=300 in=5/usage out=3/usage chunks=[] finish=stop text="abc"`, "a whole answer came where a stream was asked for", false},
		{"E01 the same under the type of a stream", response1(300, "200 OK\r\nContent-Type: text/event-stream", chatAnswer),
			`failed/not_stream ttft=- answer=- last=- end=300 in=5/usage out=3/usage chunks=[] finish=stop text="abc"`, "a whole answer came where a stream was asked for", false},
		{"E04 a page under 200", response1(300, "200 OK\r\nContent-Type: text/html", htmlPage),
			`failed/not_stream ttft=- answer=- last=- end=300 in=- out=- chunks=[] finish=`, htmlPage, false},
		{"a sentence under 200", response1(300, "200 OK\r\nContent-Type: text/plain", "try again"),
			`failed/not_stream ttft=- answer=- last=- end=300 in=- out=- chunks=[] finish=`, "try again", false},
		{"an error under 200", response1(300, jsonType, `{"error":{"message":"no such model","code":404}}`),
			`failed/server_error ttft=- answer=- last=- end=300 in=- out=- chunks=[] finish=`, "no such model (code 404)", false},
		{"nothing under 200", response1(300, "200 OK\r\nContent-Type: text/event-stream", ""),
			`failed/eof ttft=- answer=- last=- end=300 in=- out=- chunks=[] finish=`, "the answer ended before any output", false},
		{"no content", response1(300, "204 No Content", ""),
			`failed/http http=204 ttft=- answer=- last=- end=300 in=- out=- chunks=[] finish=`, "", false},
		{"asked for whole", response1(300, jsonType, chatAnswer),
			`ok ttft=- answer=- last=300 end=300 in=5/usage out=3/usage chunks=[] finish=stop text="abc"`, "", true},
		{"asked for whole, text", response1(300, jsonType, `{"model":"toy","choices":[{"text":"abc","index":0,"finish_reason":"length"}],"usage":{"prompt_tokens":5,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}},"metrics":{"queue_time_ms":1}}`),
			`ok ttft=- answer=- last=300 end=300 in=5/usage out=3/usage chunks=[] cached=4 queue=1000000ns finish=length text="abc"`, "", true},
		{"asked for whole, a tool call", response1(300, jsonType, `{"choices":[{"message":{"content":null,"tool_calls":[{"function":{"name":"get","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`),
			`ok ttft=- answer=- last=300 end=300 in=- out=- chunks=[] finish=tool_calls`, "", true},
		{"asked for whole, several", response1(300, jsonType, `{"choices":[{"index":0,"text":"a","finish_reason":"stop"},{"index":1,"text":"b","finish_reason":"length"}],"usage":{"completion_tokens":2}}`),
			`ok ttft=- answer=- last=300 end=300 in=- out=2/usage chunks=[] finish=stop,length text="a\x1eb"`, "", true},
		{"asked for whole, empty", response1(300, jsonType, `{"choices":[{"index":0,"text":"","finish_reason":"stop"}],"usage":{"completion_tokens":1}}`),
			`failed/empty ttft=- answer=- last=300 end=300 in=- out=1/usage chunks=[] finish=stop`, "the answer has no output", true},
		{"asked for whole, without a finish reason", response1(300, jsonType, `{"choices":[{"index":0,"text":"a"}]}`),
			`ok ttft=- answer=- last=300 end=300 in=- out=- chunks=[] finish= marks=no-finish text="a"`, "", true},
		{"asked for whole, an error", response1(300, jsonType, `{"error":"no such model"}`),
			`failed/server_error ttft=- answer=- last=- end=300 in=- out=- chunks=[] finish=`, "no such model", true},
		{"asked for whole, a page", response1(300, "200 OK\r\nContent-Type: text/html", htmlPage),
			`failed/malformed ttft=- answer=- last=- end=300 in=- out=- chunks=[] finish= marks=malformed`, htmlPage, true},
		{"asked for whole, cut", `@300 raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"choices\":[{") fin`,
			`failed/truncated ttft=- answer=- last=- end=300 in=- out=- chunks=[] finish=`, "the answer ended without a finish reason", true},
		{"asked for whole, nothing came", `@300 raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n") fin`,
			`failed/eof ttft=- answer=- last=- end=300 in=- out=- chunks=[] finish=`, "the answer ended before any output", true},
		{"E03 throttled", response1(5, "429 Too Many Requests\r\nRetry-After: 1", `{"error":{"message":"slow down"}}`),
			`failed/http http=429 ttft=- answer=- last=- end=5 in=- out=- chunks=[] finish=`, "slow down", false},
		{"E04 a page under 502", response1(5, "502 Bad Gateway\r\nContent-Type: text/html", htmlPage),
			`failed/http http=502 ttft=- answer=- last=- end=5 in=- out=- chunks=[] finish=`, htmlPage, false},
		{"E05 the context is too short", response1(5, "400 Bad Request", `{"error":{"message":"maximum context length is 2048 tokens, you requested 2054","code":400}}`),
			`failed/http http=400 ttft=- answer=- last=- end=5 in=- out=- chunks=[] finish=`, "maximum context length is 2048 tokens, you requested 2054", false},
		{"C05 a field is refused", response1(5, "400 Bad Request", `{"error":{"message":"stream_options: extra fields not permitted"}}`),
			`failed/http http=400 ttft=- answer=- last=- end=5 in=- out=- chunks=[] finish=`, "stream_options: extra fields not permitted", false},
		{"a wrong key", response1(5, "401 Unauthorized", `{"error": "Unauthorized"}`),
			`failed/http http=401 ttft=- answer=- last=- end=5 in=- out=- chunks=[] finish=`, "Unauthorized", false},
		{"a wrong path", response1(5, "404 Not Found", `{"detail":"Not Found"}`),
			`failed/http http=404 ttft=- answer=- last=- end=5 in=- out=- chunks=[] finish=`, "Not Found", false},
		{"a validation error", response1(5, "422 Unprocessable", `{"detail":[{"loc":["body","n"],"msg":"no"}]}`),
			`failed/http http=422 ttft=- answer=- last=- end=5 in=- out=- chunks=[] finish=`, `{"detail":[{"loc":["body","n"],"msg":"no"}]}`, false},
		{"a redirect", response1(5, "307 Temporary Redirect\r\nLocation: /elsewhere", ""),
			`failed/http http=307 ttft=- answer=- last=- end=5 in=- out=- chunks=[] finish=`, "", false},
		{"an error cut short", `@5 raw("HTTP/1.1 500 Oops\r\nContent-Length: 100\r\n\r\nboom") fin`,
			`failed/http http=500 ttft=- answer=- last=- end=5 in=- out=- chunks=[] finish=`, "boom", false},
		{"an error that never ends", `@5 raw("HTTP/1.1 500 Oops\r\nContent-Length: 100\r\n\r\nboom") stay`,
			`failed/http http=500 ttft=- answer=- last=- end=60005 in=- out=- chunks=[] finish=`, "boom", false},
		{"a compressed answer", `@5 raw("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Type: text/event-stream\r\n\r\n\x1f\x8b") fin`,
			`failed/malformed ttft=- answer=- last=- end=5 in=- out=- chunks=[] finish=`, "the answer came with content encoding gzip", false},
		{"another protocol", response1(5, "101 Switching Protocols", ""),
			`failed/malformed http=- ttft=- answer=- last=- end=5 in=- out=- chunks=[] finish=`, "the server switched protocols", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := chatRequest()
			req.Stream = !c.plain
			for cutName, cut := range cuts(5) {
				virtual(t, Config{}, func(asked) scene { return scene{script: c.script, cut: cut} }, func(st *stage) {
					rec := st.send(context.Background(), req)
					if got := summary(rec, true); got != c.want {
						t.Errorf("%s\ngot  %s\nwant %s", cutName, got, c.want)
					}
					if rec.ErrorMessage != c.message {
						t.Errorf("%s: message %q, want %q", cutName, rec.ErrorMessage, c.message)
					}
				})
			}
		})
	}
}

// Error bodies are read up to a limit, and messages kept up to one.
func TestErrorBodyIsBounded(t *testing.T) {
	body := strings.Repeat("x", 3*errorLimit)
	virtual(t, Config{}, func(asked) scene {
		return scene{script: fmt.Sprintf("@5 raw(%q) stay", "HTTP/1.1 500 Oops\r\n\r\n"+body)}
	}, func(st *stage) {
		rec := st.send(context.Background(), chatRequest())
		if rec.Error != sweep.ErrHTTP || len(rec.ErrorMessage) != 2048 || rec.EndNS != 5e6 {
			t.Errorf("%s, message of %d bytes, end %s ms", rec.Error, len(rec.ErrorMessage), ms(rec.EndNS))
		}
	})
}

func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]int64{
		"Retry-After: 1":   1e9,
		"retry-after:1.5":  1.5e9,
		"Retry-After: -1":  sweep.None,
		"Retry-After: now": sweep.None,
		"":                 sweep.None,
		"Retry-After: Wed, 21 Oct 2026 07:28:30 GMT\r\nDate: Wed, 21 Oct 2026 07:28:00 GMT": 30e9,
		"Date: Wed, 21 Oct 2026 07:28:00 GMT\r\nRetry-After: Wed, 21 Oct 2026 07:27:00 GMT": 0,
		"Retry-After: Wed, 21 Oct 2026 07:28:30 GMT":                                        sweep.None,
	} {
		virtual(t, Config{}, func(asked) scene {
			return scene{script: response1(5, strings.TrimSuffix("503 Busy\r\n"+header, "\r\n"), "")}
		}, func(st *stage) {
			if rec := st.send(context.Background(), chatRequest()); rec.RetryAfterNS != want || rec.HTTPStatus != 503 {
				t.Errorf("%q: status %d, retry after %s, want %s", header, rec.HTTPStatus, number(rec.RetryAfterNS), number(want))
			}
		})
	}
}

// What an error inside a stream says is kept.
func TestErrorMessagesOfStreams(t *testing.T) {
	for script, want := range map[string]string{
		`@5 H role T("a") "data: {\"error\":{\"message\":\"engine failed\",\"code\":500}}\n\n" done`: "engine failed (code 500)",
		`@5 H "event: error\ndata: {\"message\":\"overloaded\"}\n\n" fin`:                            "overloaded",
		`@5 H "event: error\ndata: overloaded\n\n" fin`:                                              "overloaded",
		`@5 H "event: error\ndata: {\"error\":{\"message\":\"full\",\"code\":503}}\n\n" fin`:         "full (code 503)",
		`@5 H "data: {\"error\":{\"type\":\"odd\"}}\n\n" fin`:                                        `{"type":"odd"}`,
	} {
		virtual(t, Config{}, func(asked) scene { return scene{script: script} }, func(st *stage) {
			rec := st.send(context.Background(), chatRequest())
			if rec.Error != sweep.ErrServer || rec.ErrorMessage != want {
				t.Errorf("%s: %s %q, want %q", script, rec.Error, rec.ErrorMessage, want)
			}
		})
	}
}

// The model that answered is the stream's, or that of a header which the configuration names (E07).
func TestResponseModel(t *testing.T) {
	small := scene{script: s0, edit: replacer(`"toy"`, `"toy-small"`)}
	headed := scene{script: s0, header: func(h string) string { return h + "X-Served-Model: toy-small\r\n" }}
	for _, c := range []struct {
		s            scene
		header, want string
	}{
		{scene{script: s0}, "", "toy"}, {small, "", "toy-small"}, {headed, "", "toy"},
		{headed, "x-served-MODEL", "toy-small"}, {scene{script: s0}, "X-Served-Model", "toy"},
	} {
		virtual(t, Config{ModelHeader: c.header}, func(asked) scene { return c.s }, func(st *stage) {
			if got := st.send(context.Background(), chatRequest()).ResponseModel; got != c.want {
				t.Errorf("header %q: model %q, want %q", c.header, got, c.want)
			}
		})
	}
}
