package target

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/inference-sweep/sweep/sweep"
)

func TestGaugesAndCounters(t *testing.T) {
	for _, test := range []struct {
		engine, page             string
		running, waiting, q, hit float64
	}{
		{"vllm", read(t, "vllm-metrics.txt"), 0, 0, 591, 256},
		{"llamacpp", read(t, "llamacpp-metrics.txt"), 0, 0, 78, 29},
		{"vllm", "vllm:num_requests_running{engine=\"0\"} 3\nvllm:num_requests_running{engine=\"1\"} 4.0 1700000000\nvllm:num_requests_waiting 2\nvllm:prefix_cache_queries_total 9\n", 7, 2, 9, 0},
		{"sglang", "sglang:num_running_reqs{tp_rank=\"0\"} 1\nsglang:num_queue_reqs 5\nsglang:prompt_tokens_total 100\nsglang:cached_tokens_total{cache_source=\"device\"} 40\n", 1, 5, 100, 40},
	} {
		f := &fake{pages: map[string]string{"/metrics": test.page}}
		s := open(t, cellOf(t, f.start(t), test.engine), Deps{})
		running, waiting, ok := s.Running(t.Context())
		if !ok || running != test.running || waiting != test.waiting {
			t.Errorf("%s: %v run and %v wait, %v", test.engine, running, waiting, ok)
		}
		queries, hits, ok := s.CacheCounters(t.Context())
		if !ok || queries != test.q || hits != test.hit {
			t.Errorf("%s: %v of %v, %v", test.engine, hits, queries, ok)
		}
	}
	s := open(t, cellOf(t, new(fake).start(t), "openai"), Deps{})
	if _, _, ok := s.Running(t.Context()); ok {
		t.Error("a server without metrics says what runs")
	}
	if _, _, ok := s.CacheCounters(t.Context()); ok {
		t.Error("a server without metrics counts")
	}
}

func TestProcessStart(t *testing.T) {
	for _, test := range []struct {
		name, engine, page string
		want               float64
		ok                 bool
	}{
		{"vLLM's", "vllm", read(t, "vllm-metrics.txt"), 1795980892.48, true},
		{"llama.cpp has none", "llamacpp", read(t, "llamacpp-metrics.txt"), 0, false},
		{"several processes", "vllm", "process_start_time_seconds{pid=\"1\"} 1e9\nprocess_start_time_seconds{pid=\"2\"} 1e9\n", 0, false},
		{"no metrics", "openai", "process_start_time_seconds 1e9\n", 0, false},
	} {
		f := &fake{pages: map[string]string{"/metrics": test.page}}
		s := open(t, cellOf(t, f.start(t), test.engine), Deps{})
		if got, ok := s.ProcessStart(t.Context()); got != test.want || ok != test.ok {
			t.Errorf("%s: %v, %v; want %v, %v", test.name, got, ok, test.want, test.ok)
		}
	}
}

func TestResetCache(t *testing.T) {
	for _, test := range []struct {
		name, engine, path string
		answers            []string // status and body, the last for ever
		want               error
		says               string
		asked              int
	}{
		{"done", "vllm", "/reset_prefix_cache", []string{`200 {"success":true}`}, nil, "", 1},
		{"done, by an older one", "vllm", "/reset_prefix_cache", []string{"200 "}, nil, "", 1},
		{"busy, then done", "vllm", "/reset_prefix_cache", []string{`200 {"success":false}`, `200 {"success":false}`, `200 {"success":true}`}, nil, "", 3},
		{"busy for ever", "vllm", "/reset_prefix_cache", []string{`200 {"success":false}`}, nil, "did not empty its cache", 21},
		{"flushed", "sglang", "/flush_cache?timeout=5", []string{"400 Flush cache failed: requests are running", "200 Cache flushed."}, nil, "", 2},
		{"not offered", "vllm", "/reset_prefix_cache", []string{`404 {"detail":"Not Found"}`}, ErrNoReset, "VLLM_SERVER_DEV_MODE", 1},
		{"no such thing", "llamacpp", "", nil, ErrNoReset, "llamacpp", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int64 // a request that was given up may still be answered
				completions := new(fake)
				d := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.RequestURI() != test.path || r.Method != http.MethodPost {
						completions.ServeHTTP(w, r)
						return
					}
					status, body, _ := strings.Cut(test.answers[min(int(asked.Add(1))-1, len(test.answers)-1)], " ")
					var code int
					fmt.Sscan(status, &code)
					w.WriteHeader(code)
					fmt.Fprint(w, body)
				}))
				s := open(t, cellOf(t, "http://engine", test.engine), d)
				err := s.ResetCache(t.Context())
				if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
					t.Error(err)
				}
				if test.want != nil && !errors.Is(err, test.want) {
					t.Errorf("%v is not %v", err, test.want)
				}
				if n := int(asked.Load()); n < test.asked-1 || n > test.asked {
					t.Errorf("asked %d times, want %d", n, test.asked)
				}
			})
		})
	}
}

