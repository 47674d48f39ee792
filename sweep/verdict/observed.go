package verdict

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// observed is what was observed of a trial: under each key the distinct values, in the order in which they were seen.
type observed map[string][]any

// clientSource marks observations of the client's own machine: they say nothing of the server's host or GPUs.
const clientSource = "client"

func observe(f sweep.TrialFacts) observed {
	o := observed{}
	if f.Launch != nil {
		for key, value := range f.Launch.Observed {
			o.add(key, value)
		}
	}
	for _, seen := range f.Observations {
		if seen.Source == clientSource && slices.Contains(sweep.ObservedLeaves, seen.Key) {
			continue
		}
		o.add(seen.Key, seen.Value)
	}
	return o
}

func (o observed) add(key string, value any) {
	if text := textOf(value); text == "" || slices.ContainsFunc(o[key], func(v any) bool { return textOf(v) == text }) {
		return
	}
	o[key] = append(o[key], value)
}

// number is the last value under a key.
func (o observed) number(key string) (float64, bool) {
	values := o[key]
	if len(values) == 0 {
		return 0, false
	}
	return numberOf(values[len(values)-1])
}

// texts are all values under a key, a list's one by one.
func (o observed) texts(key string) []string {
	var texts []string
	for _, value := range o[key] {
		for _, item := range itemsOf(value) {
			if text := textOf(item); !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// itemsOf are a list's items, or the value itself.
func itemsOf(value any) []any {
	switch v := value.(type) {
	case []any:
		return v
	case []string:
		items := make([]any, len(v))
		for i := range v {
			items[i] = v[i]
		}
		return items
	}
	return []any{value}
}

// textOf writes a value so that equal ones have equal texts, whatever they went through.
func textOf(value any) string {
	if x, ok := numberOf(value); ok {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return strings.TrimSpace(v)
	case []any, []string:
		var texts []string
		for _, item := range itemsOf(v) {
			texts = append(texts, textOf(item))
		}
		return strings.Join(texts, ", ")
	}
	return fmt.Sprint(value)
}

func numberOf(value any) (float64, bool) {
	switch v := value.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	}
	return 0, false
}
