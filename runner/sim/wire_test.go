package sim

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// onTCP serves on a real socket until the test ends and returns its address.
func onTCP(t testing.TB, cfg Config) (*Server, string) {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s, l.Addr().String()
}

// quick is a configuration for real time: it starts at once and steps fast.
func quick() Config {
	cfg := Default()
	cfg.Startup, cfg.CompilePenalty, cfg.FrontEnd = 0, 0, 0
	cfg.StepBase, cfg.StepPerSeq, cfg.StepPerPromptToken = 200*time.Microsecond, 0, 0
	return cfg
}

func post(t *testing.T, client *http.Client, url, body string) (int, string) {
	t.Helper()
	resp, err := client.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(all)
}

func TestRefusals(t *testing.T) {
	cfg := quick()
	cfg.MaxModelLen = 100
	_, addr := onTCP(t, cfg)
	for _, c := range []struct {
		path, body string
		status     int
		says       string
	}{
		{"/v1/completions", `{"prompt":`, 400, "not understood"},
		{"/v1/completions", `{"prompt":"x"} more`, 400, "not understood"},
		{"/v1/completions", `{}`, 400, "prompt is missing"},
		{"/v1/completions", `{"prompt":null}`, 400, "prompt is missing"},
		{"/v1/completions", `{"prompt":[]}`, 400, "no tokens"},
		{"/v1/completions", `{"prompt":"  "}`, 400, "no tokens"},
		{"/v1/completions", `{"prompt":["a","b"]}`, 400, "list of 2"},
		{"/v1/completions", `{"prompt":[[1],[2]]}`, 400, "list of 2"},
		{"/v1/completions", `{"prompt":[1.5]}`, 400, "something other"},
		{"/v1/completions", `{"prompt":{"a":1}}`, 400, "neither"},
		{"/v1/completions", `{"prompt":[200000]}`, 400, "200000"},
		{"/v1/completions", `{"prompt":[-1]}`, 400, "-1"},
		{"/v1/completions", `{"prompt":"x","n":2}`, 400, "n is 2"},
		{"/v1/completions", `{"prompt":"x","max_tokens":0}`, 400, "at least 1"},
		{"/v1/completions", `{"prompt":"x","max_tokens":100}`, 400, "context length"},
		{"/v1/completions", `{"prompt":"x","min_tokens":9,"max_tokens":8}`, 400, "min_tokens"},
		{"/v1/completions", `{"prompt":"` + strings.Repeat("x ", 100) + `"}`, 400, "context length"},
		{"/v1/completions", `{"prompt":"x","model":"other"}`, 404, "other"},
		{"/v1/completions", `{"prompt":"x","temperature":-1}`, 400, "temperature"},
		{"/v1/chat/completions", `{"prompt":"x"}`, 400, "messages"},
		{"/detokenize", `{"tokens":[999999]}`, 400, "999999"},
		{"/v1/completions", `{"prompt":"x","max_tokens":2,"ignore_eos":true,"unheard_of":{"a":[1]},"stop":["q"],"top_p":0.9,"top_k":5,"min_p":0.1}`, 200, "length"},
		{"/v1/completions", `{"prompt":["x"],"max_tokens":99,"ignore_eos":true}`, 200, "length"},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":null}],"max_tokens":1}`, 200, "length"},
	} {
		status, body := post(t, http.DefaultClient, "http://"+addr+c.path, c.body)
		if status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s %.60s: %d %s; want %d with %q", c.path, c.body, status, body, c.status, c.says)
		}
		if status != http.StatusOK && !json.Valid([]byte(body)) {
			t.Errorf("%s: %s is not JSON", c.body, body)
		}
	}
}

func TestKey(t *testing.T) {
	cfg := quick()
	cfg.APIKey = "secret"
	_, addr := onTCP(t, cfg)
	for _, c := range []struct {
		path, key string
		status    int
	}{
		{"/v1/models", "", 401}, {"/v1/models", "wrong", 401}, {"/v1/models", "secret", 200}, {"/health", "", 200}, {"/metrics", "", 200},
	} {
		r, _ := http.NewRequest(http.MethodGet, "http://"+addr+c.path, nil)
		if c.key != "" {
			r.Header.Set("Authorization", "Bearer "+c.key)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s with key %q: %d, want %d", c.path, c.key, resp.StatusCode, c.status)
		}
	}
}

func TestStartup(t *testing.T) {
	serving(t, Default(), func(t *testing.T, s *Server, p *Pipe) {
		for _, c := range []struct {
			path, body string
		}{{"/health", ""}, {"/v1/models", ""}, {"/v1/completions", `{"prompt":"x","stream":true}`}} {
			status, answer := ask(t, p, c.path, c.body)
			if status != http.StatusServiceUnavailable || !strings.Contains(answer[0], "Loading model") {
				t.Errorf("%s at the start: %d %s", c.path, status, answer[0])
			}
		}
		time.Sleep(s.cfg.Startup)
		if status, _ := ask(t, p, "/health", ""); status != http.StatusOK {
			t.Errorf("health after the start: %d", status)
		}
	})
}

