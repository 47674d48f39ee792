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

// changes flags the trials whose observed stack is not that of the first trial of its kind: the same target, and, where
// the observed leaf may move with a cell, the same cell. The flags are by trial id.
func changes(plan *sweep.Plan, sightings []sighting) map[int64][]sweep.Flag {
	slices.SortFunc(sightings, byTime)
	type kind struct{ key, target, digest string }
	first := map[kind]string{}
	flags := map[int64][]sweep.Flag{}
	for _, s := range sightings {
		for _, key := range sweep.ObservedLeaves {
			if isEmbedded(&s.cell.Cell) && key != sweep.ObsEngineVersion {
				continue
			}
			k := kind{key: key, target: s.cell.Cell.Target}
			if mayMove(plan, s.cell, key) {
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
