package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// scope is the part of an input that one table shows: its cells in plan order, and their flags.
type scope struct {
	Input
	rows
	cells []subject
	all   []subject // the whole plan's, whichever are shown
	// about are the cells that the table says something of: those shown, and those that they are compared with.
	about []subject
	marks []Mark
	// marked are positions in marks, by cell.
	marked map[string][]int
	// missing and shortages collect why entries are dashes, while a table is made.
	missing   []Entry
	shortages []*shortage
}

// subject is a cell as rows speak of it.
type subject struct {
	name  string
	cell  *sweep.PlanCell
	alias string // the first name of the same measurement, or empty
	// flags are those of the cell as such and of the blocks that its figures use, lost those of blocks left out.
	flags, lost []sweep.Flag
}

func newScope(in Input) *scope {
	s := &scope{Input: in, rows: indexed(in.Derived)}
	for i := range in.Plan.Cells {
		c := &in.Plan.Cells[i]
		s.add(subject{name: c.Name(), cell: c, alias: c.AliasOf})
		if c.Name() == sweep.Baseline && s.hasTwin() {
			s.add(subject{name: sweep.TwinName, cell: c})
		}
	}
	for _, sub := range s.all {
		if s.Cells == nil || s.Cells(sub.name) {
			s.cells = append(s.cells, sub)
		}
	}
	s.about = s.cells
	return s
}

func (s *scope) hasTwin() bool {
	return s.Plan.AA || slices.ContainsFunc(s.Derived.Goodput, func(r sweep.GoodputRow) bool { return r.Cell == sweep.TwinName })
}

func (s *scope) add(sub subject) {
	for _, f := range s.flagsOf(sub) {
		if f.Block > 0 && s.isLeftOut(sub, f.Block) {
			sub.lost = append(sub.lost, f)
		} else {
			sub.flags = append(sub.flags, f)
		}
	}
	s.all = append(s.all, sub)
}

// isLeftOut says that a cell has no valid trial in a block, but has in another. Where it has in none, the flags of its
// blocks are what there is to say of the cell.
func (s *scope) isLeftOut(sub subject, block int) bool {
	if r := s.pooled(sub.name); r == nil || r.Blocks == 0 {
		return false
	}
	return s.invalidBlock(sub.name, block)
}

// flagsOf collects a cell's flags from the plan, from the verdicts and from the codes on its rows, each once. An
// alias has the flags of its measurement too.
func (s *scope) flagsOf(sub subject) []sweep.Flag {
	var flags []sweep.Flag
	add := func(f sweep.Flag) {
		f.Cell = sub.name
		same := func(o sweep.Flag) bool { return o.Code == f.Code && o.Block == f.Block && o.Detail == f.Detail }
		if !slices.ContainsFunc(flags, same) {
			flags = append(flags, f)
		}
	}
	for _, f := range s.flagged[sub.name] {
		add(f)
	}
	for _, f := range sub.cell.Flags {
		if sub.name != sweep.TwinName && !hasCode(flags, f.Code) {
			add(f)
		}
	}
	for _, code := range s.rowCodes(sub.name) {
		if !hasCode(flags, code) && !hasCode(s.sweepFlags(), code) {
			add(sweep.Flag{Code: code, Severity: s.severity(code, sub.alias), Detail: s.detail(code, sub.alias)})
		}
	}
	return flags
}

func hasCode(flags []sweep.Flag, code string) bool {
	return slices.ContainsFunc(flags, func(f sweep.Flag) bool { return f.Code == code })
}

// sweepFlags are the flags of the sweep as such. What the plan foresaw of it, and cells then carry, is theirs to say.
func (s *scope) sweepFlags() []sweep.Flag {
	carried := func(f sweep.Flag) bool {
		return slices.ContainsFunc(s.Derived.Flags, func(o sweep.Flag) bool { return o.Cell != "" && o.Code == f.Code })
	}
	flags := slices.DeleteFunc(slices.Clone(s.Plan.Flags), carried)
	for _, f := range s.flagged[""] {
		if !slices.Contains(flags, f) {
			flags = append(flags, f)
		}
	}
	return flags
}

