package stream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/inference-sweep/sweep/sweep"
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

// stage is a client with the servers behind it.
type stage struct {
	*Client
	epoch   time.Time
	accepts atomic.Int64
}

var usualTimeouts = Timeouts{Connect: 10 * time.Second, Idle: 60 * time.Second, NoToken: 120 * time.Second, Total: 10 * time.Minute, Grace: 2 * time.Second}

// virtual runs a test in virtual time, its server behind in-memory pipes.
func virtual(t *testing.T, cfg Config, play func(asked) scene, test func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		st := &stage{epoch: time.Now()}
		cfg.Base = "http://server.test:8000"
		cfg.Dial = func(context.Context, string, string) (net.Conn, error) {
			st.accepts.Add(1)
			near, far := net.Pipe()
			go serve(far, play)
			return near, nil
		}
		st.start(t, cfg)
		test(st)
		st.Close()
		time.Sleep(2 * time.Hour) // servers that sleep wake up and find their connections closed
	})
}

// overTCP runs a test against a server on loopback.
func overTCP(t *testing.T, cfg Config, play func(asked) scene, test func(*stage)) {
	t.Helper()
	l := listen(t, func(nc net.Conn) { serve(nc, play) })
	cfg.Base = "http://" + l.Addr().String() + "/v1/"
	st := &stage{epoch: time.Now()}
	st.start(t, cfg)
	test(st)
	st.Close()
	_ = l.Close()
}

func (st *stage) start(t *testing.T, cfg Config) {
	t.Helper()
	if cfg.Timeouts == (Timeouts{}) {
		cfg.Timeouts = usualTimeouts
	}
	cfg.KeepText = true
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	st.Client = c
}

func chatRequest() *Request {
	return &Request{
		Path: "/v1/chat/completions", ID: "row-1", Stream: true, GraceUsage: true,
		Body:   []byte(`{"model":"toy","messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":{"include_usage":true}}`),
		Header: []Header{{"Authorization", "Bearer k"}},
	}
}

// send makes one request and returns its row.
func (st *stage) send(ctx context.Context, req *Request) *sweep.Request {
	rec := NewRecord()
	st.Do(ctx, st.epoch, req, &rec)
	return &rec
}

// summary is a row as one line. Without times only the facts are left.
func summary(rec *sweep.Request, times bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", rec.Status)
	if rec.Error != "" {
		fmt.Fprintf(&b, "/%s", rec.Error)
	}
	if rec.HTTPStatus != 200 {
		fmt.Fprintf(&b, " http=%s", number(rec.HTTPStatus))
	}
	if times {
		fmt.Fprintf(&b, " ttft=%s answer=%s last=%s end=%s", ms(rec.FirstTokenNS), ms(rec.AnswerNS), ms(rec.LastTokenNS), ms(rec.EndNS))
	}
	fmt.Fprintf(&b, " in=%s out=%s", counted(rec.InputTokens, rec.InputSource), counted(rec.OutputTokens, rec.OutputSource))
	fmt.Fprintf(&b, " chunks=%s", chunkLine(rec, times))
	if rec.FirstTokens != sweep.None {
		fmt.Fprintf(&b, " first=%d", rec.FirstTokens)
	}
	if rec.CachedTokens != sweep.None {
		fmt.Fprintf(&b, " cached=%d", rec.CachedTokens)
	}
	if rec.ReasoningTokens != sweep.None {
		fmt.Fprintf(&b, " reasoning=%d", rec.ReasoningTokens)
	}
	if rec.ServerQueueNS != sweep.None {
		fmt.Fprintf(&b, " queue=%dns", rec.ServerQueueNS)
	}
	fmt.Fprintf(&b, " finish=%s", rec.FinishReason)
	if len(rec.Marks) > 0 {
		fmt.Fprintf(&b, " marks=%s", strings.Join(rec.Marks, ","))
	}
	if rec.Text != "" {
		fmt.Fprintf(&b, " text=%q", short(rec.Text))
	}
	return b.String()
}

// chunkLine shows the output events as kind:tokens@ms, runs of equal ones counted where times do not matter.
func chunkLine(rec *sweep.Request, times bool) string {
	var out []string
	for c, err := range sweep.Chunks(rec.ChunkLog) {
		if err != nil {
			return err.Error()
		}
		one := c.Kind.String()[:2]
		if c.Tokens != sweep.None {
			one += strconv.FormatInt(c.Tokens, 10)
		}
		if times {
			one += "@" + ms(c.AtNS)
		}
		out = append(out, one)
	}
	if int64(len(out)) != rec.Chunks {
		return fmt.Sprintf("%d logged but %d counted", len(out), rec.Chunks)
	}
	return runs(out)
}

func runs(list []string) string {
	var out []string
	for i := 0; i < len(list); {
		j := i
		for j < len(list) && list[j] == list[i] {
			j++
		}
		if j-i > 1 {
			out = append(out, fmt.Sprintf("%s*%d", list[i], j-i))
		} else {
			out = append(out, list[i])
		}
		i = j
	}
	return "[" + strings.Join(out, " ") + "]"
}

func short(s string) string {
	if len(s) > 80 {
		return fmt.Sprintf("%s…%s(%d)", s[:16], s[len(s)-16:], len(s))
	}
	return s
}

func ms(ns int64) string {
	if ns == sweep.None {
		return "-"
	}
	return strconv.FormatFloat(float64(ns)/1e6, 'g', -1, 64)
}

func number(n int64) string {
	if n == sweep.None {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

func counted(n int64, source string) string {
	if n == sweep.None {
		return "-" + source
	}
	return number(n) + "/" + source
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
