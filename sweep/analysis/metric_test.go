package analysis_test

import (
	"testing"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/analysis"
)

// A metric that Needs and Exists promise is one that a block of so many requests has, and one that they do not is not.
func TestWhatABlockCanHave(t *testing.T) {
	for metric, needs := range map[string]int{
		"goodput_req_s": 0, "output_rate": 0, "ttft_p50": 5, "ttft_p90": 29, "e2e_p95": 59, "tpot_p99": 1000, "gap_p99": 1000, "gap_p95": 0,
	} {
		if got := analysis.Needs(metric); got != needs {
			t.Errorf("%s needs %d, want %d", metric, got, needs)
		}
		for _, n := range []int{max(needs, 10) - 1, max(needs, 10)} {
			var rs []*sweep.Request
			for i := range n {
				rs = append(rs, answered(int64(i), tokens(40, 5, 16)))
			}
			cell := openCell()
			values := summarise(t, cell, window(0, int64(n), rs...)).Values(sweep.Baseline)
			if _, has := values[metric]; has != (analysis.Exists(metric, cell) && n >= needs) {
				t.Errorf("%s of %d requests: %v", metric, n, has)
			}
		}
	}
	whole := openCell(func(c *sweep.PlanCell) { c.Cell.Contract.Streaming = false }, slo(nil))
	for metric, exists := range map[string]bool{"ttft_p50": false, "tpot_p50": false, "e2e_p50": true, "goodput_req_s": false, "attainment": false, "request_rate": true} {
		if analysis.Exists(metric, whole) != exists {
			t.Errorf("%s of whole answers without a bar: %v", metric, !exists)
		}
	}
}
