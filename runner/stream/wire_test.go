package stream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// scene is one exchange as a fake server plays it. Its script is a line of words:
//
//	@T        what follows is written T ms after the whole request was read
//	H         the header of an event stream
//	c(D)      a chunk with delta D      T("a")  a chunk with content      role  the opening chunk
//	f("stop") a finish reason           u(5,3)  usage, without choices    done  [DONE]
//	"..."     body bytes as they are    raw("...") bytes outside the body's framing
//	x+y       one write                 end  the body's end               fin, rst  closing, in order or not
//	stay      the connection stays open for an hour
//
// Each word is a write of its own. A script that has none of end, fin, rst and stay gets an end.
type scene struct {
	script  string
	framing string                // chunked (the default), length, close
	header  func(string) string   // changes the header
	edit    func(string) string   // changes each piece of the body
	cut     func([]byte) [][]byte // cuts each write

	recorded []act // instead of a script
}

// act is one write or one end of a connection.
type act struct {
	at   time.Duration
	data []byte
	op   string
}

const chunkForm = `data: {"id":"x1","object":"chat.completion.chunk","created":1700000000,"model":"toy","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}` + "\n\n"

func usageEvent(in, out string) string {
	total := atoi(in) + atoi(out)
	return fmt.Sprintf(`data: {"id":"x1","object":"chat.completion.chunk","created":1700000000,"model":"toy","choices":[],"usage":{"prompt_tokens":%s,"completion_tokens":%s,"total_tokens":%d}}`+"\n\n", in, out, total)
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

const s0 = `@5 H role @100 T("a") @120 T("b") @140 T("c") f("stop") u(5,3) done`

// words splits a script at spaces outside of parentheses and quotes.
func words(script string) []string {
	var out []string
	depth, quoted, start := 0, false, 0
	for i := 0; i < len(script); i++ {
		switch c := script[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ' ' && depth == 0:
			if i > start {
				out = append(out, script[start:i])
			}
			start = i + 1
		}
	}
	if start < len(script) {
		out = append(out, script[start:])
	}
	return out
}

// plus splits a word at its plus signs, by the rules of words.
func plus(word string) []string {
	var marked strings.Builder
	depth, quoted := 0, false
	for i := 0; i < len(word); i++ {
		c := word[i]
		switch {
		case c == '\\' && quoted:
			marked.WriteByte(c)
			i++
			c = word[i]
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '+' && depth == 0:
			c = 0
		}
		marked.WriteByte(c)
	}
	return strings.Split(marked.String(), "\x00")
}

func unquote(s string) string {
	u, err := strconv.Unquote(s)
	if err != nil {
		panic("script: " + s)
	}
	return u
}

// bodyOf is what a word adds to the body.
func bodyOf(word string) string {
	name, arg, _ := strings.Cut(word, "(")
	arg = strings.TrimSuffix(arg, ")")
	switch {
	case word[0] == '"':
		return unquote(word)
	case word == "role":
		return fmt.Sprintf(chunkForm, `{"role":"assistant","content":""}`, "null")
	case word == "done":
		return "data: [DONE]\n\n"
	case name == "c":
		return fmt.Sprintf(chunkForm, arg, "null")
	case name == "T":
		return fmt.Sprintf(chunkForm, `{"content":`+arg+`}`, "null")
	case name == "f":
		return fmt.Sprintf(chunkForm, `{}`, arg)
	case name == "u":
		in, out, _ := strings.Cut(arg, ",")
		return usageEvent(in, out)
	}
	panic("script: unknown word " + word)
}

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"

func (s scene) head(length int) string {
	head := streamHead
	switch s.framing {
	case "length":
		head += fmt.Sprintf("Content-Length: %d\r\n", length)
	case "close":
	default:
		head += "Transfer-Encoding: chunked\r\n"
	}
	if s.header != nil {
		head = s.header(head)
	}
	return head + "\r\n"
}

func (s scene) frame(body string) string {
	if s.framing == "" && body != "" {
		return fmt.Sprintf("%x\r\n%s\r\n", len(body), body)
	}
	return body
}

func (s scene) edited(body string) string {
	if s.edit != nil && body != "" {
		return s.edit(body)
	}
	return body
}

// acts plays the script out.
func (s scene) acts() []act {
	if s.recorded != nil {
		return s.recorded
	}
	var out []act
	at, ended, length := time.Duration(0), false, 0
	for _, w := range words(s.script) {
		for _, p := range plus(w) {
			if body, ok := isBody(p); ok {
				length += len(s.edited(body))
			}
		}
	}
	for _, w := range words(s.script) {
		switch {
		case w[0] == '@':
			at = time.Duration(atoi(w[1:])) * time.Millisecond
			continue
		case w == "end" || w == "fin" || w == "rst" || w == "stay":
			ended = true
			out = append(out, act{at: at, op: w})
			continue
		}
		var write string
		for _, p := range plus(w) {
			switch body, ok := isBody(p); {
			case p == "H":
				write += s.head(length)
			case ok:
				write += s.frame(s.edited(body))
			default:
				write += unquote(strings.TrimSuffix(strings.TrimPrefix(p, "raw("), ")"))
			}
		}
		out = append(out, act{at: at, data: []byte(write)})
	}
	if !ended {
		out = append(out, act{at: at, op: "end"})
	}
	return out
}

func isBody(word string) (string, bool) {
	if word == "H" || strings.HasPrefix(word, "raw(") {
		return "", false
	}
	if word[0] == '@' || word == "end" || word == "fin" || word == "rst" || word == "stay" {
		return "", false
	}
	return bodyOf(word), true
}

// asked is a request as the server read it.
type asked struct {
	line   string
	header textproto.MIMEHeader
	body   []byte
}

func readRequest(r *bufio.Reader) (asked, error) {
	tp := textproto.NewReader(r)
	line, err := tp.ReadLine()
	if err != nil {
		return asked{}, err
	}
	header, err := tp.ReadMIMEHeader()
	if err != nil {
		return asked{}, err
	}
	n, err := strconv.Atoi(header.Get("Content-Length"))
	if err != nil {
		return asked{}, err
	}
	body := make([]byte, n)
	_, err = io.ReadFull(r, body)
	return asked{line, header, body}, err
}

// serve plays a scene for each request of a connection, until one ends the connection.
func serve(nc net.Conn, play func(asked) scene) {
	defer func() { _ = nc.Close() }()
	r := bufio.NewReaderSize(nc, 64<<10)
	for {
		req, err := readRequest(r)
		if err != nil {
			return
		}
		s := play(req)
		start := time.Now()
		for _, a := range s.acts() {
			time.Sleep(a.at - time.Since(start))
			if !s.do(nc, a) {
				return
			}
		}
	}
}

// do carries one act out and says whether the connection lives on.
func (s scene) do(nc net.Conn, a act) bool {
	switch a.op {
	case "fin":
		return false
	case "rst":
		if tcp, ok := nc.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		return false
	case "stay":
		_, _ = nc.Read(make([]byte, 1))
		return false
	case "end":
		if s.framing == "close" {
			return false
		}
		if s.framing == "" {
			a.data = []byte("0\r\n\r\n")
		}
	}
	pieces := [][]byte{a.data}
	if s.cut != nil {
		pieces = s.cut(a.data)
	}
	for _, p := range pieces {
		if len(p) == 0 {
			continue
		}
		if _, err := nc.Write(p); err != nil {
			return false
		}
	}
	return true
}

// bytewise writes every byte by itself.
func bytewise(b []byte) (out [][]byte) {
	for i := range b {
		out = append(out, b[i:i+1])
	}
	return out
}

// cutAfter cuts behind every occurrence of a text.
func cutAfter(mark string) func([]byte) [][]byte {
	return func(b []byte) (out [][]byte) {
		for {
			i := bytes.Index(b, []byte(mark))
			if i < 0 {
				return append(out, b)
			}
			out = append(out, b[:i+len(mark)])
			b = b[i+len(mark):]
		}
	}
}

// reordered writes each JSON event of a body with its keys in alphabetical order.
func reordered(body string) string {
	payload, ok := strings.CutPrefix(body, "data: {")
	var v map[string]any
	if !ok || json.Unmarshal([]byte("{"+strings.TrimSpace(payload)), &v) != nil {
		return body
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return "data: " + string(b) + "\n\n"
}
