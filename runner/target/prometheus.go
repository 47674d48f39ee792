package target

import (
	"bufio"
	"bytes"
	"math"
	"strconv"
	"strings"
)

// series is one line of Prometheus's text format.
type series struct {
	name   string
	labels map[string]string
	value  float64
}

// metrics is a page of them, by name.
type metrics map[string][]series

// parseMetrics reads Prometheus's text format. Lines that are not of it are passed over: a page with a mistake in it
// still tells the rest.
func parseMetrics(text []byte) metrics {
	out := metrics{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, bodyLimit)
	for lines.Scan() {
		if s, ok := parseSeries(strings.TrimSpace(lines.Text())); ok {
			out[s.name] = append(out[s.name], s)
		}
	}
	return out
}

func parseSeries(line string) (series, bool) {
	if line == "" || line[0] == '#' {
		return series{}, false
	}
	end := strings.IndexAny(line, "{ \t")
	if end <= 0 {
		return series{}, false
	}
	s := series{name: line[:end], labels: map[string]string{}}
	rest := line[end:]
	if rest[0] == '{' {
		var ok bool
		if rest, ok = parseLabels(rest[1:], s.labels); !ok {
			return series{}, false
		}
	}
	// A time may follow the value.
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return series{}, false
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	s.value = value
	return s, err == nil
}

// parseLabels reads name="value" pairs up to the closing brace and gives what follows it.
func parseLabels(text string, into map[string]string) (rest string, ok bool) {
	for {
		text = strings.TrimLeft(text, ", \t")
		if strings.HasPrefix(text, "}") {
			return text[1:], true
		}
		name, after, found := strings.Cut(text, "=")
		after = strings.TrimLeft(after, " \t")
		if !found || !strings.HasPrefix(after, `"`) {
			return "", false
		}
		value, after, closed := quoted(after[1:])
		if !closed {
			return "", false
		}
		into[strings.TrimSpace(name)] = value
		text = after
	}
}

// quoted reads up to the closing quotation mark; \\, \" and \n stand for a backslash, a mark and a line's end.
func quoted(text string) (value, rest string, closed bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), text[i+1:], true
		case c == '\\' && i+1 < len(text):
			i++
			if text[i] == 'n' {
				b.WriteByte('\n')
			} else {
				b.WriteByte(text[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

// sum adds up the series of some metrics; false means that there is none of them.
func (m metrics) sum(names ...string) (total float64, ok bool) {
	for _, name := range names {
		for _, s := range m[name] {
			if s.value >= 0 && !math.IsInf(s.value, 1) { // no count is anything else
				total, ok = total+s.value, true
			}
		}
	}
	return total, ok
}
