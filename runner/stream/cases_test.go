package stream

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

const s0Row = `ok ttft=100 answer=100 last=140 end=140 in=5/usage out=3/usage chunks=[te@100 te@120 te@140] finish=stop text="abc"`

func replacer(pairs ...string) func(string) string { return strings.NewReplacer(pairs...).Replace }

// playOne runs a scene in virtual time and returns its row as a line.
func playOne(t *testing.T, s scene, req *Request) string {
	t.Helper()
	var got string
	virtual(t, Config{}, func(asked) scene { return s }, func(st *stage) {
		got = summary(st.send(context.Background(), req), true)
	})
	return got
}

func randomCuts(seed uint64) func([]byte) [][]byte {
	r := rand.New(rand.NewPCG(seed, 1))
	return func(b []byte) (out [][]byte) {
		for len(b) > 0 {
			n := min(1+r.IntN(40), len(b))
			out, b = append(out, b[:n]), b[n:]
		}
		return out
	}
}

// nulls puts an explicit null wherever a server might.
var nulls = replacer(
	`"delta":{"role":"assistant","content":""}`, `"delta":{"role":"assistant","content":null,"tool_calls":null,"function_call":null,"refusal":null}`,
	`"delta":{}`, `"delta":null`,
	`"delta":{`, `"logprobs":null,"delta":{"tool_calls":null,"reasoning_content":null,"reasoning":null,`,
	`"model":`, `"error":null,"prompt_token_ids":null,"metrics":null,"timings":null,"model":`,
	`"object":"chat.completion.chunk",`, `"object":"chat.completion.chunk","service_tier":null,`,
)

// edits are ways to write the same events.
var edits = map[string]func(string) string{
	"as is":        func(s string) string { return s },
	"CRLF":         replacer("\n", "\r\n"),
	"CR":           replacer("\n", "\r"),
	"no space":     replacer("data: ", "data:"),
	"three spaces": replacer("data: ", "data:   ", "[DONE]", "[DONE]  "),
	"nulls":        nulls,
	"null usage":   replacer(`"finish_reason":null}]`, `"finish_reason":null}],"usage":null`),
	"null choices": func(s string) string {
		return `data: {"id":"x1","object":"chat.completion.chunk","model":"toy","choices":null}` + "\n\n" + s
	},
	"key order":      reordered,
	"comments":       func(s string) string { return ": ping - 2030-01-01 00:00:00\n\n" + s },
	"comment inside": replacer("data: ", ": ping - 2030-01-01 00:00:00\ndata: "),
	"other fields":   replacer("data: ", "id: 7\nretry: 10\nevent: message\ndata: "),
	"byte order": func(s string) string {
		if strings.Contains(s, "role") {
			return "\xef\xbb\xbf" + s
		}
		return s
	},
	"white space": replacer(`:`, ` : `, `,`, " ,\t", `data: {`, `data: { `, `data: [`, `data: [`),
	"two lines":   replacer(`"choices":`, "\ndata: \"choices\":"),
	"four lines":  replacer(`"choices":`, "\ndata: \"choices\":", `,"object"`, "\ndata: ,\"object\"", `"model"`, "\ndata:\"model\""),
	"4 KiB more":  replacer(`"model":`, `"padding":[`+strings.Repeat(`{"a":[1,2.5e3,true,"\u00e4\n"]},`, 128)+`0],"model":`),
	"single LF":   func(s string) string { return strings.TrimSuffix(s, "\n") },
}

func cuts(seed uint64) map[string]func([]byte) [][]byte {
	return map[string]func([]byte) [][]byte{
		"whole": nil, "bytewise": bytewise, "random": randomCuts(seed), "after CR": cutAfter("\r"), "after data:": cutAfter("data:"),
	}
}

// However a server writes S0, the row is the same: line endings, spaces, nulls, key order, comments, framing, cuts.
func TestSameRowHoweverWritten(t *testing.T) {
	for name, edit := range edits {
		if name == "white space" {
			plain := edit
			edit = func(s string) string {
				return strings.NewReplacer("data : ", "data: ").Replace(plain(s))
			}
		}
		for _, framing := range []string{"", "length", "close"} {
			for cutName, cut := range cuts(7) {
				t.Run(fmt.Sprintf("%s/%s/%s", name, framing, cutName), func(t *testing.T) {
					got := playOne(t, scene{script: s0, framing: framing, edit: edit, cut: cut}, chatRequest())
					if got != s0Row {
						t.Errorf("got  %s\nwant %s", got, s0Row)
					}
				})
			}
		}
	}
}

