package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/inference-sweep/sweep/runner"
	"github.com/inference-sweep/sweep/runner/bench"
	"github.com/inference-sweep/sweep/runner/load"
	"github.com/inference-sweep/sweep/runner/target"
	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/spf13/cobra"
)

const runExample = `  sweep run experiments/batch.cue                    # the embedded engine: about two minutes
  sweep run experiments/batch.cue                    # again: goes on with what is missing
  sweep run experiments/load.cue -t target=http://localhost:8000 -t model=my/model -t engine=vllm
  sweep run night.cue --until 07:00 --only 'rate=*'  # what will have ended by seven, of some cells`

// running is what the verb run was asked.
type running struct {
	reading
	fresh, keepText, dryRun bool
	only, until, progress   string
}

func (a *app) runVerb() *cobra.Command {
	var r running
	cmd := &cobra.Command{
		Use: "run FILE…", Short: "measure what is not yet measured, and print the tables",
		Long: `run measures every cell of a definition in every block, and stores every request as it ends. What an earlier run finished is
not run again: after a crash, the same command goes on. Ctrl-C ends it cleanly.`,
		Example: runExample, Args: files,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.blocksSet = cmd.Flags().Changed("blocks")
			return a.runAll(args, &r)
		},
	}
	r.flags(cmd)
	f := cmd.Flags()
	f.BoolVar(&r.fresh, "fresh", false, "start anew: what is stored stays, but counts no more")
	f.StringVar(&r.only, "only", "", "run only the cells that match a `GLOB`")
	f.IntVar(&r.blocks, "blocks", 0, "how many blocks there are to be, instead of the definition's `N`")
	f.BoolVar(&r.keepText, "keep-text", false, "store the answers")
	f.BoolVar(&r.dryRun, "dry-run", false, "print the order and run nothing")
	f.StringVar(&r.until, "until", "", "start only blocks that will have ended by a local time, as `07:00`")
	f.StringVar(&r.progress, "progress", "auto", "auto (bars on a terminal, else a line a trial), plain or none")
	return cmd
}

func (a *app) runAll(args []string, r *running) error {
	if err := oneOf("--progress", r.progress, []string{"auto", "plain", "none"}); err != nil {
		return err
	}
	until, err := nextTime(r.until, time.Now())
	if err != nil {
		return err
	}
	plans, err := a.plans(args, &r.reading)
	if err != nil {
		return err
	}
	if r.dryRun {
		return a.dryRun(plans, r)
	}
	a.outlivePipes()
	db, err := store.Open(a.database, store.Options{Owner: "sweep " + strings.Join(a.args, " "), Warn: func(s string) { a.say("%s", s) }})
	if err != nil {
		return storeHint(err)
	}
	ctx, stop := interruptible()
	defer stop()
	enough := make(chan os.Signal, 1)
	signal.Notify(enough, syscall.SIGUSR1)
	defer signal.Stop(enough)
	start := starting{until: until, enough: enough}
	var total runner.Summary
	for _, p := range plans {
		var summary runner.Summary
		if summary, err = a.runOne(ctx, db, p, r, &start); err != nil {
			break
		}
		total = add(total, summary)
	}
	if closeErr := db.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return verdictOn(total)
}

// verdictOn turns what became of the trials into an exit code.
func verdictOn(s runner.Summary) error {
	bad := s.Failed + s.Blocked
	hint := statusHint
	if s.Unreached != "" {
		hint = "nothing answers at " + s.Unreached + ": start the server, or correct the target; the same command tries again"
	}
	switch {
	case bad > 0 && s.Done == 0:
		return &hintError{fmt.Errorf("no trial succeeded: %d failed, %d blocked", s.Failed, s.Blocked), hint}
	case bad > 0:
		return &partlyError{fmt.Sprintf("%d of %d trials failed or are blocked", bad, bad+s.Done+s.Left), hint}
	case s.Left > 0:
		return &partlyError{counted(s.Left, "trial") + " left", hint}
	}
	return nil
}

