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
	return &Table{Kind: kind, Sweep: s.Plan.Name, Title: title, Command: s.Command, Provenance: s.Provenance}
}

// finish drops columns that say nothing, and adds the legend.
func (s *scope) finish(t *Table, definitions ...Entry) *Table {
	if len(s.missing) > 0 {
		definitions = append(definitions, defDash)
	}
	t.Legend = Legend{
		Contract: s.contract(), Definitions: definitions, Marks: s.marks,
		Missing: joined(s.missing), LeftOut: s.leftOut(), Source: s.source(),
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
	for _, sub := range s.cells {
		if s.why(sub) != "" {
			continue
		}
		blocks := map[string][]int{}
		for _, r := range s.Derived.Goodput {
			if r.Cell == sub.name && r.Block > 0 && r.Verdict == string(sweep.Invalid) {
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
		return r.Flags
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

// statusWords are a status and its reason.
func statusWords(status, reason string) string {
	if reason == "" {
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
	return []Entry{{Text: strings.Join(parts, " · ")}}
}
