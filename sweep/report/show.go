package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// ShowSweep is the record of a whole sweep.
func ShowSweep(in Input) Record {
	s := newScope(in.complete())
	p := s.Plan
	r := Record{Title: strings.TrimSuffix("Sweep "+p.Name+": "+p.Title, ": ")}
	r.with("Design", []Entry{
		{"blocks", strconv.Itoa(p.Blocks)},
		{"seed", strconv.FormatInt(p.Seed, 10)},
		{"trials", strconv.Itoa(len(p.Trials))},
		{"launches", strconv.Itoa(p.Launches)},
		{"judged by", strings.Join(p.Judge.Metrics, ", ") + ", margin " + number(p.Judge.Margin)},
		{"tags", strings.Join(p.Tags, ", ")},
	})
	r.with("Factors", factorEntries(p))
	var cells []Entry
	for _, sub := range s.cells {
		cells = append(cells, Entry{sub.label(), sub.cell.Digest + " · " + s.trialCounts(sub)})
	}
	r.with("Cells", cells)
	r.with("Contract of all cells", s.contract())
	r.with("Flags", flagEntries(s.shownFlags()))
	r.with("Launches", launchEntries(s.Launches))
	r.provenance(s.Provenance)
	for _, source := range p.Sources {
		if s.Provenance["source "+source.Path] == "" {
			r.verbatim("source "+source.Path, source.Text)
		}
	}
	return r
}

// provenance adds what is known of where a sweep came from; texts of several lines as they were written.
func (r *Record) provenance(known map[string]string) {
	var entries []Entry
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if strings.Contains(known[key], "\n") {
			texts = append(texts, key)
		} else {
			entries = append(entries, Entry{key, known[key]})
		}
	}
	r.with("Provenance", entries)
	for _, key := range texts {
		r.verbatim(key, known[key])
	}
}

// complete makes sure that there are derived rows, if only none.
func (in Input) complete() Input {
	if in.Derived == nil {
		in.Derived = &sweep.Derived{}
	}
	return in
}

func factorEntries(p *sweep.Plan) []Entry {
	var entries []Entry
	for _, f := range p.Factors {
		levels := make([]string, len(f.Levels))
		for i, l := range f.Levels {
			levels[i] = level(l)
		}
		text := "baseline " + level(f.Baseline) + ", levels " + strings.Join(levels, ", ")
		if len(f.Sets) > 0 {
			text += "; sets " + strings.Join(f.Sets, ", ")
		}
		if len(f.Couples) > 0 {
			text += "; couples " + strings.Join(f.Couples, ", ")
		}
		entries = append(entries, Entry{f.Name, text})
	}
	for _, g := range p.Grids {
		entries = append(entries, Entry{g.Name, "grid of " + strings.Join(g.Of, ", ") + " (" + g.Kind + ")"})
	}
	return entries
}

// trialCounts count a cell's attempts by status: "6 done, 1 failed".
func (s *scope) trialCounts(sub subject) string {
	counts := map[string]int{}
	for _, t := range s.Trials {
		if t.Cell == sub.measured() {
			counts[t.Status]++
		}
	}
	var parts []string
	for _, status := range []string{sweep.StatusDone, sweep.StatusRunning, sweep.StatusFailed, sweep.StatusBlocked, sweep.StatusInterrupted, sweep.StatusExcluded} {
		if counts[status] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[status], status))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "not run")
}

func flagEntries(flags []sweep.Flag) []Entry {
	var entries []Entry
	for _, f := range flags {
		where := cmp.Or(f.Cell, wholeSweep)
		if f.Block > 0 {
			where += fmt.Sprintf(", block %d", f.Block)
		}
		text := where + " (" + string(f.Severity) + "): " + cmp.Or(f.Detail, glossary[f.Code].text)
		entries = append(entries, Entry{f.Code, text})
	}
	return entries
}

func launchEntries(launches []sweep.Launch) []Entry {
	var entries []Entry
	for i := range launches {
		l := &launches[i]
		text := fmt.Sprintf("%s on %s at %s, ready after %s, ", l.Target, l.Node, stamp(l.StartedAt), seconds(l.ReadyNS))
		if l.Attached {
			text = fmt.Sprintf("%s, already up, first seen at %s, ", l.Target, stamp(l.StartedAt))
		}
		switch {
		case l.StoppedAt.IsZero():
			text += "not stopped"
		case l.ExitCode == sweep.None:
			text += "stopped at " + stamp(l.StoppedAt)
		default:
			text += fmt.Sprintf("stopped at %s, exit code %d", stamp(l.StoppedAt), l.ExitCode)
		}
		entries = append(entries, Entry{fmt.Sprintf("launch %d", l.Ordinal), text})
	}
	return entries
}

