package runner

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/inference-sweep/sweep/runner/engine"
	"github.com/inference-sweep/sweep/runner/target"
	"github.com/inference-sweep/sweep/sweep"
)

// The statuses of a finding.
const (
	CheckOK   = "ok"
	CheckWarn = "warn" // the run goes on, and a table may say why not to believe it
	CheckFail = "fail" // trials would fail or be invalid
	CheckSkip = "skip" // not looked at
)

// Finding is one line of a check: what was looked at, how it stands, and what to do about it.
type Finding struct {
	Status string `json:"status"`
	// Name is what was looked at, in a word: server, context, ports.
	Name   string `json:"check"`
	Detail string `json:"detail"`
	// Hint says what to do, or is empty.
	Hint string `json:"hint,omitempty"`
}

// Checked is what was found of one server.
type Checked struct {
	Plan *sweep.Plan
	// Subject is the server's URL, or whose server is launched.
	Subject  string
	Findings []Finding
	// Facts are the requests that were sent, as if each cell had been a trial: to be judged as trials are.
	Facts []sweep.TrialFacts
}

func (c *Checked) add(status, name, hint, format string, args ...any) {
	c.Findings = append(c.Findings, Finding{Status: status, Name: name, Detail: fmt.Sprintf(format, args...), Hint: hint})
}

// CheckConfig is what checking servers needs.
type CheckConfig struct {
	Config
	// Launch launches each setting of a server once. Otherwise only those at a URL are looked at.
	Launch bool
}

// attachedPatience is how long a server at a URL may take to answer its first completion.
const attachedPatience = 20 * time.Second

// checkGroup is the cells that one server serves in the same way.
type checkGroup struct {
	key   string
	cells []*sweep.PlanCell
}

// CheckServers looks at each server of a plan: that it answers, takes the fields of the cells' requests, bears the
// longest of them, counts tokens, and empties its cache where the contract needs that. It yields each server when it is
// done with it, and stops when ctx ends. Nothing is recorded.
func CheckServers(ctx context.Context, p *sweep.Plan, c CheckConfig) iter.Seq[*Checked] {
	return func(yield func(*Checked) bool) {
		for _, g := range checkGroups(p) {
			checked := &Checked{Plan: p, Subject: subjectOf(g.cells[0])}
			missing := missingSecrets(g.cells, c.Target.Getenv)
			switch {
			case !engine.Attached(&g.cells[0].Cell) && !c.Launch:
				checked.add(CheckSkip, "server", "sweep check --launch launches it now", "the run launches %s", strings.Join(g.cells[0].Command, " "))
			case len(missing) > 0:
				checked.add(CheckSkip, "server", "", "not asked without %s", strings.Join(missing, ", "))
			default:
				checkServer(ctx, g, checked, c)
			}
			if ctx.Err() != nil || !yield(checked) {
				return
			}
		}
	}
}

// checkGroups are the distinct servers of a plan, in the order of its cells.
func checkGroups(p *sweep.Plan) []checkGroup {
	var groups []checkGroup
	for i := range p.Cells {
		cell := &p.Cells[i]
		if cell.AliasOf != "" {
			continue
		}
		key := cell.Setting
		if engine.Attached(&cell.Cell) {
			k := cell.Cell.Contract
			key = strings.Join([]string{cell.Cell.Target, k.Endpoint, fmt.Sprint(k.Streaming), target.ModelName(&cell.Cell)}, " ")
		}
		at := slices.IndexFunc(groups, func(g checkGroup) bool { return g.key == key })
		if at < 0 {
			at, groups = len(groups), append(groups, checkGroup{key: key})
		}
		groups[at].cells = append(groups[at].cells, cell)
	}
	return groups
}

// subjectOf is what a line about a cell's server calls it.
func subjectOf(cell *sweep.PlanCell) string {
	if !engine.Attached(&cell.Cell) {
		return "server of cell " + cell.Name()
	}
	subject := cell.Cell.Target
	if base, err := sweep.BaseURL(subject); err == nil {
		subject = base
	}
	if cell.Cell.Contract.Endpoint == "chat" {
		subject += " (chat)"
	}
	return subject
}

// checkServer looks at one server.
func checkServer(ctx context.Context, g checkGroup, out *Checked, c CheckConfig) {
	s, err := openForCheck(ctx, g.cells[0], c)
	if err != nil {
		out.Findings = append(out.Findings, whyNot(ctx, g.cells[0], c.Target, err))
		return
	}
	defer s.Stop(context.WithoutCancel(ctx))
	if err := s.learn(ctx); err != nil {
		out.add(CheckFail, "server", "", "%v", err)
		return
	}
	out.server(s)
	out.fields(s, g.cells[0].Cell.Contract.Endpoint)
	out.busy(ctx, s)
	longest := out.contextLength(s, g.cells)
	checkCache(ctx, s, g.cells, out, c)
	checkShapes(ctx, s, g.cells, longest, out, c)
}

// openForCheck attaches or launches. A server that is up gets less time than a run would give it.
func openForCheck(ctx context.Context, cell *sweep.PlanCell, c CheckConfig) (*server, error) {
	if engine.Attached(&cell.Cell) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, attachedPatience, fmt.Errorf("no completion within %v", attachedPatience))
		defer cancel()
	}
	up, err := target.Open(ctx, cell, c.Target)
	if err != nil {
		return nil, err
	}
	return &server{Server: up, cold: !up.Launch.Attached}, nil
}

// whyNot says why a server does not answer, and what to do about it.
func whyNot(ctx context.Context, cell *sweep.PlanCell, deps target.Deps, err error) Finding {
	f := Finding{Status: CheckFail, Name: "server", Detail: err.Error()}
	failure := (*target.Failure)(nil)
	if !errors.As(err, &failure) {
		return f
	}
	attached := engine.Attached(&cell.Cell)
	switch {
	case failure.Status == 401 || failure.Status == 403:
		f.Name, f.Hint = "key", `name the variable that holds its key in the definition, as server: key: fromEnv: "NAME", and export it`
		if key := cell.Cell.Server.Key; key != nil {
			f.Hint = "export the right key as " + key.FromEnv
		}
	case failure.Status == 404:
		f.Name, f.Hint = "model", "set contract.model.id, or server.servedModel, to a name that it serves"
		if names := target.ModelNames(ctx, cell, deps); len(names) > 0 {
			f.Hint += ": " + strings.Join(names, ", ")
		}
	case failure.Status >= 400 && failure.Status < 500:
		f.Name, f.Hint = "fields", "correct what it names in the definition, or contract.engine.name, which decides what requests carry"
	case attached && failure.Status == 0:
		f.Hint = "start the server, or correct the target"
	case attached:
		f.Hint = "its log should say more"
	case failure.Launch.Log != "":
		f.Hint = "correct the command in the definition (sweep plan prints it); the last lines of its output: " + lastLines(failure.Launch.Log, 3)
	}
	return f
}

// lastLines are the last lines of a text, in one.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], " | ")
}
