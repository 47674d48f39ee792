package main

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/exchange"
	"github.com/inference-sweep/sweep/sweep/report"
	"github.com/inference-sweep/sweep/sweep/verdict"
	"github.com/spf13/cobra"
)

const reportExample = `  sweep report                                            # goodput under the SLO
  sweep report latency --cell 'rate=*'
  sweep report variance --format csv -o variance.csv      # and variance.csv.contract.json beside it
  sweep report --slo ttft=200ms,tpot=50ms                 # judge the same night by other bars
  sweep report flags --sweep batch --format json`

// reporting is what the verb report was asked.
type reporting struct {
	output
	sweep, cell, slo string
}

func (a *app) reportVerb() *cobra.Command {
	r := reporting{output: output{format: "table"}}
	cmd := &cobra.Command{
		Use: "report [" + strings.Join(report.Kinds(), "|") + "]", Short: "print the tables",
		Long: `report prints a table of each sweep in the database: goodput where none is named. Figures are over blocks, with their 95 %
interval; each table ends with the contract behind it, what its words mean, and its flags.

csv and json are the rows of the public view of that name, in full precision. In goodput and latency a row without a block
(NULL) is of all blocks together: sums ÷ sums, and percentiles of all requests. What is printed with its interval is the
estimate over blocks: it has the view variance, which report variance -f csv gives. The flags are letters on the rows that
they concern; the views have the codes of each row.

csv and json of phases have rows of launches, of requests by phase, and of where TTFT settled: warmup_ms (blocks: n),
found_ms (the blocks in which it was found), window_off_percent (by how much the mean TTFT of a block's window differs from
the mean without what is cut of it), and the numbers of late_blocks and unsettled_blocks. The view settling has them by
block: cut_n requests are cut, found_ms is when the first one kept was due, settled is 0 where that is only the limit of the
search, ttft_ms is the mean over the window, ttft_cut_ms over all requests that are kept, those of the warm-up included.

With --slo, every request is judged again, and nothing is stored. The bars that it names replace all bars of the
definition, and are meant for attainment=0.99 where it does not name that; attainment alone leaves the bars as they are. The
legend says which bars are in force; with csv and json, what lies beside the file does.

With -o, the contracts in full, the provenance and the definition's source are written beside the table, as
FILE.contract.json.`,
		Example: reportExample, ValidArgs: report.Kinds(), Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return none(cmd, args[1:])
			}
			kind := "goodput"
			if len(args) == 1 {
				kind = args[0]
			}
			return a.report(kind, &r)
		},
	}
	r.output.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&r.sweep, "sweep", "", "only the sweep `NAME`")
	f.StringVar(&r.cell, "cell", "", "only the cells that match a `GLOB`")
	a.completeFilters(cmd)
	f.StringVar(&r.slo, "slo", "", "judge by these `BARS` instead of the contract's: "+sloBars)
	return cmd
}

func (a *app) report(kind string, r *reporting) error {
	if err := oneOf("the report", kind, report.Kinds()); err != nil {
		return err
	}
	if err := r.output.check(); err != nil {
		return err
	}
	slo, err := parseSLO(r.slo)
	if err != nil {
		return err
	}
	db, names, cells, err := a.openChosen(r.sweep, r.cell)
	if err != nil {
		return err
	}
	defer db.Close()
	var tables []*report.Table
	var ins []report.Input
	for _, name := range names {
		in, err := storedInput(db, name)
		if err == nil && slo != nil {
			err = judgeAgain(db, &in, slo, r.slo)
		}
		if err != nil {
			return err
		}
		in.Cells, in.Command = cells, exchange.CommandLine(append([]string{"sweep"}, a.args...)...)
		table, err := report.Build(kind, in)
		if err != nil {
			return err
		}
		tables, ins = append(tables, table), append(ins, in)
	}
	return a.writeTables(tables, ins, &r.output)
}

// judgeAgain makes what a report is made from anew, by other bars.
func judgeAgain(db *store.DB, in *report.Input, slo *schema.SLO, text string) error {
	judged, err := withSLO(in.Plan, slo)
	if err != nil {
		return err
	}
	if in.Derived, err = deriveOnly(db, judged); err != nil {
		return err
	}
	in.Plan, in.Defined, in.SLO = judged, in.Plan, text
	return nil
}