// Header names and values come in any casing, and interim responses before the one that counts.
func TestSameRowWhateverHeader(t *testing.T) {
	for name, header := range map[string]func(string) string{
		"lower":    strings.ToLower,
		"odd":      replacer("Content-Type", "cOnTeNt-TyPe", "text/event-stream", "Text/Event-Stream; charset=UTF-8", "Transfer-Encoding", "transfer-ENCODING", "chunked", "Chunked"),
		"no space": replacer(": ", ":"),
		"many":     func(s string) string { return s + strings.Repeat("X-Filler: "+strings.Repeat("y", 1000)+"\r\n", 60) },
		"LF only":  replacer("\r\n", "\n"),
		"early": func(s string) string {
			return "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + s
		},
		"no type":    replacer("Content-Type: text/event-stream\r\n", ""),
		"plain text": replacer("text/event-stream", "text/plain"),
		"no reason":  replacer("200 OK", "200"),
	} {
		t.Run(name, func(t *testing.T) {
			s := scene{script: s0, header: header}
			if name == "lower" {
				s.header = func(h string) string {
					return strings.Replace(strings.ToLower(h), "http/1.1 200 ok", "HTTP/1.1 200 OK", 1)
				}
			}
			for cutName, cut := range cuts(3) {
				s.cut = cut
				if got := playOne(t, s, chatRequest()); got != s0Row {
					t.Errorf("%s: got  %s\nwant %s", cutName, got, s0Row)
				}
			}
		})
	}
}

// wireCase is a script and the row it must give.
type wireCase struct{ name, script, want string }

var framingCases = []wireCase{
	{"A04 comments every 20 ms", `@5 H ": ping\n" role @25 ": ping\n" @45 ": ping\n" @100 ": ping\n"+T("a") @120 T("b") ": ping\n\n" @140 T("c") f("stop") u(5,3) done`, s0Row},
	{"A06 a data line that is not JSON", `@5 H role @90 "data: : PROCESSING\n\n" @100 T("a") @120 T("b") @140 T("c") f("stop") u(5,3) done`,
		strings.Replace(s0Row, "finish=stop", "finish=stop marks=malformed", 1)},
	{"A06 three of them", `@5 H role "data: x\n\n" "data: {\"a\":\n\n" "data: 17\n\n" @100 T("a") @120 T("b") @140 T("c") f("stop") u(5,3) done`,
		strings.Replace(s0Row, "finish=stop", "finish=stop marks=malformed,malformed-events=3", 1)},
	{"A08 a space cut from its text", `@5 H role @100 T(" b ") f("stop") u(5,1) done`,
		`ok ttft=100 answer=100 last=100 end=100 in=5/usage out=1/usage chunks=[te@100] finish=stop text=" b "`},
	{"A09 many events in one segment", `@5 H @100 role+T("a")+T("b")+T("c")+f("stop")+u(5,3)+done`,
		`ok ttft=100 answer=100 last=100 end=100 in=5/usage out=3/usage chunks=[te@100*3] finish=stop text="abc"`},
	{"A10 characters of several bytes", `@5 H role @100 T("汉字🙂") @110 T("\ud83d\ude42\u00e9\\\"\n") f("stop") u(5,3) done`,
		`ok ttft=100 answer=100 last=110 end=110 in=5/usage out=3/usage chunks=[te@100 te@110] finish=stop text="汉字🙂🙂é\\\"\n"`},
	{"A14 two data lines", `@5 H role @100 "data: {\"id\":\"x1\",\"object\":\"chat.completion.chunk\",\"model\":\"toy\",\ndata: \"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}\n\n" f("stop") u(5,1) done`,
		`ok ttft=100 answer=100 last=100 end=100 in=5/usage out=1/usage chunks=[te@100] finish=stop text="a"`},
	{"A16 [DONE] without a newline", `@5 H role @100 T("a") @120 T("b") @140 T("c") f("stop") u(5,3) "data: [DONE]" fin`, s0Row},
	{"A16 the same, body in order", `@5 H role @100 T("a") @120 T("b") @140 T("c") f("stop") u(5,3) "data: [DONE]"`, s0Row},
	{"A16 a whole event without a blank line", `@5 H role @100 T("a") @120 "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"},\"finish_reason\":\"length\"}]}" fin`,
		`ok ttft=100 answer=100 last=120 end=120 in=- out=- chunks=[te@100 te@120] finish=length marks=no-done,no-usage text="ab"`},
	{"A16 half an event", `@5 H role @100 T("a") "data: {\"id\":\"x1\",\"choi" fin`,
		`failed/truncated ttft=100 answer=100 last=100 end=100 in=- out=- chunks=[te@100] finish= text="a"`},
	{"A17 no [DONE], socket open", `@5 H role @100 T("a") @120 T("b") @140 T("c") f("stop") u(5,3) stay`,
		`ok ttft=100 answer=100 last=140 end=2140 in=5/usage out=3/usage chunks=[te@100 te@120 te@140] finish=stop marks=no-done text="abc"`},
	{"A17 usage late, within the grace", `@5 H role @100 T("a") @120 T("b") @140 T("c") f("stop") @1900 ": ping\n" u(5,3) stay`,
		`ok ttft=100 answer=100 last=140 end=3900 in=5/usage out=3/usage chunks=[te@100 te@120 te@140] finish=stop marks=no-done text="abc"`},
	{"A17 usage never", `@5 H role @100 T("a") f("stop") stay`,
		`ok ttft=100 answer=100 last=100 end=2100 in=- out=- chunks=[te@100] finish=stop marks=no-done,no-usage text="a"`},
	{"A17 [DONE] without a newline, socket open", `@5 H role @100 T("a") @120 T("b") @140 T("c") f("stop") u(5,3) "data: [DONE]" stay`,
		strings.Replace(s0Row, "end=140", "end=2140", 1)},
	{"A19 open after [DONE]", `@5 H role @100 T("a") @120 T("b") @140 T("c") f("stop") u(5,3) done stay`, s0Row},
}