// ShowCell is the record of one cell of a sweep.
func ShowCell(in Input, name string) (Record, error) {
	in.Cells = nil
	s := newScope(in.complete())
	sub := s.subject(name)
	if sub.cell == nil {
		return Record{}, fmt.Errorf("cell %q: sweep %s has none of this name", name, s.Plan.Name)
	}
	c := sub.cell
	r := Record{Title: "Cell " + sub.label() + " of sweep " + s.Plan.Name}
	r.with("Identity", []Entry{
		{"factor", c.Cell.FactorOf()},
		{"level", levelOrNone(c.Cell.Level)},
		{"at", compact(c.Cell.At)},
		{"digest", c.Digest},
		{"same as", sub.alias},
		{"setting", c.Setting},
		{"command", commandLine(c.Command)},
		{"requests a block", strconv.Itoa(c.Requests)},
	})
	var moved []Entry
	for _, m := range c.Moved {
		moved = append(moved, Entry{m.Path, level(m.From) + " → " + level(m.To)})
	}
	r.with("Moved against the baseline", moved)
	r.with("Flags", flagEntries(append(sub.flags, sub.lost...)))
	r.with("Figures, with their 95 % intervals between blocks", s.figureEntries(sub))
	r.with("Trials", trialEntries(s.Trials, sub.measured()))
	const resolved = "The cell as it is resolved"
	r.verbatim(resolved, pretty(c))
	r.structured(resolved, c.Cell)
	return r, nil
}

func levelOrNone(x any) string {
	if x == nil {
		return ""
	}
	return level(x)
}

func (s *scope) figureEntries(sub subject) []Entry {
	var entries []Entry
	for _, v := range s.Derived.Variance {
		if v.Cell == sub.name && finite(v.Estimate) != nil {
			text := fmt.Sprintf("%s, %s (%s)", interval(v.Estimate, v.CILow, v.CIHigh), plural(v.Blocks, "block"), v.Verdict)
			entries = append(entries, Entry{v.Metric, text})
		}
	}
	return entries
}

func trialEntries(trials []sweep.TrialRecord, cell string) []Entry {
	var entries []Entry
	for _, t := range trials {
		if t.Cell != cell {
			continue
		}
		text := fmt.Sprintf("block %d, attempt %d, %s, at %s on %s", t.Block, t.Attempt, statusWords(t.Status, t.Reason), stamp(t.StartedAt), t.Node)
		entries = append(entries, Entry{fmt.Sprintf("trial %d", t.ID), text})
	}
	return entries
}

// pretty is a cell's JSON, indented.
func pretty(c *sweep.PlanCell) string {
	text, err := json.MarshalIndent(c.Cell, "", "  ")
	if err != nil {
		return string(c.Cell.Raw)
	}
	return string(text)
}

// ShowTrial is the record of one attempt at a trial. Reading its rows is the only thing that can fail.
func ShowTrial(in Input, facts sweep.TrialFacts) (Record, error) {
	t := facts.Record
	r := Record{Title: fmt.Sprintf("Trial %d: cell %s, block %d, of sweep %s", t.ID, t.Cell, t.Block, t.Sweep)}
	r.with("Identity", []Entry{
		{"digest", t.Digest},
		{"copy", strconv.Itoa(t.Copy)},
		{"attempt", strconv.Itoa(t.Attempt)},
		{"order", strconv.Itoa(t.OrderIndex)},
		{"sitting", strconv.FormatInt(t.Sitting, 10)},
		{"node", t.Node},
		{"nonce", t.Nonce},
		{"workload", t.WorkloadHash},
	})
	r.with("Course", []Entry{
		{"status", statusWords(t.Status, t.Reason)},
		{"started", stamp(t.StartedAt)},
		{"window from", seconds(t.T0NS)},
		{"window to", seconds(t.T1NS)},
		{"end", seconds(t.EndNS)},
		{"cache made by", t.CacheMethod},
		{"served model", t.ServedModel},
	})
	requests, err := requestEntries(facts)
	if err != nil {
		return Record{}, fmt.Errorf("trial %d: %w", t.ID, err)
	}
	r.with("Requests", requests)
	r.with("Judged", in.complete().trialJudged(t.ID))
	r.launch(facts.Launch)
	r.observed(facts.Observations)
	return r, nil
}