func add(a, b runner.Summary) runner.Summary {
	return runner.Summary{
		Done: a.Done + b.Done, Failed: a.Failed + b.Failed, Blocked: a.Blocked + b.Blocked,
		Interrupted: a.Interrupted + b.Interrupted, Left: a.Left + b.Left, Unreached: cmp.Or(b.Unreached, a.Unreached),
	}
}

// remaining lists the trials of a plan that are to be run now.
func remaining(p *sweep.Plan, finished []store.Finished, r *running) ([]sweep.Trial, error) {
	var earlier []sweep.FinishedTrial
	if !r.fresh {
		for _, f := range finished {
			earlier = append(earlier, sweep.FinishedTrial{Key: f.Key, Sitting: f.Sitting, Status: f.Status})
		}
	}
	trials := p.Remaining(earlier)
	if r.only == "" {
		return trials, nil
	}
	return p.Only(trials, r.only)
}

// runOne runs one sweep and prints its tables.
func (a *app) runOne(ctx context.Context, db *store.DB, p *sweep.Plan, r *running, start *starting) (runner.Summary, error) {
	finished, err := db.Finished(p.Name)
	if err != nil {
		return runner.Summary{}, err
	}
	trials, err := remaining(p, finished, r)
	if err != nil {
		return runner.Summary{}, err
	}
	if r.only != "" && p.Unpaired(trials) {
		a.say("%s: the baseline is not among them: what is measured now can be compared with it only if it is measured in the same run", p.Name)
	}
	return a.measure(ctx, db, p, trials, &measuring{
		sitting: a.sitting(p, r.fresh), keepText: r.keepText, progress: r.progress, mayStart: start.mayStart(p, trials),
	})
}

// measuring is how trials are run.
type measuring struct {
	sitting  store.Sitting
	current  *sweep.Plan // of the sweep, where the trials are of an older one
	keepText bool
	progress string
	mayStart func(sweep.Trial) bool
	replay   func(sweep.Trial) string
}

// measure runs trials of a plan in one sitting and prints the tables of its sweep.
func (a *app) measure(ctx context.Context, db *store.DB, p *sweep.Plan, trials []sweep.Trial, m *measuring) (runner.Summary, error) {
	if err := a.checkBefore(p, trials); err != nil {
		return runner.Summary{}, err
	}
	current := p
	if m.current != nil {
		current = m.current
	}
	rejudged, err := a.sayRejudged(db, current, trials)
	if err != nil {
		return runner.Summary{}, err
	}
	sitting, err := db.BeginSitting(m.sitting, current)
	if err != nil {
		return runner.Summary{}, err
	}
	w := db.NewWriter()
	shown := a.newProgress(p, trials, m.progress)
	rec := newRecording(db, w, p)
	summary, runErr := runner.Run(ctx, p, trials, runner.Config{
		Record: rec.recorder(), Target: target.Deps{Getenv: os.LookupEnv, Executable: executable()},
		NewWaiter: load.NewWaiter, Nonce: nonce, Replay: m.replay, MayStart: m.mayStart, Progress: func(e runner.Event) { shown.event(e, rec) },
		KeepText: m.keepText, FloorNS: a.floor(ctx, trials), Sitting: sitting, Node: hostname(),
	})
	shown.close()
	if closeErr := w.Close(); runErr == nil {
		runErr = closeErr
	}
	if runErr != nil {
		// What was measured is worth its tables even though the run did not end well.
		derive(db, current)
		return summary, movedHint(runErr)
	}
	if len(trials) == 0 && rejudged == 0 {
		a.say("%s: every trial is done", p.Name)
	}
	derived, err := derive(db, current)
	if err != nil {
		return summary, err
	}
	if err := a.printTables(db, current, derived, []string{"goodput", "variance"}); err != nil {
		return summary, err
	}
	return summary, a.sayInvalid(db, current, derived)
}

