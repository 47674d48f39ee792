package target

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// event is what the probe reads of an event of a stream, or of a whole answer.
type event struct {
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Text     string          `json:"text"`
		TokenIDs json.RawMessage `json:"token_ids"`
		Delta    message         `json:"delta"`
		Message  message         `json:"message"`
		Finish   string          `json:"finish_reason"`
	} `json:"choices"`
}

type message struct {
	Content          string          `json:"content"`
	Reasoning        string          `json:"reasoning"`
	ReasoningContent string          `json:"reasoning_content"`
	ToolCalls        json.RawMessage `json:"tool_calls"`
}

func (m message) output() bool {
	return m.Content != "" || m.Reasoning != "" || m.ReasoningContent != "" || given(m.ToolCalls)
}

func given(raw json.RawMessage) bool {
	text := string(raw)
	return text != "" && text != "null" && text != "[]"
}

// output says that the event holds something that was generated.
func (e event) output() bool {
	for _, c := range e.Choices {
		if c.Text != "" || given(c.TokenIDs) || c.Delta.output() || c.Message.output() {
			return true
		}
	}
	return false
}

// broken is the reason to finish that says that the answer is none, or empty.
func (e event) broken() string {
	for _, c := range e.Choices {
		if c.Finish == "abort" || c.Finish == "error" {
			return c.Finish
		}
	}
	return ""
}

// readAnswer reads a completion to its end. Some output makes it one, unless the server gave it up.
func readAnswer(body io.Reader, where string, streamed bool) (answer, error) {
	var a answer
	events, done := 0, false
	take := func(text []byte) error {
		var e event
		if err := json.Unmarshal(text, &e); err != nil {
			return nil // one event that cannot be read does not make a server unready
		}
		if given(e.Error) {
			return &refusal{status: errorCode(e.Error), where: where, sentence: sentence(text)}
		}
		events++
		if reason := e.broken(); reason != "" {
			return fmt.Errorf("%s: the answer ended with finish reason %s", where, reason)
		}
		output := e.output()
		if output && streamed && a.first.IsZero() {
			a.first = time.Now()
		}
		done = done || output
		return nil
	}
	if err := eachEvent(body, streamed, take); err != nil {
		return a, err
	}
	switch {
	case done:
	case events == 0 && streamed:
		return a, fmt.Errorf("%s answers 200 with nothing that is an event of a stream", where)
	default:
		return a, fmt.Errorf("%s: the answer has no output", where)
	}
	a.ended = time.Now()
	return a, nil
}

// eachEvent gives take the data of each event, or the whole body where it is not streamed.
func eachEvent(body io.Reader, streamed bool, take func([]byte) error) error {
	if !streamed {
		text, err := io.ReadAll(io.LimitReader(body, bodyLimit))
		if err != nil {
			return err
		}
		return take(text)
	}
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 16<<10), bodyLimit)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if data = strings.TrimSpace(data); !ok {
			continue
		}
		if data == "[DONE]" {
			return nil
		}
		if err := take([]byte(data)); err != nil {
			return err
		}
	}
	return lines.Err()
}
