package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/spf13/cobra"
)

const statusExample = `  sweep status                     # every sweep of sweep.db
  sweep status --sweep batch --db night.db
  sweep status --format json | jq '.left_s'`

func (a *app) statusVerb() *cobra.Command {
	only, format := "", "table"
	cmd := &cobra.Command{
		Use: "status", Short: "what is done, running, failed and left, and how long it will take", Args: none,
		Long: `status counts the trials of each sweep's last plan by what became of them, each by its best attempt: done, running, failed
(tried, and it did not end), blocked (not tried, since its server failed too often), interrupted (the same command goes
on) and excluded. Of those that are done it counts the verdicts: what is invalid is in no figure over blocks, and
sweep rerun --invalid measures it again. What failed or is blocked is listed with its reason.

Left is what sweep run would start, and about how long that takes. While a run goes on, status reads beside it.

With --format json it prints an object for each sweep, an array of them where there are several: sweep, trials, blocks,
cells, counts (by status), verdicts, invalid (trials by code), fresh (baselines measured anew beside what came later),
left, left_s, troubles, and running (who holds the database, or null).`,
		Example: statusExample,
		RunE:    func(*cobra.Command, []string) error { return a.status(only, format) },
	}
	cmd.Flags().StringVar(&only, "sweep", "", "only the sweep `NAME`")
	cmd.Flags().StringVarP(&format, "format", "f", format, "table or json")
	cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
	a.completeFilters(cmd)
	return cmd
}

func (a *app) status(only, format string) error {
	if err := oneOf("--format", format, []string{"table", "json"}); err != nil {
		return err
	}
	db, err := openRead(a.database)
	if err != nil {
		return err
	}
	defer db.Close()
	names, err := sweepsNamed(db, only)
	if err != nil {
		return err
	}
	var running *string
	if owner := store.Owner(a.database); owner != nil {
		text := owner.Error()
		running = &text
	}
	all := make([]statusRecord, len(names))
	for i, name := range names {
		if all[i], err = statusOf(db, name, running); err != nil {
			return err
		}
	}
	if format == "json" {
		return a.writeStatusJSON(all)
	}
	for i := range all {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		all[i].print(a.stdout)
	}
	if running != nil {
		fmt.Fprintf(a.stdout, "\n%s\n", *running)
	}
	return nil
}

// statusRecord is how far one sweep is.
type statusRecord struct {
	Sweep    string         `json:"sweep"`
	Trials   int            `json:"trials"`
	Blocks   int            `json:"blocks"`
	Cells    int            `json:"cells"`
	Counts   map[string]int `json:"counts"`   // of trials by status
	Verdicts map[string]int `json:"verdicts"` // of those that are done
	Invalid  map[string]int `json:"invalid"`  // of those that are invalid, by code
	Fresh    int            `json:"fresh"`
	Left     int            `json:"left"`
	LeftS    float64        `json:"left_s"`
	Troubles []trouble      `json:"troubles"`
	Running  *string        `json:"running"`
	invalid  string         // the tally of Invalid
}

// trouble is a trial that failed or is blocked.
type trouble struct {
	Cell    string `json:"cell"`
	Block   int    `json:"block"`
	Attempt int    `json:"attempt"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
}

func statusOf(db *store.DB, name string, running *string) (statusRecord, error) {
	p, err := db.Plan(name)
	if err != nil {
		return statusRecord{}, err
	}
	attempts, err := db.Trials(name)
	if err != nil {
		return statusRecord{}, err
	}
	derived, err := db.Derived(name)
	if err != nil {
		return statusRecord{}, err
	}
	s := standingOf(p, attempts, running != nil)
	r := statusRecord{
		Sweep: name, Trials: len(p.Trials), Blocks: p.Blocks, Cells: len(p.Cells), Counts: s.counts, Fresh: s.fresh, Left: len(s.left),
		Verdicts: map[string]int{}, Invalid: map[string]int{}, Troubles: []trouble{}, Running: running,
	}
	r.LeftS, _ = p.Expected(s.left)
	for _, t := range s.troubles {
		r.Troubles = append(r.Troubles, trouble{p.Names(t.Digest)[0], t.Block, t.Attempt, t.Status, t.Reason})
	}
	judged := slices.DeleteFunc(judgementsOf(p, attempts, derived), func(j judgement) bool { return j.record.Copy > 2 })
	for _, j := range judged {
		r.Verdicts[j.verdict]++
		for _, code := range j.invalid {
			r.Invalid[code]++
		}
	}
	r.invalid = tally(judged)
	return r, nil
}

func (a *app) writeStatusJSON(all []statusRecord) error {
	var of any = all
	if len(all) == 1 {
		of = all[0]
	}
	text, err := json.MarshalIndent(of, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s\n", text)
	return err
}

// print writes a record for people; an error of the writer is the writer's to remember.
func (r *statusRecord) print(w io.Writer) {
	fmt.Fprintf(w, "%s: %s in %s of %s\n", r.Sweep, counted(r.Trials, "trial"), counted(r.Blocks, "block"), counted(r.Cells, "cell"))
	for _, status := range []string{sweep.StatusDone, sweep.StatusRunning, sweep.StatusFailed, sweep.StatusBlocked, sweep.StatusInterrupted, sweep.StatusExcluded} {
		if r.Counts[status] > 0 || status == sweep.StatusDone {
			fmt.Fprintf(w, "  %-12s %4d%s\n", status, r.Counts[status], r.verdictWords(status))
		}
	}
	if r.Fresh > 0 {
		fmt.Fprintf(w, "  %-12s %4d   baselines measured anew beside what came later\n", "and", r.Fresh)
	}
	fmt.Fprintf(w, "  %-12s %4d", "left", r.Left)
	if r.Left > 0 {
		fmt.Fprintf(w, "   about %s", roundTime(r.LeftS))
	}
	fmt.Fprintln(w)
	for _, t := range r.Troubles {
		fmt.Fprintf(w, "  %s, block %d, attempt %d: %s: %s\n", t.Cell, t.Block, t.Attempt, t.Status, t.Reason)
	}
}

// verdictWords count the verdicts of the trials that are done: "   valid 22, suspect 0, invalid 20 (late-sends 18)".
func (r *statusRecord) verdictWords(status string) string {
	if status != sweep.StatusDone || len(r.Verdicts) == 0 {
		return ""
	}
	words := fmt.Sprintf("   valid %d, suspect %d, invalid %d", r.Verdicts[sweep.VerdictValid], r.Verdicts[string(sweep.Suspect)], r.Verdicts[string(sweep.Invalid)])
	if r.invalid != "" {
		words += " (" + r.invalid + ")"
	}
	return words
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
