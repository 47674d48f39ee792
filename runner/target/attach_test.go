package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/inference-sweep/sweep/sweep"
)

func TestAttachObserves(t *testing.T) {
	for _, test := range []struct {
		engine, model string
		pages         map[string]string
		want          map[string]any
	}{
		{"vllm", "tiny", map[string]string{
			"/version": `{"version":"0.32.0"}`, "/v1/models": "vllm-models.json", "/metrics": "vllm-metrics.txt", "/health": "",
			"/server_info": "!'NoneType' object has no attribute 'splitlines'",
		}, map[string]any{
			sweep.ObsEngineVersion: "0.32.0", sweep.ObsServedModel: "tiny", sweep.ObsModelRoot: "/models/xxxxxxxx/tiny",
			sweep.ObsModelAliases: []string{"tiny"}, sweep.ObsMaxModelLen: int64(4096), sweep.ObsBlockSize: int64(128),
			sweep.ObsProcessStart: 1795980892.48,
		}},
		{"llamacpp", "another", map[string]string{
			"/props": "llamacpp-props.json", "/v1/models": "llamacpp-models.json", "/metrics": "llamacpp-metrics.txt", "/health": `{"status":"ok"}`,
		}, map[string]any{
			sweep.ObsEngineVersion: "b1-0c1e570", sweep.ObsServedModel: "tiny", sweep.ObsModelAliases: []string{"tiny"},
			sweep.ObsMaxModelLen: int64(4096), sweep.ObsBlockSize: int64(1),
		}},
		{"sglang", "b", map[string]string{
			"/server_info": `{"version":"0.5.9","page_size":64,"internal_states":[{}]}`, "/health": "",
			"/v1/models": `{"data":[{"id":"a","root":"/a"},{"id":"b","root":"/b","max_model_len":8}]}`,
		}, map[string]any{
			sweep.ObsEngineVersion: "0.5.9", sweep.ObsServedModel: "b", sweep.ObsModelRoot: "/b", sweep.ObsModelAliases: []string{"a", "b"},
			sweep.ObsMaxModelLen: int64(8), sweep.ObsBlockSize: int64(64),
		}},
		{"openai", "a", map[string]string{"/v1/models": "<html>not found</html>"}, map[string]any{}},
	} {
		t.Run(test.engine, func(t *testing.T) {
			f := &fake{pages: map[string]string{}}
			for path, page := range test.pages {
				if strings.HasPrefix(page, test.engine+"-") {
					page = read(t, page)
				}
				f.pages[path] = page
			}
			url := f.start(t)
			c := cellOf(t, url+"/v1/", test.engine, fmt.Sprintf("server/servedModel=%q", test.model))
			s := open(t, c, Deps{})
			if s.Base != url || s.Model != test.model || !s.Launch.Attached || s.Launch.Setting != c.Setting {
				t.Errorf("base %s, model %s, launch %+v", s.Base, s.Model, s.Launch)
			}
			if s.Launch.PortNS != sweep.None || s.Launch.ReadyNS != sweep.None || s.Launch.FirstTokenNS != sweep.None || s.Exited() != nil {
				t.Errorf("a server that was up has no start: %+v", s.Launch)
			}
			got := s.Launch.Observed
			// The host depends on who may look into whose process.
			delete(got, sweep.ObsHost)
			if n, ok := got[sweep.ObsRoundTripNS].(int64); !ok || n <= 0 {
				t.Errorf("round trip %v", got[sweep.ObsRoundTripNS])
			}
			delete(got, sweep.ObsRoundTripNS)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRefusedFields is C05 and its kind: what a server refuses is found before any load, and by asking as little as that
// takes.
func TestRefusedFields(t *testing.T) {
	refuse := func(field string, status int, says string) func(map[string]any) (int, string) {
		return func(body map[string]any) (int, string) {
			value, has := body[field]
			if options, ok := body["stream_options"].(map[string]any); ok && !has {
				value, has = options[field]
			}
			if field == "prompt" {
				_, has = value.([]any)
			}
			if has {
				return status, says
			}
			return 0, ""
		}
	}
	both := func(checks ...func(map[string]any) (int, string)) func(map[string]any) (int, string) {
		return func(body map[string]any) (int, string) {
			for _, check := range checks {
				if status, says := check(body); status != 0 {
					return status, says
				}
			}
			return 0, ""
		}
	}
	for _, test := range []struct {
		name, engine string
		sets         []string
		check        func(map[string]any) (int, string)
		refused      []string
		requests     int
	}{
		{"nothing", "vllm", nil, func(map[string]any) (int, string) { return 0, "" }, nil, 1},
		{"stream_options by name", "openai", nil,
			refuse("stream_options", 400, `{"error":{"message":"stream_options: extra fields not permitted"}}`), []string{"stream_options"}, 2},
		{"in a list of places", "vllm", nil,
			refuse("return_token_ids", 422, `{"detail":[{"type":"extra_forbidden","loc":["body","return_token_ids"],"msg":"Extra inputs are not permitted","input":{"ignore_eos":true}}]}`),
			[]string{"return_token_ids"}, 2},
		{"an option inside", "vllm", nil,
			refuse("continuous_usage_stats", 400, `{"message":"stream_options.continuous_usage_stats: unknown field"}`),
			[]string{"continuous_usage_stats"}, 2},
		{"one after the other", "vllm", nil, both(
			refuse("return_token_ids", 400, `{"error":{"message":"Unrecognized request argument","param":"return_token_ids"}}`),
			refuse("ignore_eos", 400, `{"error":"unknown field ignore_eos"}`)), []string{"return_token_ids", "ignore_eos"}, 3},
		{"without saying which", "trtllm", nil, refuse("min_tokens", 400, `{"error":{"message":"Bad request"}}`), []string{"min_tokens"}, 4},
		{"two without saying which", "vllm", nil, both(
			refuse("min_tokens", 400, "bad"), refuse("return_token_ids", 422, "bad")), []string{"return_token_ids", "min_tokens"}, 6},
		{"token ids", "openai", nil,
			refuse("prompt", 400, `{"error":"json: cannot unmarshal array into Go struct field CompletionRequest.prompt of type string"}`),
			[]string{"prompt"}, 2},
		{"the field for the answer's length", "openai", []string{`contract/endpoint="chat"`},
			refuse("max_tokens", 400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}`),
			[]string{"max_tokens"}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{answer: func(w http.ResponseWriter, _ *http.Request, body map[string]any) {
				if status, says := test.check(body); status != 0 {
					http.Error(w, says, status)
					return
				}
				writeCompletion(w)
			}}
			s := open(t, cellOf(t, f.start(t), test.engine, test.sets...), Deps{})
			n, _ := f.asked()
			if n != test.requests || !slices.Equal(s.Refused, test.refused) {
				t.Errorf("refused %q after %d requests, want %q after %d", s.Refused, n, test.refused, test.requests)
			}
			if len(test.refused) > 0 && !slices.Equal(s.Launch.Observed[sweep.ObsRefusedFields].([]string), test.refused) {
				t.Errorf("observed %v", s.Launch.Observed)
			}
			endpoint := s.cell.Contract.Endpoint
			for _, field := range test.refused {
				if slices.Contains(s.Profile.Optional(endpoint), field) {
					t.Errorf("the profile still has %s", field)
				}
			}
			if err := s.Probe(t.Context()); err != nil {
				t.Errorf("the profile that was learnt: %v", err)
			}
		})
	}
}

// TestProbeAsksLikeTheCell holds the probe's body against what the cell's requests will hold.
func TestProbeAsksLikeTheCell(t *testing.T) {
	f := new(fake)
	open(t, cellOf(t, f.start(t), "vllm", `contract/sampling={"temperature":0.5,"topP":0.9,"topK":5,"minP":0.1,"seed":7,"stop":["x"],"ignoreEOS":true}`,
		`contract/request={"extra":{"priority":3}}`), Deps{})
	_, got := f.asked()
	want := decode(t, `{"model":"org/model","stream":true,"max_tokens":4,"temperature":0.5,"top_p":0.9,"top_k":5,"min_p":0.1,"seed":7,"stop":["x"],
		"ignore_eos":true,"min_tokens":4,"return_token_ids":true,"priority":3,
		"stream_options":{"include_usage":true,"continuous_usage_stats":true},"prompt":[1000,1375,1750,2125,2500,2875,3250,3625]}`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	g := &fake{answer: func(w http.ResponseWriter, _ *http.Request, _ map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`)
	}}
	open(t, cellOf(t, g.start(t), "openai", `contract/endpoint="chat"`, `contract/streaming=false`), Deps{})
	_, got = g.asked()
	want = decode(t, `{"model":"org/model","stream":false,"max_tokens":4,"temperature":0,"messages":[{"role":"user","content":"Say hello."}]}`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAnswersThatStay are those that no waiting changes: they end the wait at once, in the server's own words.
func TestAnswersThatStay(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		body   string
		says   []string
	}{
		{"no key", 401, `{"error":"Unauthorized"}`, []string{"401: Unauthorized", "server.key is not set"}},
		{"another model", 404, "{\"error\":{\"message\":\"The model `org/model` does not exist. Valid aliases: tiny.\",\"code\":404}}",
			[]string{"404: The model `org/model` does not exist. Valid aliases: tiny."}},
		{"no such path", 404, `{"detail":"Not Found"}`, []string{`POST /v1/completions for model "org/model" answers 404: Not Found`}},
		{"a field that is not ours to drop", 400, `{"error":{"message":"max_tokens=4 cannot be greater than max_model_len=2"}}`, []string{"400: max_tokens=4 cannot"}},
		{"token ids that are none", 400, `{"error":{"code":400,"message":"Prompt contains invalid tokens"}}`, []string{"400: Prompt contains invalid tokens"}},
		{"an error inside a 200", 200, `data: {"error":{"message":"token id 9 is out of vocabulary","code":400}}` + "\n\ndata: [DONE]\n\n",
			[]string{"400: token id 9 is out of vocabulary"}},
		{"a page where a stream was asked for", 200, "<html><title>Open WebUI</title></html>", []string{"answers 200 with HTML, not an event stream", "Open WebUI"}},
		{"a whole document", 200, `{"choices":[{"text":"a"}]}`, []string{"asked for a stream"}},
		{"a redirect", 302, "", []string{"answers 302: nothing more"}},
		{"a page", 403, "<html><style>p{}</style><h1>Forbidden</h1><p>by  proxy</p></html>", []string{"403: Forbidden by proxy"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{answer: func(w http.ResponseWriter, _ *http.Request, _ map[string]any) {
				w.Header().Set("Content-Type", "application/json")
				if strings.HasPrefix(test.body, "<html>") {
					w.Header().Set("Content-Type", "text/html")
				}
				if strings.HasPrefix(test.body, "data:") {
					w.Header().Set("Content-Type", "text/event-stream")
				}
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.body)
			}}
			url := f.start(t)
			start := time.Now()
			_, err := Open(t.Context(), cellOf(t, url, "vllm"), Deps{})
			var failure *Failure
			if !errors.As(err, &failure) || !failure.Launch.Attached {
				t.Fatalf("%T %v", err, err)
			}
			for _, says := range append(test.says, url) {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%q does not say %q", err, says)
				}
			}
			if took := time.Since(start); took > 15*time.Second {
				t.Errorf("took %v: it waited for what does not change", took)
			}
		})
	}
}

// TestAttachPatience: a server that loads is waited for, one that is not there is told soon, in virtual time.
func TestAttachPatience(t *testing.T) {
	loadingFor := func(d time.Duration, status int) http.Handler {
		start := time.Now()
		return &fake{answer: func(w http.ResponseWriter, _ *http.Request, _ map[string]any) {
			if time.Since(start) < d {
				http.Error(w, `{"error":{"message":"Loading model","code":503}}`, status)
				return
			}
			writeCompletion(w)
		}}
	}
	hangs := func(time.Duration, int) http.Handler {
		return &fake{answer: func(_ http.ResponseWriter, r *http.Request, _ map[string]any) { <-r.Context().Done() }}
	}
	events := func(text string, every time.Duration) func(time.Duration, int) http.Handler {
		return func(time.Duration, int) http.Handler {
			return &fake{answer: func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
				w.Header().Set("Content-Type", "text/event-stream")
				for r.Context().Err() == nil {
					fmt.Fprint(w, text)
					w.(http.Flusher).Flush()
					if every == 0 {
						return
					}
					sleep(r.Context(), every)
				}
			}}
		}
	}
	losesTheFirst := func(time.Duration, int) http.Handler {
		asked := 0
		return &fake{answer: func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
			if asked++; asked == 1 {
				<-r.Context().Done()
				return
			}
			writeCompletion(w)
		}}
	}
	const post = `POST /v1/completions for model "org/model"`
	for _, test := range []struct {
		name    string
		server  func(time.Duration, int) http.Handler
		loading time.Duration
		status  int
		says    string // empty: it opens
		atLeast time.Duration
		atMost  time.Duration
	}{
		{"loading", loadingFor, 12 * time.Second, 503, "", 12 * time.Second, 14 * time.Second},
		{"loading for ever", loadingFor, time.Hour, 503, "not ready within 20s (timeout.ready)", 20 * time.Second, 20 * time.Second},
		{"queues full", loadingFor, 8 * time.Second, 429, "", 8 * time.Second, 10 * time.Second},
		{"broken", loadingFor, time.Hour, 500, "500: Loading model", attachPatience, attachPatience + 2*time.Second},
		{"a healthy endpoint before a dead engine", hangs, 0, 0,
			`not ready within 20s (timeout.ready): POST /v1/completions for model "org/model" was not answered`, 20 * time.Second, 20 * time.Second},
		{"the first request is lost", losesTheFirst, 0, 0, "", 10 * time.Second, 11 * time.Second},
		{"signs of life for ever", events(": ping\n\n", time.Second), 0, 0, "(timeout.ready): " + post + " answers 200, and no output came", 20 * time.Second, 20 * time.Second},
		{"an answer without an end", events(`data: {"choices":[{"text":"a"}]}`+"\n\n", time.Second), 0, 0,
			"(timeout.ready): " + post + " answers 200, and the answer did not end", 20 * time.Second, 20 * time.Second},
		{"given up", events(`data: {"choices":[{"text":"a","finish_reason":"abort"}]}`+"\n\ndata: [DONE]\n\n", 0), 0, 0,
			post + ": the answer ended with finish reason abort", attachPatience, attachPatience + 2*time.Second},
		{"empty", events(`data: {"choices":[{"text":"","finish_reason":"length"}]}`+"\n\ndata: [DONE]\n\n", 0), 0, 0,
			post + ": the answer has no output", attachPatience, attachPatience + 2*time.Second},
		{"no stream", events("welcome\n", 0), 0, 0, post + " answers 200 with nothing that is an event", attachPatience, attachPatience + 2*time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				d := serve(t, test.server(test.loading, test.status))
				s, err := Open(t.Context(), cellOf(t, "http://engine", "openai"), d)
				took := time.Since(start)
				if took < test.atLeast || took > test.atMost {
					t.Errorf("took %v", took)
				}
				if test.says == "" {
					if err != nil {
						t.Fatal(err)
					}
					_ = s.Stop(t.Context())
				} else if err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("%v does not say %q", err, test.says)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("connect: connection refused")
		start := time.Now()
		_, err := Open(t.Context(), cellOf(t, "http://engine", "openai"), Deps{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, refused }})
		if took := time.Since(start); !errors.Is(err, refused) || took < attachPatience || took > attachPatience+2*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// TestConnectIsBounded: neither a connection that does not come about nor a handshake that is not answered is waited for
// longer than timeout.connect.
func TestConnectIsBounded(t *testing.T) {
	nowhere := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	mute := func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, server) }()
		return client, nil
	}
	for _, test := range []struct {
		base, says string
		dial       func(ctx context.Context, network, addr string) (net.Conn, error)
	}{
		{"http://engine", "no connection within 4s (timeout.connect)", nowhere},
		{"https://engine", "TLS handshake", mute},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			_, err := Open(t.Context(), cellOf(t, test.base, "openai", `timeout/connect="4s"`), Deps{Dial: test.dial})
			if took := time.Since(start); err == nil || !strings.Contains(err.Error(), test.says) || took < 4*time.Second || took > 5*time.Second {
				t.Errorf("%s: %v after %v", test.base, err, took)
			}
		})
	}
}

