package bench

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
)

// request is what a null server wants to know of a request.
type request struct {
	post, chat bool
	id         string
}

var errLength = errors.New("the request's body has no Content-Length")

// readRequest reads one request with its body, which it does not look at.
func readRequest(in *bufio.Reader) (request, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return request{}, err
	}
	r := request{post: bytes.HasPrefix(line, []byte("POST ")), chat: bytes.Contains(line, []byte("/chat/"))}
	length := 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return r, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil || length < 0 {
				return r, errLength
			}
		case bytes.EqualFold(name, []byte("X-Request-Id")):
			r.id = string(bytes.TrimSpace(value))
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			return r, errLength
		}
	}
	_, err = io.CopyN(io.Discard, in, int64(length))
	return r, err
}

// The texts of an answer. Every event is a chunk of its own; its text is the time of its write, in hexadecimal
// nanoseconds since the epoch.
const (
	answerHead     = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	completionHead = `data: {"id":"cmpl-9f1c2c1e8d4f4a39","object":"text_completion","created":1795981090,"model":"tiny","choices":[{"index":0,"text":"`
	completionTail = `","logprobs":null,"finish_reason":null,"stop_reason":null,"token_ids":null}],"usage":null}` + "\n\n"
	chatHead       = `data: {"id":"chatcmpl-9f1c2c1e8d4f4a39","object":"chat.completion.chunk","created":1795981090,"model":"tiny","choices":[{"index":0,"delta":{"content":"`
	chatTail       = `"},"logprobs":null,"finish_reason":null,"token_ids":null}],"usage":null}` + "\n\n"
	finishedNull   = `"finish_reason":null`
	finishedLength = `"finish_reason":"length"`
	usageHead      = `data: {"id":"cmpl-9f1c2c1e8d4f4a39","object":"text_completion","created":1795981090,"model":"tiny","choices":[],"usage":{"prompt_tokens":32,"completion_tokens":`
	usageTail      = "}}\n\n"
	doneEvent      = "data: [DONE]\n\n"
	lastChunk      = "0\r\n\r\n"
)

var (
	completionEvent = newEvent(completionHead, completionTail)
	chatEvent       = newEvent(chatHead, chatTail)
	modelList       = whole(`{"object":"list","data":[{"id":"tiny","object":"model","max_model_len":4096}]}`)
)

// event is an output event as it is sent, chunk framing included, but for its stamp.
type event struct {
	middle, last []byte
	stampAt      [2]int // in middle and in last
}

func newEvent(head, tail string) event {
	var e event
	for i, tail := range []string{tail, string(bytes.Replace([]byte(tail), []byte(finishedNull), []byte(finishedLength), 1))} {
		wire := appendChunk(nil, head+"0000000000000000"+tail)
		e.stampAt[i] = bytes.Index(wire, []byte(head)) + len(head)
		if i == 0 {
			e.middle = wire
		} else {
			e.last = wire
		}
	}
	return e
}

func appendChunk(b []byte, data string) []byte {
	b = strconv.AppendInt(b, int64(len(data)), 16)
	b = append(b, "\r\n"...)
	b = append(b, data...)
	return append(b, "\r\n"...)
}

func whole(body string) []byte {
	b := append([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "), strconv.Itoa(len(body))...)
	return append(append(b, "\r\n\r\n"...), body...)
}

// appendWrite appends what one write of an answer sends: n events, before the first of all the header, after the last
// the usage and the end.
func appendWrite(b []byte, a *answer, nowNS int64, n, of int) []byte {
	e := &completionEvent
	if a.chat {
		e = &chatEvent
	}
	if a.sent == 0 {
		b = append(b, answerHead...)
	}
	for i := a.sent + 1; i <= a.sent+n; i++ {
		if i < of {
			b = appendStamped(b, e.middle, e.stampAt[0], nowNS)
		} else {
			b = appendStamped(b, e.last, e.stampAt[1], nowNS)
		}
	}
	if a.sent+n == of {
		b = appendChunk(b, usageHead+strconv.Itoa(of)+usageTail)
		b = appendChunk(b, doneEvent)
		b = append(b, lastChunk...)
	}
	return b
}

func appendStamped(b, wire []byte, stampAt int, nowNS int64) []byte {
	const digits = "0123456789abcdef"
	at := len(b) + stampAt
	b = append(b, wire...)
	for i := 15; i >= 0; i-- {
		b[at+i] = digits[nowNS&15]
		nowNS >>= 4
	}
	return b
}
