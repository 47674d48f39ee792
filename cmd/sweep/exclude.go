package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/exchange"
	"github.com/spf13/cobra"
)

const excludeExample = `  sweep exclude 17 --reason "the node throttled, see its log"
  sweep exclude 17 --undo --reason "it was another node"
  sweep export exclusion                 # every exclusion there ever was`

// excluding is what the verb exclude was asked.
type excluding struct {
	reason string
	undo   bool
}

func (a *app) excludeVerb() *cobra.Command {
	var r excluding
	cmd := &cobra.Command{
		Use: "exclude TRIAL…", Short: "take a trial out of the tables, and say so under them",
		Long: `exclude takes trials out of the tables by their numbers in the view trial (sweep show CELL lists them). Nothing is deleted:
the requests stay, the reason stands under every table as the note "excluded", and --undo puts a trial back. An earlier
done attempt at the same trial counts in its place; where there is none the block is left out, and sweep run measures it
again.

Exclude for what happened to the machine, never for the figure: an outlier without a cause is a result.`,
		Example: excludeExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("sweep exclude needs the number of a trial", "sweep show CELL lists them: sweep exclude 17 --reason TEXT")
			}
			return nil
		},
		RunE:              func(_ *cobra.Command, args []string) error { return a.exclude(args, &r) },
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringVar(&r.reason, "reason", "", "why, as `TEXT`; it stands under every table")
	cmd.Flags().BoolVar(&r.undo, "undo", false, "put trials back")
	return cmd
}

func (a *app) exclude(args []string, r *excluding) error {
	reason := strings.Join(strings.Fields(r.reason), " ")
	if reason == "" && !r.undo {
		return usage("sweep exclude needs a reason", `it stands under every table: --reason "the node throttled"`)
	}
	var trials []int64
	for _, text := range args {
		number, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return usage(text+" is no number of a trial", "sweep show CELL lists them")
		}
		if !slices.Contains(trials, number) {
			trials = append(trials, number)
		}
	}
	db, err := openWrite(a.database, exchange.CommandLine(append([]string{"sweep"}, a.args...)...))
	if err != nil {
		return err
	}
	excludeErr := a.excludeAll(db, trials, reason, !r.undo)
	return errors.Join(excludeErr, db.Close())
}

// excludeAll takes trials out or puts them back, all of them or none, and derives anew what they were in.
func (a *app) excludeAll(db *store.DB, trials []int64, reason string, out bool) error {
	records, err := db.Exclude(trials, out, reason, time.Now())
	switch {
	case errors.Is(err, store.ErrNotExcludable):
		return usage(strings.TrimSuffix(err.Error(), ": "+store.ErrNotExcludable.Error()), "nothing was changed; sweep show TRIAL prints one")
	case errors.Is(err, store.ErrNoTrial):
		return usage(err.Error(), "nothing was changed; sweep show CELL lists the trials of one")
	case err != nil:
		return err
	}
	sweeps := map[string]bool{}
	for _, record := range records {
		sweeps[record.Sweep] = true
		what := "is back in the tables"
		if out {
			what = "is out of the tables: " + reason
		}
		fmt.Fprintf(a.stdout, "trial %d (%s) %s\n", record.ID, trialWords(&record), what)
	}
	for name := range sweeps {
		p, err := db.Plan(name)
		if err == nil {
			_, err = derive(db, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// trialWords says which attempt a record is of.
func trialWords(r *sweep.TrialRecord) string {
	return fmt.Sprintf("%s, %s, block %d, attempt %d", r.Sweep, r.Cell, r.Block, r.Attempt)
}
