package stream

import (
	"bytes"
	"errors"
	"strconv"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// response takes the HTTP/1.1 framing off one response. Bytes are pushed in, cut anywhere; it knows no connection. The
// zero value is ready.
type response struct {
	state   framing
	line    []byte // a line that is not complete
	headLen int    // bytes of header and trailer so far

	status      int
	http10      bool
	chunked     bool
	length      int64 // Content-Length, or None
	left        int64 // bytes left of the body, or of the chunk
	close       bool  // the connection ends with this response
	keepAlive   bool
	contentType mediaType
	encoding    string // a Content-Encoding that was not asked for
	retryAfter  int64  // nanoseconds, or None
	retryDate   string // Retry-After as a date
	date        string
	modelHeader string // the header to look for, and what it said
	model       string
}

type mediaType uint8

const (
	otherType mediaType = iota
	eventStream
)

// framing is where in a response the next byte belongs.
type framing uint8

const (
	statusLine framing = iota
	headers
	body        // of known length
	bodyToClose // of whatever comes
	chunkSize
	chunkBody
	chunkEnd // the line end behind a chunk
	trailers
	complete
)

// headLimit bounds the header, with its trailers, in bytes.
const headLimit = 256 << 10

var (
	errHead       = errors.New("the response's header is too long")
	errStatusLine = errors.New("the response is not HTTP")
	errHeaderLine = errors.New("a header line of the response has no colon")
	errLength     = errors.New("the response's Content-Length is not a length")
	errChunk      = errors.New("the response's chunk has no size")
	errChunkEnd   = errors.New("the response's chunk is longer than it says")
	errUpgrade    = errors.New("the server switched protocols")
)

func (r *response) reset(modelHeader string) {
	*r = response{line: r.line[:0], length: sweep.None, retryAfter: sweep.None, modelHeader: modelHeader}
}

// next consumes from b. It returns a piece of the body, if there is one, and what is still to be consumed.
func (r *response) next(b []byte) (piece, rest []byte, err error) {
	for len(b) > 0 {
		switch r.state {
		case body, chunkBody:
			n := int(min(int64(len(b)), r.left))
			r.left -= int64(n)
			if r.left == 0 {
				r.bodyEnd()
			}
			return b[:n], b[n:], nil
		case bodyToClose:
			return b, nil, nil
		case complete:
			return nil, b, nil
		}
		line, after, ok := r.cut(b)
		b = after
		if r.headLen > headLimit {
			return nil, nil, errHead
		}
		if !ok {
			return nil, nil, nil
		}
		err := r.takeLine(line)
		r.line = r.line[:0]
		if err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, nil
}

func (r *response) bodyEnd() {
	if r.state == chunkBody {
		r.state = chunkEnd
	} else {
		r.state = complete
	}
}

// cut takes one line without its end, LF or CRLF; without a whole line there, it keeps what is.
func (r *response) cut(b []byte) (line, rest []byte, ok bool) {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		r.line = append(r.line, b...)
		r.headLen += len(b)
		return nil, nil, false
	}
	line, rest = b[:end], b[end+1:]
	if r.state <= headers || r.state == trailers {
		r.headLen += end
	}
	if len(r.line) > 0 {
		r.line = append(r.line, line...)
		line = r.line
	}
	return bytes.TrimSuffix(line, []byte("\r")), rest, true
}

func (r *response) takeLine(line []byte) error {
	switch r.state {
	case statusLine:
		return r.takeStatus(line)
	case headers:
		if len(line) == 0 {
			return r.headEnd()
		}
		return r.takeHeader(line)
	case chunkSize:
		return r.takeChunkSize(line)
	case chunkEnd:
		r.headLen = 0
		r.state = chunkSize
		if len(line) > 0 {
			return errChunkEnd
		}
	case trailers:
		if len(line) == 0 {
			r.state = complete
		}
	}
	return nil
}

func (r *response) takeStatus(line []byte) error {
	if len(line) == 0 && r.headLen < 16 {
		return nil // an empty line before a response is old practice
	}
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || line[8] != ' ' || len(line) > 12 && line[12] != ' ' {
		return errStatusLine
	}
	status, err := strconv.Atoi(string(line[9:12]))
	if err != nil || status < 100 {
		return errStatusLine
	}
	r.status, r.http10, r.state = status, line[7] == '0', headers
	return nil
}

func (r *response) takeHeader(line []byte) error {
	if line[0] == ' ' || line[0] == '\t' {
		return nil // a folded line goes on with a value that does not matter here
	}
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return errHeaderLine
	}
	value = bytes.TrimSpace(value)
	switch {
	case fold(name, "content-length"):
		return r.takeLength(value)
	case fold(name, "transfer-encoding"):
		r.chunked = r.chunked || hasToken(value, "chunked")
	case fold(name, "connection"):
		r.close = r.close || hasToken(value, "close")
		r.keepAlive = r.keepAlive || hasToken(value, "keep-alive")
	case fold(name, "content-type"):
		media, _, _ := bytes.Cut(value, []byte(";"))
		if fold(bytes.TrimSpace(media), "text/event-stream") {
			r.contentType = eventStream
		}
	case fold(name, "content-encoding"):
		if !fold(value, "identity") {
			r.encoding = string(value)
		}
	case fold(name, "retry-after"):
		r.takeRetryAfter(value)
	case fold(name, "date"):
		r.date = string(value)
	case r.modelHeader != "" && fold(name, r.modelHeader):
		r.model = string(value)
	}
	return nil
}

