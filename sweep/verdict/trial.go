package verdict

import (
	"fmt"
	"slices"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/analysis"
)

// DeriveTrial judges one trial by itself. Only a done one has block rows. Its Flags are those of the trial; the codes of
// its cell's own flags stand on its rows beside them.
func DeriveTrial(plan *sweep.Plan, f sweep.TrialFacts) (*sweep.TrialDerived, error) {
	j, err := judge(plan, f, observe(f))
	if err != nil {
		return nil, err
	}
	j.add(restarts([]sweep.TrialFacts{f})[f.Record.ID])
	d := &sweep.TrialDerived{AnalysisVersion: Version, Row: j.row(cellFlags(plan, j.cell))}
	for _, name := range j.names() {
		d.Flags = append(d.Flags, j.flagsFor(name)...)
		if !j.feeds() {
			continue
		}
		rows := blockRows(j, name, cellFlags(plan, plan.CellNamed(name)))
		d.Latency, d.Goodput = append(d.Latency, rows.latency...), append(d.Goodput, rows.goodput)
		d.Settling = append(d.Settling, rows.settling...)
		d.Flags = append(d.Flags, fewFlags(name, j.Record.Block, "the block has", []shortfall{rows.short})...)
	}
	return d, nil
}

// A judged trial: its summary and its own flags, those of its cell apart.
type judged struct {
	*analysis.Trial
	plan     *sweep.Plan
	cell     *sweep.PlanCell
	launch   *sweep.Launch
	observed observed
	// observations are the trial's own, in the order in which they were made.
	observations []sweep.Observation
	flags        []sweep.Flag
}

// judge summarises a trial and raises its flags.
func judge(plan *sweep.Plan, f sweep.TrialFacts, seen observed) (*judged, error) {
	cells := cellsOf(plan, f.Record.Digest)
	if len(cells) == 0 {
		return nil, fmt.Errorf("trial %d: its cell %s is not in the plan of sweep %s", f.Record.ID, f.Record.Cell, plan.Name)
	}
	aliases := cells[1:]
	if f.Record.Copy == twinCopy {
		aliases = nil
	}
	trial, err := analysis.Summarise(cells[0], f, aliases...)
	if err != nil {
		return nil, err
	}
	j := &judged{Trial: trial, plan: plan, cell: cells[0], launch: f.Launch, observed: seen, observations: f.Observations}
	for _, check := range checksFor(f.Record.Status) {
		check(j)
	}
	return j, nil
}

// Copies of a baseline: 1 is its own, 2 its twin; from 3 on they only pair the cells of a later sitting.
const (
	ownCopy  = 1
	twinCopy = 2
)

// cellsOf lists the cells of one digest: the measurement's first name, then its aliases.
func cellsOf(plan *sweep.Plan, digest string) []*sweep.PlanCell {
	var cells []*sweep.PlanCell
	for i := range plan.Cells {
		if plan.Cells[i].Digest == digest {
			cells = append(cells, &plan.Cells[i])
		}
	}
	return cells
}

// checksFor are the checks that a trial's status bears: a failed trial has no whole window, and one that was
// interrupted, blocked or still runs has nothing to be judged by.
func checksFor(status string) []func(*judged) {
	always := []func(*judged){checkContract, checkModels, checkErrors, checkLocal, checkServer, checkClocks}
	switch status {
	case sweep.StatusDone:
		return append(always,
			checkLateness, checkRate, checkArrivals, checkClient, checkTrend, checkColdStart,
			checkCache, checkInputs, checkOutputs, checkSources, checkGaps, checkNotes)
	case sweep.StatusFailed:
		return always
	}
	return nil
}

// raise adds a flag in its rule's words.
func (j *judged) raise(code string, severity sweep.Severity, args ...any) {
	j.flags = append(j.flags, flagged(code, severity, args...))
}

// raiseAlways adds a flag whose finding is its severity.
func (j *judged) raiseAlways(code string, args ...any) {
	j.raise(code, rules[code].always, args...)
}

// add takes flags over that more than the trial's own rows tell; of a code that it has, or where nothing is judged, none.
func (j *judged) add(flags []sweep.Flag) {
	if checksFor(j.Record.Status) == nil {
		return
	}
	for _, f := range flags {
		if !hasCode(j.flags, f.Code) {
			j.flags = append(j.flags, f)
		}
	}
}

func (j *judged) names() []string {
	names := make([]string, len(j.Names))
	for i := range j.Names {
		names[i] = j.Names[i].Name
	}
	return names
}

// feeds says whether the trial has rows in the tables: it ended, and is more than a partner for another night's cells.
func (j *judged) feeds() bool {
	return j.Record.Status == sweep.StatusDone && j.Record.Copy <= twinCopy
}

// usable says whether its figures count in what is made of several blocks.
func (j *judged) usable() bool {
	return j.Record.Status == sweep.StatusDone && sweep.Verdict(j.flags) != string(sweep.Invalid)
}

// flagsFor are the trial's own flags under one of its names.
func (j *judged) flagsFor(name string) []sweep.Flag {
	flags := slices.Clone(j.flags)
	for i := range flags {
		flags[i].Cell, flags[i].Block = name, j.Record.Block
		if j.Record.Copy > twinCopy {
			flags[i].Detail += fmt.Sprintf(" (in the fresh baseline of a later sitting, copy %d)", j.Record.Copy)
		}
	}
	return flags
}

// row is the trial's row, with the flags of its cell as such: of the measurement's first name.
func (j *judged) row(cell []sweep.Flag) sweep.TrialRow {
	row := j.Row()
	flags := slices.Concat(j.flags, cell)
	row.Verdict, row.Flags = sweep.Verdict(flags), codes(flags)
	if j.Record.Status != sweep.StatusDone && j.Due == 0 {
		// It did not come to measuring: there is nothing to be judged or counted.
		row.Verdict = ""
		row.Due, row.Sent, row.OK, row.Failed = sweep.None, sweep.None, sweep.None, sweep.None
	}
	return row
}

// codes are the distinct codes of flags, the worst first and else in their order.
func codes(flags []sweep.Flag) []string {
	list := []string{}
	for _, severity := range []sweep.Severity{sweep.Invalid, sweep.Suspect, sweep.Note} {
		for _, f := range flags {
			if f.Severity == severity && !slices.Contains(list, f.Code) {
				list = append(list, f.Code)
			}
		}
	}
	return list
}
