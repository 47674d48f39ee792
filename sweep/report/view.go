package report

import (
	"slices"

	"github.com/inference-sweep/sweep/sweep"
)

// The public views, by their exact columns. A NULL is nil.

func null(x *float64) any {
	if x = finite(x); x != nil {
		return *x
	}
	return nil
}

func nullBlock(block int) any {
	if block == 0 {
		return nil
	}
	return int64(block)
}

func nullText(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func nullCount(n int64) any {
	if n == sweep.None {
		return nil
	}
	return n
}

// list is never NULL: no flag is an empty list.
func list(codes []string) []string {
	if codes == nil {
		return []string{}
	}
	return codes
}

// inOrder lists rows in the order of the shown cells; rows of cells that are not shown are left out.
func inOrder[R any](s *scope, rows []R, cell func(*R) string) []*R {
	of := map[string][]*R{}
	for i := range rows {
		of[cell(&rows[i])] = append(of[cell(&rows[i])], &rows[i])
	}
	var ordered []*R
	for _, sub := range s.cells {
		ordered = append(ordered, of[sub.name]...)
	}
	return ordered
}

func (s *scope) goodputView() View {
	v := View{Columns: []string{"sweep", "cell", "block", "due", "ok", "failed", "met", "attainment", "window_s",
		"request_rate", "input_rate", "output_rate", "goodput_req_s", "goodput_tok_s", "goodput_tok_s_gpu",
		"blocks", "left_out", "moved", "verdict", "flags"}}
	for _, r := range inOrder(s, s.Derived.Goodput, func(r *sweep.GoodputRow) string { return r.Cell }) {
		v.Rows = append(v.Rows, []any{s.Plan.Name, r.Cell, nullBlock(r.Block), nullCount(r.Due), nullCount(r.OK), nullCount(r.Failed), nullCount(r.Met), null(r.Attainment),
			null(r.WindowS), null(r.RequestRate), null(r.InputRate), null(r.OutputRate), null(r.GoodputReqS),
			null(r.GoodputTokS), null(r.GoodputTokSGPU), int64(r.Blocks), int64(r.LeftOut), int64(r.Moved),
			r.Verdict, list(r.Flags)})
	}
	return v
}

func (s *scope) latencyView() View {
	v := View{Columns: []string{"sweep", "cell", "block", "phase", "metric", "n", "error_share", "mean", "sd", "min",
		"p50", "p90", "p95", "p99", "max", "blocks", "left_out", "verdict", "flags"}}
	for _, r := range inOrder(s, s.Derived.Latency, func(r *sweep.LatencyRow) string { return r.Cell }) {
		v.Rows = append(v.Rows, []any{s.Plan.Name, r.Cell, nullBlock(r.Block), string(r.Phase), r.Metric, r.N,
			null(r.ErrorShare), null(r.Mean), null(r.SD), null(r.Min), null(r.P50), null(r.P90), null(r.P95), null(r.P99),
			null(r.Max), int64(r.Blocks), int64(r.LeftOut), r.Verdict, list(r.Flags)})
	}
	return v
}

func (s *scope) varianceView() View {
	v := View{Columns: []string{"sweep", "cell", "metric", "blocks", "estimate", "estimator", "sd", "cv", "ci_low",
		"ci_high", "ci_method", "moved", "verdict", "flags"}}
	for _, r := range inOrder(s, s.Derived.Variance, func(r *sweep.VarianceRow) string { return r.Cell }) {
		v.Rows = append(v.Rows, []any{s.Plan.Name, r.Cell, r.Metric, int64(r.Blocks), null(r.Estimate), nullText(r.Estimator),
			null(r.SD), null(r.CV), null(r.CILow), null(r.CIHigh), nullText(r.CIMethod), int64(r.Moved), r.Verdict, list(r.Flags)})
	}
	return v
}

func (s *scope) comparisonView() View {
	v := View{Columns: []string{"sweep", "cell", "reference", "factor", "metric", "blocks", "ratio", "ci_low", "ci_high",
		"p", "p_holm", "margin", "test", "outcome", "moved", "flags"}}
	for _, r := range inOrder(s, s.Derived.Comparison, func(r *sweep.ComparisonRow) string { return r.Cell }) {
		v.Rows = append(v.Rows, []any{s.Plan.Name, r.Cell, r.Reference, nullText(r.Factor), r.Metric, int64(r.Blocks),
			null(r.Ratio), null(r.CILow), null(r.CIHigh), null(r.P), null(r.PHolm), r.Margin, nullText(r.Test), r.Outcome,
			int64(r.Moved), list(r.Flags)})
	}
	return v
}

// flagView has the flags as they are stored: those of the shown cells, each once, after those of the whole sweep.
func (s *scope) flagView() View {
	v := View{Columns: []string{"sweep", "cell", "block", "code", "severity", "detail"}}
	for _, f := range s.shownFlags() {
		v.Rows = append(v.Rows, []any{s.Plan.Name, nullText(f.Cell), nullBlock(f.Block), f.Code, string(f.Severity), f.Detail})
	}
	return v
}

// shownFlags are the sweep's flags, then those of the shown cells.
func (s *scope) shownFlags() []sweep.Flag {
	flags := slices.Clone(s.sweepFlags())
	for _, sub := range s.cells {
		flags = append(append(flags, sub.flags...), sub.lost...)
	}
	return flags
}
