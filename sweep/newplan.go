package sweep

import (
	"fmt"
	"strings"
)

// Rendering is what planning has to know of engines, which it does not know itself: the command that a cell's server is
// launched with, and the identity of that launch. Errors name the leaf that cannot be rendered.
type Rendering struct {
	Command func(*Cell) ([]string, error)
	Setting func(*Cell) (string, error)
}

// PlanError is a plan that is refused: one sentence and what to do about it.
type PlanError struct {
	Position string // file:line:col, or empty
	Message  string
	Hint     string
}

func (e *PlanError) Error() string {
	text := e.Message
	if e.Position != "" {
		text = e.Position + ": " + text
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// NewPlan thinks a definition through. A flag is part of the plan; only what cannot be run is an error.
func NewPlan(d *Definition, render Rendering) (*Plan, error) {
	p := &Plan{Definition: *d}
	p.Definition.Cells = nil
	leaves := make([]Leaves, len(d.Cells))
	firstWith := map[string]int{}
	for i := range d.Cells {
		cell := PlanCell{Cell: d.Cells[i]}
		err := p.bounded(&cell)
		if err != nil {
			return nil, err
		}
		if leaves[i], err = CountedLeaves(cell.Cell.Raw); err != nil {
			return nil, err
		}
		cell.Digest = Digest(leaves[i], d.Traces)
		cell.Moved = Diff(leaves[0], leaves[i])
		cell.Requests = expectedRequests(&cell.Cell)
		if first, ok := firstWith[cell.Digest]; ok {
			cell.AliasOf = d.Cells[first].Name()
		} else {
			firstWith[cell.Digest] = i
		}
		p.Cells = append(p.Cells, cell)
	}
	if err := p.render(render); err != nil {
		return nil, err
	}
	for i := range p.Cells {
		p.Cells[i].References = p.references(i, leaves)
		p.Cells[i].Undeclared = p.undeclared(i)
		p.Cells[i].Flags = p.cellFlags(i)
	}
	p.Flags = p.sweepFlags()
	p.Trials = p.allTrials()
	p.Launches = p.countLaunches(p.Trials)
	return p, nil
}

// render fills in commands and settings, and refuses a cell that would need another launch of a server which is not
// ours to launch.
func (p *Plan) render(render Rendering) error {
	for i := range p.Cells {
		cell := &p.Cells[i]
		attached := isURL(cell.Cell.Target)
		command, err := render.Command(&cell.Cell)
		switch {
		case err != nil && !attached:
			return p.refuse(cell, err.Error(), "")
		case err == nil && !attached:
			cell.Command = command
		}
		if cell.Setting, err = render.Setting(&cell.Cell); err != nil {
			return p.refuse(cell, err.Error(), "")
		}
		base := &p.Cells[0]
		if attached && cell.Cell.Target == base.Cell.Target {
			if moved := needsLaunch(render, cell, base); len(moved) > 0 {
				return p.refuse(cell, "needs another launch than the baseline's ("+movedPaths(moved)+
					"), and "+cell.Cell.Target+" is a server that is already up", `target: "launch" or "ssh://…" could run it`)
			}
		}
	}
	return nil
}

func (p *Plan) refuse(cell *PlanCell, message, hint string) error {
	return p.refuseAt(cell, "", message, hint)
}

// refuseAt refuses a cell for what it has at a leaf, which its factor may have moved there.
func (p *Plan) refuseAt(cell *PlanCell, leaf, message, hint string) error {
	position := ""
	switch {
	case p.Position == nil:
	case cell.Factor() == "":
		position = p.Position(leaf)
	case cell.Cell.Level == nil:
		position = p.Position("grids." + cell.Factor())
	default:
		position = p.Position("factors." + cell.Factor())
	}
	return &PlanError{Position: position, Message: fmt.Sprintf("sweep %s: cell %s: %s", p.Name, cell.Name(), message), Hint: hint}
}

// launchLeaves decide the launch where no command can be rendered to compare.
var launchLeaves = []string{
	"contract.model.**", "contract.engine.args.**", "contract.engine.image", "contract.engine.name", "contract.hardware.gpus", "contract.precision.**",
	"contract.prefixCache.enabled", "server.command.**", "server.env.**",
}

// needsLaunch lists the moved leaves for which a cell's server would have to be launched in another way than the
// baseline's.
func needsLaunch(render Rendering, cell, base *PlanCell) []Move {
	var moved []Move
	for _, m := range cell.Moved {
		if matchesAny(launchLeaves, m.Path) {
			moved = append(moved, m)
		}
	}
	a, errA := render.Command(&cell.Cell)
	b, errB := render.Command(&base.Cell)
	environment := func(c *PlanCell) string { return fmt.Sprint(c.Cell.Server.Env, c.Cell.Contract.Engine.Image) }
	if errA == nil && errB == nil && strings.Join(a, "\x00") == strings.Join(b, "\x00") && environment(cell) == environment(base) {
		return nil
	}
	return moved
}

func isURL(target string) bool {
	return strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://")
}

// movedPaths names moved leaves in one short list.
func movedPaths(moves []Move) string {
	paths := make([]string, len(moves))
	for i, m := range moves {
		paths[i] = m.Path
	}
	return strings.Join(paths, ", ")
}

// allTrials lists every distinct trial of a whole run in its order.
func (p *Plan) allTrials() []Trial {
	var trials []Trial
	for block := 1; block <= p.Blocks; block++ {
		for i := range p.Cells {
			cell := &p.Cells[i]
			if cell.AliasOf != "" {
				continue
			}
			trials = append(trials, Trial{Key: Key{cell.Digest, block, 1}, Cell: cell.Name(), Setting: cell.Setting})
			if i == 0 && p.AA {
				trials = append(trials, Trial{Key: Key{cell.Digest, block, 2}, Cell: TwinName, Setting: cell.Setting})
			}
		}
	}
	p.order(trials, func(Trial) bool { return false })
	return trials
}

// order sorts trials into the plan's order and numbers them.
func (p *Plan) order(trials []Trial, waits func(Trial) bool) {
	sortTrials(trials, p.Seed, p.restartOf, waits)
	for i := range trials {
		trials[i].Order = i + 1
	}
}

func (p *Plan) restartOf(digest string) string {
	for i := range p.Cells {
		if p.Cells[i].Digest == digest {
			return p.Cells[i].Cell.Server.Restart
		}
	}
	return RestartBlock
}

// countLaunches is how often a server is started for trials in this order.
func (p *Plan) countLaunches(trials []Trial) int {
	type life struct {
		setting string
		block   int
		trial   Key
	}
	lives := map[life]bool{}
	for _, t := range trials {
		cell := p.CellNamed(t.Cell)
		if isURL(cell.Cell.Target) {
			continue
		}
		l := life{setting: t.Setting}
		switch cell.Cell.Server.Restart {
		case RestartBlock:
			l.block = t.Block
		case RestartTrial:
			l.trial = t.Key
		}
		lives[l] = true
	}
	return len(lives)
}

// Factor is the name of the cell's factor or grid, or "" for the baseline.
func (c *PlanCell) Factor() string { return c.Cell.FactorOf() }
