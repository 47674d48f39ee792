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
	return cmd
}

func (a *app) status(only string) error {
	db, err := store.Open(a.database, store.Options{ReadOnly: true})
	if err != nil {
		return storeHint(err)
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
	finished, err := db.Finished(name)
	if err != nil {
		return err
	}
	var earlier []sweep.FinishedTrial
	counts := map[string]int{}
	var troubles []store.Finished
	for _, f := range finished {
		earlier = append(earlier, sweep.FinishedTrial{Key: f.Key, Sitting: f.Sitting, Status: f.Status})
		status := f.Status
		if status == sweep.StatusRunning && !running {
			status = sweep.StatusInterrupted
		}
		counts[status]++
		if status == sweep.StatusFailed || status == sweep.StatusBlocked {
			troubles = append(troubles, f)
		}
	}
	left := p.Remaining(earlier)
	seconds, _ := p.Expected(left)
	fmt.Fprintf(a.stdout, "%s: %d trials in %d blocks of %d cells\n", name, len(p.Trials), p.Blocks, len(p.Cells))
	for _, status := range []string{sweep.StatusDone, sweep.StatusRunning, sweep.StatusFailed, sweep.StatusBlocked, sweep.StatusInterrupted} {
		if counts[status] > 0 || status == sweep.StatusDone {
			fmt.Fprintf(a.stdout, "  %-12s %4d\n", status, counts[status])
		}
	}
	fmt.Fprintf(a.stdout, "  %-12s %4d", "left", len(left))
	if len(left) > 0 {
		fmt.Fprintf(a.stdout, "   about %s", roundTime(seconds))
	}
	fmt.Fprintln(a.stdout)
	for _, f := range troubles {
		names := p.Names(f.Digest)
		if len(names) == 0 {
			continue
		}
		fmt.Fprintf(a.stdout, "  %s, block %d, attempt %d: %s: %s\n", names[0], f.Block, f.Attempt, f.Status, f.Reason)
	}
	return nil
}