// TestQuiesce is G07 in virtual time: a server works on after its clients have left.
func TestQuiesce(t *testing.T) {
	work := 4 * time.Second
	gauge := func(until time.Time) int {
		if time.Now().Before(until) {
			return 8
		}
		return 0
	}
	for _, test := range []struct {
		name, engine    string
		limit           time.Duration
		busy            int
		atLeast, atMost time.Duration
	}{
		{"by the gauge", "vllm", time.Minute, 0, work, work + time.Second},
		{"by the gauge, not for ever", "vllm", 2 * time.Second, 8, 2 * time.Second, 2 * time.Second},
		{"by the time to a first token", "openai", time.Minute, 0, work, work + time.Second},
		{"by it where the gauge says nothing that can be", "vllm, NaN", time.Minute, 0, work, work + time.Second},
		{"by the time to a first token, not for ever", "openai", 2 * time.Second, 1, 2 * time.Second, 2 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				busyUntil := time.Now()
				completions := &fake{answer: func(w http.ResponseWriter, _ *http.Request, _ map[string]any) {
					time.Sleep(20*time.Millisecond + time.Duration(gauge(busyUntil))*100*time.Millisecond)
					writeCompletion(w)
				}}
				d := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/metrics" && test.engine == "vllm" {
						fmt.Fprintf(w, "vllm:num_requests_running %d\nvllm:num_requests_waiting 0\n", gauge(busyUntil))
						return
					}
					if r.URL.Path == "/metrics" && test.engine == "vllm, NaN" {
						fmt.Fprint(w, "vllm:num_requests_running NaN\nvllm:num_requests_waiting -3\n")
						return
					}
					completions.ServeHTTP(w, r)
				}))
				engine, _, _ := strings.Cut(test.engine, ",")
				s := open(t, cellOf(t, "http://engine", engine), d)
				if busy := s.Quiesce(t.Context(), time.Minute); busy != 0 {
					t.Errorf("idle, and %d busy", busy)
				}
				start := time.Now()
				busyUntil = start.Add(work)
				busy := s.Quiesce(t.Context(), test.limit)
				if took := time.Since(start); busy != test.busy || took < test.atLeast || took > test.atMost {
					t.Errorf("%d busy after %v, want %d", busy, took, test.busy)
				}
				time.Sleep(work) // until the last answer is done
			})
		})
	}
}

