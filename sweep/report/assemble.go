package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// table starts a table about the scope's sweep.
func (s *scope) table(kind, what string) *Table {
	title := what + " · sweep " + s.Plan.Name
	if s.Plan.Title != "" {
		title += ": " + s.Plan.Title
	}
	return &Table{Kind: kind, Sweep: s.Plan.Name, Title: title, Command: s.Command, Provenance: s.Provenance}
}

// finish adds the legend.
func (s *scope) finish(t *Table, definitions ...Entry) *Table {
	s.missing = append(s.missing, s.explained()...)
	marks := s.onRows(t)
	definitions = append(definitions, s.signs(t)...)
	t.Legend = Legend{
		Contract: s.contract(), Definitions: definitions, Marks: marks,
		Missing: joined(s.missing), LeftOut: s.leftOut(), Source: s.source(),
	}
	return t
}

// signs explain what stands beside figures, where it does.
func (s *scope) signs(t *Table) []Entry {
	has := func(is func(Value) bool) bool {
		return slices.ContainsFunc(t.Rows, func(r Row) bool { return slices.ContainsFunc(r.Values, is) })
	}
	var signs []Entry
	if slices.ContainsFunc(t.Rows, func(r Row) bool { return len(r.Reference) > 0 }) {
		signs = append(signs, defOfReference)
	}
	if has(func(v Value) bool { return v.Alone }) {
		signs = append(signs, defAlone)
	}
	if has(func(v Value) bool { return v.X != nil && v.Lo != nil && *v.X >= 0 && *v.Lo < 0 }) {
		signs = append(signs, defBelowZero)
	}
	if len(s.missing) > 0 {
		signs = append(signs, defDash)
	}
	return signs
}

// joined puts entries that say the same on one line.
func joined(entries []Entry) []Entry {
	var lines []Entry
	for _, e := range entries {
		at := slices.IndexFunc(lines, func(o Entry) bool { return o.Text == e.Text })
		if at < 0 {
			lines = append(lines, e)
		} else {
			lines[at].Term += ", " + e.Term
		}
	}
	return lines
}

// leftOut names the blocks of the shown cells that no figure uses. Cells without any figure are among the missing.
func (s *scope) leftOut() []Entry {
	var entries []Entry
	for _, sub := range s.about {
		if s.why(sub) != "" {
			continue
		}
		blocks := map[string][]int{}
		for _, r := range s.Derived.Goodput {
			if r.Cell == sub.name && r.Block > 0 && s.invalidBlock(r.Cell, r.Block) {
				why := "invalid: " + strings.Join(sub.invalidIn(r), ", ")
				blocks[why] = append(blocks[why], r.Block)
			}
		}
		s.unfinished(sub, blocks)
		var parts []string
		for _, why := range slices.Sorted(maps.Keys(blocks)) {
			parts = append(parts, blockList(blocks[why])+" ("+why+")")
		}
		if len(parts) > 0 {
			entries = append(entries, Entry{sub.name, strings.Join(parts, "; ")})
		}
	}
	return entries
}

// invalidIn are the codes that invalidate a block.
func (sub subject) invalidIn(r sweep.GoodputRow) []string {
	var codes []string
	for _, f := range sub.lost {
		if f.Block == r.Block && f.Severity == sweep.Invalid {
			codes = append(codes, f.Code)
		}
	}
	if len(codes) == 0 {
		return slices.DeleteFunc(slices.Clone(r.Flags), func(code string) bool { return glossary[code].severity == sweep.Note })
	}
	return codes
}

// blockList names blocks: "block 3", "blocks 1, 2, 5".
func blockList(blocks []int) string {
	names := make([]string, len(blocks))
	for i, b := range blocks {
		names[i] = fmt.Sprint(b)
	}
	if len(names) == 1 {
		return "block " + names[0]
	}
	return "blocks " + strings.Join(names, ", ")
}

// unfinished adds the blocks in which the cell was tried and no attempt was done, by what became of the last one.
func (s *scope) unfinished(sub subject, blocks map[string][]int) {
	last := map[int]sweep.TrialRecord{}
	for _, t := range s.Trials {
		if t.Cell == sub.measured() && t.Copy <= 2 && last[t.Block].Status != sweep.StatusDone {
			last[t.Block] = t
		}
	}
	for _, block := range slices.Sorted(maps.Keys(last)) {
		if t := last[block]; t.Status != sweep.StatusDone {
			why := statusWords(t.Status, t.Reason)
			blocks[why] = append(blocks[why], block)
		}
	}
}

// measured are the starts of the first and the last trial of the shown cells.
func (s *scope) measured() (first, last time.Time) {
	for _, t := range s.Trials {
		if t.StartedAt.IsZero() || s.Cells != nil && !slices.ContainsFunc(s.cells, func(sub subject) bool { return sub.measured() == t.Cell }) {
			continue
		}
		if first.IsZero() || t.StartedAt.Before(first) {
			first = t.StartedAt
		}
		if t.StartedAt.After(last) {
			last = t.StartedAt
		}
	}
	return first, last
}

// statusWords are a status and its reason.
func statusWords(status, reason string) string {
	if reason == "" || reason == status {
		return status
	}
	return status + ": " + reason
}

// sourceKeys are the parts of the provenance that stand under a table; the rest lies beside it.
var sourceKeys = []string{"version", "commit", "database", "host"}

// source says in one line what made the table.
func (s *scope) source() []Entry {
	var parts []string
	if s.Command != "" {
		parts = append(parts, s.Command)
	}
	for _, key := range sourceKeys {
		if v := s.Provenance[key]; v != "" {
			parts = append(parts, key+" "+v)
		}
	}
	parts = append(parts, fmt.Sprintf("analysis version %d", s.Derived.AnalysisVersion))
	if first, last := s.measured(); !first.IsZero() {
		parts = append(parts, "measured from "+stamp(first)+" to "+stamp(last))
	}
	return []Entry{{Text: strings.Join(parts, " · ")}}
}
