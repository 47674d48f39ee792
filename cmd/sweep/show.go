package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/report"
	"github.com/spf13/cobra"
)

const showExample = `  sweep show batch             # a sweep
  sweep show rate=200          # a cell (batch/rate=200 where several sweeps have it)
  sweep show 17                # a trial, by its number in the view trial
  sweep show 17 --format json`

func (a *app) showVerb() *cobra.Command {
	format := "table"
	cmd := &cobra.Command{
		Use: "show ID", Short: "everything recorded of a sweep, a cell or a trial", Example: showExample,
		Long: `show prints everything that is known of a sweep, a cell or a trial: the contract, what moved, the launch command, what the
server said of itself, seeds, requests, and the flags with their numbers.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("sweep show needs one ID", "a sweep's name, a cell's name, or a trial's number: sweep show rate=200")
			}
			return nil
		},
		RunE:              func(_ *cobra.Command, args []string) error { return a.show(args[0], format) },
		ValidArgsFunction: a.completeID,
	}
	cmd.Flags().StringVarP(&format, "format", "f", format, "table or json")
	return cmd
}

func (a *app) show(id, format string) error {
	if err := oneOf("--format", format, []string{"table", "json"}); err != nil {
		return err
	}
	db, err := a.openDerived("")
	if err != nil {
		return err
	}
	defer db.Close()
	record, err := recordOf(db, id)
	if err != nil {
		return err
	}
	return report.WriteRecord(a.stdout, record, format, a.tableOptions())
}

// recordOf finds what an ID means: a trial's number, a sweep's name, a cell's name, or sweep/cell.
func recordOf(db *store.DB, id string) (report.Record, error) {
	if number, err := strconv.ParseInt(id, 10, 64); err == nil {
		return trialRecord(db, number)
	}
	names, err := db.Sweeps()
	if err != nil {
		return report.Record{}, err
	}
	if slices.Contains(names, id) {
		in, err := storedInput(db, id)
		return report.ShowSweep(in), err
	}
	p, cell, err := findCell(db, id, "sweep show takes a sweep's name ("+strings.Join(names, ", ")+"), a cell's name, or a trial's number")
	if err != nil {
		return report.Record{}, err
	}
	in, err := storedInput(db, p.Name)
	if err != nil {
		return report.Record{}, err
	}
	return report.ShowCell(in, cell)
}

func trialRecord(db *store.DB, id int64) (report.Record, error) {
	facts, err := db.Facts(id)
	if err != nil {
		return report.Record{}, usage(fmt.Sprintf("there is no trial %d", id), "SELECT trial, cell, block, status FROM trial lists them")
	}
	in, err := storedInput(db, facts.Record.Sweep)
	if err != nil {
		return report.Record{}, err
	}
	return report.ShowTrial(in, facts)
}

// completeID completes the names of sweeps and cells that the database holds.
func (a *app) completeID(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	db, err := store.Open(a.database, store.Options{ReadOnly: true})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer db.Close()
	names, _ := db.Sweeps()
	all := slices.Clone(names)
	for _, name := range names {
		if p, err := db.Plan(name); err == nil {
			all = append(all, cellNames(p)...)
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

func cellNames(p *sweep.Plan) []string {
	names := make([]string, len(p.Cells))
	for i := range p.Cells {
		names[i] = p.Cells[i].Name()
	}
	return names
}