var endingCases = []wireCase{
	{"B01 an error after tokens, then [DONE]", `@5 H role @100 T("a") @120 "data: {\"error\":{\"message\":\"engine failed\",\"type\":\"InternalServerError\",\"code\":500}}\n\n" done`,
		`failed/server_error ttft=100 answer=100 last=100 end=120 in=- out=- chunks=[te@100] finish= text="a"`},
	{"B01 an error that is a sentence", `@5 H role @100 T("a") @120 "data: {\"error\":\"engine failed\"}\n\n" done`,
		`failed/server_error ttft=100 answer=100 last=100 end=120 in=- out=- chunks=[te@100] finish= text="a"`},
	{"B01 an object that calls itself an error", `@5 H "data: {\"object\":\"error\",\"message\":\"engine failed\",\"code\":400}\n\n" done`,
		`failed/server_error ttft=- answer=- last=- end=5 in=- out=- chunks=[] finish=`},
	{"B03 event: error", `@5 H role @100 T("a") "event: error\ndata: {\"message\":\"overloaded\"}\n\n" fin`,
		`failed/server_error ttft=100 answer=100 last=100 end=100 in=- out=- chunks=[te@100] finish= text="a"`},
	{"B03 the name behind the data", `@5 H role @100 T("a") "data: {\"message\":\"overloaded\"}\nevent: error\n\n" done`,
		`failed/server_error ttft=100 answer=100 last=100 end=100 in=- out=- chunks=[te@100] finish= text="a"`},
	{"B03 event: error alone", `@5 H role @100 T("a") "event: error\n\n" done`,
		`failed/server_error ttft=100 answer=100 last=100 end=100 in=- out=- chunks=[te@100] finish= text="a"`},
	{"B05 finish reason abort", `@5 H role @100 T("a") f("abort") u(5,1) done`,
		`failed/aborted ttft=100 answer=100 last=100 end=100 in=5/usage out=1/usage chunks=[te@100] finish=abort text="a"`},
	{"B05 finish reason error", `@5 H role @100 T("a") f("error") u(5,1) done`,
		`failed/server_error ttft=100 answer=100 last=100 end=100 in=5/usage out=1/usage chunks=[te@100] finish=error text="a"`},
	{"B06 no finish reason", `@5 H role @100 T("a") @120 T("b") @140 T("c") u(5,3) done`,
		strings.Replace(s0Row, "finish=stop", "finish= marks=no-finish", 1)},
	{"B07 content beside the finish reason", `@5 H role @100 T("a") @120 "data: {\"model\":\"toy\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"},\"finish_reason\":\"length\"}]}\n\n" u(5,2) done`,
		`ok ttft=100 answer=100 last=120 end=120 in=5/usage out=2/usage chunks=[te@100 te@120] finish=length text="ab"`},
	{"B09 empty", `@400 H role f("stop") done`,
		`failed/empty ttft=- answer=- last=- end=400 in=- out=- chunks=[] finish=stop`},
	{"B09 empty, whatever its usage says", `@400 H role f("stop") u(5,1) done`,
		`failed/empty ttft=- answer=- last=- end=400 in=5/usage out=1/usage chunks=[] finish=stop`},
	{"B09 an end of sequence by its id", `@400 H role "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"stop\",\"token_ids\":[2]}]}\n\n" u(5,1) done`,
		`failed/empty ttft=- answer=- last=- end=400 in=5/usage out=1/usage chunks=[] finish=stop`},
	{"B09 only a usage that grew", `@400 H role "data: {\"choices\":[{\"index\":0,\"delta\":{}}],\"usage\":{\"completion_tokens\":1}}\n\n" f("stop") done`,
		`failed/empty ttft=400 answer=400 last=400 end=400 in=- out=1/usage chunks=[us1@400] first=1 finish=stop marks=ttft-by-usage`},
	{"B09 only events that cannot be read", `@400 H "data: a\n\n" "data: b\n\n" done`,
		`failed/malformed ttft=- answer=- last=- end=400 in=- out=- chunks=[] finish= marks=malformed,malformed-events=2`},
	{"B10 closed in the middle", `@5 H role @100 T("a") @120 T("b") fin`,
		`failed/truncated ttft=100 answer=100 last=120 end=120 in=- out=- chunks=[te@100 te@120] finish= text="ab"`},
	{"B10 ended in order in the middle", `@5 H role @100 T("a") @120 T("b") end`,
		`failed/truncated ttft=100 answer=100 last=120 end=120 in=- out=- chunks=[te@100 te@120] finish= text="ab"`},
	{"B10 ended before any output", `@5 H role @100 end`,
		`failed/eof ttft=- answer=- last=- end=100 in=- out=- chunks=[] finish=`},
	{"B10 closed before any output", `@5 H @100 fin`,
		`failed/eof ttft=- answer=- last=- end=100 in=- out=- chunks=[] finish=`},
	{"B10 closed after the finish reason", `@5 H role @100 T("a") f("stop") u(5,1) fin`,
		`ok ttft=100 answer=100 last=100 end=100 in=5/usage out=1/usage chunks=[te@100] finish=stop marks=no-done text="a"`},
	{"closed before any byte", `@100 fin`,
		`failed/eof http=- ttft=- answer=- last=- end=100 in=- out=- chunks=[] finish=`},
	{"not HTTP", `@100 raw("SSH-2.0-OpenSSH_9.2\r\n") stay`,
		`failed/malformed http=- ttft=- answer=- last=- end=100 in=- out=- chunks=[] finish=`},
}

