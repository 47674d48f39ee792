package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// table starts a table about the scope's sweep.
func (s *scope) table(kind, what string) *Table {
	title := what + " · sweep " + s.Plan.Name
	if s.Plan.Title != "" {
		title += ": " + s.Plan.Title
	}
	return &Table{Kind: kind, Title: title, Command: s.Command, Provenance: s.Provenance}
}

// finish drops columns that say nothing, and adds the legend.
func (s *scope) finish(t *Table, definitions ...Entry) *Table {
	if len(s.missing) > 0 {
		definitions = append(definitions, defDash)
	}
	t.Legend = Legend{
		Contract: s.contract(), Definitions: definitions, Marks: s.marks,
		Missing: s.missing, LeftOut: s.leftOut(), Source: s.source(),
	}
	if s.SLO != "" {
		for i, e := range t.Legend.Contract {
			if e.Term == "SLO" {
				t.Legend.Contract[i].Text = "judged again by " + s.SLO + " (the contract's own: " + e.Text + ")"
			}
		}
	}
	return t
}

// leftOut names the blocks of the shown cells that no figure uses.
func (s *scope) leftOut() []Entry {
	var entries []Entry
	for _, sub := range s.cells {
		var parts []string
		for _, r := range s.Derived.Goodput {
			if r.Cell == sub.name && r.Block > 0 && r.Verdict == string(sweep.Invalid) {
				parts = append(parts, fmt.Sprintf("block %d (invalid: %s)", r.Block, strings.Join(r.Flags, ", ")))
			}
		}
		parts = append(parts, s.unfinished(sub)...)
		if len(parts) > 0 {
			entries = append(entries, Entry{sub.name, strings.Join(parts, "; ")})
		}
	}
	return entries
}

// unfinished are the blocks in which the cell was tried and no attempt was done.
func (s *scope) unfinished(sub subject) []string {
	last := map[int]sweep.TrialRecord{}
	for _, t := range s.Trials {
		if t.Cell != sub.measured() || t.Copy > 2 || last[t.Block].Status == sweep.StatusDone {
			continue
		}
		last[t.Block] = t
	}
	var parts []string
	for _, block := range slices.Sorted(maps.Keys(last)) {
		t := last[block]
		if t.Status == sweep.StatusDone {
			continue
		}
		text := fmt.Sprintf("block %d (%s)", block, t.Status)
		if t.Reason != "" {
			text = fmt.Sprintf("block %d (%s: %s)", block, t.Status, t.Reason)
		}
		parts = append(parts, text)
	}
	return parts
}

// sourceLength is the longest value of the provenance that stands under a table; the rest lies beside it.
const sourceLength = 120

// source says in one line what made the table: the command and the provenance's short values.
func (s *scope) source() []Entry {
	var parts []string
	if s.Command != "" {
		parts = append(parts, s.Command)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Provenance)) {
		if v := s.Provenance[key]; v != "" && len(v) <= sourceLength && !strings.ContainsAny(v, "\n\r") {
			parts = append(parts, key+" "+v)
		}
	}
	parts = append(parts, fmt.Sprintf("analysis version %d", s.Derived.AnalysisVersion))
	return []Entry{{Text: strings.Join(parts, " · ")}}
}
