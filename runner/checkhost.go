package runner

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/inference-sweep/sweep/runner/engine"
	"github.com/inference-sweep/sweep/runner/host"
	"github.com/inference-sweep/sweep/runner/target"
	"github.com/inference-sweep/sweep/sweep"
)

// ownDescriptors is what this process holds open beside its connections: the database, its journal, a server's pipes.
const ownDescriptors = 64

// CheckHost looks at what this machine has to allow for the plan to run: open files, local ports, the programs and ports
// of servers to be launched, and the secrets that the definition names. It raises this process's limit of open files as
// far as the plan needs it, and changes nothing else.
func CheckHost(p *sweep.Plan, getenv func(string) (string, bool)) []Finding {
	c := &Checked{Plan: p}
	sure, worst := openAtOnce(p)
	c.descriptors(sure, worst)
	c.localPorts(sure, worst)
	c.programs()
	c.secrets(getenv)
	return c.Findings
}

// connections are the most that a cell of a plan has open at once.
type connections struct {
	n  int
	of string // the cell's name
}

// openAtOnce is how many requests of a plan are open at once: those that certainly will be, and those that will be if the
// server does not keep up at all.
func openAtOnce(p *sweep.Plan) (sure, worst connections) {
	for i := range p.Cells {
		c := &p.Cells[i]
		a, b := openOfCell(c)
		if a > sure.n {
			sure = connections{a, c.Name()}
		}
		if b > worst.n {
			worst = connections{b, c.Name()}
		}
	}
	return sure, worst
}

func openOfCell(c *sweep.PlanCell) (sure, worst int) {
	load := c.Cell.Contract.Load
	switch {
	case load.Closed != nil:
		return int(load.Closed.Clients), int(load.Closed.Clients)
	case load.Open == nil:
		return c.Requests, c.Requests
	}
	tail := load.Open.Rate * sweep.Duration(c.Cell.Tail).Seconds()
	worst = c.Requests + int(tail)
	if limit := int(load.Open.MaxInFlight); limit > 0 {
		return 0, min(worst, limit)
	}
	return 0, worst
}

func (c *Checked) descriptors(sure, worst connections) {
	facts := host.Describe()
	need, most := uint64(worst.n+ownDescriptors), facts.DescriptorsMax
	detail := fmt.Sprintf("%d files may be open at most", most)
	const raise = "raise the limit (ulimit -Hn, LimitNOFILE)"
	const hint = raise + ", or measure fewer requests at once"
	switch err := host.RaiseDescriptors(min(need, most)); {
	case err != nil:
		c.add(CheckFail, "descriptors", hint, "%v", err)
	case need <= most:
		c.add(CheckOK, "descriptors", "", "%s; cell %s opens up to %d connections", detail, worst.of, worst.n)
	case most < ownDescriptors:
		c.add(CheckFail, "descriptors", raise, "%s; the database, its journal and a server's pipes alone take up to %d", detail, ownDescriptors)
	case uint64(sure.n+ownDescriptors) > most:
		c.add(CheckFail, "descriptors", hint, "%s; cell %s opens %d connections, and %d files are open beside them", detail, sure.of, sure.n, ownDescriptors)
	default:
		c.add(CheckWarn, "descriptors", hint+", or set load.open.maxInFlight", "%s; cell %s opens up to %d connections if the server does not keep up", detail, worst.of, worst.n)
	}
}

func (c *Checked) localPorts(sure, worst connections) {
	ports := host.Describe().Ports
	const hint = "widen net.ipv4.ip_local_port_range, or measure fewer requests at once"
	switch {
	case ports == sweep.None:
		c.add(CheckSkip, "ports", "", "this system does not say how many local ports it has")
	case int64(worst.n) <= ports:
		c.add(CheckOK, "ports", "", "%d local ports; cell %s uses up to %d", ports, worst.of, worst.n)
	case int64(sure.n) > ports:
		c.add(CheckFail, "ports", hint, "%d local ports; cell %s uses %d", ports, sure.of, sure.n)
	default:
		c.add(CheckWarn, "ports", hint+", or set load.open.maxInFlight", "%d local ports; cell %s uses up to %d if the server does not keep up", ports, worst.of, worst.n)
	}
}

// programs looks for the programs and ports of servers that are to be launched here.
func (c *Checked) programs() {
	var programs, ports []string
	for i := range c.Plan.Cells {
		cell := &c.Plan.Cells[i]
		switch {
		case strings.HasPrefix(cell.Cell.Target, "ssh://"):
			c.add(CheckFail, "program", "start the server there and give its URL as the target", "%s: servers on other hosts are not launched yet", cell.Cell.Target)
			return
		case engine.Attached(&cell.Cell) || cell.Cell.Target == "sim" || len(cell.Command) == 0:
			continue
		}
		if !slices.Contains(programs, cell.Command[0]) {
			programs = append(programs, cell.Command[0])
			c.program(cell.Command[0])
		}
		if port := strconv.FormatInt(cell.Cell.Server.Port, 10); !slices.Contains(ports, port) {
			ports = append(ports, port)
			c.serverPort(port)
		}
	}
}

func (c *Checked) program(name string) {
	path, err := exec.LookPath(name)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		c.add(CheckFail, "program", "install it, activate its environment, or give server.command", "%s is not on the PATH", name)
	case errors.Is(err, os.ErrNotExist):
		c.add(CheckFail, "program", "correct server.command", "%s does not exist", name)
	case err != nil:
		c.add(CheckFail, "program", "make it executable, or correct server.command", "%v", err)
	default:
		c.add(CheckOK, "program", "", "%s is %s", name, path)
	}
}

func (c *Checked) serverPort(port string) {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		c.add(CheckFail, "server port", "stop what listens there (ss -ltnp names it), or set server.port", "port %s cannot be listened on: %v", port, err)
		return
	}
	listener.Close()
	c.add(CheckOK, "server port", "", "port %s is free", port)
}

func (c *Checked) secrets(getenv func(string) (string, bool)) {
	var cells []*sweep.PlanCell
	var names []string
	for i := range c.Plan.Cells {
		cells = append(cells, &c.Plan.Cells[i])
		names = append(names, target.SecretNames(&c.Plan.Cells[i].Cell)...)
	}
	slices.Sort(names)
	missing := missingSecrets(cells, getenv)
	switch {
	case len(missing) > 0:
		c.add(CheckFail, "secrets", "export "+strings.Join(missing, " "), "the definition names %s, and the environment has no value there", strings.Join(missing, ", "))
	case len(names) > 0:
		c.add(CheckOK, "secrets", "", "%s", strings.Join(slices.Compact(names), ", "))
	}
}

// missingSecrets are the variables that cells take secrets from and that have no value.
func missingSecrets(cells []*sweep.PlanCell, getenv func(string) (string, bool)) []string {
	var missing []string
	for _, cell := range cells {
		for _, name := range target.SecretNames(&cell.Cell) {
			if value, ok := getenv(name); (!ok || value == "") && !slices.Contains(missing, name) {
				missing = append(missing, name)
			}
		}
	}
	return missing
}
