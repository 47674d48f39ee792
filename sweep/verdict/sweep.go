package verdict

import (
	"cmp"
	"slices"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/analysis"
)

// Derive makes everything that is derived of a sweep from all attempts at its trials, in any order; each one's Rows are
// read once. Trials that are not in the plan are left out. Of several attempts at one trial the last done one counts, else
// the last: flags of a block are that one's alone, and of the others only their own rows say what was wrong with them.
func Derive(plan *sweep.Plan, trials []sweep.TrialFacts) (*sweep.Derived, error) {
	d := &derivation{plan: plan, Derived: &sweep.Derived{AnalysisVersion: Version}, byDigest: map[string][]*block{}}
	d.place(trials)
	for i := range plan.Cells {
		if cell := &plan.Cells[i]; cell.AliasOf == "" {
			if err := d.measurement(cell); err != nil {
				return nil, err
			}
			for _, c := range cellsOf(plan, cell.Digest) {
				d.cell(c)
			}
		}
	}
	d.compare()
	d.Flags = append(d.Flags, sweepFlags(plan, d.Flags)...)
	d.Flags = fold(d.Flags, d.blocksOf)
	d.sort()
	return d.Derived, nil
}

// A derivation is a sweep's derived rows in the making.
type derivation struct {
	*sweep.Derived
	plan *sweep.Plan
	// facts are the attempts at the plan's trials by digest, in the order of copy, block and attempt. Of those that count,
	// changed are the flags of the ones whose observed stack changed, sightings what was observed of the other done ones;
	// restarted are the flags of those whose server was another process than before.
	facts     map[string][]sweep.TrialFacts
	sightings map[string][]sighting
	changed   map[int64][]sweep.Flag
	restarted map[int64][]sweep.Flag
	counting  map[sweep.Key]sweep.TrialRecord // the attempt that counts
	byDigest  map[string][]*block
	names     []*named
}

// A block is what is kept of one trial that counts, once its rows are made.
type block struct {
	record  sweep.TrialRecord
	flags   []sweep.Flag
	usable  bool
	values  map[string]analysis.Values // by name
	sources map[string]int64
	short   map[string]shortfall
}

// A named cell is a cell under one of its names, or the twin, with what its blocks add up to.
type named struct {
	name    string
	cell    *sweep.PlanCell
	flags   []sweep.Flag // of the cell as such
	pool    *pool        // let go of once its rows are made
	blocks  []*block     // those that count, in order
	leftOut int
}

// place sorts the attempts and looks at what was observed of them.
func (d *derivation) place(trials []sweep.TrialFacts) {
	d.facts, d.sightings, d.counting = map[string][]sweep.TrialFacts{}, map[string][]sighting{}, map[sweep.Key]sweep.TrialRecord{}
	for _, f := range trials {
		digest := f.Record.Digest
		cells := cellsOf(d.plan, digest)
		if len(cells) == 0 || f.Record.Copy == twinCopy && !d.plan.AA {
			continue
		}
		d.facts[digest] = append(d.facts[digest], f)
		if other, ok := d.counting[f.Record.Key]; !ok || outranks(&f.Record, &other) {
			d.counting[f.Record.Key] = f.Record
		}
	}
	var all []sighting
	d.restarted = restarts(trials)
	for digest, facts := range d.facts {
		slices.SortFunc(facts, func(a, b sweep.TrialFacts) int {
			return cmp.Or(cmp.Compare(a.Record.Copy, b.Record.Copy), cmp.Compare(a.Record.Block, b.Record.Block),
				cmp.Compare(a.Record.Attempt, b.Record.Attempt), cmp.Compare(a.Record.ID, b.Record.ID))
		})
		for _, f := range facts {
			if f.Record.Status == sweep.StatusDone && d.counts(&f.Record) {
				all = append(all, sighting{f.Record, cellsOf(d.plan, digest)[0], observe(f)})
			}
		}
	}
	d.changed = changes(d.plan, all)
	for _, s := range all {
		if len(d.changed[s.record.ID]) == 0 {
			d.sightings[s.record.Digest] = append(d.sightings[s.record.Digest], s)
		}
	}
}

// outranks says that of two attempts at one trial the first counts rather than the second.
func outranks(a, b *sweep.TrialRecord) bool {
	rank := func(r *sweep.TrialRecord) int {
		switch r.Status {
		case sweep.StatusDone:
			return 2
		case sweep.StatusExcluded:
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.ID, b.ID)) > 0
}

// counts says that an attempt is the one that counts of its trial.
func (d *derivation) counts(r *sweep.TrialRecord) bool { return d.counting[r.Key].ID == r.ID }

// measurement judges the trials of one digest, makes their rows, and adds them up under each of its names.
func (d *derivation) measurement(cell *sweep.PlanCell) error {
	own := map[string]*named{}
	for _, c := range cellsOf(d.plan, cell.Digest) {
		own[c.Name()] = d.newName(c.Name(), c)
	}
	var twin *named
	if cell.Name() == sweep.Baseline && d.plan.AA {
		twin = d.newName(sweep.TwinName, cell)
		own[sweep.TwinName] = twin
	}
	pools := map[int]*pool{ownCopy: {}, twinCopy: {}}
	for _, f := range d.facts[cell.Digest] {
		j, err := judge(d.plan, f, observe(f))
		if err != nil {
			return err
		}
		j.flags = append(j.flags, d.changed[f.Record.ID]...)
		j.add(d.restarted[f.Record.ID])
		d.Trials = append(d.Trials, j.row(own[cell.Name()].flags))
		if d.counts(&f.Record) {
			for _, n := range j.names() {
				d.Flags = append(d.Flags, j.flagsFor(n)...)
			}
		}
		p := pools[f.Record.Copy]
		if f.Record.Status != sweep.StatusDone || !d.counts(&f.Record) {
			p.missed(f.Record)
			continue
		}
		b := d.block(j, own)
		d.byDigest[cell.Digest] = append(d.byDigest[cell.Digest], b)
		if err := p.add(b, &j.Totals); err != nil {
			return err
		}
	}
	for _, n := range own {
		p := pools[ownCopy]
		if n == twin {
			p = pools[twinCopy]
		}
		n.pool, n.blocks, n.leftOut = p, p.blocks, p.leftOut()
	}
	return nil
}

