package main

import (
	"fmt"

	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/spf13/cobra"
)

func (a *app) statusVerb() *cobra.Command {
	var only string
	cmd := &cobra.Command{
		Use: "status", Short: "what is done, running, failed and left, and how long it will take", Args: none,
		Example: "  sweep status\n  sweep status --sweep batch",
		RunE:    func(*cobra.Command, []string) error { return a.status(only) },
	}
	cmd.Flags().StringVar(&only, "sweep", "", "only the sweep `NAME`")
	a.completeFilters(cmd)
	return cmd
}

func (a *app) status(only string) error {
	db, err := openRead(a.database)
	if err != nil {
		return err
	}
	defer db.Close()
	names, err := sweepsNamed(db, only)
	if err != nil {
		return err
	}
	owner := store.Owner(a.database)
	for i, name := range names {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		if err := a.statusOf(db, name, owner != nil); err != nil {
			return err
		}
	}
	if owner != nil {
		fmt.Fprintf(a.stdout, "\n%v\n", owner)
	}
	return nil
}

// statusOf prints one sweep.
func (a *app) statusOf(db *store.DB, name string, running bool) error {
	p, err := db.Plan(name)
	if err != nil {
		return err
	}
	trials, err := db.Trials(name)
	if err != nil {
		return err
	}
	s := standingOf(p, trials, running)
	fmt.Fprintf(a.stdout, "%s: %s in %s of %s\n", name, counted(len(p.Trials), "trial"), counted(p.Blocks, "block"), counted(len(p.Cells), "cell"))
	for _, status := range []string{sweep.StatusDone, sweep.StatusRunning, sweep.StatusFailed, sweep.StatusBlocked, sweep.StatusInterrupted, sweep.StatusExcluded} {
		if s.counts[status] > 0 || status == sweep.StatusDone {
			fmt.Fprintf(a.stdout, "  %-12s %4d\n", status, s.counts[status])
		}
	}
	if s.fresh > 0 {
		fmt.Fprintf(a.stdout, "  %-12s %4d   baselines measured anew beside what came later\n", "and", s.fresh)
	}
	fmt.Fprintf(a.stdout, "  %-12s %4d", "left", len(s.left))
	if len(s.left) > 0 {
		seconds, _ := p.Expected(s.left)
		fmt.Fprintf(a.stdout, "   about %s", roundTime(seconds))
	}
	fmt.Fprintln(a.stdout)
	for _, t := range s.troubles {
		fmt.Fprintf(a.stdout, "  %s, block %d, attempt %d: %s: %s\n", p.Names(t.Digest)[0], t.Block, t.Attempt, t.Status, t.Reason)
	}
	return nil
}

// standing is how far a plan's trials are, each by the best that its attempts came to.
type standing struct {
	counts   map[string]int      // by status
	fresh    int                 // finished baselines that are not of the plan, but beside cells that joined later
	troubles []sweep.TrialRecord // that failed or are blocked
	left     []sweep.Trial       // that run would start
}

// standingOf sums up all attempts, those at trials that the plan does not have among them. Running says that a process
// is at it: else a trial that is marked as running was left by one that died.
func standingOf(p *sweep.Plan, attempts []sweep.TrialRecord, running bool) standing {
	s := standing{counts: map[string]int{}}
	best := map[sweep.Key]sweep.TrialRecord{}
	var earlier []sweep.FinishedTrial
	for _, t := range attempts {
		earlier = append(earlier, sweep.FinishedTrial{Key: t.Key, Sitting: t.Sitting, Status: t.Status})
		if t.Status == sweep.StatusRunning && !running {
			t.Status = sweep.StatusInterrupted
		}
		if best[t.Key].Status != sweep.StatusDone {
			best[t.Key] = t
		}
		if t.Copy > 2 && t.Status == sweep.StatusDone && t.Block <= p.Blocks && len(p.Names(t.Digest)) > 0 {
			s.fresh++
		}
	}
	for _, planned := range p.Trials {
		t, tried := best[planned.Key]
		if !tried {
			continue
		}
		s.counts[t.Status]++
		if t.Status == sweep.StatusFailed || t.Status == sweep.StatusBlocked {
			s.troubles = append(s.troubles, t)
		}
	}
	for _, t := range p.Remaining(earlier) {
		if best[t.Key].Status != sweep.StatusRunning {
			s.left = append(s.left, t)
		}
	}
	return s
}