// With its launch and first request, a start costs about what the demonstration counts for one: 0.45 s.
func TestColdStart(t *testing.T) {
	serving(t, Default(), func(t *testing.T, s *Server, p *Pipe) {
		start := time.Now()
		time.Sleep(s.cfg.Startup)
		body := fmt.Sprintf(`{"prompt":[%s1000],"max_tokens":16,"ignore_eos":true,"stream":true}`, strings.Repeat("1000,", 127))
		ask(t, p, "/v1/completions", body)
		if took := time.Since(start); took < 350*time.Millisecond || took > 450*time.Millisecond {
			t.Errorf("the start took %v", took)
		}
	})
}

func TestFullQueue(t *testing.T) {
	cfg := exact()
	cfg.MaxNumSeqs, cfg.MaxNumQueuedReqs = 1, 2
	serving(t, cfg, func(t *testing.T, s *Server, p *Pipe) {
		time.Sleep(s.cfg.Startup)
		var all sync.WaitGroup
		statuses := make([]int, 5)
		for i := range statuses {
			all.Go(func() {
				statuses[i], _ = ask(t, p, "/v1/completions", `{"prompt":"x","max_tokens":200,"ignore_eos":true}`)
			})
			time.Sleep(100 * time.Millisecond)
		}
		all.Wait()
		if want := [5]int{200, 200, 200, 503, 503}; [5]int(statuses) != want {
			t.Errorf("statuses %v, want %v", statuses, want)
		}
		if m := s.engine.snapshot(); m.rejections != 2 || m.finished[finishLength] != 3 {
			t.Errorf("afterwards: %+v", m)
		}
	})
}

func TestEndings(t *testing.T) {
	serving(t, exact(), func(t *testing.T, s *Server, p *Pipe) {
		time.Sleep(s.cfg.Startup)
		lengths := make(map[int]bool)
		for i := range 40 {
			_, answer := ask(t, p, "/v1/completions", fmt.Sprintf(`{"prompt":"p%d","max_tokens":30,"min_tokens":5,"temperature":0}`, i))
			var got struct {
				Choices []struct {
					Text         string
					FinishReason string `json:"finish_reason"`
				}
				Usage struct {
					CompletionTokens int `json:"completion_tokens"`
				}
			}
			if err := json.Unmarshal([]byte(answer[0]), &got); err != nil {
				t.Fatal(err)
			}
			n := got.Usage.CompletionTokens
			words := len(strings.Fields(got.Choices[0].Text))
			if got.Choices[0].FinishReason != "stop" || n < 6 || n > 30 || words != n-1 {
				t.Errorf("an answer of %d tokens and %d words ended by %q", n, words, got.Choices[0].FinishReason)
			}
			lengths[n] = true
		}
		if len(lengths) < 10 {
			t.Errorf("40 answers have only %d different lengths", len(lengths))
		}
	})
}

func TestEqualPromptsEqualAnswersAtTemperatureZero(t *testing.T) {
	_, addr := onTCP(t, quick())
	answer := func(sampling string) string {
		_, body := post(t, http.DefaultClient, "http://"+addr+"/v1/completions", `{"prompt":"x y","max_tokens":20,"ignore_eos":true,`+sampling+`}`)
		_, text, _ := strings.Cut(body, `"text":`)
		text, _, _ = strings.Cut(text, `"logprobs"`)
		return text
	}
	for _, c := range []struct {
		a, b  string
		equal bool
	}{
		{`"temperature":0`, `"temperature":0`, true},
		{`"seed":7`, `"seed":7`, true},
		{`"seed":7`, `"seed":8`, false},
		{`"temperature":1`, `"temperature":1`, false},
	} {
		if got := answer(c.a) == answer(c.b); got != c.equal {
			t.Errorf("%s and %s: equal is %v", c.a, c.b, got)
		}
	}
}

// One connection serves request after request, streamed or refused.
func TestKeepAlive(t *testing.T) {
	_, addr := onTCP(t, quick())
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	for i := range 6 {
		body := []string{`{"prompt":"x","max_tokens":5,"ignore_eos":true,"stream":true}`, `{"prompt":"x","n":3}`, `{"prompt":"x"}`}[i%3]
		if _, err := conn.Write([]byte(rawPost("/v1/completions", body))); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(resp.Body)
		if err != nil || resp.Close {
			t.Fatalf("request %d: %v, connection closed is %v, body %s", i, err, resp.Close, all)
		}
		if i%3 == 0 && strings.Count(string(all), "data: ") != 6 {
			t.Errorf("request %d: %s", i, all)
		}
	}
}

