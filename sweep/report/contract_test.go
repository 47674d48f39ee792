package report

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/inference-sweep/sweep/sweep"
)

// TestPhrases says cells that use each alternative of the contract.
func TestPhrases(t *testing.T) {
	closed := loads(t, `{"closed":{"clients":1}}`)
	for _, c := range []struct {
		name string
		say  func(*sweep.Cell) []string
		cell string
		want string
	}{
		{"adapter", sayModel, `{"contract":{"model":{"id":"m","revision":"0123456789abcdef0123","adapter":{"id":"a","revision":"abcdefa"}}}}`,
			"m, revision 0123456789ab, adapter a revision abcdefa"},
		{"hardware", sayHardware, `{"target":"launch","contract":{"hardware":{"gpu":"H100","gpus":2,"driver":"550","cuda":"12.4","powerLimit":500}}}`,
			"2 × H100, driver 550, CUDA 12.4, limited to 500 W, target launch"},
		{"shared prompt", sayWorkload, `{"contract":{"prompt":{"length":{"uniform":{"min":10,"max":20}},"shared":{"tokens":8,"groups":2}},"output":{"length":{"trace":"out.txt"}}}}`,
			"prompt uniform 10 to 20 tokens, its first 8 shared in 2 groups, output the lengths in out.txt"},
		{"lognormal", sayWorkload, `{"contract":{"prompt":{"length":{"lognormal":{"median":100,"sigma":0.5}}},"output":{"length":{"fixed":1}}}}`,
			"prompt lognormal (median 100, sigma 0.5) tokens, output 1 token"},
		{"sampling", saySampling, `{"contract":{"sampling":{"temperature":0.7,"topP":0.9,"topK":40,"seed":7,"ignoreEOS":false}}}`,
			"temperature 0.7, top-p 0.9, top-k 40, seed 7, ending where the model ends"},
		{"extra", sayRequest, `{"contract":{"endpoint":"chat","streaming":false,"request":{"extra":{"n":2,"x":{"y":1}},"headers":{"X-A":"b"}}}}`,
			`chat endpoint, whole answers, n 2, x {"y":1}, header X-A`},
		{"cold cache", sayCache, `{"contract":{"prefixCache":{"enabled":true,"state":"cold","by":"reset"}}}`,
			"prefix cache on and cold by a reset before each trial"},
		{"warm cache", sayCache, `{"contract":{"prefixCache":{"enabled":true,"state":"warm","by":"salt"}}}`, "prefix cache on and warm"},
		{"gamma", sayLoad, `{"contract":{"load":{"open":{"rate":0.5,"arrival":"gamma","shape":2,"maxInFlight":9}}}}`,
			"open loop, 0.5 requests/s, gamma gaps of shape 2, at most 9 in flight"},
		{"closed", sayLoad, `{"contract":{"load":{"closed":{"clients":4,"think":"1s"}}}}`, "closed loop, 4 clients, thinking 1s between requests"},
		{"burst", sayLoad, `{"contract":{"load":{"burst":{}}}}`, "burst, everything at once"},
		{"no SLO", new(scope).saySLO(), `{"contract":{}}`, "none"},
		{"closed SLO", closed.saySLO(), `{"contract":{"load":{"closed":{"clients":1}},"slo":{"e2e":"1m30s","attainment":0.95}}}`,
			"E2E ≤ 1m30s, judged from send time, meant for 95 % of requests"},
		{"steady", sayMeasure, `{"measure":{"requests":60},"warmup":{"until":"steady","duration":"30s"}}`,
			"60 requests, after a warm-up until latencies settle (at most 30 s)"},
		{"no warm-up", sayMeasure, `{"measure":{"duration":"2s"},"warmup":{"requests":0}}`, "2 s, after no warm-up"},
	} {
		var cell sweep.Cell
		if err := json.Unmarshal([]byte(c.cell), &cell); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.say(&cell), ", "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// loads is the scope of cells with these loads.
func loads(t *testing.T, loads ...string) *scope {
	t.Helper()
	s := &scope{}
	for _, load := range loads {
		c := &sweep.PlanCell{}
		if err := json.Unmarshal([]byte(`{"contract":{"load":`+load+`}}`), &c.Cell); err != nil {
			t.Fatal(err)
		}
		s.cells = append(s.cells, subject{cell: c})
	}
	return s
}

// TestJudgedFrom: where loads differ in what their SLO counts from, it is said of each.
func TestJudgedFrom(t *testing.T) {
	open, closed, burst := `{"open":{"rate":1}}`, `{"closed":{"clients":1}}`, `{"burst":{}}`
	for _, c := range []struct {
		loads []string
		want  string
	}{
		{[]string{open, open}, "judged from due time"},
		{[]string{open, burst}, "judged from due time"},
		{[]string{closed}, "judged from send time"},
		{[]string{open, closed}, "judged from due time in open loops and from send time in closed loops"},
		{[]string{closed, burst}, "judged from due time in bursts and from send time in closed loops"},
		{[]string{burst, closed, open}, "judged from due time in open loops and bursts and from send time in closed loops"},
	} {
		if got := loads(t, c.loads...).judgedFrom(); got != c.want {
			t.Errorf("%v: %q, want %q", c.loads, got, c.want)
		}
	}
}

// TestMerge: clauses that differ are listed once each, in the order of the cells, and what they share is said once.
func TestMerge(t *testing.T) {
	for _, c := range []struct {
		said [][]string
		want string
	}{
		{[][]string{{"a", "b"}, {"a", "b"}}, "a, b"},
		{[][]string{{"open loop", "8 requests/s"}, {"open loop", "1 requests/s"}, {"open loop", "8 requests/s"}}, "open loop, {8 | 1} requests/s"},
		{[][]string{{"max-num-seqs 16"}, {"max-num-seqs 4"}}, "max-num-seqs {16 | 4}"},
		{[][]string{{"closed loop", "2 clients"}, {"burst"}}, "{closed loop, 2 clients | burst}"},
		{[][]string{{"x y"}, {"x y z"}}, "x {y | y z}"},
		{[][]string{{"a b a"}, {"a"}}, "{a b a | a}"},
		{nil, ""},
	} {
		if got := merge(c.said); got != c.want {
			t.Errorf("%v: %q, want %q", c.said, got, c.want)
		}
	}
	var many [][]string
	for i := range 20 {
		many = append(many, []string{letter(i) + " rows"})
	}
	if got := merge(many); !strings.Contains(got, "(20 values)") || strings.Count(got, variesMark) != valuesShown-1 {
		t.Errorf("%q", got)
	}
}

// TestUnequalIntervals: an end that rounding would turn into zero keeps its digits.
func TestUnequalIntervals(t *testing.T) {
	x, lo, hi := 102.0, 2.6, 4000.0
	if got := interval(&x, &lo, &hi).String(); got != "102 [3, 4000]" {
		t.Errorf("%q", got)
	}
}

// TestFold: columns are dealt in order, groups stay whole, and each panel begins with the keys.
func TestFold(t *testing.T) {
	parts := []block{{[]int{0}, 10}, {[]int{1}, 20}, {[]int{2, 3}, 30}, {[]int{4}, 5}}
	for width, want := range map[int][][]int{
		200: {{0, 1, 2, 3, 4}},
		64:  {{0, 1}, {0, 2, 3, 4}},
		45:  {{0, 1}, {0, 2, 3}, {0, 4}},
		1:   {{0, 1}, {0, 2, 3}, {0, 4}},
	} {
		got := fold(parts, 1, width)
		if !slices.EqualFunc(got, want, slices.Equal[[]int]) {
			t.Errorf("at %d: %v, want %v", width, got, want)
		}
	}
}
