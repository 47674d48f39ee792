package main

import (
	"github.com/inference-sweep/sweep/sweep/report"
	"github.com/spf13/cobra"
)

const planExample = `  sweep plan experiments/batch.cue
  sweep plan experiments/load.cue -t target=http://localhost:8000 -t model=my/model
  sweep plan night.cue --spread-from last.db --until 07:00
  sweep plan experiments/batch.cue --format json | jq '.cells[].cell'`

func (a *app) planVerb() *cobra.Command {
	var r reading
	var f foreseeing
	format := "table"
	cmd := &cobra.Command{
		Use: "plan FILE…", Short: "check and expand a definition: what would run, and for how long",
		Long: `plan checks a definition against the contract, expands it one variable at a time, and prints the matrix: each cell, what
moved in it and from what to what, the requests expected in a block, the flags already known, and how long it all takes.
It touches no server. --spread-from takes the spread between blocks, and how long trials and launches took, from the database of
an earlier night of the same sweep; --until says what a run that starts now would leave over.`,
		Example: planExample, Args: files,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("--format", format, report.Formats()); err != nil {
				return err
			}
			r.blocksSet = cmd.Flags().Changed("blocks")
			plans, err := a.plans(args, &r)
			if err != nil {
				return err
			}
			infos, err := a.infos(plans, &f)
			if err != nil {
				return err
			}
			return a.writePlans(infos, format)
		},
	}
	r.flags(cmd)
	cmd.Flags().IntVar(&r.blocks, "blocks", 0, "plan for `N` blocks instead of the definition's")
	cmd.Flags().StringVar(&f.spreadFrom, "spread-from", "", "go by what a database `FILE` measured of the same sweep")
	cmd.Flags().StringVar(&f.until, "until", "", "show what would not have ended by a local time, as `07:00`")
	formatFlag(cmd, &format)
	return cmd
}

func (a *app) writePlans(infos []report.PlanAndInfo, format string) error {
	if len(infos) == 1 {
		return report.WritePlan(a.stdout, infos[0].Plan, format, infos[0].Info)
	}
	return report.WritePlans(a.stdout, infos, format)
}