func (r *response) takeLength(value []byte) error {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || n < 0 || r.length != sweep.None && r.length != n {
		return errLength
	}
	r.length = n
	return nil
}

func (r *response) takeRetryAfter(value []byte) {
	if s, err := strconv.ParseFloat(string(value), 64); err == nil {
		r.retryAfter = millis(s * 1e3)
		return
	}
	r.retryDate = string(value)
}

// headEnd decides how the body is framed. An interim response is followed by another.
func (r *response) headEnd() error {
	switch {
	case r.status == 101:
		return errUpgrade
	case r.status < 200:
		r.reset(r.modelHeader)
		return nil
	case r.status == 204 || r.status == 304:
		r.state = complete
	case r.chunked:
		r.state = chunkSize
	case r.length == 0:
		r.state = complete
	case r.length > 0:
		r.state, r.left = body, r.length
	default:
		r.state, r.close = bodyToClose, true
	}
	r.headLen = 0
	if r.retryDate != "" {
		r.retryAfter = untilDate(r.retryDate, r.date)
	}
	return nil
}

// takeChunkSize reads a chunk's first line: a size in hexadecimal digits, with extensions that nobody needs.
func (r *response) takeChunkSize(line []byte) error {
	size, n := int64(0), 0
	for ; n < len(line) && isHex(line[n]); n++ {
		if n == 15 {
			return errChunk
		}
		size = size<<4 + int64(hexValue(line[n]))
	}
	if n == 0 || len(line) > n && line[n] != ';' && line[n] != ' ' && line[n] != '\t' {
		return errChunk
	}
	r.headLen = 0
	if size == 0 {
		r.state = trailers
		return nil
	}
	r.state, r.left = chunkBody, size
	return nil
}

// headDone says that status and header are known.
func (r *response) headDone() bool { return r.state > headers }

// ended says that the response is complete where its connection has just been closed in good order.
func (r *response) ended() bool { return r.state == complete || r.state == bodyToClose }

// reusable says that another request may follow on the connection.
func (r *response) reusable() bool {
	return r.state == complete && !r.close && (!r.http10 || r.keepAlive)
}

// untilDate is the time from one HTTP date to another, None where either is not one.
func untilDate(until, from string) int64 {
	const layout = "Mon, 02 Jan 2006 15:04:05 GMT"
	u, err := time.Parse(layout, until)
	f, err2 := time.Parse(layout, from)
	if err != nil || err2 != nil {
		return sweep.None
	}
	return max(int64(u.Sub(f)), 0)
}

// fold says whether b is the given lower-case ASCII name, in any casing.
func fold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// hasToken says whether a header's list has a token.
func hasToken(list []byte, token string) bool {
	for item := range bytes.SplitSeq(list, []byte(",")) {
		if fold(bytes.TrimSpace(item), token) {
			return true
		}
	}
	return false
}

func hexValue(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
