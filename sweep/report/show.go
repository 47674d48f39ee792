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

// flagEntries list flags, the worst first.
func flagEntries(flags []sweep.Flag) []Entry {
	slices.SortStableFunc(flags, func(a, b sweep.Flag) int {
		return byWeight(charge{a.Code, a.Severity}, charge{b.Code, b.Severity})
	})
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
	r.with("Flags", flagEntries(slices.Concat(sub.flags, sub.lost)))
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