// launch adds the server's life that a trial ran on.
func (r *Record) launch(l *sweep.Launch) {
	if l == nil {
		return
	}
	entries := launchEntries([]sweep.Launch{*l})
	entries = append(entries,
		Entry{"command", commandLine(l.Command)},
		Entry{"port accepted after", seconds(l.PortNS)},
		Entry{"first token after", seconds(l.FirstTokenNS)})
	for _, key := range slices.Sorted(maps.Keys(l.Observed)) {
		entries = append(entries, Entry{key, reading(key, l.Observed[key])})
	}
	r.with("Server", entries)
	r.verbatim("The end of its log", l.Log)
}

func requestEntries(facts sweep.TrialFacts) ([]Entry, error) {
	if facts.Rows == nil {
		return nil, nil
	}
	ok, failed := map[sweep.Phase]int{}, map[sweep.Phase]map[string]int{}
	for row, err := range facts.Rows {
		if err != nil {
			return nil, err
		}
		if row.Status == sweep.RequestOK {
			ok[row.Phase]++
			continue
		}
		if failed[row.Phase] == nil {
			failed[row.Phase] = map[string]int{}
		}
		failed[row.Phase][row.Error]++
	}
	var entries []Entry
	for _, phase := range sweep.Phases {
		if ok[phase] == 0 && failed[phase] == nil {
			continue
		}
		text := fmt.Sprintf("%d ok", ok[phase])
		for _, kind := range slices.Sorted(maps.Keys(failed[phase])) {
			text += fmt.Sprintf(", %d %s", failed[phase][kind], kind)
		}
		entries = append(entries, Entry{string(phase), text})
	}
	return entries, nil
}

// trialJudged is what was derived of a trial, and its flags.
func (in Input) trialJudged(id int64) []Entry {
	var entries []Entry
	for _, row := range in.Derived.Trials {
		if row.Trial != id || row.Verdict == "" {
			continue
		}
		entries = append(entries,
			Entry{"verdict", row.Verdict},
			Entry{"due, sent, ok, failed", fmt.Sprintf("%d, %d, %d, %d", row.Due, row.Sent, row.OK, row.Failed)},
			Entry{"window (s)", plain(row.WindowS, significant3).String()},
			Entry{"offered, achieved (1/s)", plain(row.OfferedRate, significant3).String() + ", " + plain(row.AchievedRate, significant3).String()},
			Entry{"in flight, mean and most", plain(row.InflightMean, significant3).String() + ", " + plain(row.InflightMax, significant3).String()},
			Entry{"share of cached tokens", plain(row.CachedShare, significant3).String()})
		entries = append(entries, in.trialSettled(id)...)
		for _, code := range row.Flags {
			entries = append(entries, Entry{code, glossary[code].text})
		}
	}
	return entries
}

// trialSettled is where a trial's TTFT settled.
func (in Input) trialSettled(id int64) []Entry {
	at := slices.IndexFunc(in.Derived.Settling, func(r sweep.SettlingRow) bool { return r.Trial == id })
	if at < 0 {
		return nil
	}
	r := &in.Derived.Settling[at]
	entries := []Entry{{"mean TTFT (ms)", plain(r.TTFTMS, significant3).String()}}
	if r.Settled == nil {
		return append(entries, Entry{"TTFT settled", fmt.Sprintf("%d requests are too few to say", r.N)})
	}
	text := fmt.Sprintf("after %d of %d requests, at %s s of a warm-up of %s s", r.CutN, r.N, plain(inSeconds(r.FoundMS), significant3), plain(inSeconds(r.WarmupMS), significant3))
	if !*r.Settled {
		text = fmt.Sprintf("not in the first half of %d requests", r.N)
	}
	return append(entries, Entry{"TTFT settled", text}, Entry{"mean TTFT from there (ms)", plain(r.TTFTCutMS, significant3).String()})
}

// commandLine is a command as a shell takes it.
func commandLine(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = arg
		if arg == "" || strings.ContainsAny(arg, " \t\n\"'`$&|;<>()[]{}*?!#~\\") {
			quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return dash
	}
	return t.UTC().Format(time.RFC3339)
}

func seconds(ns int64) string {
	if ns == sweep.None {
		return dash
	}
	return strconv.FormatFloat(float64(ns)/1e9, 'f', 3, 64) + " s"
}