var tokenCases = []wireCase{
	{"C02 usage in every chunk", `@5 H role @100 "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1}}\n\n" @120 "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"}}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\n" @140 "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"c\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":3}}\n\n" u(5,3) done`,
		`ok ttft=100 answer=100 last=140 end=140 in=5/usage out=3/usage chunks=[te1@100 te1@120 te1@140] first=1 finish=stop text="abc"`},
	{"C02 a later, smaller usage", `@5 H role @100 T("a") f("stop") u(5,3) u(5,1) u(0,0) done`,
		`ok ttft=100 answer=100 last=100 end=100 in=5/usage out=3/usage chunks=[te@100] finish=stop text="a"`},
	{"C04 no usage", `@5 H role @100 T("a") @120 T("b") @140 T("c") f("stop") done`,
		`ok ttft=100 answer=100 last=140 end=140 in=- out=- chunks=[te@100 te@120 te@140] finish=stop marks=no-usage text="abc"`},
	{"C08 another prompt length", `@5 H role @100 T("a") f("stop") u(137,3) done`,
		`ok ttft=100 answer=100 last=100 end=100 in=137/usage out=3/usage chunks=[te@100] finish=stop text="a"`},
	{"C13 tokens without text", `@5 H role @100 T("") @110 T("") @120 T("🙂") @130 T("x�") f("stop") u(5,4) done`,
		`ok ttft=120 answer=120 last=130 end=130 in=5/usage out=4/usage chunks=[te@120 te@130] finish=stop text="🙂x�"`},
	{"C13 the same with their ids", `@5 H role @100 "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"token_ids\":[130]}]}\n\n" @120 "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"🙂\"},\"token_ids\":[131,132]}]}\n\n" f("stop") done`,
		`ok ttft=100 answer=100 last=120 end=120 in=- out=3/token_ids chunks=[id1@100 te2@120] first=1 finish=stop marks=no-usage text="🙂"`},
	{"ids in some events only are no count", `@5 H role @100 "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"token_ids\":[130]}]}\n\n" @120 T("b") f("stop") done`,
		`ok ttft=100 answer=100 last=120 end=120 in=- out=- chunks=[te1@100 te@120] first=1 finish=stop marks=no-usage text="ab"`},
	{"prompt ids", `@5 H "data: {\"choices\":[{\"index\":0,\"text\":\"a\",\"prompt_token_ids\":[7,8,9],\"token_ids\":[1]}]}\n\n" "data: {\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"length\",\"token_ids\":[2]}]}\n\n" done`,
		`ok ttft=5 answer=5 last=5 end=5 in=3/token_ids out=2/token_ids chunks=[te1@5 id1@5] first=1 finish=length marks=no-usage text="a"`},
	{"usage beside the last choices", `@5 H "data: {\"choices\":[{\"index\":0,\"text\":\"a\"}]}\n\n" @10 "data: {\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"length\"}],\"usage\":{\"completion_tokens\":2,\"prompt_tokens\":6,\"prompt_tokens_details\":{\"cached_tokens\":4},\"completion_tokens_details\":{\"reasoning_tokens\":1}}}\n\n" done`,
		`ok ttft=5 answer=5 last=5 end=10 in=6/usage out=2/usage chunks=[te@5] cached=4 reasoning=1 finish=length text="a"`},
	{"timings without usage details", `@5 H "data: {\"choices\":[{\"index\":0,\"text\":\"a\",\"finish_reason\":\"length\"}],\"timings\":{\"cache_n\":12,\"prompt_ms\":1.5}}\n\n" done`,
		`ok ttft=5 answer=5 last=5 end=5 in=- out=- chunks=[te@5] cached=12 finish=length marks=no-usage text="a"`},
	{"the server's queue", `@5 H "data: {\"choices\":[{\"index\":0,\"text\":\"a\",\"finish_reason\":\"length\"}]}\n\n" "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1},\"metrics\":{\"queue_time_ms\":0.25,\"mean_itl_ms\":null}}\n\n" done`,
		`ok ttft=5 answer=5 last=5 end=5 in=5/usage out=1/usage chunks=[te@5] queue=250000ns finish=length text="a"`},
	{"usage grows over an event without one", `@5 H "data: {\"choices\":[{\"index\":0,\"text\":\"a\"}]}\n\n" @10 "data: {\"choices\":[{\"index\":0,\"text\":\"b\"}],\"usage\":{\"completion_tokens\":5}}\n\n" @20 "data: {\"choices\":[{\"index\":0,\"text\":\"c\"}],\"usage\":{\"completion_tokens\":7}}\n\n" f("stop") done`,
		`ok ttft=5 answer=5 last=20 end=20 in=- out=7/usage chunks=[te@5 te@10 te2@20] finish=stop text="abc"`},
	{"a text whose usage did not grow", `@5 H "data: {\"choices\":[{\"index\":0,\"text\":\"a\"}],\"usage\":{\"completion_tokens\":1}}\n\n" @10 "data: {\"choices\":[{\"index\":0,\"text\":\"b\"}],\"usage\":{\"completion_tokens\":1}}\n\n" f("stop") done`,
		`ok ttft=5 answer=5 last=10 end=10 in=- out=1/usage chunks=[te1@5 te0@10] first=1 finish=stop text="ab"`},
}

