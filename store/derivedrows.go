package store

import "github.com/inference-sweep/sweep/sweep"

// The columns of the derived rows, in one place for writing and reading.

func derivedTrialColumns(r *sweep.TrialRow) []column {
	return []column{
		{"trial", integer{&r.Trial}},
		{"verdict", maybeText{&r.Verdict}},
		{"flags", list{&r.Flags}},
		{"due", maybeInt{&r.Due}},
		{"sent", maybeInt{&r.Sent}},
		{"ok", maybeInt{&r.OK}},
		{"failed", maybeInt{&r.Failed}},
		{"offered_rate", maybeReal{&r.OfferedRate}},
		{"achieved_rate", maybeReal{&r.AchievedRate}},
		{"inflight_mean", maybeReal{&r.InflightMean}},
		{"inflight_max", maybeReal{&r.InflightMax}},
		{"window_s", maybeReal{&r.WindowS}},
		{"cached_share", maybeReal{&r.CachedShare}},
	}
}

func latencyColumns(r *sweep.LatencyRow) []column {
	return []column{
		{"cell", text{&r.Cell}},
		{"block", block{&r.Block}},
		{"phase", text{(*string)(&r.Phase)}},
		{"metric", text{&r.Metric}},
		{"n", integer{&r.N}},
		{"error_share", maybeReal{&r.ErrorShare}},
		{"mean", maybeReal{&r.Mean}},
		{"sd", maybeReal{&r.SD}},
		{"min", maybeReal{&r.Min}},
		{"p50", maybeReal{&r.P50}},
		{"p90", maybeReal{&r.P90}},
		{"p95", maybeReal{&r.P95}},
		{"p99", maybeReal{&r.P99}},
		{"max", maybeReal{&r.Max}},
		{"blocks", count{&r.Blocks}},
		{"left_out", count{&r.LeftOut}},
		{"verdict", maybeText{&r.Verdict}},
		{"flags", list{&r.Flags}},
	}
}

func settlingColumns(r *sweep.SettlingRow) []column {
	return []column{
		{"cell", text{&r.Cell}},
		{"block", block{&r.Block}},
		{"trial", integer{&r.Trial}},
		{"n", integer{&r.N}},
		{"warmup_n", integer{&r.WarmupN}},
		{"cut_n", maybeInt{&r.CutN}},
		{"found_ms", maybeReal{&r.FoundMS}},
		{"warmup_ms", maybeReal{&r.WarmupMS}},
		{"settled", maybeBool{&r.Settled}},
		{"ttft_ms", maybeReal{&r.TTFTMS}},
		{"ttft_cut_ms", maybeReal{&r.TTFTCutMS}},
	}
}

func goodputColumns(r *sweep.GoodputRow) []column {
	return []column{
		{"cell", text{&r.Cell}},
		{"block", block{&r.Block}},
		{"due", maybeInt{&r.Due}},
		{"ok", maybeInt{&r.OK}},
		{"failed", maybeInt{&r.Failed}},
		{"met", maybeInt{&r.Met}},
		{"attainment", maybeReal{&r.Attainment}},
		{"window_s", maybeReal{&r.WindowS}},
		{"request_rate", maybeReal{&r.RequestRate}},
		{"input_rate", maybeReal{&r.InputRate}},
		{"output_rate", maybeReal{&r.OutputRate}},
		{"goodput_req_s", maybeReal{&r.GoodputReqS}},
		{"goodput_tok_s", maybeReal{&r.GoodputTokS}},
		{"goodput_tok_s_gpu", maybeReal{&r.GoodputTokSGPU}},
		{"blocks", count{&r.Blocks}},
		{"left_out", count{&r.LeftOut}},
		{"moved", count{&r.Moved}},
		{"verdict", maybeText{&r.Verdict}},
		{"flags", list{&r.Flags}},
	}
}

func varianceColumns(r *sweep.VarianceRow) []column {
	return []column{
		{"cell", text{&r.Cell}},
		{"metric", text{&r.Metric}},
		{"blocks", count{&r.Blocks}},
		{"estimate", maybeReal{&r.Estimate}},
		{"estimator", maybeText{&r.Estimator}},
		{"sd", maybeReal{&r.SD}},
		{"cv", maybeReal{&r.CV}},
		{"ci_low", maybeReal{&r.CILow}},
		{"ci_high", maybeReal{&r.CIHigh}},
		{"ci_method", maybeText{&r.CIMethod}},
		{"moved", count{&r.Moved}},
		{"verdict", maybeText{&r.Verdict}},
		{"flags", list{&r.Flags}},
	}
}

func comparisonColumns(r *sweep.ComparisonRow) []column {
	return []column{
		{"cell", text{&r.Cell}},
		{"reference", text{&r.Reference}},
		{"factor", maybeText{&r.Factor}},
		{"metric", text{&r.Metric}},
		{"blocks", count{&r.Blocks}},
		{"ratio", maybeReal{&r.Ratio}},
		{"ci_low", maybeReal{&r.CILow}},
		{"ci_high", maybeReal{&r.CIHigh}},
		{"p", maybeReal{&r.P}},
		{"p_holm", maybeReal{&r.PHolm}},
		{"margin", real{&r.Margin}},
		{"test", maybeText{&r.Test}},
		{"outcome", text{&r.Outcome}},
		{"moved", count{&r.Moved}},
		{"flags", list{&r.Flags}},
	}
}

func flagColumns(f *sweep.Flag) []column {
	return []column{
		{"cell", maybeText{&f.Cell}},
		{"block", block{&f.Block}},
		{"code", text{&f.Code}},
		{"severity", text{(*string)(&f.Severity)}},
		{"detail", text{&f.Detail}},
	}
}
