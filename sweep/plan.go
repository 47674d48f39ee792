package sweep

// Plan is a definition thought through: what each cell moves, what identifies it, and every trial in its order. It is
// stored whole with each run, so that tables can be made again from the database alone.
type Plan struct {
	Definition
	// Cells shadows the definition's: the same cells in the same order, with what planning found.
	Cells []PlanCell `json:"cells"`
	// Trials is every distinct trial of a whole run, in the order in which they run.
	Trials []Trial `json:"trials"`
	// Launches is how many times a server is started (0 where the servers are already up).
	Launches int `json:"launches"`
	// Flags are those of the sweep as such, known before anything runs.
	Flags []Flag `json:"flags,omitempty"`
}

// PlanCell is a cell of a plan.
type PlanCell struct {
	Cell Cell `json:"cell"`
	// AliasOf names the earlier cell with the same digest, or is empty: an alias is not run.
	AliasOf string `json:"alias_of,omitempty"`
	// Moved lists the leaves that differ from the reference cell, the baseline.
	Moved []Move `json:"moved,omitempty"`
	// Undeclared are those of Moved that the cell's factor does not list although it has to.
	Undeclared []Move `json:"undeclared,omitempty"`
	// References names the cells this one is compared with: the baseline for a one-factor cell; for a grid cell, each
	// cell of its grid that differs from it in one factor set back to the baseline, with that factor.
	References []Reference `json:"references,omitempty"`
	// Requests is the expected number due in a trial's window.
	Requests int    `json:"requests"`
	Flags    []Flag `json:"flags,omitempty"`
	Digest   string `json:"digest"`
	// Command is what starts the server, rendered from the contract, or empty where the server is already up.
	Command []string `json:"command,omitempty"`
	// Setting identifies the launch that the cell needs: equal command, environment, image and target.
	Setting string `json:"setting"`
}

// Reference is a cell that another one is compared with, and the factor in which they differ.
type Reference struct {
	Cell   string `json:"cell"`
	Factor string `json:"factor"`
	// Moved is how many leaves differ from it, and Undeclared those that the factor does not account for.
	Moved      int    `json:"moved"`
	Undeclared []Move `json:"undeclared,omitempty"`
}

// Move is one leaf that differs from the reference cell's. From or To is nil where the leaf is absent there.
type Move struct {
	Path string `json:"path"`
	From any    `json:"from"`
	To   any    `json:"to"`
}

// Trial is one measurement that a plan asks for.
type Trial struct {
	Key
	// Cell is the measurement's first name; the A/A twin's is TwinName.
	Cell    string `json:"cell"`
	Setting string `json:"setting"`
	// Order is the trial's place in the whole plan, from 1.
	Order int `json:"order"`
}

// Pairs says that a trial is a fresh baseline, which serves only to pair the cells that join its block in its sitting.
func (t Trial) Pairs() bool { return t.Copy >= 3 }

// CellNamed finds a cell by its name; the twin's name finds the baseline.
func (p *Plan) CellNamed(name string) *PlanCell {
	if name == TwinName {
		name = Baseline
	}
	for i := range p.Cells {
		if p.Cells[i].Name() == name {
			return &p.Cells[i]
		}
	}
	return nil
}

// Names lists every cell name of one digest in plan order: the measurement's first name, then its aliases.
func (p *Plan) Names(digest string) []string {
	var names []string
	for i := range p.Cells {
		if p.Cells[i].Digest == digest {
			names = append(names, p.Cells[i].Name())
		}
	}
	return names
}

// Name is the cell's name: baseline, FACTOR=LEVEL, or GRID:A=1,B=2.
func (c *Cell) Name() string { return c.Cell.Cell }

// Name is the cell's name.
func (c *PlanCell) Name() string { return c.Cell.Name() }
