package sim

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// form is how one answer looks on the wire. Its constant parts are built once, so that an event is a few appends.
type form struct {
	q         *sequence
	cfg       *Config
	chat      bool
	ids       bool   // token ids are shown
	usage     bool   // the last event is a usage
	running   bool   // every event carries a usage
	head      string // what every event begins with
	created   string // the time in seconds
	quotedID  string
	quotedTag string // system_fingerprint
	model     string // quoted
}

// form prepares the answer to a request. id is the client's own for it, or empty.
func (s *Server) form(a *asked, q *sequence, chat bool, id string) *form {
	if id == "" {
		id = fmt.Sprintf("%016x", mix(mix(1, uint64(s.cfg.Seed)), q.number))
	}
	kind, object := "cmpl-", "text_completion"
	if chat {
		kind, object = "chatcmpl-", "chat.completion.chunk"
	}
	quoted, _ := json.Marshal(kind + id)
	force := s.cfg.EnableForceIncludeUsage
	f := &form{
		q: q, cfg: &s.cfg, chat: chat, ids: a.ReturnTokenIDs,
		usage:     force || a.StreamOptions.IncludeUsage,
		running:   force || a.StreamOptions.IncludeUsage && a.StreamOptions.ContinuousUsageStats,
		created:   strconv.FormatInt(time.Now().Unix(), 10),
		quotedID:  string(quoted),
		quotedTag: `"sweep-sim-` + Version + `"`,
		model:     s.quotedName,
	}
	f.head = `{"id":` + f.quotedID + `,"object":"` + object + `","created":` + f.created + `,"model":` + f.model + `,"choices":[`
	return f
}

// event appends the event, or in front of a chat the two, that carries the answer's tokens from one index to another.
func (f *form) event(b []byte, from, to int) []byte {
	if f.chat {
		if from == 0 {
			b = f.role(b)
		}
		return f.delta(b, from, to)
	}
	b = append(append(b, "data: "...), f.head...)
	b = append(b, `{"index":0,"text":"`...)
	b = f.text(b, from, to)
	b = append(b, `","logprobs":null,"finish_reason":`...)
	b = f.reason(b, to)
	b = append(b, `,"stop_reason":null,"prompt_token_ids":`...)
	b = f.promptIDs(b, from == 0)
	b = f.tokenIDs(append(b, `,"token_ids":`...), from, to)
	return f.close(append(b, "}]"...), to)
}

// role appends the event that opens a chat's answer.
func (f *form) role(b []byte) []byte {
	b = append(append(b, "data: "...), f.head...)
	b = append(b, `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]`...)
	b = f.sofar(b, 0)
	b = f.promptIDs(append(b, `,"prompt_token_ids":`...), true)
	return append(b, `,"prompt_text":null}`+"\n\n"...)
}

func (f *form) delta(b []byte, from, to int) []byte {
	b = append(append(b, "data: "...), f.head...)
	b = append(b, `{"index":0,"delta":{"content":"`...)
	b = f.text(b, from, to)
	b = append(b, `"},"logprobs":null,"finish_reason":`...)
	b = f.reason(b, to)
	if to == f.q.target {
		b = append(b, `,"stop_reason":null`...)
	}
	b = f.tokenIDs(append(b, `,"token_ids":`...), from, to)
	return f.close(append(b, "}]"...), to)
}

// close appends the end of an event that carries tokens.
func (f *form) close(b []byte, to int) []byte {
	b = f.sofar(b, to)
	if to == f.q.target && !f.usage {
		b = append(append(b, `,"system_fingerprint":`...), f.quotedTag...)
	}
	return append(b, "}\n\n"...)
}

// last appends what follows the last token: the usage if it is wanted, and the end of the stream.
func (f *form) last(b []byte) []byte {
	if f.usage {
		b = append(append(b, "data: "...), f.head...)
		b = f.details(f.count(append(b, `],"usage":`...), f.q.target))
		b = append(append(b, `},"system_fingerprint":`...), f.quotedTag...)
		b = f.metrics(b)
		b = append(b, "}\n\n"...)
	}
	return append(b, "data: [DONE]\n\n"...)
}

// failed is the stream of a request that was refused after its stream had begun.
func (f *form) failed(r *refusal) []byte {
	body, _ := json.Marshal(r.body())
	return append(append(append([]byte("data: "), body...), "\n\n"...), "data: [DONE]\n\n"...)
}

