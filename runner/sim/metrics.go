package sim

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// finish says how a request ended.
type finish int

const (
	finishStop finish = iota
	finishLength
	finishAbort
	finishes
)

func (f finish) String() string { return [finishes]string{"stop", "length", "abort"}[f] }

// counts is what the scheduler has counted since the launch.
type counts struct {
	promptTokens, generationTokens int
	cacheQueries, cacheHits        int // in tokens
	preemptions, rejections        int
	finished                       [finishes]int
	queued                         tally // until first scheduled
	firstToken                     tally // from received
	total                          tally // from received to the last token
}

// tally is the sum and number of durations.
type tally struct {
	n   int
	sum time.Duration
}

func (t *tally) add(d time.Duration) {
	t.n++
	t.sum += d
}

// snapshot is what /metrics shows of a moment.
type snapshot struct {
	counts
	running, waiting int
	usage            float64 // share of blocks held, 0 to 1
}

func (d *scheduler) snapshot() snapshot {
	return snapshot{
		counts:  d.counts,
		running: len(d.running),
		waiting: len(d.waiting),
		usage:   1 - float64(d.pool.free)/float64(d.pool.total()),
	}
}

// exposition builds the text format of Prometheus, with the labels that every metric has.
type exposition struct {
	text   []byte
	labels string
}

func (x *exposition) family(name, kind, help string) {
	x.text = fmt.Appendf(x.text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (x *exposition) sample(name, labels string, v float64) {
	x.text = append(x.text, name...)
	x.text = append(x.text, '{')
	x.text = append(x.text, x.labels...)
	x.text = append(x.text, labels...)
	x.text = append(x.text, "} "...)
	x.text = strconv.AppendFloat(x.text, v, 'g', -1, 64)
	x.text = append(x.text, '\n')
}

func (x *exposition) gauge(name, help string, v float64) {
	x.family(name, "gauge", help)
	x.sample(name, "", v)
}

func (x *exposition) counter(name, help string, v int) {
	x.family(name, "counter", help)
	x.sample(name, "", float64(v))
}

// histogram has no buckets but the last: sum and count are what can be read without error.
func (x *exposition) histogram(name, help string, t tally) {
	x.family(name, "histogram", help)
	x.sample(name+"_bucket", `,le="+Inf"`, float64(t.n))
	x.sample(name+"_count", "", float64(t.n))
	x.sample(name+"_sum", "", t.sum.Seconds())
}

func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(s.exposition(s.engine.snapshot()))
}

func (s *Server) exposition(m snapshot) []byte {
	x := exposition{labels: fmt.Sprintf(`engine="0",model_name=%s`, s.quotedName)}
	x.gauge("vllm:num_requests_running", "Sequences that are being computed.", float64(m.running))
	x.gauge("vllm:num_requests_waiting", "Sequences in the scheduler's queue.", float64(m.waiting))
	x.gauge("vllm:kv_cache_usage_perc", "Share of key-value blocks held, 0 to 1.", m.usage)
	x.counter("vllm:prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache.", m.cacheQueries)
	x.counter("vllm:prefix_cache_hits_total", "Prompt tokens found in the prefix cache.", m.cacheHits)
	x.counter("vllm:num_preemptions_total", "Sequences that lost their blocks and were computed anew.", m.preemptions)
	x.counter("vllm:prompt_tokens_total", "Prompt tokens processed.", m.promptTokens)
	x.counter("vllm:generation_tokens_total", "Tokens generated.", m.generationTokens)
	x.family("vllm:request_success_total", "counter", "Requests that ended, by reason.")
	for f, n := range m.finished {
		x.sample("vllm:request_success_total", fmt.Sprintf(`,finished_reason="%v"`, finish(f)), float64(n))
	}
	x.family("vllm:admission_rejections_total", "counter", "Requests refused for a full queue.")
	x.sample("vllm:admission_rejections_total", `,reason="max_num_queued_reqs"`, float64(m.rejections))
	x.histogram("vllm:time_to_first_token_seconds", "From receipt to the first token.", m.firstToken)
	x.histogram("vllm:e2e_request_latency_seconds", "From receipt to the last token.", m.total)
	x.histogram("vllm:request_queue_time_seconds", "In the scheduler's queue.", m.queued)
	x.family("process_start_time_seconds", "gauge", "When this process began, in Unix seconds.")
	x.text = fmt.Appendf(x.text, "process_start_time_seconds %.2f\n", float64(s.started.UnixMilli())/1e3)
	x.family("vllm:cache_config_info", "gauge", "The cache's configuration.")
	caching := "False"
	if s.cfg.EnablePrefixCaching {
		caching = "True"
	}
	x.sample("vllm:cache_config_info", fmt.Sprintf(`,block_size="%d",num_gpu_blocks="%d",enable_prefix_caching="%s"`,
		s.cfg.BlockSize, s.cfg.NumGPUBlocks, caching), 1)
	return x.text
}