// rowCodes are the codes that the pooled rows of a cell carry.
func (s *scope) rowCodes(name string) []string {
	var codes []string
	add := func(more []string) {
		for _, c := range more {
			if !slices.Contains(codes, c) {
				codes = append(codes, c)
			}
		}
	}
	if r := s.pooled(name); r != nil {
		add(r.Flags)
	}
	for _, metric := range judged {
		if r := s.estimate(name, metric); r != nil {
			add(r.Flags)
		}
	}
	return codes
}

// severity is that of the same flag on the first name of an alias, or else the code's mildest.
func (s *scope) severity(code, first string) sweep.Severity {
	for _, f := range s.flagged[first] {
		if f.Code == code && first != "" {
			return f.Severity
		}
	}
	return glossary[code].severity
}

func (s *scope) detail(code, first string) string {
	for _, f := range s.flagged[first] {
		if f.Code == code && first != "" {
			return f.Detail
		}
	}
	return ""
}

// label is the name of a row: an alias says of whom.
func (sub subject) label() string {
	if sub.alias == "" {
		return sub.name
	}
	return sub.name + " (= " + sub.alias + ")"
}

// measured is the name under which the cell's trials are recorded.
func (sub subject) measured() string {
	if sub.alias != "" {
		return sub.alias
	}
	return sub.name
}

// row starts a row about a cell with the worst of its own verdict and the cell's own flags.
func (s *scope) row(section string, sub subject, verdict string, values ...Value) Row {
	if r := s.pooled(sub.name); r != nil && r.Blocks == 0 && r.LeftOut > 0 {
		verdict = string(sweep.Invalid)
	}
	own := make([]sweep.Flag, 0, len(sub.flags))
	for _, f := range sub.flags {
		if f.Block == 0 {
			own = append(own, f)
		}
	}
	return Row{Section: section, Values: values, Marks: s.marked[sub.name], Verdict: worst(verdict, sweep.Verdict(own))}
}

var verdicts = []string{"", sweep.VerdictValid, string(sweep.Suspect), string(sweep.Invalid)}

func worst(a, b string) string {
	return verdicts[max(slices.Index(verdicts, a), slices.Index(verdicts, b), 0)]
}

// verdictWords say a verdict; what invalidates a cell is named ("invalid: many-factors"), what makes it suspect the
// marks say; of a cell without figures, its status.
func (s *scope) verdictWords(sub subject, verdict string) string {
	if s.pooled(sub.name) == nil {
		status, _ := s.lastTrial(sub)
		return cmp.Or(status, "not run")
	}
	if verdict != string(sweep.Invalid) {
		return verdict
	}
	return sub.doubts(verdict)
}

// verdictWordsUsed define the column of verdicts.
func (s *scope) verdictWordsUsed() Entry {
	e := defVerdict
	if slices.ContainsFunc(s.cells, func(sub subject) bool { return s.pooled(sub.name) == nil }) {
		e.Text += "; of a cell without a figure, what became of its last trial"
	}
	return e
}

// doubts are a verdict and the codes behind it.
func (sub subject) doubts(verdict string) string {
	codes := sub.codes(verdict, func(f sweep.Flag) bool { return f.Block == 0 })
	if len(codes) == 0 {
		codes = sub.codes(verdict, func(sweep.Flag) bool { return true })
	}
	if len(codes) == 0 {
		return verdict
	}
	return verdict + ": " + strings.Join(codes, ", ")
}

// codes are those of the cell's flags of one severity that are about what `about` accepts.
func (sub subject) codes(severity string, about func(sweep.Flag) bool) []string {
	var codes []string
	for _, f := range sub.flags {
		if string(f.Severity) == severity && about(f) && !slices.Contains(codes, f.Code) {
			codes = append(codes, f.Code)
		}
	}
	return codes
}

// lastTrial is the status and reason of the cell's latest attempt.
func (s *scope) lastTrial(sub subject) (status, reason string) {
	var last int64 = -1
	for _, t := range s.Trials {
		if t.Cell == sub.measured() && t.ID > last {
			last, status, reason = t.ID, t.Status, t.Reason
		}
	}
	return status, reason
}

// dash notes why a figure is missing, once.
func (s *scope) dash(where, why string) {
	e := Entry{where, why}
	if !slices.Contains(s.missing, e) {
		s.missing = append(s.missing, e)
	}
}
