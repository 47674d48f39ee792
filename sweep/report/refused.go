package report

import (
	"cmp"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/verdict"
)

// whyRefused says what makes a cell and its reference not comparable.
func (s *scope) whyRefused(sub subject, r *sweep.ComparisonRow) string {
	var why []string
	reference := s.anyone(r.Reference)
	ofCell := func(f sweep.Flag) bool { return f.Block == 0 }
	for _, side := range []subject{sub, reference} {
		if codes := side.codes(string(sweep.Invalid), ofCell); len(codes) > 0 {
			why = append(why, strings.Join(codes, ", ")+" of "+side.name)
		}
	}
	if sub.cell != nil && reference.cell != nil {
		if unlike := verdict.Unlike(s.Plan, sub.cell, reference.cell, r.Factor); unlike != "" {
			why = append(why, unlike)
		}
		if len(why) == 0 {
			why = sub.alsoMoved(r)
		}
	}
	return cmp.Or(strings.Join(why, "; "), "for a reason that is not recorded") + againstWords(r.Reference)
}

// alsoMoved lists the leaves that moved between a cell and one of its references although the factor does not list them,
// where no flag of the cell names them: it may be a grid's.
func (sub subject) alsoMoved(r *sweep.ComparisonRow) []string {
	for _, ref := range sub.cell.References {
		if ref.Cell != r.Reference || ref.Factor != r.Factor || len(ref.Undeclared) < 2 {
			continue
		}
		paths := make([]string, len(ref.Undeclared))
		for i, m := range ref.Undeclared {
			paths[i] = strings.TrimPrefix(m.Path, "contract.")
		}
		return []string{"also moved: " + strings.Join(paths, ", ")}
	}
	return nil
}

// againstWords name a reference that is not the baseline.
func againstWords(reference string) string {
	if reference == sweep.Baseline {
		return ""
	}
	return " (against " + reference + ")"
}