// TestOpenIsInterrupted: the caller's cancellation is what comes back.
func TestOpenIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		d := serve(t, &fake{answer: func(w http.ResponseWriter, _ *http.Request, _ map[string]any) { w.WriteHeader(503) }})
		start := time.Now()
		if _, err := Open(ctx, cellOf(t, "http://engine", "openai"), d); !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestSecrets(t *testing.T) {
	const key = "sk-very-secret"
	f := &fake{answer: func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			http.Error(w, `{"error":"wrong key `+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")+`"}`, http.StatusUnauthorized)
			return
		}
		writeCompletion(w)
	}}
	url := f.start(t)
	sets := []string{`server/key={"fromEnv":"KEY"}`, `contract/request={"headers":{"X-Team":"a","X-Token":{"fromEnv":"TOKEN"}}}`}
	s := open(t, cellOf(t, url, "openai", sets...), Deps{Getenv: env("KEY", key, "TOKEN", "tt")})
	want := []Header{{"Authorization", "Bearer " + key}, {"X-Team", "a"}, {"X-Token", "tt"}}
	if got, err := s.HeaderFor(s.cell); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if f.header[0].Get("X-Token") != "tt" {
		t.Errorf("the probe has not the cell's headers: %v", f.header[0])
	}
	other, err := s.HeaderFor(&cellOf(t, url, "openai").Cell)
	if err != nil || len(other) != 0 {
		t.Errorf("another cell's headers: %v, %v", other, err)
	}

	_, err = Open(t.Context(), cellOf(t, url, "openai", sets...), Deps{Getenv: env("KEY", "another-secret", "TOKEN", "tt")})
	if err == nil || strings.Contains(err.Error(), "another-secret") || !strings.Contains(err.Error(), "wrong key $KEY") {
		t.Errorf("%v: the key's value is to be its name", err)
	}
	for name, getenv := range map[string]func(string) (string, bool){
		"server.key: the environment variable KEY is not set": env(),
		"server.key: the value has a line break":              env("KEY", "a\nb"),
	} {
		if _, err := Open(t.Context(), cellOf(t, url, "openai", sets...), Deps{Getenv: getenv}); err == nil || err.Error() != name {
			t.Errorf("got %v, want %s", err, name)
		}
	}
}

func TestOtherHostsAreForLater(t *testing.T) {
	_, err := Open(t.Context(), cellOf(t, "ssh://h100-01", "vllm"), Deps{})
	if err == nil || !strings.HasPrefix(err.Error(), "target: ") || !strings.Contains(err.Error(), "not launched yet") {
		t.Error(err)
	}
}
