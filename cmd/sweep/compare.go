package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/analysis"
	"github.com/inference-sweep/sweep/sweep/exchange"
	"github.com/inference-sweep/sweep/sweep/report"
	"github.com/inference-sweep/sweep/sweep/verdict"
	"github.com/spf13/cobra"
)

const compareExample = `  sweep compare baseline rate=200                        # rate=200 against the baseline
  sweep compare batch=4 batch=32 --format markdown
  sweep compare april.db#load/baseline may.db#load/baseline
  sweep compare batch=4 rate=200 --allow-many            # two factors at once, flagged on every row`

// comparing is what the verb compare was asked.
type comparing struct {
	output
	slo       string
	allowMany bool
}

func (a *app) compareVerb() *cobra.Command {
	r := comparing{output: output{format: "table"}}
	cmd := &cobra.Command{
		Use: "compare A B", Short: "compare two cells, pair by pair",
		Long: `compare prints the ratio B ÷ A of two cells, paired within blocks, by the metrics and the margin that B's sweep is
judged by. A cell is named by itself, as SWEEP/CELL where several sweeps have it, or as FILE.db#SWEEP/CELL in another
database.

One variable moves at a time: where more than one leaf differs and they are not all one factor's, the comparison is
refused, and the leaves are listed. What was observed of the servers counts too. p is adjusted among the sweep's own
comparisons, so that picking a pair by hand gains nothing. Cells of different sweeps or databases are paired by the
numbers of their blocks, which have equal lengths and arrivals where the seeds are equal; the row then says that a night
lies between them.`,
		Example: compareExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("sweep compare needs two cells", "the reference first: sweep compare baseline rate=200")
			}
			return nil
		},
		RunE:              func(_ *cobra.Command, args []string) error { return a.compare(args[0], args[1], &r) },
		ValidArgsFunction: a.completeCell,
	}
	r.output.flags(cmd)
	cmd.Flags().StringVar(&r.slo, "slo", "", "judge both by these `BARS`: "+sloBars)
	cmd.Flags().BoolVar(&r.allowMany, "allow-many", false, "compare although several leaves moved, and say so on every row")
	return cmd
}

// side is a cell with the database that it is in.
type side struct {
	verdict.PairSide
	db  *store.DB
	own *schema.SLO // its contract's, whatever it is judged by
}

func (a *app) compare(first, second string, r *comparing) (err error) {
	if err := r.output.check(); err != nil {
		return err
	}
	slo, err := parseSLO(r.slo)
	if err != nil {
		return err
	}
	reference, err := a.openSide(first)
	if err != nil {
		return err
	}
	defer reference.db.Close()
	cell, err := a.openSide(second)
	if err != nil {
		return err
	}
	defer cell.db.Close()
	apart, err := arrange(reference, cell)
	if err != nil {
		return err
	}
	again := r.slo
	if own := cell.Cell.Cell.Contract.SLO; slo == nil {
		if slo = a.commonSLO(reference, cell); slo != nil {
			again = "the SLO of " + cell.Name
		}
	} else if onlyShare(slo) && own != nil {
		bars := *own
		bars.Attainment = slo.Attainment
		slo = &bars
	}
	for _, s := range []*side{reference, cell} {
		if err := s.load(slo); err != nil {
			return err
		}
	}
	o := verdict.PairOptions{Apart: apart, AllowMany: r.allowMany}
	if !apart {
		if o.Family, err = familyOf(reference, cell, slo != nil); err != nil {
			return err
		}
	}
	plan, derived, err := verdict.ComparePair(reference.PairSide, cell.PairSide, o)
	if err != nil {
		return err
	}
	if err := refusal(plan, derived); err != nil {
		return err
	}
	in := report.Input{Plan: plan, Derived: derived, SLO: again}
	if again != "" {
		in.Defined = withOwn(plan, reference, cell)
	}
	return a.writeComparison(in, reference, cell, r)
}