func TestCountTokens(t *testing.T) {
	for _, test := range []struct {
		name, engine string
		sets         []string
		status       int
		reply        string
		n            int
		ok           bool
		says         string
		body         string
	}{
		{"vllm", "vllm", nil, 200, `{"count":2,"max_model_len":4096,"tokens":[785,653],"token_strs":null}`, 2, true, "",
			`{"model":"org/model","prompt":"import os","add_special_tokens":true}`},
		{"in a chat", "sglang", []string{`contract/endpoint="chat"`}, 200, `{"tokens":[785,653],"count":2,"max_model_len":4096}`, 2, true, "",
			`{"model":"org/model","prompt":"import os","add_special_tokens":false}`},
		{"llamacpp", "llamacpp", nil, 200, `{"tokens":[787,655,3]}`, 3, true, "",
			`{"model":"org/model","content":"import os","add_special_tokens":true,"add_special":true}`},
		{"not offered", "vllm", nil, 404, `{"detail":"Not Found"}`, 0, false, "", ""},
		{"broken", "vllm", nil, 500, `{"error":{"message":"no tokenizer"}}`, 0, false, "500: no tokenizer", ""},
		{"nonsense", "vllm", nil, 200, `<html>`, 0, false, "POST /tokenize", ""},
		{"no such thing", "openai", nil, 0, "", 0, false, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var body string
			completions := new(fake)
			server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/tokenize" {
					completions.ServeHTTP(w, r)
					return
				}
				text := make([]byte, r.ContentLength)
				_, _ = r.Body.Read(text)
				body = string(text)
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.reply)
			})
			synctest.Test(t, func(t *testing.T) {
				s := open(t, cellOf(t, "http://engine", test.engine, test.sets...), serve(t, server))
				n, ok, err := s.CountTokens(t.Context(), "import os")
				if n != test.n || ok != test.ok {
					t.Errorf("%d, %v, %v", n, ok, err)
				}
				if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
					t.Error(err)
				}
				if test.body != "" {
					if diff := cmp.Diff(decode(t, test.body), decode(t, body)); diff != "" {
						t.Error(diff)
					}
				}
			})
		})
	}
}

func TestParseMetrics(t *testing.T) {
	m := parseMetrics([]byte("# HELP a b\na 1\na{x=\"1\",y=\"\\\"q\\\\\\n\",} +Inf\nb {z = \"}\"} 2.5e3 1700\n\nbroken{x=\"\nno_value{}\nc{x=1} 2\nd one\n"))
	want := metrics{
		"a": {{"a", map[string]string{}, 1}, {"a", map[string]string{"x": "1", "y": "\"q\\\n"}, math.Inf(1)}},
		"b": {{"b", map[string]string{"z": "}"}, 2500}},
	}
	delete(m, "b")
	delete(want, "b")
	if diff := cmp.Diff(want, m, cmp.AllowUnexported(series{})); diff != "" {
		t.Error(diff)
	}
	if total, ok := m.sum("a", "none"); !ok || total != 1 {
		t.Errorf("sum %v, %v", total, ok)
	}
	if total, ok := parseMetrics([]byte("g NaN\ng{x=\"1\"} -3\ng{x=\"2\"} +Inf\n")).sum("g"); ok {
		t.Errorf("the sum of what are no counts is %v", total)
	}
	if _, ok := m.sum("none", ""); ok {
		t.Error("there is a sum of nothing")
	}
}

func FuzzParseMetrics(f *testing.F) {
	f.Add("vllm:cache_config_info{block_size=\"128\",x=\"a\\\"b\"} 1.0\n# TYPE x gauge\nx 2 3\n")
	f.Add("a{")
	f.Add("a{b=\"c\\")
	f.Fuzz(func(t *testing.T, page string) {
		for name, all := range parseMetrics([]byte(page)) {
			for _, s := range all {
				if s.name != name || name == "" || strings.ContainsAny(name, "{ \t\n") {
					t.Fatalf("%q under %q", s.name, name)
				}
			}
		}
	})
}

