package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// observed adds what was observed of a trial.
func (r *Record) observed(facts []sweep.Observation) {
	type fact struct {
		Source string  `json:"source"`
		Key    string  `json:"key"`
		Value  any     `json:"value"`
		AtMS   float64 `json:"at_ms"`
	}
	var entries []Entry
	var all []fact
	for _, o := range facts {
		entries = append(entries, Entry{o.Source + " " + o.Key, fmt.Sprintf("%s at %s", reading(o.Key, o.Value), seconds(o.AtNS))})
		all = append(all, fact{o.Source, o.Key, o.Value, float64(o.AtNS) / 1e6})
	}
	const title = "Observed"
	r.with(title, entries)
	r.structured(title, all)
}

// reading is an observed value for people: rounded, a share in percent, a time in the unit that suits it.
func reading(key string, value any) string {
	var x float64
	switch v := value.(type) {
	case float64:
		x = v
	case int64:
		x = float64(v)
	default:
		return level(value)
	}
	switch {
	case key == sweep.ObsProcessStart:
		return time.UnixMilli(int64(1000 * x)).UTC().Format(time.RFC3339Nano)
	case strings.HasSuffix(key, "_ns"):
		return duration(x)
	case strings.HasSuffix(key, "_us"):
		return duration(1000 * x)
	case strings.HasSuffix(key, "_share"):
		x *= 100
		return plain(&x, significant3).String() + " %"
	case x == math.Trunc(x):
		return level(value)
	}
	return plain(&x, significant3).String()
}

// duration writes nanoseconds in the largest unit of which there is one.
func duration(ns float64) string {
	unit := "ns"
	for _, larger := range []string{"µs", "ms", "s"} {
		if math.Abs(ns) < 1000 {
			break
		}
		ns, unit = ns/1000, larger
	}
	return plain(&ns, significant3).String() + " " + unit
}