func (d *derivation) newName(text string, cell *sweep.PlanCell) *named {
	n := &named{name: text, cell: cell}
	flags := cellFlags(d.plan, cell)
	if cell.Name() != sweep.Baseline && len(d.plan.Cells) > 0 {
		flags = withObserved(d.plan, cell, flags, movedObserved(d.sightings[cell.Digest], d.sightings[d.plan.Cells[0].Digest]))
	}
	for i := range flags {
		flags[i].Cell = text
	}
	n.flags = flags
	d.names = append(d.names, n)
	return n
}

// block keeps what is needed of a trial that counts, and adds its rows.
func (d *derivation) block(j *judged, names map[string]*named) *block {
	b := &block{record: j.Record, flags: j.flags, usable: j.usable(), sources: j.OutputSources,
		values: map[string]analysis.Values{}, short: map[string]shortfall{}}
	for _, text := range j.names() {
		b.values[text] = j.Values(text)
		if j.feeds() {
			rows := blockRows(j, text, names[text].flags)
			b.short[text] = rows.short
			d.Latency, d.Goodput = append(d.Latency, rows.latency...), append(d.Goodput, rows.goodput)
			d.Settling = append(d.Settling, rows.settling...)
		}
	}
	return b
}

// A pool adds up the blocks of one copy that count. The nil pool, that of copies which only pair, adds up nothing.
type pool struct {
	totals analysis.Totals
	blocks []*block
	out    map[int]bool // blocks with a trial that does not count
	// invalid and lost are what blocks that ended and are left out add up to, and they themselves.
	invalid analysis.Totals
	lost    []*block
}

func (p *pool) add(b *block, totals *analysis.Totals) error {
	if p == nil {
		return nil
	}
	if !b.usable {
		p.missed(b.record)
		p.lost = append(p.lost, b)
		return p.invalid.Add(totals)
	}
	p.blocks = append(p.blocks, b)
	return p.totals.Add(totals)
}

func (p *pool) missed(record sweep.TrialRecord) {
	if p == nil || record.Status == sweep.StatusRunning {
		return
	}
	if p.out == nil {
		p.out = map[int]bool{}
	}
	p.out[record.Block] = true
}

// leftOut is how many blocks had trials and none that counts.
func (p *pool) leftOut() int {
	for _, b := range p.blocks {
		delete(p.out, b.record.Block)
	}
	return len(p.out)
}

// cell makes the rows of all blocks together, under the cell's name and, for the baseline, the twin's. What they add up to
// is let go of then: of a long night's requests only one measurement's are held at a time.
func (d *derivation) cell(cell *sweep.PlanCell) {
	for _, n := range d.names {
		if n.cell == cell {
			d.together(n)
			n.pool = nil
		}
	}
}

func (d *derivation) together(n *named) {
	d.extend(n)
	d.takenOut(n)
	d.fewBlocks(n)
	values := make([]analysis.Values, len(n.blocks))
	shorts := make([]shortfall, len(n.blocks))
	flags := slices.Clone(n.flags)
	for i, b := range n.blocks {
		values[i], shorts[i] = b.values[n.name], b.short[n.name]
		flags = append(flags, b.flags...)
	}
	if n.name == sweep.Baseline {
		drifted := driftFlags(values)
		for i := range drifted {
			drifted[i].Cell = n.name
		}
		n.flags, flags = append(n.flags, drifted...), append(flags, drifted...)
	}
	d.Flags = append(d.Flags, n.flags...)
	if len(n.blocks) == 0 {
		d.noneLeft(n, flags)
		return
	}
	moved := len(n.cell.Moved)
	rows := mark(&n.pool.totals, n.name, 0, flags, moved)
	for i := range rows.latency {
		rows.latency[i].Blocks, rows.latency[i].LeftOut = len(n.blocks), n.leftOut
	}
	rows.goodput.Blocks, rows.goodput.LeftOut = len(n.blocks), n.leftOut
	d.Latency, d.Goodput = append(d.Latency, rows.latency...), append(d.Goodput, rows.goodput)
	few := fewFlags(n.name, 0, "all blocks together have", []shortfall{rows.short})
	if few == nil {
		few = fewFlags(n.name, 0, "a block has", shorts)
	}
	d.Flags = append(d.Flags, few...)
	for _, metric := range n.pool.totals.VarianceMetrics() {
		row := analysis.Variance(n.name, metric, values)
		row.Moved, row.Verdict, row.Flags = moved, sweep.Verdict(flags), codes(flags)
		if row.Estimate == nil && metric[len(metric)-1] == '9' {
			row.Flags = append(row.Flags, fewSamples)
		}
		d.Variance = append(d.Variance, row)
	}
}
