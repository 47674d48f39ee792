package sweep

import (
	"path"
	"slices"
)

// FinishedTrial is what an earlier sitting left of a trial.
type FinishedTrial struct {
	Key
	Sitting int64
	Status  string
}

// Remaining lists the trials that are still to be run, in the plan's order. Only a done trial is finished; a failed,
// interrupted or blocked one is tried again. A cell that joins a block whose baseline was measured in an earlier
// sitting gets a fresh baseline beside it, copy 3 or higher, so that it is compared with one of its own night. The
// baseline stands at a place as random as any, but where all that joins its block has failed before: there it waits for
// a success, so that what always fails does not have a baseline measured each night.
func (p *Plan) Remaining(finished []FinishedTrial) []Trial {
	done, failed := map[Key]bool{}, map[Key]bool{}
	lastCopy := map[int]int{} // by block: the highest copy of the baseline's digest
	base := p.Cells[0].Digest
	for _, f := range finished {
		switch f.Status {
		case StatusDone:
			done[f.Key] = true
		case StatusFailed, StatusBlocked:
			failed[f.Key] = true
		}
		if f.Digest == base {
			lastCopy[f.Block] = max(lastCopy[f.Block], f.Copy)
		}
	}
	var trials []Trial
	joined, hopeful := map[int]bool{}, map[int]bool{}
	for _, t := range p.Trials {
		if done[t.Key] {
			continue
		}
		trials = append(trials, t)
		hopeful[t.Block] = hopeful[t.Block] || !failed[t.Key]
		if done[Key{base, t.Block, 1}] && !joined[t.Block] {
			joined[t.Block] = true
			fresh := Key{base, t.Block, max(lastCopy[t.Block]+1, 3)}
			trials = append(trials, Trial{Key: fresh, Cell: Baseline, Setting: p.Cells[0].Setting})
		}
	}
	p.order(trials, func(t Trial) bool { return t.Pairs() && !hopeful[t.Block] })
	return trials
}

// Only keeps the trials of cells whose name, or an alias of it, matches a glob (path.Match's), together with the fresh
// baselines beside them.
func (p *Plan) Only(trials []Trial, glob string) ([]Trial, error) {
	if _, err := path.Match(glob, ""); err != nil {
		return nil, &PlanError{Message: "--only " + glob + ": " + err.Error()}
	}
	matched := map[string]bool{}
	for i := range p.Cells {
		if ok, _ := path.Match(glob, p.Cells[i].Name()); ok {
			matched[p.Cells[i].Digest] = true
		}
	}
	if len(matched) == 0 {
		return nil, &PlanError{Message: "no cell matches --only " + glob, Hint: "sweep plan lists the cells"}
	}
	blocks := map[int]bool{}
	for _, t := range trials {
		if matched[t.Digest] && !t.Pairs() {
			blocks[t.Block] = true
		}
	}
	var kept []Trial
	for _, t := range trials {
		if t.Pairs() && blocks[t.Block] || !t.Pairs() && matched[t.Digest] {
			kept = append(kept, t)
		}
	}
	return kept, nil
}

// Unpaired says that among trials is one of a block without a baseline among them, so that nothing of the same sitting is
// there to compare it with.
func (p *Plan) Unpaired(trials []Trial) bool {
	base, baselines := p.Cells[0].Digest, map[int]bool{}
	for _, t := range trials {
		if t.Digest == base && (t.Copy == 1 || t.Pairs()) {
			baselines[t.Block] = true
		}
	}
	return slices.ContainsFunc(trials, func(t Trial) bool { return t.Digest != base && !baselines[t.Block] })
}

// Launches is how often a server is started for trials in the order given.
func (p *Plan) LaunchesOf(trials []Trial) int { return p.countLaunches(trials) }
