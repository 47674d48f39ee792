package verdict

import (
	"cmp"
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// impliedBy lists the leaves of a cell whose moving explains that something observed moves with them.
var impliedBy = map[string][]string{
	sweep.ObsEngineVersion: {"contract.engine.name", "contract.engine.revision", "contract.engine.image", "server.command.**"},
	sweep.ObsServedModel:   {"contract.model.**", "server.servedModel", "server.command.**"},
	sweep.ObsModelRoot:     {"contract.model.**", "server.servedModel", "server.command.**"},
	sweep.ObsGPUNames:      {"contract.hardware.gpu", "contract.hardware.gpus"},
	sweep.ObsGPUs:          {"contract.hardware.gpu", "contract.hardware.gpus"},
	sweep.ObsDriver:        {"contract.hardware.driver"},
	sweep.ObsCUDA:          {"contract.hardware.cuda", "contract.hardware.driver", "contract.engine.image", "contract.engine.name", "contract.engine.revision"},
	sweep.ObsPowerLimit:    {"contract.hardware.powerLimit", "contract.hardware.gpu"},
	sweep.ObsHost:          {"contract.hardware.host", "target"},
	sweep.ObsImage:         {"contract.engine.image", "contract.engine.name", "contract.engine.revision"},
}

// mayMove says whether something observed may differ between a cell and the baseline: a leaf that moved implies it, or
// the cell's factor lists it.
func mayMove(plan *sweep.Plan, cell *sweep.PlanCell, key string) bool {
	for _, m := range cell.Moved {
		if matches(impliedBy[key], m.Path) {
			return true
		}
	}
	return matches(couplesOf(plan, cell.Factor()), "observed."+key)
}

// couplesOf are the couples of a factor, or of all factors of a grid.
func couplesOf(plan *sweep.Plan, name string) []string {
	of := []string{name}
	for _, g := range plan.Grids {
		if g.Name == name {
			of = g.Of
		}
	}
	var couples []string
	for _, f := range plan.Factors {
		if slices.Contains(of, f.Name) {
			couples = append(couples, f.Couples...)
		}
	}
	return couples
}

// A sighting is one trial's observed leaves.
type sighting struct {
	record sweep.TrialRecord
	cell   *sweep.PlanCell
	seen   observed
}

// byTime orders sightings as they happened.
func byTime(a, b sighting) int {
	return cmp.Or(a.record.StartedAt.Compare(b.record.StartedAt), cmp.Compare(a.record.ID, b.record.ID))
}

// An observedLeaf is one of one measurement.
type observedLeaf struct{ key, digest string }

// moving are the observed leaves that have one value in all of a measurement's trials and another in all of the baseline's,
// where both ran in two passes or more: what goes and comes back with a cell has moved with it, and did not change between
// trials. Whether it was to is the cell's matter: see withObserved.
func moving(plan *sweep.Plan, sightings []sighting) map[observedLeaf]bool {
	type pass struct {
		sitting int64
		block   int
	}
	texts, passes := map[observedLeaf][]string{}, map[observedLeaf]map[pass]bool{}
	for _, s := range sightings {
		for _, key := range sweep.ObservedLeaves {
			at := observedLeaf{key, s.cell.Digest}
			for _, text := range allTexts(s.seen[key]) {
				if !slices.Contains(texts[at], text) {
					texts[at] = append(texts[at], text)
				}
				if passes[at] == nil {
					passes[at] = map[pass]bool{}
				}
				passes[at][pass{s.record.Sitting, s.record.Block}] = true
			}
		}
	}
	moved := map[observedLeaf]bool{}
	for at, own := range texts {
		base := observedLeaf{at.key, plan.Cells[0].Digest}
		if len(own) != 1 || len(texts[base]) != 1 || own[0] == texts[base][0] {
			continue
		}
		together := 0
		for p := range passes[at] {
			if passes[base][p] {
				together++
			}
		}
		moved[at] = together >= 2
	}
	return moved
}

// changes flags the trials whose observed stack is not that of the first trial of its kind: the same target, and, where
// the observed leaf may move with a cell or does, the same cell. The flags are by trial id.
func changes(plan *sweep.Plan, sightings []sighting) map[int64][]sweep.Flag {
	slices.SortFunc(sightings, byTime)
	moved := moving(plan, sightings)
	type kind struct{ key, target, digest string }
	first := map[kind]string{}
	flags := map[int64][]sweep.Flag{}
	for _, s := range sightings {
		for _, key := range sweep.ObservedLeaves {
			if isEmbedded(&s.cell.Cell) && key != sweep.ObsEngineVersion {
				continue
			}
			k := kind{key: key, target: s.cell.Cell.Target}
			if moved[observedLeaf{key, s.cell.Digest}] || mayMove(plan, s.cell, key) {
				k.digest = s.cell.Digest
			}
			for _, text := range allTexts(s.seen[key]) {
				before, ok := first[k]
				if !ok {
					first[k] = text
				} else if text != before {
					flags[s.record.ID] = append(flags[s.record.ID], flagged(contractDrift, rules[contractDrift].always,
						"observed "+key, text, "the first trial", "it was "+before))
				}
			}
		}
	}
	return flags
}

// allTexts are the values under a key, each as one text.
func allTexts(values []any) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = textOf(v)
	}
	return texts
}

// movedObserved lists the observed leaves in which a cell's trials differ from the baseline's, with both values; values
// that were not observed on both sides do not count.
func movedObserved(cell, baseline []sighting) []sweep.Move {
	var moves []sweep.Move
	for _, key := range sweep.ObservedLeaves {
		a, b := valuesOf(cell, key), valuesOf(baseline, key)
		if a != "" && b != "" && a != b {
			moves = append(moves, sweep.Move{Path: key, From: b, To: a})
		}
	}
	return moves
}

// valuesOf are the distinct values of an observed leaf over trials, as one text.
func valuesOf(sightings []sighting, key string) string {
	var texts []string
	for _, s := range sightings {
		for _, text := range allTexts(s.seen[key]) {
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	slices.Sort(texts)
	return strings.Join(texts, " and ")
}
