package target

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// bodyLimit is the most that is read of an answer, in bytes.
const bodyLimit = 8 << 20

// sideTimeout bounds a question about the server itself.
const sideTimeout = 10 * time.Second

// do sends one request with the headers that every request has.
func (s *Server) do(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.Base+path, body)
	if err != nil {
		return nil, err
	}
	request.Header = s.header.Clone()
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, cause(ctx, err)
	}
	return response, nil
}

// cause says why ctx ended where that is why a request failed, and drops the URL that net/http puts before its errors.
func cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil {
		return c
	}
	if u, ok := err.(*url.Error); ok {
		return u.Err
	}
	return err
}

// query asks for a small document. The status is 0 where there was no answer.
func (s *Server) query(ctx context.Context, method, path string, body any) (status int, text []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, sideTimeout)
	defer cancel()
	var reader io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		reader = bytes.NewReader(encoded)
	}
	response, err := s.do(ctx, method, path, reader)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(io.LimitReader(response.Body, bodyLimit))
	return response.StatusCode, text, err
}

// get asks for a document that the server may not have; false means that it has none, or none that can be read.
func (s *Server) get(ctx context.Context, path string) ([]byte, bool) {
	if path == "" {
		return nil, false
	}
	status, text, err := s.query(ctx, http.MethodGet, path, nil)
	return text, err == nil && status == http.StatusOK
}

// sentence is what a body that tells of an error says, in one line. A body that echoes the request is read only where it
// says what is wrong.
func sentence(body []byte) string {
	var document any
	if json.Unmarshal(body, &document) == nil {
		if text := strings.Join(strings.Fields(said(document)), " "); text != "" {
			return clip(text, 500)
		}
	}
	text := regexp.MustCompile(`(?s)<(script|style).*?</(script|style)>|<[^>]*>`).ReplaceAllString(string(body), " ")
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if text == "" {
		return "nothing more"
	}
	return clip(text, 300)
}

// said finds the words in the shapes that servers give their errors: an error as text or as an object with a message, a
// detail as text or as a list of places and messages.
func said(document any) string {
	switch v := document.(type) {
	case string:
		return v
	case []any:
		var parts []string
		for _, item := range v {
			if text := said(item); text != "" {
				parts = append(parts, text)
			}
		}
		return strings.Join(parts, "; ")
	case map[string]any:
		if at, ok := v["loc"].([]any); ok {
			var place []string
			for _, step := range at {
				place = append(place, fmt.Sprint(step))
			}
			return fmt.Sprintf("%s: %v", strings.Join(place, "."), v["msg"])
		}
		for _, name := range []string{"error", "message", "detail", "msg"} {
			if text := said(v[name]); text != "" {
				if param, ok := v["param"].(string); ok && param != "" && !strings.Contains(text, param) {
					text += " (" + param + ")"
				}
				return text
			}
		}
	}
	return ""
}

// errorCode is the status that an error inside a 200 gives itself; without one it is the server's own fault.
func errorCode(raw json.RawMessage) int {
	var e struct {
		Code   any `json:"code"`
		Status any `json:"status"`
	}
	if json.Unmarshal(raw, &e) == nil {
		for _, v := range []any{e.Code, e.Status} {
			if code, ok := v.(float64); ok && code >= 400 && code < 600 {
				return int(code)
			}
		}
	}
	return http.StatusInternalServerError
}

// hostOf is the host of a URL, without the port.
func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
