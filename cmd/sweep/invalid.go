package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/exchange"
	"github.com/inference-sweep/sweep/sweep/verdict"
)

// judgement is the done attempt that counts of a trial, and what was found in it.
type judgement struct {
	record  sweep.TrialRecord
	verdict string
	// invalid are the codes that make the trial itself invalid; those of its cell as such, which no other attempt would
	// be without, are not among them.
	invalid []string
}

// judgementsOf are those of the plan's trials, and of the fresh baselines beside them, in the order of the record.
func judgementsOf(p *sweep.Plan, attempts []sweep.TrialRecord, d *sweep.Derived) []judgement {
	counting := map[sweep.Key]int64{}
	for _, t := range attempts {
		if t.Status == sweep.StatusDone {
			counting[t.Key] = t.ID
		}
	}
	rows := map[int64]*sweep.TrialRow{}
	for i := range d.Trials {
		rows[d.Trials[i].Trial] = &d.Trials[i]
	}
	var judged []judgement
	for _, t := range attempts {
		row := rows[t.ID]
		fresh := t.Copy > 2 && t.Digest == p.Cells[0].Digest && t.Block <= p.Blocks
		if row != nil && counting[t.Key] == t.ID && (fresh || hasTrial(p, t.Key)) {
			judged = append(judged, judgement{t, row.Verdict, invalidCodes(p, &t, row, d.Flags)})
		}
	}
	return judged
}

func invalidCodes(p *sweep.Plan, t *sweep.TrialRecord, row *sweep.TrialRow, flags []sweep.Flag) []string {
	if row.Verdict != string(sweep.Invalid) {
		return nil
	}
	name := p.Names(t.Digest)[0]
	if t.Copy == 2 {
		name = sweep.TwinName
	}
	var codes []string
	for _, f := range flags {
		own := f.Cell == name && f.Block == t.Block && f.Severity == sweep.Invalid
		if own && slices.Contains(row.Flags, f.Code) && !slices.Contains(codes, f.Code) {
			codes = append(codes, f.Code)
		}
	}
	return codes
}

// tally counts codes, the most frequent first: "late-sends 18, rate-missed 2".
func tally(judged []judgement) string {
	count := map[string]int{}
	for _, j := range judged {
		for _, code := range j.invalid {
			count[code]++
		}
	}
	codes := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) })
	for i, code := range codes {
		codes[i] = fmt.Sprintf("%s %d", code, count[code])
	}
	return strings.Join(codes, ", ")
}

// busyCodes are what a client that had too little of its machine is flagged with.
var busyCodes = []string{"late-sends", "rate-missed", "client-limited"}

// sayInvalid says how many trials of a sweep are invalid, and what can be done about it.
func (a *app) sayInvalid(db *store.DB, p *sweep.Plan, d *sweep.Derived) error {
	attempts, err := db.Trials(p.Name)
	if err != nil {
		return err
	}
	judged := judgementsOf(p, attempts, d)
	bad := slices.DeleteFunc(slices.Clone(judged), func(j judgement) bool { return len(j.invalid) == 0 })
	if len(bad) == 0 {
		return nil
	}
	are := "are"
	if len(bad) == 1 {
		are = "is"
	}
	a.say("%s: %d of %s %s invalid (%s)", p.Name, len(bad), counted(len(judged), "trial"), are, tally(bad))
	why := a.command("sweep", "report", "flags", "--sweep", p.Name) + " says why; "
	if slices.ContainsFunc(bad, func(j judgement) bool {
		return slices.ContainsFunc(j.invalid, func(code string) bool { return slices.Contains(busyCodes, code) })
	}) {
		why = "the machine was busy? sweep doctor shows its floor; "
	}
	fmt.Fprintln(a.stderr, "  hint: "+why+a.command("sweep", "rerun", "--invalid", "--sweep", p.Name)+" measures them again")
	return nil
}

// command is one to be pasted: it names the database where that is not the one by default.
func (a *app) command(words ...string) string {
	if a.database != defaultDatabase() {
		words = append(words, "--db", a.database)
	}
	return exchange.CommandLine(words...)
}

// upToDate is what is derived of a sweep, made anew where what is stored is not that.
func upToDate(db *store.DB, p *sweep.Plan) (*sweep.Derived, error) {
	stale, err := db.Stale(p.Name, verdict.Version)
	if err != nil {
		return nil, err
	}
	if stale {
		return deriveOnly(db, p)
	}
	return db.Derived(p.Name)
}

// invalidAgain is to run every invalid trial of a sweep's plan once more, with text that no server has seen, and what was
// measured beside an invalid baseline: comparisons pair within one sitting, so it has no other partner. It is nil where
// no trial is invalid.
func invalidAgain(db *store.DB, name string) (*again, error) {
	p, err := db.Plan(name)
	if err != nil {
		return nil, err
	}
	attempts, err := db.Trials(name)
	if err != nil {
		return nil, err
	}
	d, err := upToDate(db, p)
	if err != nil {
		return nil, err
	}
	invalid, alone := toRepair(p, judgementsOf(p, attempts, d))
	if len(invalid)+len(alone) == 0 {
		return nil, nil
	}
	x := &again{plan: p, what: "sweep " + name}
	x.trials = p.Again(finishedOf(attempts), func(t sweep.Trial) bool { return invalid[t.Key] || alone[t.Key] })
	x.words = fmt.Sprintf("trials that are invalid: %d, others that were measured beside an invalid baseline: %d, fresh baselines beside them: %d",
		len(invalid), len(alone), len(x.trials)-len(invalid)-len(alone))
	return x, nil
}

// toRepair are the plan's trials that are invalid, and those that are not but have only an invalid baseline in their block
// and sitting.
func toRepair(p *sweep.Plan, judged []judgement) (invalid, alone map[sweep.Key]bool) {
	type place struct {
		block   int
		sitting int64
	}
	invalid, alone = map[sweep.Key]bool{}, map[sweep.Key]bool{}
	paired := map[place]bool{} // whether a baseline of a block and sitting is usable, where there is one
	base := p.Cells[0].Digest
	for _, j := range judged {
		at := place{j.record.Block, j.record.Sitting}
		if j.record.Digest == base && j.record.Copy != 2 {
			paired[at] = paired[at] || len(j.invalid) == 0
		}
	}
	for _, j := range judged {
		usable, hasBaseline := paired[place{j.record.Block, j.record.Sitting}]
		switch {
		case j.record.Copy > 2 || j.record.Digest == base && j.record.Copy == 1 && len(j.invalid) == 0:
		case len(j.invalid) > 0:
			invalid[j.record.Key] = true
		case hasBaseline && !usable:
			alone[j.record.Key] = true
		}
	}
	return invalid, alone
}
