package sim

import (
	"math/bits"
	"strings"
)

// The ids below firstWord are the ones that no answer draws: the end of a sequence and the parts of the chat template.
const (
	tokenEOS  = 0
	tokenOpen = 1 // in front of a message's role
	tokenBody = 2 // between role and content
	tokenEnd  = 3 // behind the content
	tokenRole = 4 // the first of four: system, user, assistant, any other
	firstWord = 16
)

const (
	consonants = "bcdfghjklmnpqrstvwxz"
	vowels     = "aeiou"
	syllables  = len(consonants) * len(vowels)
)

// appendWord appends the word of a token id: its digits to the base of 100, at least two, as syllables. The end of the
// sequence has none.
func appendWord(b []byte, id int32) []byte {
	if id == tokenEOS {
		return b
	}
	n := int(id)
	unit := syllables
	for n/unit >= syllables {
		unit *= syllables
	}
	for ; unit > 0; unit /= syllables {
		d := n / unit % syllables
		b = append(b, consonants[d/len(vowels)], vowels[d%len(vowels)])
	}
	return b
}

// parseWord is the inverse of appendWord.
func parseWord(w string, vocab int) (int32, bool) {
	if len(w) < 4 || len(w) > 8 || len(w)%2 != 0 {
		return 0, false
	}
	id := 0
	for i := 0; i < len(w); i += 2 {
		c, v := strings.IndexByte(consonants, w[i]), strings.IndexByte(vowels, w[i+1])
		if c < 0 || v < 0 {
			return 0, false
		}
		id = id*syllables + c*len(vowels) + v
	}
	if id >= vocab || id == tokenEOS || len(w) > 4 && w[:2] == "ba" {
		return 0, false
	}
	return int32(id), true
}

// appendTokens appends one token for each word of a text: a word of the vocabulary's own is its id, any other some id.
func appendTokens(tokens []int32, text string, vocab int) []int32 {
	for w := range strings.FieldsSeq(text) {
		id, ok := parseWord(w, vocab)
		if !ok {
			h := uint64(len(w))
			for i := range len(w) {
				h = mix(h, uint64(w[i]))
			}
			id = wordFor(h, vocab)
		}
		tokens = append(tokens, id)
	}
	return tokens
}

// appendText appends the words of these tokens, each behind a blank.
func appendText(b []byte, tokens []int32) []byte {
	for _, id := range tokens {
		if id != tokenEOS {
			b = appendWord(append(b, ' '), id)
		}
	}
	return b
}

// chatTokens applies the chat template: four tokens a message besides its words, and three that open the answer.
func chatTokens(messages []message, vocab int) []int32 {
	var tokens []int32
	for _, m := range messages {
		tokens = append(tokens, tokenOpen, roleToken(m.Role), tokenBody)
		tokens = append(appendTokens(tokens, string(m.Content), vocab), tokenEnd)
	}
	return append(tokens, tokenOpen, roleToken("assistant"), tokenBody)
}

func roleToken(role string) int32 {
	for i, r := range []string{"system", "user", "assistant"} {
		if r == role {
			return tokenRole + int32(i)
		}
	}
	return tokenRole + 3
}

// wordFor maps a hash to the id of a word.
func wordFor(h uint64, vocab int) int32 {
	hi, _ := bits.Mul64(h, uint64(vocab-firstWord))
	return firstWord + int32(hi)
}

// mix folds a value into a hash. Equal values in another order give another hash; 0 is as good a start as any.
func mix(h, v uint64) uint64 {
	h = (h ^ v) + 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