func TestSentence(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"a\n b","type":"X","param":"model","code":404}}`: "a b (model)",
		`{"error":"Unauthorized"}`:                    "Unauthorized",
		`{"detail":"Not Found"}`:                      "Not Found",
		`{"object":"error","message":"m","code":400}`: "m",
		`{"detail":[{"loc":["body","stream_options",0],"msg":"extra","input":{"ignore_eos":1}},{"loc":["body"],"msg":"bad"}]}`: "body.stream_options.0: extra; body: bad",
		`[{"error":{"message":"m"}}]`: "m",
		`"text"`:                      "text",
		`{"ok":false}`:                `{"ok":false}`,
		"<html><head><title>502 Bad Gateway</title></head>\n<body><hr>nginx</body></html>": "502 Bad Gateway nginx",
		"":         "nothing more",
		"\xff\xfe": "nothing more",
	} {
		if got := sentence([]byte(body)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
	if got := sentence([]byte(strings.Repeat("long ", 1000))); len(got) > 310 {
		t.Errorf("a sentence of %d bytes", len(got))
	}
}

func FuzzSentence(f *testing.F) {
	f.Add(`{"detail":[{"loc":[1,null],"msg":{}}]}`)
	f.Add("<script>alert(1)</script>")
	f.Fuzz(func(t *testing.T, body string) {
		got := sentence([]byte(body))
		if got == "" || strings.ContainsAny(got, "\n\r") || len(got) > 510 {
			t.Fatalf("%q", got)
		}
	})
}

func FuzzReadAnswer(f *testing.F) {
	f.Add("data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: [DONE]\n\n", true)
	f.Add("data: {\"error\":{\"code\":400,\"message\":\"m\"}}\n\n", true)
	f.Add("{\"choices\":[{\"message\":{\"content\":\"a\"}}]}", false)
	f.Fuzz(func(t *testing.T, body string, streamed bool) {
		a, err := readAnswer(strings.NewReader(body), "here", streamed)
		if err == nil && a.ended.IsZero() || !streamed && !a.first.IsZero() {
			t.Fatalf("%+v, %v", a, err)
		}
	})
}

func TestObserveGPUs(t *testing.T) {
	const (
		query = "0, GPU-aaaa, NVIDIA H100 80GB HBM3, 550.54.15, 700.00, 00000000:3B:00.0\n1, GPU-bbbb, NVIDIA H100 80GB HBM3, 550.54.15, 700.00, 00000000:5E:00.0\n" +
			"2, GPU-cccc, NVIDIA A100, 550.54.15, [N/A], 00000000:AF:00.0\n"
		banner = "| NVIDIA-SMI 550.54.15   Driver Version: 550.54.15   CUDA Version: 12.4     |\n"
	)
	for _, test := range []struct {
		name string
		sets []string
		apps string
		want map[string]any
	}{
		{"where its processes are", nil, "77, GPU-bbbb, 1000\n99, GPU-cccc, 1000\n", map[string]any{
			sweep.ObsGPUs: int64(1), sweep.ObsGPUNames: "NVIDIA H100 80GB HBM3", sweep.ObsPowerLimit: 700.0,
		}},
		{"on two", nil, "77, GPU-bbbb\n78, GPU-cccc\n", map[string]any{sweep.ObsGPUs: int64(2), sweep.ObsGPUNames: "NVIDIA A100, NVIDIA H100 80GB HBM3"}},
		{"those it may see", []string{`server/env={"CUDA_VISIBLE_DEVICES":"0,GPU-bb"}`}, "", map[string]any{
			sweep.ObsGPUs: int64(2), sweep.ObsGPUNames: "NVIDIA H100 80GB HBM3", sweep.ObsPowerLimit: 700.0,
		}},
		{"all of the host", []string{"contract/hardware/gpus=3"}, "", map[string]any{sweep.ObsGPUs: int64(3), sweep.ObsGPUNames: "NVIDIA A100, NVIDIA H100 80GB HBM3"}},
		{"some of the host", nil, "", map[string]any{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := cellOf(t, "launch", "vllm", append([]string{"contract/hardware/gpus=2"}, test.sets...)...)
			s := &Server{cell: &c.Cell, process: &Process{PIDs: func() []int { return []int{77, 78} }}}
			s.deps.Output = func(_ context.Context, name string, args ...string) ([]byte, error) {
				switch {
				case name != "nvidia-smi":
					return nil, errors.New("unexpected")
				case len(args) == 0:
					return []byte(banner), nil
				case strings.HasPrefix(args[0], "--query-gpu"):
					return []byte(query), nil
				}
				return []byte(test.apps), nil
			}
			got := map[string]any{}
			s.observeGPUs(t.Context(), got)
			if n, _ := test.want[sweep.ObsGPUs].(int64); int(n) != len(s.gpus) || n > 0 && s.gpus[0].bus == "" {
				t.Errorf("it goes on with %+v", s.gpus)
			}
			test.want[sweep.ObsDriver], test.want[sweep.ObsCUDA] = "550.54.15", "12.4"
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
