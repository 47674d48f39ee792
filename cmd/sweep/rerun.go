package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/inference-sweep/sweep/runner"
	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/exchange"
	"github.com/spf13/cobra"
)

const rerunExample = `  sweep rerun 17                # a trial, with the requests that it had
  sweep rerun rate=200          # a cell, in every block
  sweep rerun night             # a whole sweep
  sweep rerun 17 --dry-run      # what that would do, and to which tables
  sweep rerun --invalid         # every trial that is invalid, and what it needs to stay paired`

// rerunning is what the verb rerun was asked.
type rerunning struct {
	keepText, dryRun, invalid bool
	progress, sweep           string
}

func (a *app) rerunVerb() *cobra.Command {
	var r rerunning
	cmd := &cobra.Command{
		Use: "rerun [ID]", Short: "run a trial, a cell or a sweep again from the record",
		Long: `rerun measures again from the database alone, without the definition: the stored plan, and the seed of each trial's text, so
that the same requests are sent, byte for byte. A trial is named by its number, a cell and a sweep by their names.

What is measured is stored as new attempts; the old ones stay. In the tables the last done attempt at a trial counts, so
the new figures take the place of the old: sweep exclude takes a new attempt out and lets the old one count again.
Comparisons pair within one sitting. A cell that is run again without its baseline gets a fresh baseline beside it; where
the baseline is run again alone, the other cells of its block lose their partner.

--invalid runs every invalid trial of the current plan again, and the rest of a block whose baseline is invalid: what was
measured beside that has no partner. Their text is drawn anew, so that no server has it in its cache.

Without --invalid the server has seen these prompts before. Where its prefix cache is on and it was not restarted since, they are in its
cache: the flag cache-contaminated says so.`,
		Example: rerunExample,
		Args:    func(_ *cobra.Command, args []string) error { return r.checkArgs(args) },
		RunE: func(_ *cobra.Command, args []string) error {
			if r.invalid {
				return a.rerun(&r, func(db *store.DB) ([]*again, error) { return a.findInvalid(db, r.sweep) })
			}
			return a.rerun(&r, func(db *store.DB) ([]*again, error) {
				x, err := findAgain(db, args[0])
				return []*again{x}, err
			})
		},
		ValidArgsFunction: a.completeID,
	}
	f := cmd.Flags()
	f.BoolVar(&r.invalid, "invalid", false, "every invalid trial of the current plan, with what it needs to stay paired")
	f.StringVar(&r.sweep, "sweep", "", "with --invalid: only the sweep `NAME`")
	f.BoolVar(&r.keepText, "keep-text", false, "store the answers")
	f.BoolVar(&r.dryRun, "dry-run", false, "say what would be run and run nothing")
	f.StringVar(&r.progress, "progress", "auto", "auto (bars on a terminal, else a line a trial), plain or none")
	a.completeFilters(cmd)
	return cmd
}

func (r *rerunning) checkArgs(args []string) error {
	switch {
	case r.invalid && len(args) > 0:
		return usage("sweep rerun takes an ID or --invalid, not both", "--invalid --sweep NAME is of one sweep")
	case r.sweep != "" && !r.invalid:
		return usage("--sweep goes with --invalid", "sweep rerun NAME runs a whole sweep again")
	case !r.invalid && len(args) != 1:
		return usage("sweep rerun needs one ID", "a trial's number, a cell's name or a sweep's name: sweep rerun 17; or --invalid")
	}
	return nil
}

// again is what is to be run once more.
type again struct {
	plan    *sweep.Plan // that of the record
	current *sweep.Plan // of its sweep, where that is another; else nil
	trials  []sweep.Trial
	seeds   map[sweep.Key]string
	what    string
	words   string // what its trials are, where they are not simply those with the requests that they had
}

func (a *app) rerun(r *rerunning, find func(*store.DB) ([]*again, error)) (err error) {
	if err := oneOf("--progress", r.progress, []string{"auto", "plain", "none"}); err != nil {
		return err
	}
	open := func() (*store.DB, error) {
		return openWrite(a.database, exchange.CommandLine(append([]string{"sweep"}, a.args...)...))
	}
	if r.dryRun {
		open = func() (*store.DB, error) { return openRead(a.database) }
	}
	db, err := open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	all, err := find(db)
	if err != nil {
		return err
	}
	for _, x := range all {
		x.explain(a, r.dryRun)
	}
	if r.dryRun {
		return nil
	}
	a.outlivePipes()
	ctx, stop := interruptible()
	defer stop()
	var total runner.Summary
	for _, x := range all {
		summary, err := a.runAgain(ctx, db, x, r)
		if err != nil {
			return err
		}
		total = add(total, summary)
	}
	return verdictOn(total)
}

// findInvalid finds what is invalid in each sweep of the database, or in one.
func (a *app) findInvalid(db *store.DB, only string) ([]*again, error) {
	names, err := sweepsNamed(db, only)
	if err != nil {
		return nil, err
	}
	var all []*again
	for _, name := range names {
		x, err := invalidAgain(db, name)
		if err != nil {
			return nil, err
		}
		if x == nil {
			a.say("%s: no trial is invalid", name)
			continue
		}
		all = append(all, x)
	}
	return all, nil
}

func (a *app) runAgain(ctx context.Context, db *store.DB, x *again, r *rerunning) (runner.Summary, error) {
	return a.measure(ctx, db, x.plan, x.trials, &measuring{
		sitting: a.sitting(x.plan, false), current: x.current, keepText: r.keepText, progress: r.progress,
		replay: func(t sweep.Trial) string { return x.seeds[t.Key] },
	})
}

