package store

import "github.com/inference-sweep/sweep/sweep"

// The columns of the facts, in one place for writing and reading.

func requestColumns(r *sweep.Request) []column {
	return []column{
		{"seq", integer{&r.Seq}},
		{"phase", text{(*string)(&r.Phase)}},
		{"request_id", maybeText{&r.RequestID}},
		{"due_ns", maybeInt{&r.DueNS}},
		{"sent_ns", maybeInt{&r.SentNS}},
		{"queue_ns", maybeInt{&r.QueueNS}},
		{"dial_ns", maybeInt{&r.DialNS}},
		{"conn_new", boolean{&r.ConnNew}},
		{"written_ns", maybeInt{&r.WrittenNS}},
		{"ttfb_ns", maybeInt{&r.TTFBNS}},
		{"first_token_ns", maybeInt{&r.FirstTokenNS}},
		{"answer_ns", maybeInt{&r.AnswerNS}},
		{"last_token_ns", maybeInt{&r.LastTokenNS}},
		{"end_ns", maybeInt{&r.EndNS}},
		{"server_queue_ns", maybeInt{&r.ServerQueueNS}},
		{"input_asked", maybeInt{&r.InputAsked}},
		{"input_tokens", maybeInt{&r.InputTokens}},
		{"input_source", maybeText{&r.InputSource}},
		{"output_asked", maybeInt{&r.OutputAsked}},
		{"output_tokens", maybeInt{&r.OutputTokens}},
		{"output_source", maybeText{&r.OutputSource}},
		{"first_tokens", maybeInt{&r.FirstTokens}},
		{"cached_tokens", maybeInt{&r.CachedTokens}},
		{"reasoning_tokens", maybeInt{&r.ReasoningTokens}},
		{"chunks", maybeInt{&r.Chunks}},
		{"status", text{&r.Status}},
		{"error", maybeText{&r.Error}},
		{"error_message", maybeText{&r.ErrorMessage}},
		{"http_status", maybeInt{&r.HTTPStatus}},
		{"retry_after_ns", maybeInt{&r.RetryAfterNS}},
		{"finish_reason", maybeText{&r.FinishReason}},
		{"response_model", maybeText{&r.ResponseModel}},
		{"marks", list{&r.Marks}},
		{"chunk_log", blob{&r.ChunkLog}},
	}
}

// figureColumns are those of requestColumns that figures and flags are made from.
func figureColumns(r *sweep.Request) []column {
	return []column{
		{"seq", integer{&r.Seq}},
		{"phase", text{(*string)(&r.Phase)}},
		{"due_ns", maybeInt{&r.DueNS}},
		{"sent_ns", maybeInt{&r.SentNS}},
		{"queue_ns", maybeInt{&r.QueueNS}},
		{"dial_ns", maybeInt{&r.DialNS}},
		{"first_token_ns", maybeInt{&r.FirstTokenNS}},
		{"answer_ns", maybeInt{&r.AnswerNS}},
		{"last_token_ns", maybeInt{&r.LastTokenNS}},
		{"end_ns", maybeInt{&r.EndNS}},
		{"server_queue_ns", maybeInt{&r.ServerQueueNS}},
		{"input_asked", maybeInt{&r.InputAsked}},
		{"input_tokens", maybeInt{&r.InputTokens}},
		{"output_asked", maybeInt{&r.OutputAsked}},
		{"output_tokens", maybeInt{&r.OutputTokens}},
		{"output_source", maybeText{&r.OutputSource}},
		{"cached_tokens", maybeInt{&r.CachedTokens}},
		{"status", text{&r.Status}},
		{"error", maybeText{&r.Error}},
		{"response_model", maybeText{&r.ResponseModel}},
		{"chunk_log", lent{&r.ChunkLog}},
	}
}

func observationColumns(o *sweep.Observation) []column {
	return []column{
		{"trial", integer{&o.Trial}},
		{"at_ns", maybeInt{&o.AtNS}},
		{"source", text{&o.Source}},
		{"key", text{&o.Key}},
		{"value", jsonValue{&o.Value}},
	}
}

func sampleColumns(s *sweep.Sample) []column {
	return []column{
		{"trial", integer{&s.Trial}},
		{"at_ns", maybeInt{&s.AtNS}},
		{"source", text{&s.Source}},
		{"metric", text{&s.Metric}},
		{"value", real{&s.Value}},
	}
}

func trialColumns(t *sweep.TrialRecord) []column {
	return append([]column{
		{"trial", maybeID{&t.ID}},
		{"sweep", text{&t.Sweep}},
		{"cell", text{&t.Cell}},
		{"digest", text{&t.Digest}},
		{"block", count{&t.Block}},
		{"copy", count{&t.Copy}},
		{"attempt", count{&t.Attempt}},
		{"sitting", integer{&t.Sitting}},
		{"order_index", count{&t.OrderIndex}},
		{"nonce", maybeText{&t.Nonce}},
	}, trialLife(t)...)
}

// trialLife is what of a trial may change until it has ended.
func trialLife(t *sweep.TrialRecord) []column {
	return []column{
		{"launch", maybeID{&t.Launch}},
		{"node", maybeText{&t.Node}},
		{"started_at", stamp{&t.StartedAt}},
		{"workload_hash", maybeText{&t.WorkloadHash}},
		{"status", text{&t.Status}},
		{"reason", maybeText{&t.Reason}},
		{"t0_ns", maybeInt{&t.T0NS}},
		{"t1_ns", maybeInt{&t.T1NS}},
		{"end_ns", maybeInt{&t.EndNS}},
		{"cache_method", maybeText{&t.CacheMethod}},
		{"served_model", maybeText{&t.ServedModel}},
	}
}

func launchColumns(l *sweep.Launch) []column {
	return append([]column{
		{"launch", maybeID{&l.ID}},
		{"sweep", text{&l.Sweep}},
		{"sitting", integer{&l.Sitting}},
		{"ordinal", count{&l.Ordinal}},
		{"target", text{&l.Target}},
		{"setting", text{&l.Setting}},
	}, launchLife(l)...)
}

// launchLife is what of a launch may change while it lives.
func launchLife(l *sweep.Launch) []column {
	return []column{
		{"node", maybeText{&l.Node}},
		{"command", list{&l.Command}},
		{"attached", boolean{&l.Attached}},
		{"started_at", stamp{&l.StartedAt}},
		{"port_ns", maybeInt{&l.PortNS}},
		{"ready_ns", maybeInt{&l.ReadyNS}},
		{"first_token_ns", maybeInt{&l.FirstTokenNS}},
		{"stopped_at", stamp{&l.StoppedAt}},
		{"exit_code", maybeInt{&l.ExitCode}},
		{"observed", object{&l.Observed}},
		{"log", maybeText{&l.Log}},
	}
}
