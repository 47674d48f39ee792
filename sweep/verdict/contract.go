package verdict

import (
	"slices"
	"strconv"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// A claim is a leaf of the contract that something observed can confirm or contradict.
type claim struct {
	leaf   string
	key    string
	asked  func(*sweep.Cell) string
	agrees func(asked, seen string) agreement
}

var claims = []claim{
	{"contract.engine.revision", sweep.ObsEngineVersion, func(c *sweep.Cell) string { return c.Contract.Engine.Revision }, agreeRevision},
	{"contract.engine.image", sweep.ObsImage, func(c *sweep.Cell) string { return c.Contract.Engine.Image }, agreeDigest},
	{"contract.model.revision", sweep.ObsModelRoot, func(c *sweep.Cell) string { return c.Contract.Model.Revision }, agreeSnapshot},
	{"contract.hardware.gpu", sweep.ObsGPUNames, func(c *sweep.Cell) string { return c.Contract.Hardware.Gpu }, agreeGPUs},
	{"contract.hardware.gpus", sweep.ObsGPUs, func(c *sweep.Cell) string { return strconv.FormatInt(c.Contract.Hardware.Gpus, 10) }, agreeCount},
	{"contract.hardware.driver", sweep.ObsDriver, func(c *sweep.Cell) string { return c.Contract.Hardware.Driver }, agreeNumbers},
	{"contract.hardware.cuda", sweep.ObsCUDA, func(c *sweep.Cell) string { return c.Contract.Hardware.Cuda }, agreeNumbers},
	{"contract.hardware.powerLimit", sweep.ObsPowerLimit, askedWatts, agreeWatts},
	{"contract.hardware.host", sweep.ObsHost, func(c *sweep.Cell) string { return c.Contract.Hardware.Host }, agreeHost},
}

func askedWatts(c *sweep.Cell) string {
	limit := c.Contract.Hardware.PowerLimit
	if limit == nil {
		return ""
	}
	return strconv.FormatFloat(*limit, 'g', -1, 64)
}

const modelLeaf = "contract.model.id"

// checkContract holds what was observed against the contract. The embedded engine answers for its own version alone.
func checkContract(j *judged) {
	c := &j.cell.Cell
	embedded := isEmbedded(c)
	confirmed := map[string]bool{}
	for _, claim := range claims {
		if embedded && claim.key != sweep.ObsEngineVersion {
			continue
		}
		asked := claim.asked(c)
		seen := j.observed.texts(claim.key)
		if asked == "" || len(seen) == 0 {
			continue
		}
		confirmed[claim.leaf] = j.holds(claim, asked, seen)
	}
	if !embedded {
		confirmed[modelLeaf] = j.modelHolds()
	}
	j.checkUnverified(confirmed)
}

// holds raises what the observed values say of one claim, and returns whether they confirm it.
func (j *judged) holds(c claim, asked string, seen []string) bool {
	all := true
	for _, text := range seen {
		switch c.agrees(asked, text) {
		case contradicts:
			j.raiseAlways(contractDrift, c.leaf, asked, "observed "+c.key, text)
			return true // it is not unverified: it is wrong
		case unknown:
			all = false
		}
	}
	// A model's folder without a commit in it is no text about the revision; any other text that no rule knows is one.
	if !all && c.key != sweep.ObsModelRoot && !j.moved(c.leaf) {
		j.raiseAlways(contractUnverified, c.leaf+" = "+asked+" (observed "+strings.Join(seen, ", ")+")")
	}
	return all
}

// modelHolds compares the served model with the one asked for.
func (j *judged) modelHolds() bool {
	asked := askedModels(&j.cell.Cell)
	served := j.observed.texts(sweep.ObsServedModel)
	for _, model := range served {
		root := slices.Contains(j.observed.texts(sweep.ObsModelRoot), j.cell.Cell.Contract.Model.Id)
		if !root && !sameModel(asked, model, j.observed) {
			j.raiseAlways(contractDrift, modelLeaf, strings.Join(asked, " or "), "the server", "it serves "+model)
			return true
		}
	}
	return len(served) > 0
}

// askedModels are the names under which requests may ask for the cell's model.
func askedModels(c *sweep.Cell) []string {
	asked := []string{c.Contract.Model.Id}
	if c.Server.ServedModel != "" {
		asked = []string{c.Server.ServedModel}
	}
	if adapter := c.Contract.Model.Adapter; adapter != nil {
		asked = append(asked, adapter.Id)
	}
	return asked
}

// isAlias says whether the server's own model list holds both an asked name and the model's.
func isAlias(asked []string, model string, o observed) bool {
	listed := o.texts(sweep.ObsModelAliases)
	return slices.Contains(listed, model) && slices.ContainsFunc(asked, func(name string) bool { return slices.Contains(listed, name) })
}

// Leaves that describe the server: only an observation can say that one of them really moved, or, where we launched the
// server ourselves, the command for those that it is rendered from.
var (
	serverLeaves   = []string{"contract.model.**", "contract.engine.**", "contract.precision.**", "contract.hardware.**"}
	renderedLeaves = []string{
		"contract.model.**", "contract.engine.args.**", "contract.engine.image", "contract.engine.name", "contract.precision.**", "contract.hardware.gpus",
	}
)

// checkUnverified names the moved leaves that nothing was offered to check against.
func (j *judged) checkUnverified(confirmed map[string]bool) {
	if isEmbedded(&j.cell.Cell) {
		return
	}
	launched := j.launch != nil && !j.launch.Attached
	var open []string
	for _, move := range j.cell.Moved {
		if !matches(serverLeaves, move.Path) || confirmed[move.Path] || launched && matches(renderedLeaves, move.Path) {
			continue
		}
		open = append(open, move.Path)
	}
	if len(open) > 0 {
		j.raiseAlways(contractUnverified, strings.Join(open, ", "))
	}
}

func (j *judged) moved(leaf string) bool {
	return slices.ContainsFunc(j.cell.Moved, func(m sweep.Move) bool { return m.Path == leaf })
}

func isEmbedded(c *sweep.Cell) bool { return c.Contract.Engine.Name == "sim" }

// matches says whether one of the patterns matches a path.
func matches(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return sweep.MatchesPattern(p, path) })
}