// findAgain finds what an ID means: a trial's number, a sweep's name, a cell's name, or sweep/cell.
func findAgain(db *store.DB, id string) (*again, error) {
	if number, err := strconv.ParseInt(id, 10, 64); err == nil {
		return trialAgain(db, number)
	}
	names, err := db.Sweeps()
	if err != nil {
		return nil, err
	}
	x, digest := &again{}, ""
	if slices.Contains(names, id) {
		if x.plan, err = db.Plan(id); err != nil {
			return nil, err
		}
		x.what = "sweep " + id
	} else {
		plan, cell, err := findCell(db, id, "sweep rerun takes a trial's number, a cell's name or a sweep's name ("+strings.Join(names, ", ")+")")
		if err != nil {
			return nil, err
		}
		x.plan, digest, x.what = plan, plan.CellNamed(cell).Digest, "cell "+cell+" of sweep "+plan.Name
	}
	attempts, err := db.Trials(x.plan.Name)
	if err != nil {
		return nil, err
	}
	x.seeds = seedsOf(attempts)
	x.trials = x.plan.Again(finishedOf(attempts), func(t sweep.Trial) bool {
		_, recorded := x.seeds[t.Key]
		return recorded && (digest == "" || t.Digest == digest)
	})
	if len(x.trials) == 0 {
		return nil, usage(x.what+" has no trial on record", "sweep run FILE measures it")
	}
	return x, nil
}

// trialAgain runs one attempt again, by the plan of its own sitting where the sweep has another by now.
func trialAgain(db *store.DB, number int64) (*again, error) {
	record, err := db.Trial(number)
	if err != nil {
		return nil, usage(fmt.Sprintf("there is no trial %d", number), "SELECT trial, cell, block, status FROM trial lists them")
	}
	if record.Nonce == "" {
		return nil, usage(fmt.Sprintf("trial %d sent nothing: %s", number, record.Reason), "sweep run FILE tries it again")
	}
	x := &again{seeds: map[sweep.Key]string{record.Key: record.Nonce}, what: fmt.Sprintf("trial %d (%s)", number, trialWords(&record))}
	if x.plan, err = db.Plan(record.Sweep); err != nil {
		return nil, err
	}
	if !hasTrial(x.plan, record.Key) {
		x.current = x.plan
		if x.plan, err = db.PlanOfSitting(record.Sitting); err != nil {
			return nil, err
		}
	}
	attempts, err := db.Trials(record.Sweep)
	if err != nil {
		return nil, err
	}
	x.trials = x.plan.Again(finishedOf(attempts), func(t sweep.Trial) bool { return t.Key == record.Key })
	if len(x.trials) == 0 {
		return nil, usage(fmt.Sprintf("trial %d is a baseline that only pairs the cells of one sitting", number), "run one of those cells again: it gets a fresh one")
	}
	return x, nil
}

func hasTrial(p *sweep.Plan, key sweep.Key) bool {
	return slices.ContainsFunc(p.Trials, func(t sweep.Trial) bool { return t.Key == key })
}

// seedsOf is the seed of each trial's text: its last done attempt's, else its last one's.
func seedsOf(attempts []sweep.TrialRecord) map[sweep.Key]string {
	seeds, done := map[sweep.Key]string{}, map[sweep.Key]bool{}
	for _, t := range attempts {
		if t.Nonce == "" || done[t.Key] && t.Status != sweep.StatusDone {
			continue
		}
		seeds[t.Key], done[t.Key] = t.Nonce, t.Status == sweep.StatusDone
	}
	return seeds
}

func finishedOf(attempts []sweep.TrialRecord) []sweep.FinishedTrial {
	finished := make([]sweep.FinishedTrial, len(attempts))
	for i, t := range attempts {
		finished[i] = sweep.FinishedTrial{Key: t.Key, Sitting: t.Sitting, Status: t.Status}
	}
	return finished
}

// explain says what is run, and what that does to the tables.
func (x *again) explain(a *app, dryRun bool) {
	if x.words != "" {
		x.say(a, dryRun, x.words)
		return
	}
	same, fresh := 0, 0
	blocks := map[int]bool{}
	others := false
	base := x.plan.Cells[0].Digest
	for _, t := range x.trials {
		if x.seeds[t.Key] == "" {
			fresh++
			continue
		}
		same++
		blocks[t.Block] = true
		others = others || t.Digest != base
	}
	x.say(a, dryRun, fmt.Sprintf("trials with the requests that they had: %d, fresh baselines beside them: %d", same, fresh))
	switch {
	case x.current != nil:
		a.say("the sweep's current plan has no such trial: the new attempt is recorded, and stands in no table")
	case others || fresh > 0 || len(x.plan.Cells) == 1:
		a.say("in the tables the last done attempt counts: the new one takes the old one's place (sweep exclude TRIAL takes it out again)")
	default:
		a.say("in the tables the last done attempt counts: the baseline's new one takes the old one's place, and as comparisons pair within one sitting, the other cells of its %s lose their partner (sweep exclude TRIAL takes it out again)", plural(len(blocks), "block"))
	}
}

// say says what is run in words, and how long that takes.
func (x *again) say(a *app, dryRun bool, words string) {
	seconds, _ := x.plan.Expected(x.trials)
	verb := "runs again"
	if dryRun {
		verb = "would run again"
	}
	a.say("%s %s: %s; about %s", x.what, verb, words, roundTime(seconds))
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
