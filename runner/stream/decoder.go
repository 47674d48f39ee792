package stream

import (
	"bytes"

	"github.com/inference-sweep/sweep/sweep"
)

// Decoder turns the body of one answer into the facts of its row. Bytes are pushed in with the time of their arrival;
// the decoder knows no clock. It allocates nothing for an event that it understands once its buffers have grown, and is
// used again after Reset. The zero value is not ready: Reset comes first.
type Decoder struct {
	opts   Options
	shape  shape
	framer framer
	ev     event

	done      bool // [DONE]
	fault     *fault
	malformed int
	good      bool // an event was understood
	facts     facts
	// When the last output event came, 0 before any, and the last event since every choice has its finish reason; both
	// as passed to Feed.
	lastOutput, lastWord int64

	modelName string // the last answer's, which the next one's is likely to be
}

// Options of an answer.
type Options struct {
	// Stream says that an event stream was asked for, EventStream that the header announces one.
	Stream, EventStream bool
	// KeepText keeps the text, up to TextCap bytes (0: no limit).
	KeepText bool
	TextCap  int
}

// shape is what a body turns out to be.
type shape uint8

const (
	undecided shape = iota
	events
	whole
)

// facts are what an answer has said so far. Times are as passed to Feed, from sent; None where there is none.
type facts struct {
	first, answer, last int64
	firstTokens         int64
	chunks              int64
	log                 []byte
	substance           bool // text, reasoning, a tool call or token ids came
	thought             bool // reasoning came
	byUsage             bool // the first output event was one only by its usage

	usage     usage
	growth    usageGrowth
	ids       int64 // token ids seen
	idsWhole  bool  // every output event had its ids
	promptIDs int64
	cachedN   int64
	queueNS   int64
	model     string
	replies   []reply
	bare      bool // a usage without choices came: it counts all choices
}

// reply is one choice as it grows.
type reply struct {
	seen   bool
	finish string
	text   []byte
	full   bool // the text's limit is met
}

// usageGrowth follows the running usage of streams that report it with every event.
type usageGrowth struct {
	base int64
	gap  bool // an output event came without usage since base
}

// maxReplies bounds the choices that are told apart.
const maxReplies = 128

// Reset prepares for the next answer.
func (d *Decoder) Reset(o Options) {
	replies := d.facts.replies[:0]
	for i := range d.facts.replies {
		d.facts.replies[i] = reply{text: shrink(d.facts.replies[i].text)}
	}
	d.framer.reset()
	d.facts = facts{
		first: sweep.None, answer: sweep.None, last: sweep.None, firstTokens: sweep.None, log: shrink(d.facts.log),
		usage: noUsage, idsWhole: true, promptIDs: sweep.None, cachedN: sweep.None, queueNS: sweep.None, replies: replies,
	}
	d.opts, d.shape, d.done, d.fault, d.malformed, d.good = o, undecided, false, nil, 0, false
	d.lastOutput, d.lastWord = 0, 0
	if !o.Stream {
		d.shape = whole
	}
}

// Feed takes body bytes that arrived at one moment, in nanoseconds since the request was sent. It keeps none of b.
func (d *Decoder) Feed(at int64, b []byte) {
	if d.shape == events {
		d.frame(at, b)
		return
	}
	f := &d.framer
	if d.shape == whole {
		f.keep(b)
		return
	}
	head, kept := b, len(f.part) > 0
	if kept {
		f.keep(b)
		head = f.part
	}
	d.shape = sniff(head, d.opts.EventStream)
	switch {
	case d.shape != events && !kept:
		f.keep(b)
	case d.shape == events && kept:
		f.part = nil
		d.frame(at, head)
	case d.shape == events:
		d.frame(at, b)
	}
}

// sniff tells an event stream from a whole answer by its first bytes: a JSON or HTML document is none, whatever its
// header says; other bytes are one if the header says so, or if they begin like one.
func sniff(head []byte, announced bool) shape {
	b := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case len(b) == 0:
		return undecided
	case b[0] == '{' || b[0] == '[' || b[0] == '<':
		return whole
	case announced || b[0] == ':':
		return events
	}
	short := false
	for _, start := range []string{"data:", "event:", "id:", "retry:"} {
		if bytes.HasPrefix(b, []byte(start)) {
			return events
		}
		short = short || len(b) < len(start) && start[:len(b)] == string(b)
	}
	if short {
		return undecided
	}
	return whole
}

// End takes the end of the body. What a stream left unfinished counts if it is whole; a whole answer counts if its body
// is complete.
func (d *Decoder) End(at int64, complete bool) {
	f := &d.framer
	switch {
	case d.shape == whole && complete:
		d.answer(at, f.part)
	case d.shape == events && !d.over():
		if len(f.part) > 0 {
			d.line(at, f.part)
			f.part = f.part[:0]
		}
		malformed := d.malformed
		d.eventEnd()
		d.malformed = malformed
	}
}

// Done says that nothing more is expected: [DONE], an error, or a line beyond the limit.
func (d *Decoder) Done() bool { return d.over() }

func (d *Decoder) over() bool { return d.done || d.fault != nil || d.framer.tooLong }

// Finished says that every choice seen has its finish reason.
func (d *Decoder) Finished() bool {
	finished := false
	for i := range d.facts.replies {
		r := &d.facts.replies[i]
		if r.seen && r.finish == "" {
			return false
		}
		finished = finished || r.seen
	}
	return finished
}

// chunk takes a payload that is a chunk or [DONE], and refuses anything else: it may be one line of several.
func (d *Decoder) chunk(at int64, b []byte) bool {
	if d.framer.isError {
		return false
	}
	if len(b) <= 16 && string(bytes.TrimSpace(b)) == "[DONE]" {
		d.done = true
		return true
	}
	if !d.ev.read(b) || d.ev.seen&keyChoices == 0 {
		return false
	}
	d.apply(at)
	return true
}

// payload takes a complete event that chunk refused.
func (d *Decoder) payload(at int64, b []byte) {
	b = bytes.TrimSpace(b)
	switch {
	case d.framer.isError:
		d.fault = d.namedFault(b)
	case len(b) == 0:
	case string(b) == "[DONE]":
		d.done = true
	case d.ev.scan(b) || d.ev.decode(b):
		d.apply(at)
	default:
		d.malformed++
	}
}

// namedFault is the error of an event that is called one.
func (d *Decoder) namedFault(b []byte) *fault {
	if d.ev.decode(b) && d.ev.fault != nil {
		return d.ev.fault
	}
	return &fault{message: messageOf(b), code: sweep.None}
}

// answer takes a whole answer.
func (d *Decoder) answer(at int64, b []byte) {
	b = bytes.TrimSpace(b)
	if !d.ev.scan(b) && !d.ev.decode(b) {
		if !d.opts.Stream {
			d.malformed++
		}
		return
	}
	d.good = true
	if d.ev.fault != nil {
		d.fault = d.ev.fault
		return
	}
	d.common()
	for i := range d.ev.choices {
		ch := &d.ev.choices[i]
		d.facts.substance = d.facts.substance || ch.substance()
		d.reply(ch)
	}
	if d.ev.usage.present {
		d.facts.bare = true
	}
	d.done = true
	if !d.opts.Stream {
		d.facts.last = at
	}
}
