package main

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/analysis"
	"github.com/inference-sweep/sweep/sweep/report"
	"github.com/inference-sweep/sweep/sweep/stats"
	"github.com/inference-sweep/sweep/sweep/verdict"
)

// foreseeing is what the verb plan is asked about the night to come.
type foreseeing struct {
	spreadFrom string // a database
	until      string
}

// foresight is what is known before a sweep runs: nothing, or what an earlier night of it measured.
type foresight struct {
	times sweep.Times
	// spread is, by metric, the standard deviation of the log ratio of two cells of one block.
	spread map[string]float64
	// from names the database; empty where all is assumed.
	from string
}

// assumedSpread is the spread of a cell's blocks, as a standard deviation of logs, where nothing was measured yet.
const assumedSpread = 0.02

// power is how often a difference of the size that a plan can detect is found.
const power = 0.8

// infos say of each plan how long it takes, what it can show, and what of it does not fit.
func (a *app) infos(plans []*sweep.Plan, f *foreseeing) ([]report.PlanAndInfo, error) {
	now := time.Now()
	until, err := nextTime(f.until, now)
	if err != nil {
		return nil, err
	}
	known, err := a.foresee(plans, f.spreadFrom)
	if err != nil {
		return nil, err
	}
	infos := make([]report.PlanAndInfo, len(plans))
	for i, p := range plans {
		p = withFewSamples(p)
		seconds, bytes := p.ExpectedFrom(known[i].times, p.Trials)
		info := report.PlanInfo{
			ExpectedS: seconds, ExpectedBytes: bytes, Detectable: known[i].detectable(p), Spread: known[i].words(p), Options: a.tableOptions(),
		}
		if !until.IsZero() {
			info.Until = f.until
			info.Unfit, now = unfit(p, known[i].times, now, until)
		}
		infos[i] = report.PlanAndInfo{Plan: p, Info: info}
	}
	return infos, nil
}