// openSide finds a cell: CELL, SWEEP/CELL, or FILE.db#SWEEP/CELL.
func (a *app) openSide(text string) (*side, error) {
	path, id := a.database, text
	if at := strings.LastIndex(text, "#"); at >= 0 && !strings.HasSuffix(text, "#2") {
		path, id = text[:at], text[at+1:]
	}
	db, err := openRead(path)
	if err != nil {
		return nil, err
	}
	p, name, err := findCell(db, id, "")
	if err == nil && name == sweep.TwinName {
		err = usage("the twin is compared with its baseline only", "sweep report compare prints that")
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	s := &side{db: db}
	s.Plan, s.Cell, s.Name = p, p.CellNamed(name), name
	s.own = s.Cell.Cell.Contract.SLO
	return s, nil
}

// arrange names the two so that they can be told apart, and says whether nights lie between them.
func arrange(reference, cell *side) (apart bool, err error) {
	sameFile := reference.db.Path() == cell.db.Path()
	if sameFile && reference.Plan.Name == cell.Plan.Name {
		if reference.Cell.Digest == cell.Cell.Digest {
			return false, usage(reference.Name+" and "+cell.Name+" are one measurement", "aa: true in the definition measures the baseline twice")
		}
		return false, nil
	}
	for _, s := range []*side{reference, cell} {
		if reference.Plan.Name != cell.Plan.Name {
			s.Name = s.Plan.Name + "/" + s.Cell.Name()
		} else {
			s.Name = filepath.Base(s.db.Path()) + "#" + s.Plan.Name + "/" + s.Cell.Name()
		}
	}
	if reference.Name == cell.Name {
		reference.Name, cell.Name = reference.db.Path()+"#"+reference.Cell.Name(), cell.db.Path()+"#"+cell.Cell.Name()
	}
	if reference.Plan.Seed != cell.Plan.Seed {
		return true, &hintError{
			fmt.Errorf("%s and %s are not compared: their seeds are %d and %d, so that no block of one has the requests of a block of the other",
				reference.Name, cell.Name, reference.Plan.Seed, cell.Plan.Seed),
			"run one of them again with the other's seed",
		}
	}
	return true, nil
}

// commonSLO is nil where both cells have one SLO, else the second's: goodput by different bars has no ratio.
func (a *app) commonSLO(reference, cell *side) *schema.SLO {
	own := cell.Cell.Cell.Contract.SLO
	other := reference.Cell.Cell.Contract.SLO
	if own == nil || other != nil && *own == *other {
		return nil
	}
	a.say("both are judged by the SLO of %s", cell.Name)
	return own
}

// load reads the side's trials, to be judged by an SLO where one is given.
func (s *side) load(slo *schema.SLO) error {
	if slo != nil {
		name := s.Cell.Name()
		judged, err := withSLO(s.Plan, slo)
		if err != nil {
			return err
		}
		s.Plan, s.Cell = judged, judged.CellNamed(name)
	}
	records, err := s.db.Trials(s.Plan.Name)
	if err != nil {
		return err
	}
	for _, record := range records {
		if record.Digest != s.Cell.Digest {
			continue
		}
		facts, err := s.db.Facts(record.ID)
		if err != nil {
			return err
		}
		s.Trials = append(s.Trials, facts)
	}
	return nil
}

// familyOf are the comparisons that the sweep of both cells makes itself, but for those of the two: p is adjusted among
// them, so that picking a pair by hand gives no smaller one.
func familyOf(reference, cell *side, judgedAgain bool) ([]sweep.ComparisonRow, error) {
	p, db := cell.Plan, cell.db
	stale, err := db.Stale(p.Name, verdict.Version)
	if err != nil {
		return nil, err
	}
	var derived *sweep.Derived
	if stale || judgedAgain {
		derived, err = deriveOnly(db, p)
	} else {
		derived, err = db.Derived(p.Name)
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(derived.Comparison, func(r sweep.ComparisonRow) bool {
		a, b := p.CellNamed(r.Cell), p.CellNamed(r.Reference)
		if r.Cell == sweep.TwinName || a == nil || b == nil || a.AliasOf != "" {
			return true
		}
		return a.Digest == cell.Cell.Digest && b.Digest == reference.Cell.Digest
	}), nil
}

// refusal says why a comparison was not made, with what moved.
func refusal(plan *sweep.Plan, derived *sweep.Derived) error {
	refused := slices.ContainsFunc(derived.Comparison, func(r sweep.ComparisonRow) bool { return r.Outcome == analysis.Refused })
	if !refused {
		return nil
	}
	reference, cell := &plan.Cells[0], &plan.Cells[1]
	what := fmt.Sprintf("%s and %s are not compared: ", reference.Name(), cell.Name())
	for _, f := range cell.Flags {
		if f.Code == "label-only" {
			return errors.New(what + f.Detail)
		}
	}
	if unlike := verdict.Unlike(plan, cell, reference, cell.References[0].Factor); unlike != "" {
		return errors.New(what + unlike)
	}
	lines := []string{fmt.Sprintf("%s%d leaves moved, and not all of them are one factor's", what, len(cell.Moved))}
	for _, m := range cell.Moved {
		lines = append(lines, fmt.Sprintf("  %s: %s → %s", m.Path, leafText(m.From), leafText(m.To)))
	}
	return &hintError{errors.New(strings.Join(lines, "\n")), "--allow-many compares them all the same, and says so on every row"}
}

func leafText(value any) string {
	if value == nil {
		return "absent"
	}
	return fmt.Sprint(value)
}

// withOwn is a pair's plan with the SLO that each side has of its own.
func withOwn(pair *sweep.Plan, sides ...*side) *sweep.Plan {
	own := *pair
	own.Cells = slices.Clone(pair.Cells)
	for i, s := range sides {
		own.Cells[i].Cell.Contract.SLO = s.own
	}
	return &own
}

func (a *app) writeComparison(in report.Input, reference, cell *side, r *comparing) error {
	in.Command = exchange.CommandLine(append([]string{"sweep"}, a.args...)...)
	for _, facts := range slices.Concat(reference.Trials, cell.Trials) {
		in.Trials = append(in.Trials, facts.Record)
	}
	var err error
	if in.Provenance, err = provenanceOf(cell.db, cell.Plan.Name); err != nil {
		return err
	}
	table, err := report.Build("compare", in)
	if err != nil {
		return err
	}
	return a.writeTables([]*report.Table{table}, []report.Input{in}, &r.output)
}
