package bench

import (
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
)

// row is one figure of both clients, a value a round.
type row struct {
	pattern, figure, unit string
	raw, ours             []float64
	// goal and stretch bound the ratio ours ÷ raw, or where absolute the figure itself; a goal of NaN is none, and so
	// is a stretch of 0.
	goal, stretch float64
	absolute      bool
}

func newRow(pattern, figure, unit string, runs map[string][]figures, of func(figures) float64) row {
	r := row{pattern: pattern, figure: figure, unit: unit, goal: math.NaN()}
	for _, f := range runs["raw"] {
		r.raw = append(r.raw, of(f))
	}
	for _, f := range runs["ours"] {
		r.ours = append(r.ours, of(f))
	}
	return r
}

func (r row) to(goal, stretch float64) row {
	r.goal, r.stretch = goal, stretch
	return r
}

// patternRows are the figures that a pattern is there for.
func patternRows(p pattern, runs map[string][]figures) []row {
	figure := func(name, unit string, of func(figures) float64) row { return newRow(p.Name, name, unit, runs, of) }
	cpu := figure("processor time per event", "µs", func(f figures) float64 { return f.CPUPerEventUS })
	seconds := figure("processor time", "s", func(f figures) float64 { return f.CPUSeconds })
	p50 := figure("receive lag p50", "µs", func(f figures) float64 { return f.LagP50US })
	p99 := figure("receive lag p99", "µs", func(f figures) float64 { return f.LagP99US })
	rate := figure("events per second of a core", "1/s", func(f figures) float64 { return 1e6 / f.CPUPerEventUS })
	added := figure("mean TTFT added", "ms", func(f figures) float64 { return f.TTFTAddedMS })
	onTheWay := figure("of it on the way to the server", "ms", func(f figures) float64 { return f.OnTheWayMS })
	sends := figure("first to last request sent", "ms", func(f figures) float64 { return f.SendsMS })
	gap := figure("sd of gaps", "ms", func(f figures) float64 { return f.GapSDMS })
	serverGap := figure("sd of gaps, the server's own", "ms", func(f figures) float64 { return f.ServerGapSDMS })
	switch {
	case p.Name == "paced":
		return []row{cpu.to(2, 1.2), p50.to(2, 1.3), p99.to(2, 1.3), rate}
	case p.Name == "coalesced":
		return []row{cpu.to(1.5, 1.15), p50, p99, rate}
	case strings.HasPrefix(p.Name, "flood"):
		return []row{cpu, rate}
	case p.Streams == 1000:
		seconds = seconds.to(2.2, 1.4)
	}
	return []row{added.to(1.2, 0), onTheWay, sends, seconds, gap, serverGap}
}

// ratios are ours ÷ raw, round by round.
func (r row) ratios() []float64 {
	var all []float64
	for i := range r.raw {
		all = append(all, r.ours[i]/r.raw[i])
	}
	return all
}

func printRows(w io.Writer, rows []row) error {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "pattern\tfigure\tunit\traw epoll\tsweep\tratio\tof rounds\tgoal\tstretch\t\t")
	for _, r := range rows {
		raw, ratio, spread := "", "", ""
		judged := median(r.ours)
		if len(r.raw) > 0 {
			all := r.ratios()
			raw, ratio = short(median(r.raw)), short(median(all))
			spread = short(slices.Min(all)) + "–" + short(slices.Max(all))
			if !r.absolute {
				judged = median(all)
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", r.pattern, r.figure, r.unit, raw, short(median(r.ours)), ratio, spread, r.judge(judged))
	}
	t.Flush()
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// judge says which bounds a value keeps: goal, stretch, and a word.
func (r row) judge(value float64) string {
	if math.IsNaN(r.goal) {
		return "\t\t"
	}
	sign := ""
	if !r.absolute {
		sign = "×"
	}
	word := "missed"
	switch {
	case r.stretch > 0 && value <= r.stretch:
		word = "stretch"
	case value <= r.goal:
		word = "reached"
	}
	stretch := ""
	if r.stretch > 0 {
		stretch = sign + short(r.stretch)
	}
	return sign + short(r.goal) + "\t" + stretch + "\t" + word
}

// short is a figure with three digits that count.
func short(v float64) string {
	switch size := math.Abs(v); {
	case size >= 1000:
		return fmt.Sprintf("%.0f", v)
	case size >= 100:
		return fmt.Sprintf("%.0f", v)
	case size >= 10:
		return fmt.Sprintf("%.1f", v)
	case size >= 0.1 || size == 0:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// machine says where figures come from, and how busy it was.
func machine() string {
	load, _ := os.ReadFile("/proc/loadavg")
	return fmt.Sprintf("%s, %d processors, load %s", runtime.Version(), runtime.NumCPU(), strings.TrimSpace(string(load)))
}