var timingCases = []wireCase{
	{"D02 empty chunks during prefill", `@900 H role @1200 T("") @2200 T("a") @2220 T("b") f("stop") u(5,2) done`,
		`ok ttft=2200 answer=2200 last=2220 end=2220 in=5/usage out=2/usage chunks=[te@2200 te@2220] finish=stop text="ab"`},
	{"D03 reasoning first", `@5 H role @100 c({"reasoning_content":"r1"}) @120 c({"reasoning_content":"r2"}) @140 T("a") @160 T("b") f("stop") u(5,4) done`,
		`ok ttft=100 answer=140 last=160 end=160 in=5/usage out=4/usage chunks=[re@100 re@120 te@140 te@160] finish=stop text="ab"`},
	{"D03 by its newer name", `@5 H role @100 c({"reasoning":"r1"}) @140 c({"reasoning":"r2","reasoning_content":"r2"}) @160 c({"content":"a","reasoning":"r3"}) f("stop") u(5,4) done`,
		`ok ttft=100 answer=160 last=160 end=160 in=5/usage out=4/usage chunks=[re@100 re@140 te@160] finish=stop text="a"`},
	{"D03 only reasoning", `@5 H role @100 c({"reasoning_content":"r1"}) @120 c({"reasoning_content":"r2"}) f("length") u(5,2) done`,
		`ok ttft=100 answer=- last=120 end=120 in=5/usage out=2/usage chunks=[re@100 re@120] finish=length`},
	{"D03 a silent token before the reasoning", `@5 H role @90 "data: {\"choices\":[{\"index\":0,\"delta\":{},\"token_ids\":[1]}]}\n\n" @100 "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"r\"},\"token_ids\":[2]}]}\n\n" @110 "data: {\"choices\":[{\"index\":0,\"delta\":{},\"token_ids\":[3]}]}\n\n" @120 "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\",\"token_ids\":[4,5]}]}\n\n" done`,
		`ok ttft=90 answer=120 last=120 end=120 in=- out=5/token_ids chunks=[id1@90 re1@100 id1@110 te2@120] first=1 finish=stop marks=no-usage text="a"`},
	{"D05 a tool call", `@5 H role @100 c({"tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"get","arguments":""}}]}) @120 c({"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}}]}) @140 c({"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}) f("tool_calls") u(5,9) done`,
		`ok ttft=100 answer=100 last=140 end=140 in=5/usage out=9/usage chunks=[to@100 to@120 to@140] finish=tool_calls`},
	{"D05 an empty tool call is no output", `@5 H role @100 c({"tool_calls":[{"index":0,"function":{"name":null,"arguments":""}}]}) @110 c({"tool_calls":[]}) @120 c({"function_call":{"name":"get","arguments":""}}) f("tool_calls") u(5,9) done`,
		`ok ttft=120 answer=120 last=120 end=120 in=5/usage out=9/usage chunks=[to@120] finish=tool_calls`},
	{"D07 several tokens in a chunk", `@5 H role @100 "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a b c d\"}}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":4}}\n\n" @140 "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" e f g h\"}}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":8}}\n\n" @180 "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" i j k l\"}}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":12}}\n\n" f("stop") u(5,12) done`,
		`ok ttft=100 answer=100 last=180 end=180 in=5/usage out=12/usage chunks=[te4@100 te4@140 te4@180] first=4 finish=stop text="a b c d e f g h i j k l"`},
	{"D11 one output token", `@5 H role @100 T("a") f("length") u(5,1) done`,
		`ok ttft=100 answer=100 last=100 end=100 in=5/usage out=1/usage chunks=[te@100] finish=length text="a"`},
	{"D12 late usage and [DONE]", `@5 H role @100 T("a") @120 T("b") @140 T("c") @640 f("stop") u(5,3) done`,
		strings.Replace(s0Row, "end=140", "end=640", 1)},
	{"D12 late [DONE] alone", `@5 H role @100 T("a") @120 T("b") @140 T("c") f("stop") @640 u(5,3) @1500 done`,
		strings.Replace(s0Row, "end=140", "end=1500", 1)},
	{"D19 two choices", `@5 H role @100 "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n" @110 "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"x\"}}]}\n\n" @120 T("b") @130 "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"y\"}}]}\n\n" @140 f("stop") @150 "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"z\"}}]}\n\n" @160 "data: {\"choices\":[{\"index\":1,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n" u(5,5) done`,
		`ok ttft=100 answer=100 last=150 end=160 in=5/usage out=5/usage chunks=[te@100 te@110 te@120 te@130 te@150] finish=stop,length text="ab\x1exyz"`},
	{"D19 the second is slow", `@5 H role @100 T("a") "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"x\"}}]}\n\n" f("stop") @9000 "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"y\"},\"finish_reason\":\"stop\"}]}\n\n" u(5,3) stay`,
		`ok ttft=100 answer=100 last=9000 end=11000 in=5/usage out=3/usage chunks=[te@100*2 te@9000] finish=stop marks=no-done text="a\x1exy"`},
	{"D19 both in one event", `@5 H @100 "data: {\"choices\":[{\"index\":0,\"text\":\"a\",\"finish_reason\":\"stop\"},{\"index\":1,\"text\":\"x\",\"finish_reason\":\"stop\"}]}\n\n" u(5,2) done`,
		`ok ttft=100 answer=100 last=100 end=100 in=5/usage out=2/usage chunks=[te@100] finish=stop text="a\x1ex"`},
	{"the first token by usage", `@5 H role @100 "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"}}],\"usage\":{\"completion_tokens\":1}}\n\n" @120 "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"é\"},\"finish_reason\":null}],\"usage\":{\"completion_tokens\":2}}\n\n" @130 "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"completion_tokens\":3}}\n\n" done`,
		`ok ttft=100 answer=100 last=120 end=130 in=- out=3/usage chunks=[us1@100 te1@120] first=1 finish=stop marks=ttft-by-usage text="é"`},
	{"content as a list of parts", `@5 H role @100 c({"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}) @120 c({"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}) f("stop") u(5,3) done`,
		`ok ttft=100 answer=120 last=120 end=120 in=5/usage out=3/usage chunks=[re@100 te@120] finish=stop text="ab"`},
	{"escaped keys and loose numbers", `@5 H role @100 "data: {\"\\u0063hoices\":[{\"index\":0.0,\"delta\":{\"content\":\"a\"}}],\"usage\":{\"completion_tokens\":1.0,\"prompt_tokens\":\"5\"}}\n\n" f("stop") done`,
		`ok ttft=100 answer=100 last=100 end=100 in=5/usage out=1/usage chunks=[te1@100] first=1 finish=stop text="a"`},
	{"empty finish reasons", `@5 H @100 "data: {\"choices\":[{\"index\":0,\"text\":\"a\",\"finish_reason\":\"\"}]}\n\n" @120 "data: {\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"length\"}]}\n\n" u(5,1) done`,
		`ok ttft=100 answer=100 last=100 end=120 in=5/usage out=1/usage chunks=[te@100] finish=length text="a"`},
	{"E09 silence", `@5 H role @100 T("a") stay`,
		`failed/stalled ttft=100 answer=100 last=100 end=60100 in=- out=- chunks=[te@100] finish= text="a"`},
	{"E09 silence from the start", `stay`,
		`failed/stalled http=- ttft=- answer=- last=- end=60000 in=- out=- chunks=[] finish=`},
	{"E09 comments for ever", `@5 H role @100 T("a") @50100 ": ping\n" @100100 ": ping\n" @150100 ": ping\n" stay`,
		`failed/stalled ttft=100 answer=100 last=100 end=120100 in=- out=- chunks=[te@100] finish= text="a"`},
	{"E09 tokens for ever", `@5 H role @100 T("a")` + strings.Repeat(` @%d T("b")`, 12) + ` stay`,
		`failed/timeout ttft=100 answer=100 last=550100 end=600000 in=- out=- chunks=[te@100 te@50100 te@100100 te@150100 te@200100 te@250100 te@300100 te@350100 te@400100 te@450100 te@500100 te@550100] finish= text="abbbbbbbbbbb"`},
	{"E11 cut at a round number", `@5 H role @100 T("a") @3000 fin`,
		`failed/truncated ttft=100 answer=100 last=100 end=3000 in=- out=- chunks=[te@100] finish= text="a"`},
}

func TestCases(t *testing.T) {
	for _, group := range [][]wireCase{framingCases, endingCases, tokenCases, timingCases} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				if strings.Contains(c.script, "%d") {
					c.script = everyFifty(c.script)
				}
				for cutName, cut := range cuts(11) {
					got := playOne(t, scene{script: c.script, cut: cut}, chatRequest())
					if got != c.want {
						t.Errorf("%s\ngot  %s\nwant %s", cutName, got, c.want)
					}
				}
			})
		}
	}
}

// everyFifty fills the times of a script in, 50 s apart.
func everyFifty(script string) string {
	times := make([]any, strings.Count(script, "%d"))
	for i := range times {
		times[i] = 50_100 + 50_000*i
	}
	return fmt.Sprintf(script, times...)
}
