package sweep

// Again lists trials of the plan that are to be run once more, whatever became of them before, in the plan's order. A
// cell whose block's baseline is not among them gets a fresh baseline beside it, copy 3 or higher, since comparisons pair
// within one sitting.
func (p *Plan) Again(earlier []FinishedTrial, want func(Trial) bool) []Trial {
	base := p.Cells[0].Digest
	lastCopy := map[int]int{}
	for _, f := range earlier {
		if f.Digest == base {
			lastCopy[f.Block] = max(lastCopy[f.Block], f.Copy)
		}
	}
	var trials []Trial
	hasBaseline := map[int]bool{}
	for _, t := range p.Trials {
		if want(t) {
			trials = append(trials, t)
			hasBaseline[t.Block] = hasBaseline[t.Block] || t.Digest == base && t.Copy == 1
		}
	}
	for _, t := range trials {
		if !hasBaseline[t.Block] {
			hasBaseline[t.Block] = true
			fresh := Key{base, t.Block, max(lastCopy[t.Block]+1, 3)}
			trials = append(trials, Trial{Key: fresh, Cell: Baseline, Setting: p.Cells[0].Setting})
		}
	}
	p.order(trials, func(Trial) bool { return false })
	return trials
}
