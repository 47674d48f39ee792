package main

import (
	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/report"
	"github.com/inference-sweep/sweep/sweep/stats"
	"github.com/spf13/cobra"
)

const planExample = `  sweep plan experiments/batch.cue
  sweep plan experiments/load.cue -t target=http://localhost:8000 -t model=my/model
  sweep plan experiments/batch.cue --format json | jq '.cells[].cell'`

func (a *app) planVerb() *cobra.Command {
	var r reading
	format := "table"
	cmd := &cobra.Command{
		Use: "plan FILE…", Short: "check and expand a definition: what would run, and for how long",
		Long: `plan checks a definition against the contract, expands it one variable at a time, and prints the matrix: each cell, what
moved in it and from what to what, the requests expected in a block, the flags already known, and how long it all takes.
It touches no server and no database.`,
		Example: planExample, Args: files,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := oneOf("--format", format, report.Formats()); err != nil {
				return err
			}
			plans, err := a.plans(args, &r)
			if err != nil {
				return err
			}
			return a.writePlans(plans, format)
		},
	}
	r.flags(cmd)
	cmd.Flags().IntVar(&r.blocks, "blocks", 0, "plan for `N` blocks instead of the definition's")
	formatFlag(cmd, &format)
	return cmd
}

func (a *app) writePlans(plans []*sweep.Plan, format string) error {
	infos := make([]report.PlanAndInfo, len(plans))
	for i, p := range plans {
		seconds, bytes := p.Expected(p.Trials)
		infos[i] = report.PlanAndInfo{Plan: p, Info: report.PlanInfo{
			ExpectedS: seconds, ExpectedBytes: bytes, Detectable: detectable(p, assumedSpread), Options: a.tableOptions(),
		}}
	}
	if len(infos) == 1 {
		return report.WritePlan(a.stdout, infos[0].Plan, format, infos[0].Info)
	}
	return report.WritePlans(a.stdout, infos, format)
}

// assumedSpread is the spread of a cell's blocks, as a standard deviation of logs, where nothing was measured yet.
const assumedSpread = 0.02

// power is how often a difference of the size that a plan can detect is found.
const power = 0.8

// detectable is the smallest relative difference, by metric, that a comparison of the plan is likely to show.
func detectable(p *sweep.Plan, spread float64) map[string]float64 {
	found := map[string]float64{}
	for _, metric := range p.Judge.Metrics {
		// The difference of two cells of a block spreads by √2 of what one does.
		ratio := stats.DetectableRatio(spread*sqrt2, p.Blocks, 0.05, power)
		if ratio > 1 && ratio < 10 {
			found[metric] = ratio - 1
		}
	}
	return found
}

const sqrt2 = 1.4142135623730951
