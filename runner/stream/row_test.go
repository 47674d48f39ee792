package stream

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

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