// foresee looks each plan's sweep up in a database.
func (a *app) foresee(plans []*sweep.Plan, path string) ([]foresight, error) {
	known := make([]foresight, len(plans))
	if path == "" {
		return known, nil
	}
	db, err := openRead(path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	found := false
	for i, p := range plans {
		known[i], err = measured(db, p.Name, filepath.Base(path))
		switch {
		case err == nil:
			found = true
		case !errors.Is(err, store.ErrNoSweep):
			return nil, err
		}
	}
	if !found {
		return nil, usage(fmt.Sprintf("%s holds no sweep called %s", path, plans[0].Name), "sweep report --db "+path+" shows what it holds")
	}
	return known, nil
}

// measured is what a database tells of a sweep.
func measured(db *store.DB, name, from string) (foresight, error) {
	f := foresight{from: from}
	p, err := db.Plan(name)
	if err != nil {
		return f, err
	}
	if f.times, err = measuredTimes(db, name); err != nil {
		return f, err
	}
	stale, err := db.Stale(name, verdict.Version)
	if err != nil {
		return f, err
	}
	var derived *sweep.Derived
	if stale {
		derived, err = deriveOnly(db, p)
	} else {
		derived, err = db.Derived(name)
	}
	if err != nil {
		return f, err
	}
	f.spread = spreads(derived)
	return f, nil
}

// measuredTimes are the medians of what trials took, cell by cell, and of what servers took to start.
func measuredTimes(db *store.DB, name string) (sweep.Times, error) {
	records, err := db.Trials(name)
	if err != nil {
		return sweep.Times{}, err
	}
	launches, err := db.Launches(name)
	if err != nil {
		return sweep.Times{}, err
	}
	times := sweep.Times{Trial: map[string]float64{}}
	took := map[string][]float64{}
	for _, r := range records {
		if r.Status == sweep.StatusDone && r.EndNS != sweep.None {
			took[r.Digest] = append(took[r.Digest], time.Duration(r.EndNS).Seconds())
		}
	}
	for digest, seconds := range took {
		times.Trial[digest] = medianOf(seconds)
	}
	var starts []float64
	for _, l := range launches {
		if l.ReadyNS != sweep.None {
			starts = append(starts, time.Duration(l.ReadyNS).Seconds())
		}
	}
	if len(starts) > 0 {
		times.Launch = medianOf(starts)
	}
	return times, nil
}

func medianOf(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// spreads are by metric. Comparisons are of pairs, so it is the pairs' own spread that counts, over all cells of the
// sweep; where nothing was compared, it is that of the blocks' values, of which a pair has two.
func spreads(d *sweep.Derived) map[string]float64 {
	pairs, blocks := map[string]*pooled{}, map[string]*pooled{}
	for _, r := range d.Comparison {
		if r.Test == analysis.TestPairedTLog || r.Test == analysis.TestExact {
			pool(pairs, r.Metric).add(r.Ratio, r.CIHigh, r.Blocks)
		}
	}
	for _, r := range d.Variance {
		if r.CIMethod == analysis.IntervalTLog {
			pool(blocks, r.Metric).add(r.Estimate, r.CIHigh, r.Blocks)
		}
	}
	found := map[string]float64{}
	for metric, p := range blocks {
		found[metric] = p.sd() * math.Sqrt2
	}
	for metric, p := range pairs {
		found[metric] = p.sd()
	}
	return found
}

// pooled is a variance of logs pooled over cells, by their degrees of freedom.
type pooled struct{ squares, freedom float64 }

func pool(of map[string]*pooled, metric string) *pooled {
	if of[metric] == nil {
		of[metric] = &pooled{}
	}
	return of[metric]
}

// add takes a cell's variance back out of its 95 % interval: a t interval of the mean of n logs.
func (p *pooled) add(estimate, high *float64, n int) {
	if estimate == nil || high == nil || n < 2 {
		return
	}
	freedom := float64(n - 1)
	sd := math.Log(*high / *estimate) * math.Sqrt(float64(n)) / stats.TQuantile(.975, freedom)
	p.squares += sd * sd * freedom
	p.freedom += freedom
}

func (p *pooled) sd() float64 { return math.Sqrt(p.squares / p.freedom) }

// of is the spread of a metric's pairs, and whether it was measured.
func (f *foresight) of(metric string) (sd float64, known bool) {
	if sd, ok := f.spread[metric]; ok && !math.IsNaN(sd) {
		return sd, true
	}
	// The difference of two cells of a block spreads by √2 of what one does.
	return assumedSpread * math.Sqrt2, false
}

// words say where the spread comes from of the metrics that a comparison of the plan can have; nothing where all of it is
// assumed.
func (f *foresight) words(p *sweep.Plan) string {
	var known, assumed []string
	for _, metric := range p.Judge.Metrics {
		if !compared(p, metric) {
			continue
		}
		if _, ok := f.of(metric); ok {
			known = append(known, metric)
		} else {
			assumed = append(assumed, metric)
		}
	}
	switch {
	case len(known) == 0:
		return ""
	case len(assumed) > 0:
		return "the spread in " + f.from + " (assumed for " + strings.Join(assumed, " and ") + ")"
	}
	return "the spread in " + f.from
}

// withFewSamples is a plan with a note on the metrics that it is judged by and that some cell cannot have: its blocks will
// have too few requests. The plan given stays as it is.
func withFewSamples(p *sweep.Plan) *sweep.Plan {
	noted := *p
	noted.Cells, noted.Flags = slices.Clone(p.Cells), slices.Clone(p.Flags)
	words := make([]string, len(p.Cells))
	for i := range p.Cells {
		words[i] = lackingWords(p.Judge.Metrics, &p.Cells[i])
	}
	few := func(cell, words string) sweep.Flag {
		return sweep.Flag{Cell: cell, Code: "few-samples", Severity: sweep.Note, Detail: words}
	}
	if words[0] != "" && !slices.ContainsFunc(words, func(w string) bool { return w != words[0] }) {
		noted.Flags = append(noted.Flags, few("", words[0]))
		return &noted
	}
	for i, w := range words {
		if w != "" {
			cell := &noted.Cells[i]
			cell.Flags = append(slices.Clone(cell.Flags), few(cell.Name(), w))
		}
	}
	return &noted
}

// lackingWords name the metrics that no block of a cell will have requests enough for, with how many each needs; nothing
// where there are none.
func lackingWords(metrics []string, cell *sweep.PlanCell) string {
	var parts []string
	for _, metric := range metrics {
		if needs := analysis.Needs(metric); cell.Requests < needs && analysis.Exists(metric, cell) {
			parts = append(parts, fmt.Sprintf("%s (%d)", metric, needs))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%d requests expected in a block are too few for %s", cell.Requests, strings.Join(parts, ", "))
}

// compared says that a comparison of the plan can have a metric: the baseline and some other cell will have it.
func compared(p *sweep.Plan, metric string) bool {
	has := func(c *sweep.PlanCell) bool {
		return analysis.Exists(metric, c) && c.Requests >= analysis.Needs(metric)
	}
	others := slices.DeleteFunc(slices.Clone(p.Cells[1:]), func(c sweep.PlanCell) bool { return c.AliasOf != "" })
	return has(&p.Cells[0]) && (len(others) == 0 || slices.ContainsFunc(others, func(c sweep.PlanCell) bool { return has(&c) }))
}

// detectable is the smallest relative difference, by metric, that a comparison of the plan is likely to show; a metric that
// no comparison will have is not there.
func (f *foresight) detectable(p *sweep.Plan) map[string]float64 {
	found := map[string]float64{}
	for _, metric := range p.Judge.Metrics {
		if !compared(p, metric) {
			continue
		}
		sd, _ := f.of(metric)
		ratio := stats.DetectableRatio(sd, p.Blocks, 0.05, power)
		if ratio >= 1 && ratio < 10 {
			found[metric] = ratio - 1
		}
	}
	return found
}

// unfit lists the trials whose blocks will not have ended by a time, as a run that starts now leaves them over, and gives
// when that run ends.
func unfit(p *sweep.Plan, known sweep.Times, now, until time.Time) ([]sweep.Trial, time.Time) {
	blocks := map[int][]sweep.Trial{}
	for _, t := range p.Trials {
		blocks[t.Block] = append(blocks[t.Block], t)
	}
	fits := map[int]bool{}
	var left []sweep.Trial
	for _, t := range p.Trials {
		if _, asked := fits[t.Block]; !asked {
			seconds, _ := p.ExpectedFrom(known, blocks[t.Block])
			end := now.Add(time.Duration(seconds * float64(time.Second)))
			if fits[t.Block] = !end.After(until); fits[t.Block] {
				now = end
			}
		}
		if !fits[t.Block] {
			left = append(left, t)
		}
	}
	return left, now
}