// openChosen opens the database with its derived rows up to date, and gives the sweeps and the cells that --sweep and
// --cell choose; a choice that nothing matches is a mistake of the arguments.
func (a *app) openChosen(only, glob string) (*store.DB, []string, func(string) bool, error) {
	cells, err := globFilter(glob)
	if err != nil {
		return nil, nil, nil, err
	}
	db, err := a.openDerived(only)
	if err != nil {
		return nil, nil, nil, err
	}
	names, err := sweepsNamed(db, only)
	if err == nil {
		err = matchSome(db, names, glob, cells)
	}
	if err != nil {
		db.Close()
		return nil, nil, nil, err
	}
	return db, names, cells, nil
}

func globFilter(glob string) (func(string) bool, error) {
	if glob == "" {
		return nil, nil
	}
	if _, err := path.Match(glob, ""); err != nil {
		return nil, usage("--cell "+glob+": "+err.Error(), "a glob has * ? and [a-z], as in 'rate=*'")
	}
	return func(name string) bool { ok, _ := path.Match(glob, name); return ok }, nil
}

// matchSome refuses a glob that no cell of some sweeps matches.
func matchSome(db *store.DB, names []string, glob string, cells func(string) bool) error {
	if cells == nil {
		return nil
	}
	for _, name := range names {
		p, err := db.Plan(name)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(append(cellNames(p), sweep.TwinName), cells) {
			return nil
		}
	}
	return usage("no cell matches --cell "+glob, "sweep show "+names[0]+" lists the cells")
}

// tableOptions fit a table to the width of lines, and colour it on a terminal.
func (a *app) tableOptions() report.Options {
	return report.Options{Width: a.lineWidth(), Color: terminalOf(a.stdout) != nil && os.Getenv("NO_COLOR") == ""}
}

// openDerived opens the database for reading, after bringing its derived rows up to date where they are not and nobody
// else writes.
func (a *app) openDerived(only string) (*store.DB, error) {
	db, err := openRead(a.database)
	if err != nil {
		return nil, err
	}
	names, err := db.Sweeps()
	if err != nil {
		db.Close()
		return nil, err
	}
	for _, name := range names {
		stale, err := db.Stale(name, verdict.Version)
		if err != nil {
			db.Close()
			return nil, err
		}
		if stale && (only == "" || name == only) {
			db.Close()
			if err := a.rederive(names); err != nil {
				return nil, err
			}
			return store.Open(a.database, store.Options{ReadOnly: true})
		}
	}
	return db, nil
}

// rederive makes derived rows again. While a run goes on, the run does it.
func (a *app) rederive(names []string) error {
	db, err := store.Open(a.database, store.Options{Owner: "sweep report"})
	if locked := (*store.LockedError)(nil); errors.As(err, &locked) {
		a.say("a run goes on (%v): the tables show what it has derived so far", err)
		return nil
	}
	if unwritable(err) {
		a.say("the database cannot be written (%v): the tables show what was derived last", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer db.Close()
	for _, name := range names {
		p, err := db.Plan(name)
		if err != nil {
			return err
		}
		if _, err := derive(db, p); unwritable(err) {
			a.say("%v: the tables show what was derived before", err)
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// unwritable says that a database cannot be written for a reason that reading it does not have.
func unwritable(err error) bool {
	full := (*store.SpaceError)(nil)
	return errors.As(err, &full) || errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// sweepsNamed lists the sweeps of the database, or the one that was asked for.
func sweepsNamed(db *store.DB, only string) ([]string, error) {
	names, err := db.Sweeps()
	if err != nil {
		return nil, err
	}
	if only == "" {
		if len(names) == 0 {
			return nil, &hintError{errors.New("the database holds no sweep"), "sweep run FILE fills it"}
		}
		return names, nil
	}
	for _, name := range names {
		if name == only {
			return []string{name}, nil
		}
	}
	return nil, usage("there is no sweep "+only+" in the database", "it holds "+strings.Join(names, ", "))
}

// storedInput reads what a report is made from.
func storedInput(db *store.DB, name string) (report.Input, error) {
	p, err := db.Plan(name)
	if err != nil {
		return report.Input{}, err
	}
	var derived *sweep.Derived
	if derived, err = db.Derived(name); err != nil {
		return report.Input{}, err
	}
	return reportInput(db, p, derived)
}