// whole is the answer in one piece.
func (f *form) whole() []byte {
	object := "text_completion"
	if f.chat {
		object = "chat.completion"
	}
	b := fmt.Appendf(nil, `{"id":%s,"object":"%s","created":%s,"model":%s,"choices":[{"index":0,`, f.quotedID, object, f.created, f.model)
	if f.chat {
		b = f.text(append(b, `"message":{"role":"assistant","content":"`...), 0, f.q.target)
		b = append(b, `","refusal":null,"reasoning":null}`...)
	} else {
		b = f.text(append(b, `"text":"`...), 0, f.q.target)
		b = append(b, '"')
	}
	b = f.reason(append(b, `,"logprobs":null,"finish_reason":`...), f.q.target)
	b = f.tokenIDs(append(b, `,"stop_reason":null,"token_ids":`...), 0, f.q.target)
	if !f.chat {
		b = f.promptIDs(append(b, `,"prompt_token_ids":`...), true)
	}
	b = append(append(b, `}],"system_fingerprint":`...), f.quotedTag...)
	b = append(f.details(f.count(append(b, `,"usage":`...), f.q.target)), '}')
	if f.chat {
		b = f.promptIDs(append(b, `,"prompt_token_ids":`...), true)
	}
	return append(f.metrics(b), '}')
}

func (f *form) text(b []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		if id := f.q.answer(i, f.cfg.VocabSize); id != tokenEOS {
			b = appendWord(append(b, ' '), id)
		}
	}
	return b
}

func (f *form) reason(b []byte, to int) []byte {
	if to < f.q.target {
		return append(b, "null"...)
	}
	return append(append(append(b, '"'), f.q.finish().String()...), '"')
}

func (f *form) tokenIDs(b []byte, from, to int) []byte {
	if !f.ids {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i := from; i < to; i++ {
		if i > from {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(f.q.answer(i, f.cfg.VocabSize)), 10)
	}
	return append(b, ']')
}

// count appends a usage without its closing brace.
func (f *form) count(b []byte, completion int) []byte {
	prompt := int64(len(f.q.prompt))
	b = strconv.AppendInt(append(b, `{"prompt_tokens":`...), prompt, 10)
	b = strconv.AppendInt(append(b, `,"total_tokens":`...), prompt+int64(completion), 10)
	return strconv.AppendInt(append(b, `,"completion_tokens":`...), int64(completion), 10)
}

// sofar appends the usage that stands on every event where that is asked for.
func (f *form) sofar(b []byte, completion int) []byte {
	if !f.running {
		return b
	}
	b = f.count(append(b, `,"usage":`...), completion)
	if f.chat {
		b = append(b, `,"completion_tokens_details":null`...)
	}
	return append(b, '}')
}

// details appends to a usage what is known only at the end.
func (f *form) details(b []byte) []byte {
	if !f.cfg.EnablePromptTokensDetails {
		return b
	}
	b = strconv.AppendInt(append(b, `,"prompt_tokens_details":{"cached_tokens":`...), int64(f.q.cached), 10)
	return append(b, '}')
}

// metrics appends the server's own times of the request.
func (f *form) metrics(b []byte) []byte {
	if !f.cfg.EnablePerRequestMetrics {
		return b
	}
	q := f.q
	b = appendMS(append(b, `,"metrics":{"time_to_first_token_ms":`...), q.first.Sub(q.scheduled))
	b = appendMS(append(b, `,"generation_time_ms":`...), q.last.Sub(q.first))
	b = appendMS(append(b, `,"queue_time_ms":`...), q.scheduled.Sub(q.submitted))
	b = append(b, `,"mean_itl_ms":`...)
	if q.target > 1 {
		b = appendMS(b, q.last.Sub(q.first)/time.Duration(q.target-1))
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"tokens_per_second":`...)
	b = strconv.AppendFloat(b, float64(q.target)/q.last.Sub(q.scheduled).Seconds(), 'g', -1, 64)
	return append(b, '}')
}

func appendMS(b []byte, d time.Duration) []byte {
	return strconv.AppendFloat(b, float64(max(0, d))/1e6, 'f', -1, 64)
}

// promptIDs appends the prompt's token ids, where they are asked for and this is the place.
func (f *form) promptIDs(b []byte, here bool) []byte {
	if !f.ids || !here {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, id := range f.q.prompt {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return append(b, ']')
}
