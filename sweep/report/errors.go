package report

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

func (s *scope) errors() *Table {
	t := s.table("errors", "Errors: how requests and trials failed")
	t.Columns = []Column{
		{Name: "cell", Key: true},
		{Name: "phase"},
		{Name: "error"},
		{Name: "requests", Number: true},
		{Name: "blocks", Number: true},
		{Name: "for example", Wrap: true},
	}
	for _, sub := range s.cells {
		for _, e := range s.errorsOf(sub) {
			row := s.row("", sub, "")
			row.Values = []Value{words(sub.label()), words(string(e.Phase)), words(e.kind()), count(e.Count), count(e.Block), words(e.Message)}
			t.Rows = append(t.Rows, row)
		}
		t.Rows = append(t.Rows, s.trialErrors(sub)...)
	}
	t.View = s.errorView()
	return s.finish(t,
		Entry{"requests", "requests that ended so; what was cut at the end of the tail's load (cancelled) counts in no figure"},
		Entry{"blocks", "blocks in which it happened"},
		Entry{"phase", "trial: the trial as a whole did not come to its end, whatever its requests did; cold: after a launch; warmup; measure: the window that figures rest on; tail: load kept up behind it"})
}

// kind is the error, with the status where that says more.
func (e ErrorCount) kind() string {
	if e.HTTPStatus == sweep.None || e.Error != sweep.ErrHTTP {
		return e.Error
	}
	return e.Error + " " + strconv.FormatInt(e.HTTPStatus, 10)
}

// errorsOf adds up a cell's errors over its blocks; Block is then the number of blocks.
func (s *scope) errorsOf(sub subject) []ErrorCount {
	var sums []ErrorCount
	blocks := map[int][]int{}
	for _, e := range s.Errors {
		if e.Cell != sub.measured() {
			continue
		}
		at := slices.IndexFunc(sums, func(o ErrorCount) bool { return o.Phase == e.Phase && o.kind() == e.kind() })
		if at < 0 {
			at = len(sums)
			sums = append(sums, ErrorCount{Cell: e.Cell, Phase: e.Phase, Error: e.Error, HTTPStatus: e.HTTPStatus, Message: e.Message})
		}
		sums[at].Count += e.Count
		if !slices.Contains(blocks[at], e.Block) {
			blocks[at] = append(blocks[at], e.Block)
		}
	}
	for i := range sums {
		sums[i].Block = len(blocks[i])
	}
	slices.SortStableFunc(sums, func(a, b ErrorCount) int {
		return slices.Index(sweep.Phases, a.Phase) - slices.Index(sweep.Phases, b.Phase)
	})
	return sums
}

// trialErrors are the trials of a cell that are not done, by what became of them.
func (s *scope) trialErrors(sub subject) []Row {
	blocks := map[string][]int{}
	s.unfinished(sub, blocks)
	var rows []Row
	for _, why := range slices.Sorted(maps.Keys(blocks)) {
		status, reason, _ := strings.Cut(why, ": ")
		row := s.row("", sub, "")
		row.Values = []Value{words(sub.label()), words("trial"), words(status), {}, count(len(blocks[why])), words(reason)}
		rows = append(rows, row)
	}
	return rows
}

func (s *scope) errorView() View {
	v := View{Columns: []string{"sweep", "cell", "block", "phase", "error", "http_status", "requests", "error_message"}}
	for _, sub := range s.cells {
		for _, e := range s.Errors {
			if e.Cell == sub.measured() {
				v.Rows = append(v.Rows, []any{s.Plan.Name, sub.name, nullBlock(e.Block), string(e.Phase), e.Error,
					nullCount(e.HTTPStatus), e.Count, nullText(e.Message)})
			}
		}
	}
	return v
}
