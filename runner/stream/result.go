package stream

import (
	"fmt"
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// Ending says how an exchange came to its end: Kind is empty where the answer's body was complete or [DONE] came, else
// one of sweep's Err kinds, with a message.
type Ending struct{ Kind, Message string }

// Marks of a row.
const (
	MarkNoDone    = "no-done"   // a finish reason came, [DONE] did not
	MarkNoFinish  = "no-finish" // the answer ended without a finish reason
	MarkNoUsage   = "no-usage"  // usage was asked for and no total came
	MarkMalformed = "malformed" // an event could not be read; "malformed-events=N" beside it where there were more
	// The kept connection died before any response byte, and the request was sent once more on a new one.
	MarkRetriedStale = "retried-stale"
	MarkTTFTByUsage  = "ttft-by-usage" // only the growing usage said that the first token had come
)

// Fill writes what the answer said into its row: tokens, times of tokens, finish reason, model, text, marks, and the
// status, which is ok or the first reason why not. What the answer did not say stays as it is.
func (d *Decoder) Fill(rec *sweep.Request, end Ending) {
	f := &d.facts
	rec.FirstTokenNS, rec.AnswerNS, rec.LastTokenNS = f.first, f.answer, f.last
	if f.answer == sweep.None && !f.thought {
		rec.AnswerNS = f.first
	}
	rec.FirstTokens, rec.Chunks, rec.ChunkLog = f.firstTokens, f.chunks, slices.Clone(f.log)
	if f.chunks == 0 {
		rec.ChunkLog = nil
	}
	f.count(rec)
	rec.ServerQueueNS = f.queueNS
	rec.FinishReason = f.finishReason()
	if f.model != "" {
		rec.ResponseModel = f.model
	}
	if d.opts.KeepText {
		rec.Text = f.text()
	}
	why := d.verdict(end)
	d.mark(rec, why.Kind == "")
	conclude(rec, why)
}

// conclude gives a row its status.
func conclude(rec *sweep.Request, why Ending) {
	rec.Status, rec.Error, rec.ErrorMessage = sweep.RequestOK, "", ""
	if why.Kind != "" {
		rec.Status, rec.Error, rec.ErrorMessage = sweep.RequestFailed, why.Kind, clip(why.Message)
	}
}

// The sources of a count of tokens.
const (
	sourceUsage = "usage"
	sourceIDs   = "token_ids"
)

// count writes the server's counts. Usage beside the choices of a stream with several choices is that of one of them,
// and no total.
func (f *facts) count(rec *sweep.Request) {
	switch {
	case f.usage.prompt >= 0:
		rec.InputTokens, rec.InputSource = f.usage.prompt, sourceUsage
	case f.promptIDs >= 0:
		rec.InputTokens, rec.InputSource = f.promptIDs, sourceIDs
	}
	switch {
	case f.usage.completion >= 0 && (f.bare || len(f.replies) <= 1):
		rec.OutputTokens, rec.OutputSource = f.usage.completion, sourceUsage
	case f.idsWhole && f.ids > 0:
		rec.OutputTokens, rec.OutputSource = f.ids, sourceIDs
	}
	rec.CachedTokens, rec.ReasoningTokens = f.usage.cached, f.usage.thinking
	if rec.CachedTokens < 0 {
		rec.CachedTokens = f.cachedN
	}
}

// finishReason is that of the only choice, or those of several in the order of their index where they differ.
func (f *facts) finishReason() string {
	switch len(f.replies) {
	case 0:
		return ""
	case 1:
		return f.replies[0].finish
	}
	var all []string
	for _, r := range f.replies {
		if r.seen {
			all = append(all, r.finish)
		}
	}
	if len(slices.Compact(slices.Clone(all))) == 1 {
		return all[0]
	}
	return strings.Join(all, ",")
}

// text is the answer; those of several choices follow each other, with a record separator (U+001E) between them.
func (f *facts) text() string {
	if len(f.replies) == 1 {
		return string(f.replies[0].text)
	}
	var all []string
	for _, r := range f.replies {
		if r.seen {
			all = append(all, string(r.text))
		}
	}
	return strings.Join(all, "\x1e")
}

func (f *facts) finishedBy(reason string) bool {
	return slices.ContainsFunc(f.replies, func(r reply) bool { return r.finish == reason })
}

func (f *facts) anyFinish() bool {
	return slices.ContainsFunc(f.replies, func(r reply) bool { return r.finish != "" })
}

// verdict is why a row failed, with an empty kind where it did not. What the server says of itself comes before how the
// connection ended, and an answer that has its finish reason or [DONE] is complete however the connection ended.
func (d *Decoder) verdict(end Ending) Ending {
	f := &d.facts
	switch {
	case d.fault != nil:
		return Ending{sweep.ErrServer, d.fault.String()}
	case d.framer.tooLong:
		return Ending{sweep.ErrLineTooLong, fmt.Sprintf("a line or answer of over %d bytes", LineLimit)}
	case f.finishedBy("abort"):
		return Ending{sweep.ErrAborted, "finish reason abort"}
	case f.finishedBy("error"):
		return Ending{sweep.ErrServer, "finish reason error"}
	case d.shape == whole && d.opts.Stream && orderly(end):
		return Ending{sweep.ErrNotStream, d.insteadOfStream()}
	case d.done || d.Finished():
		if f.substance {
			return Ending{}
		}
		if !d.good && d.malformed > 0 {
			return Ending{sweep.ErrMalformed, "no event could be read"}
		}
		return Ending{sweep.ErrEmpty, "the answer has no output"}
	case !orderly(end):
		return end
	case d.malformed > 0 && !d.good:
		return Ending{sweep.ErrMalformed, messageOf(d.framer.part)}
	case f.chunks > 0 || d.shape == whole && len(d.framer.part) > 0:
		return Ending{sweep.ErrTruncated, "the answer ended without a finish reason"}
	}
	return Ending{sweep.ErrEOF, "the answer ended before any output"}
}

// insteadOfStream says what came where a stream was asked for.
func (d *Decoder) insteadOfStream() string {
	if d.good {
		return "a whole answer came where a stream was asked for"
	}
	return messageOf(d.framer.part)
}

// orderly says that the server ended the answer, or its connection, without a reset and in time.
func orderly(end Ending) bool { return end.Kind == "" || end.Kind == sweep.ErrEOF }

func (f *fault) String() string {
	if f.code == sweep.None {
		return f.message
	}
	return fmt.Sprintf("%s (code %d)", f.message, f.code)
}

func (d *Decoder) mark(rec *sweep.Request, ok bool) {
	add := func(is bool, mark string) {
		if is {
			rec.Marks = append(rec.Marks, mark)
		}
	}
	f := &d.facts
	add(ok && !d.done, MarkNoDone)
	add(ok && !f.anyFinish(), MarkNoFinish)
	add(d.malformed > 0, MarkMalformed)
	add(d.malformed > 1, fmt.Sprintf("malformed-events=%d", d.malformed))
	add(f.byUsage, MarkTTFTByUsage)
}
