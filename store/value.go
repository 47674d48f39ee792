package store

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// compactJSON writes a value as JSON text, with <, > and & as they are.
func compactJSON(v any) (string, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// typed is v with every float replaced by a number that shows what it is: 5.0 and not 5. What JSON has no number for
// (NaN, infinities) becomes null. Maps and slices are copied, v stays as it is.
func typed(v any) any {
	switch v := v.(type) {
	case float64:
		return floatNumber(v)
	case float32:
		return floatNumber(float64(v))
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = typed(e)
		}
		return m
	}
	if s := reflect.ValueOf(v); s.Kind() == reflect.Slice && s.Type().Elem().Kind() != reflect.Uint8 {
		all := make([]any, s.Len())
		for i := range all {
			all[i] = typed(s.Index(i).Interface())
		}
		return all
	}
	return v
}

func floatNumber(x float64) any {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	s := strconv.FormatFloat(x, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return json.Number(s)
}

// parseTyped reads what typed wrote: int64, float64, string, bool, nil, []any and map[string]any.
func parseTyped(s string) (any, error) {
	if s == "" {
		return nil, nil
	}
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return untyped(v), nil
}

// untyped turns the numbers of a decoded value into int64 and float64, in place.
func untyped(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		x, _ := v.Float64()
		return x
	case map[string]any:
		for k, e := range v {
			v[k] = untyped(e)
		}
	case []any:
		for i, e := range v {
			v[i] = untyped(e)
		}
	}
	return v
}