// A client that goes away, while its request streams or waits, frees its place.
func TestDisconnect(t *testing.T) {
	cfg := quick()
	cfg.MaxNumSeqs, cfg.StepBase = 1, 5*time.Millisecond
	s, addr := onTCP(t, cfg)
	open := func() net.Conn {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		raw := rawPost("/v1/completions", `{"prompt":"x","max_tokens":30000,"ignore_eos":true,"stream":true}`)
		if _, err := conn.Write([]byte(raw)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 64)); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	running, waiting := open(), open()
	until(t, "one runs and one waits", func() bool { m := s.engine.snapshot(); return m.running == 1 && m.waiting == 1 })
	waiting.Close()
	until(t, "nobody waits", func() bool { m := s.engine.snapshot(); return m.running == 1 && m.waiting == 0 })
	running.Close()
	until(t, "nobody runs", func() bool {
		m := s.engine.snapshot()
		return m.running == 0 && m.usage == 0 && m.finished[finishAbort] == 2
	})
	if status, body := post(t, http.DefaultClient, "http://"+addr+"/v1/completions", `{"prompt":"x"}`); status != http.StatusOK {
		t.Errorf("the next request: %d %s", status, body)
	}
	until(t, "the load is gone", func() bool { return s.load.Load() == 0 })
}

// until waits for a state that has to come, however slow the machine is.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestManyStreamsAtOnce(t *testing.T) {
	s, addr := onTCP(t, quick())
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	const streams, tokens = 200, 20
	var all sync.WaitGroup
	for i := range streams {
		all.Go(func() {
			body := fmt.Sprintf(`{"prompt":"p%d","max_tokens":%d,"ignore_eos":true,"stream":true,"return_token_ids":true}`, i, tokens)
			status, got := post(t, client, "http://"+addr+"/v1/completions", body)
			if n := strings.Count(got, `"token_ids":[`); status != http.StatusOK || n < tokens || !strings.HasSuffix(got, "data: [DONE]\n\n") {
				t.Errorf("stream %d: status %d, %d events", i, status, n)
			}
		})
	}
	all.Wait()
	if m := s.engine.snapshot(); m.generationTokens != streams*tokens || m.finished[finishLength] != streams {
		t.Errorf("afterwards: %+v", m)
	}
}

// The wire adds nothing in virtual time: what a client reads is what the model says.
func TestWireKeepsTheModelsTimes(t *testing.T) {
	cfg := exact()
	serving(t, cfg, func(t *testing.T, s *Server, p *Pipe) {
		time.Sleep(cfg.Startup)
		conn, err := p.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		start := time.Now()
		go conn.Write([]byte(rawPost("/v1/completions", `{"prompt":[1000,1001,1002,1003],"max_tokens":4,"ignore_eos":true,"stream":true}`)))
		var at []time.Duration
		buf := make([]byte, 4096)
		for len(at) < 5 {
			if _, err := conn.Read(buf); err != nil {
				t.Fatal(err)
			}
			at = append(at, time.Since(start))
		}
		first := cfg.FrontEnd + gather + cfg.StepBase + 4*cfg.StepPerPromptToken
		for i, want := range []time.Duration{0, first, first + 3100*time.Microsecond, first + 6200*time.Microsecond, first + 9300*time.Microsecond} {
			if at[i] != want {
				t.Errorf("read %d came after %v, want %v", i, at[i], want)
			}
		}
	})
}

func TestMetricsCount(t *testing.T) {
	_, addr := onTCP(t, quick())
	for range 2 {
		post(t, http.DefaultClient, "http://"+addr+"/v1/completions",
			`{"prompt":"`+strings.Repeat("w ", 40)+`","max_tokens":5,"ignore_eos":true,"temperature":0}`)
	}
	resp, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`vllm:prompt_tokens_total{engine="0",model_name="sim/small"} 80`,
		`vllm:generation_tokens_total{engine="0",model_name="sim/small"} 10`,
		`vllm:prefix_cache_queries_total{engine="0",model_name="sim/small"} 80`,
		`vllm:prefix_cache_hits_total{engine="0",model_name="sim/small"} 32`,
		`vllm:request_success_total{engine="0",model_name="sim/small",finished_reason="length"} 2`,
		`vllm:request_queue_time_seconds_count{engine="0",model_name="sim/small"} 2`,
		`vllm:cache_config_info{engine="0",model_name="sim/small",block_size="16",num_gpu_blocks="8192",enable_prefix_caching="True"} 1`,
	} {
		if !strings.Contains(string(all), line+"\n") {
			t.Errorf("no line %s in\n%s", line, all)
		}
	}
}
