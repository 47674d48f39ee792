package sim

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestWordsRoundTrip(t *testing.T) {
	const vocab = 131072
	for id := int32(1); id < vocab; id++ {
		word := string(appendWord(nil, id))
		if got := appendTokens(nil, " "+word, vocab); len(got) != 1 || got[0] != id {
			t.Fatalf("token %d is %q, read as %v", id, word, got)
		}
	}
}

func TestOneTokenAWord(t *testing.T) {
	for text, want := range map[string]int{"": 0, " ": 0, "one": 1, "one  two\nthree\t": 3, "über ünder": 2, "baba": 1, "bababa": 1} {
		tokens := appendTokens(nil, text, 1000)
		if len(tokens) != want {
			t.Errorf("%q has %d tokens, want %d", text, len(tokens), want)
		}
		if id, bad := outside(tokens, 1000); bad || len(tokens) > 0 && tokens[0] == tokenEOS {
			t.Errorf("%q has token %d", text, id)
		}
	}
}

func TestChatTemplateIsConstant(t *testing.T) {
	for _, text := range []string{"", "one", "one two three four"} {
		words := len(strings.Fields(text))
		if got := len(chatTokens([]message{{Role: "user", Content: content(text)}}, 1000)); got != words+7 {
			t.Errorf("a chat of %d words has %d tokens", words, got)
		}
	}
}

// Whatever is posted, the answer is a status that means something, and nothing panics.
func FuzzBody(f *testing.F) {
	for _, body := range []string{
		`{"prompt":"a"}`, `{"prompt":[1,2],"max_tokens":3}`, `{"prompt":[[1]]}`, `{"prompt":["a","b"]}`, `{"prompt":[null]}`, `{"messages":[{"role":"user","content":[{"text":"a"}]}]}`,
		`{"prompt":"a","max_tokens":1e9}`, `{"prompt":"a","stream_options":null}`, `[`, `null`, `{"prompt":{}}`, `{"prompt":[2147483648]}`, `{"prompt":"a","cache_salt":"é"}`,
	} {
		f.Add(body, false)
		f.Add(body, true)
	}
	cfg := quick()
	cfg.MaxModelLen = 64
	s, err := New(cfg)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string, chat bool) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/v1/completions", strings.NewReader(body))
		a, refused := s.read(w, r)
		if refused == nil {
			var q *sequence
			q, refused = s.understand(a, chat, time.Now())
			if refused == nil && (q.target < 1 || len(q.prompt)+q.target > cfg.MaxModelLen) {
				t.Errorf("%d tokens asked of a prompt of %d for %q", q.target, len(q.prompt), body)
			}
		}
		if refused != nil && refused.status != http.StatusBadRequest && refused.status != http.StatusNotFound {
			t.Errorf("status %d for %q", refused.status, body)
		}
	})
}
