package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// A phrase says one part of a cell's contract in short clauses. Clauses that differ between cells are listed together,
// the baseline's first; so a phrase gives as many clauses in one cell as in another wherever it can.
type phrase struct {
	term string
	say  func(*sweep.Cell) []string
}

func (s *scope) phrases() []phrase {
	return []phrase{
		{"model", sayModel},
		{"engine", sayEngine(s.engineArgs())},
		{"hardware", sayHardware},
		{"precision", sayPrecision},
		{"workload", sayWorkload},
		{"sampling", saySampling},
		{"requests", sayRequest},
		{"cache", sayCache},
		{"load", sayLoad},
		{"SLO", s.saySLO()},
		{"measured", sayMeasure},
	}
}

// engineArgs are the options that any shown cell gives its engine.
func (s *scope) engineArgs() []string {
	names := map[string]bool{}
	for _, sub := range s.cells {
		for name := range sub.cell.Cell.Contract.Engine.Args {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// variesMark stands between the values of a clause that differs between the rows.
const variesMark = " | "

// valuesShown is how many values of a varying clause are listed.
const valuesShown = 8

// contract says what the shown cells share and what varies between them.
func (s *scope) contract() []Entry {
	var entries []Entry
	for _, p := range s.phrases() {
		var said [][]string
		for _, sub := range s.cells {
			said = append(said, p.say(&sub.cell.Cell))
		}
		text := merge(said)
		if p.term == "SLO" && s.SLO != "" {
			text += s.instead()
		}
		if text != "" {
			entries = append(entries, Entry{p.term, text})
		}
	}
	return append(entries, Entry{"blocks", s.repeats()})
}

func (s *scope) repeats() string {
	text := fmt.Sprintf("%d, each one pass over all cells in a fresh order, with the same lengths and arrivals for all (seed %d)",
		s.Plan.Blocks, s.Plan.Seed)
	if s.hasTwin() {
		text += "; " + sweep.TwinName + " is the baseline once more: the noise floor"
	}
	return text
}

// merge joins the clauses of all cells into one text.
func merge(said [][]string) string {
	if len(said) == 0 {
		return ""
	}
	even := !slices.ContainsFunc(said, func(c []string) bool { return len(c) != len(said[0]) })
	if !even {
		whole := make([][]string, len(said))
		for i, clauses := range said {
			whole[i] = []string{strings.Join(clauses, ", ")}
		}
		said = whole
	}
	clauses := make([]string, len(said[0]))
	for i := range clauses {
		var values []string
		for _, cell := range said {
			if !slices.Contains(values, cell[i]) {
				values = append(values, cell[i])
			}
		}
		clauses[i] = alternatives(values)
	}
	clauses = slices.DeleteFunc(clauses, func(c string) bool { return c == "" })
	return strings.Join(clauses, ", ")
}

// alternatives lists differing values; words that all of them begin or end with are said once.
func alternatives(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	for i, v := range values {
		if v == "" {
			values[i] = "unset"
		}
	}
	head, tail := shared(values)
	for i := range values {
		values[i] = strings.TrimSuffix(strings.TrimPrefix(values[i], head), tail)
	}
	if len(values) > valuesShown {
		values = append(values[:valuesShown-1:valuesShown-1], fmt.Sprintf("… (%d values)", len(values)))
	}
	return head + "{" + strings.Join(values, variesMark) + "}" + tail
}

// shared are the words, each with the space beside it, that all of several different texts begin and end with.
func shared(texts []string) (head, tail string) {
	first := strings.Split(texts[0], " ")
	all := func(has func(text, part string) bool, part string) bool {
		return !slices.ContainsFunc(texts, func(t string) bool { return !has(t, part) })
	}
	at := 0
	for at < len(first)-1 && all(strings.HasPrefix, strings.Join(first[:at+1], " ")+" ") {
		at++
		head = strings.Join(first[:at], " ") + " "
	}
	for end := len(first) - 1; end > at && all(strings.HasSuffix, " "+strings.Join(first[end:], " ")); end-- {
		tail = " " + strings.Join(first[end:], " ")
	}
	for _, t := range texts {
		if len(t) <= len(head)+len(tail) {
			return "", "" // what is shared overlaps in this one
		}
	}
	return head, tail
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func sayModel(c *sweep.Cell) []string {
	m := c.Contract.Model
	clauses := []string{m.Id, "revision " + short(m.Revision)}
	if m.Adapter != nil {
		clauses = append(clauses, "adapter "+m.Adapter.Id+" revision "+short(m.Adapter.Revision))
	}
	return clauses
}

// short cuts a commit to what identifies it to a reader; the full one lies beside the table.
func short(revision string) string {
	if len(revision) > 12 && strings.Trim(revision, "0123456789abcdef") == "" {
		return revision[:12]
	}
	return revision
}

// sayEngine says an engine with all options of `args`, also those that this cell does not set.
func sayEngine(args []string) func(*sweep.Cell) []string {
	return func(c *sweep.Cell) []string {
		e := c.Contract.Engine
		clauses := []string{e.Name + " " + short(e.Revision)}
		if e.Image != "" {
			clauses = append(clauses, "image "+e.Image)
		}
		for _, name := range args {
			clauses = append(clauses, name+" "+level(e.Args[name]))
		}
		return clauses
	}
}

func sayHardware(c *sweep.Cell) []string {
	h := c.Contract.Hardware
	clauses := []string{fmt.Sprintf("%d × %s", h.Gpus, h.Gpu)}
	for _, part := range []struct{ term, text string }{{"host", h.Host}, {"driver", h.Driver}, {"CUDA", h.Cuda}} {
		if part.text != "" {
			clauses = append(clauses, part.term+" "+part.text)
		}
	}
	if h.PowerLimit != nil {
		clauses = append(clauses, "limited to "+number(*h.PowerLimit)+" W")
	}
	if c.Target != "sim" {
		clauses = append(clauses, "target "+c.Target)
	}
	return clauses
}

func sayPrecision(c *sweep.Cell) []string {
	p := c.Contract.Precision
	clauses := []string{p.Weights + " weights", p.KvCache + " KV cache"}
	if p.Recipe != "" {
		clauses = append(clauses, p.Recipe)
	}
	return clauses
}

func sayWorkload(c *sweep.Cell) []string {
	p := c.Contract.Prompt
	clauses := []string{"prompt " + sayLengths(c, false)}
	if p.Shared != nil {
		clauses = append(clauses, fmt.Sprintf("its first %d shared in %s", p.Shared.Tokens, plural(int(p.Shared.Groups), "group")))
	}
	return append(clauses, "output "+sayLengths(c, true))
}

// sayLengths says the distribution of the cell's output lengths, or of its prompts'.
func sayLengths(c *sweep.Cell, output bool) string {
	l := c.Contract.Prompt.Length
	if output {
		l = c.Contract.Output.Length
	}
	switch {
	case l.Uniform != nil:
		return fmt.Sprintf("uniform %d to %d tokens", l.Uniform.Min, l.Uniform.Max)
	case l.Lognormal != nil && l.Lognormal.Max > 0:
		return fmt.Sprintf("lognormal (median %d, sigma %s, at most %d) tokens",
			l.Lognormal.Median, number(l.Lognormal.Sigma), l.Lognormal.Max)
	case l.Lognormal != nil:
		return fmt.Sprintf("lognormal (median %d, sigma %s) tokens", l.Lognormal.Median, number(l.Lognormal.Sigma))
	case l.Trace != "":
		return "the lengths in " + l.Trace
	}
	return plural(int(l.Fixed), "token")
}

func saySampling(c *sweep.Cell) []string {
	s := c.Contract.Sampling
	clauses := []string{"temperature " + number(s.Temperature)}
	for _, part := range []struct {
		term string
		x    *float64
	}{{"top-p", s.TopP}, {"top-k", asFloat(s.TopK)}, {"min-p", s.MinP}, {"seed", asFloat(s.Seed)}} {
		if part.x != nil {
			clauses = append(clauses, part.term+" "+number(*part.x))
		}
	}
	if len(s.Stop) > 0 {
		clauses = append(clauses, fmt.Sprintf("stop %q", s.Stop))
	}
	if s.IgnoreEOS {
		return append(clauses, "always to the full length (end of sequence ignored)")
	}
	return append(clauses, "ending where the model ends")
}

func asFloat(n *int64) *float64 {
	if n == nil {
		return nil
	}
	x := float64(*n)
	return &x
}

func sayRequest(c *sweep.Cell) []string {
	clauses := []string{c.Contract.Endpoint + " endpoint", "whole answers"}
	if c.Contract.Streaming {
		clauses[1] = "streamed"
	}
	if r := c.Contract.Request; r != nil {
		for _, name := range slices.Sorted(maps.Keys(r.Extra)) {
			clauses = append(clauses, fmt.Sprintf("%s %s", name, level(r.Extra[name])))
		}
		for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
			clauses = append(clauses, "header "+name)
		}
	}
	return clauses
}

func sayCache(c *sweep.Cell) []string {
	p := c.Contract.PrefixCache
	if !p.Enabled {
		return []string{"prefix cache off"}
	}
	by := map[string]string{
		"salt": "by prompts no server has seen", "reset": "by a reset before each trial", "restart": "by a restart before each trial",
	}[p.By]
	if p.State == "warm" || by == "" {
		return []string{"prefix cache on and " + p.State}
	}
	return []string{"prefix cache on and " + p.State + " " + by}
}

func sayLoad(c *sweep.Cell) []string {
	switch l := c.Contract.Load; {
	case l.Open != nil:
		return sayOpen(c)
	case l.Closed != nil && l.Closed.Think != "":
		return []string{"closed loop", plural(int(l.Closed.Clients), "client"), "thinking " + string(l.Closed.Think) + " between requests"}
	case l.Closed != nil:
		return []string{"closed loop", plural(int(l.Closed.Clients), "client")}
	}
	return []string{"burst", "everything at once"}
}

func sayOpen(c *sweep.Cell) []string {
	o := c.Contract.Load.Open
	arrival := map[string]string{"poisson": "Poisson arrivals", "constant": "constant gaps"}[o.Arrival]
	switch {
	case o.Arrival == "gamma" && o.Shape != nil:
		arrival = "gamma gaps of shape " + number(*o.Shape)
	case o.Arrival == "trace":
		arrival = "arrivals as recorded in " + o.Trace
	}
	clauses := []string{"open loop", number(o.Rate) + " requests/s", arrival}
	if o.MaxInFlight > 0 {
		clauses = append(clauses, fmt.Sprintf("at most %d in flight", o.MaxInFlight))
	}
	return clauses
}

func sayMeasure(c *sweep.Cell) []string {
	extent := ""
	switch m := c.Measure; {
	case m.Duration != "" && m.MinRequests > 0:
		extent = fmt.Sprintf("%s (%d requests or more)", spaced(string(m.Duration)), m.MinRequests)
	case m.Duration != "":
		extent = spaced(string(m.Duration))
	default:
		extent = fmt.Sprintf("%d requests", m.Requests)
	}
	return []string{extent, "after " + sayWarmup(c)}
}

func sayWarmup(c *sweep.Cell) string {
	switch w := c.Warmup; {
	case w.Until != "" && w.Duration != "":
		return "a warm-up until latencies settle (at most " + spaced(string(w.Duration)) + ")"
	case w.Until != "":
		return "a warm-up until latencies settle"
	case w.Duration != "":
		return "a warm-up of " + spaced(string(w.Duration))
	case w.Requests != nil && *w.Requests > 0:
		return fmt.Sprintf("a warm-up of %d requests", *w.Requests)
	}
	return "no warm-up"
}

// spaced puts a space between the figure and the unit of a duration of one unit: "150 ms".
func spaced(duration string) string {
	at := strings.IndexFunc(duration, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if at <= 0 || strings.ContainsAny(duration[at:], "0123456789") {
		return duration
	}
	return duration[:at] + " " + duration[at:]
}

// level writes a scalar as a person would: 16, 0.5, warm.
func level(x any) string {
	switch x := x.(type) {
	case nil:
		return "unset"
	case string:
		return x
	case float64:
		return number(x)
	}
	return compact(x)
}