// sayRejudged says of how many cells the SLO is another than it was: what is stored of them is judged by the new one.
func (a *app) sayRejudged(db *store.DB, p *sweep.Plan, trials []sweep.Trial) (int, error) {
	before, err := db.Plan(p.Name)
	if errors.Is(err, store.ErrNoSweep) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n := 0
	for i := range p.Cells {
		cell := &p.Cells[i]
		old := before.CellNamed(cell.Name())
		if old != nil && old.Digest == cell.Digest && !reflect.DeepEqual(old.Cell.Contract.SLO, cell.Cell.Contract.SLO) {
			n++
		}
	}
	switch {
	case n > 0 && len(trials) == 0:
		a.say("%s: the SLO of %s changed: judged again, nothing run", p.Name, counted(n, "cell"))
	case n > 0:
		a.say("%s: the SLO of %s changed: what is stored is judged again", p.Name, counted(n, "cell"))
	}
	return n, nil
}

// floor measures what this client adds to a time to first token, once a run.
func (a *app) floor(ctx context.Context, trials []sweep.Trial) int64 {
	if len(trials) == 0 {
		return 0
	}
	ns, err := bench.Floor(ctx)
	if err != nil {
		a.say("%v: not measured", err)
		return 0
	}
	return ns
}

// sitting describes this pass.
func (a *app) sitting(p *sweep.Plan, fresh bool) store.Sitting {
	b := readBuild()
	return store.Sitting{
		Sweep: p.Name, Argv: strings.Join(append([]string{"sweep"}, a.args...), " "), Version: b.Version, Commit: b.Commit, Host: hostname(),
		StartedAt: time.Now(), Fresh: fresh, Provenance: provenance(b),
	}
}

// dryRun prints the order of a run.
func (a *app) dryRun(plans []*sweep.Plan, r *running) error {
	for _, p := range plans {
		var finished []store.Finished
		db, err := store.Open(a.database, store.Options{ReadOnly: true})
		if err == nil {
			finished, err = db.Finished(p.Name)
			db.Close()
			if err != nil {
				return err
			}
		} else if !isMissing(err) {
			return storeHint(err)
		}
		trials, err := remaining(p, finished, r)
		if err != nil {
			return err
		}
		seconds, _ := p.Expected(trials)
		fmt.Fprintf(a.stdout, "%s: %d trials, %d launches, about %s\n", p.Name, len(trials), p.LaunchesOf(trials), roundTime(seconds))
		for i, t := range trials {
			copied := ""
			if t.Copy > 1 {
				copied = fmt.Sprintf(" (copy %d)", t.Copy)
			}
			fmt.Fprintf(a.stdout, "%4d  block %-3d  %s%s\n", i+1, t.Block, t.Cell, copied)
		}
	}
	return nil
}

// starting decides which trials of a run may still start.
type starting struct {
	until  time.Time        // zero where there is no end
	enough <-chan os.Signal // SIGUSR1 came: start nothing more, in no sweep
	over   bool
}

// mayStart lets a trial of a plan start unless that was enough, or its block would not have ended by the time set.
func (s *starting) mayStart(p *sweep.Plan, trials []sweep.Trial) func(sweep.Trial) bool {
	blocks := map[int][]sweep.Trial{}
	for _, t := range trials {
		blocks[t.Block] = append(blocks[t.Block], t)
	}
	started := map[int]bool{}
	return func(t sweep.Trial) bool {
		select {
		case <-s.enough:
			s.over = true
		default:
		}
		if s.over {
			return false
		}
		if !started[t.Block] && !s.until.IsZero() {
			seconds, _ := p.Expected(blocks[t.Block])
			if time.Now().Add(time.Duration(seconds * float64(time.Second))).After(s.until) {
				return false
			}
		}
		started[t.Block] = true
		return true
	}
}

// nextTime is the next local time of day that text names, as 07:00; zero where it is empty.
func nextTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	clock, err := time.Parse("15:04", text)
	if err != nil {
		return time.Time{}, usage("--until "+text+" is no time of day", "write it as 07:00")
	}
	next := time.Date(now.Year(), now.Month(), now.Day(), clock.Hour(), clock.Minute(), 0, 0, now.Location())
	if !next.After(now) {
		next = next.AddDate(0, 0, 1)
	}
	return next, nil
}

// nonce draws the seed of a trial's text: no server has seen it, not even before a restart or from an older database.
func nonce() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// executable is this program, which target sim launches.
func executable() string {
	path, err := os.Executable()
	if err != nil {
		return "sweep"
	}
	return path
}
