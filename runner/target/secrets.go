package target

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/runner/engine"
	"github.com/inference-sweep/sweep/sweep"
)

// secrets remembers the values that were read from the environment, by their names, so that no text which leaves this
// package holds one.
type secrets map[string]string

// shortest is the length under which a value is not taken out of texts: it would match by chance.
const shortest = 4

// redact puts the names of secrets where their values stand.
func (s secrets) redact(text string) string {
	for _, name := range slices.SortedFunc(maps.Keys(s), func(a, b string) int { return len(s[b]) - len(s[a]) }) {
		if len(s[name]) >= shortest {
			text = strings.ReplaceAll(text, s[name], "$"+name)
		}
	}
	return text
}

// resolve turns a value of the definition into text: text as it stands, {"fromEnv": NAME} as that variable's value. path
// is where it was written.
func (s *secrets) resolve(path string, value any, getenv func(string) (string, bool)) (string, error) {
	name := ""
	switch v := value.(type) {
	case string:
		return v, nil
	case map[string]any:
		name, _ = v["fromEnv"].(string)
	}
	if name == "" {
		return "", fmt.Errorf("%s: neither text nor a secret", path)
	}
	text, ok := getenv(name)
	if !ok || text == "" {
		return "", fmt.Errorf("%s: the environment variable %s is not set", path, name)
	}
	if *s == nil {
		*s = secrets{}
	}
	(*s)[name] = text
	return text, nil
}

// header makes the headers of every request. One in contract.request.headers wins over server.key's.
func (s *secrets) header(c *sweep.Cell, getenv func(string) (string, bool)) (http.Header, error) {
	header := http.Header{}
	if c.Server.Key != nil {
		key, err := s.resolve("server.key", map[string]any{"fromEnv": c.Server.Key.FromEnv}, getenv)
		if err != nil {
			return nil, err
		}
		if err := oneLine("server.key", key); err != nil {
			return nil, err
		}
		header.Set("Authorization", "Bearer "+key)
	}
	if c.Contract.Request == nil {
		return header, nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.Contract.Request.Headers)) {
		path := "contract.request.headers." + name
		value, err := s.resolve(path, c.Contract.Request.Headers[name], getenv)
		if err != nil {
			return nil, err
		}
		if err := oneLine(path, value); err != nil {
			return nil, err
		}
		header.Set(name, value)
	}
	return header, nil
}

// oneLine refuses what cannot stand in a header, without printing it.
func oneLine(path, value string) error {
	if strings.ContainsAny(value, "\r\n\x00") {
		return fmt.Errorf("%s: the value has a line break", path)
	}
	return nil
}

// env makes what is added to the launched server's environment, as NAME=VALUE in the order of the names.
func (s *secrets) env(c *sweep.Cell, getenv func(string) (string, bool)) ([]string, error) {
	added := engine.Env(c)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(added)) {
		value, err := s.resolve("server.env."+name, added[name], getenv)
		if err != nil {
			return nil, err
		}
		out = append(out, name+"="+value)
	}
	return out, nil
}

// SecretNames lists the environment variables that the cell's requests, and its launch where it has one, take values
// from.
func SecretNames(c *sweep.Cell) []string {
	var names []string
	add := func(value any) {
		if secret, ok := value.(map[string]any); ok {
			if name, ok := secret["fromEnv"].(string); ok {
				names = append(names, name)
			}
		}
	}
	if c.Server.Key != nil {
		names = append(names, c.Server.Key.FromEnv)
	}
	if c.Contract.Request != nil {
		for _, value := range c.Contract.Request.Headers {
			add(value)
		}
	}
	if !engine.Attached(c) {
		for _, value := range engine.Env(c) {
			add(value)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
