package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/inference-sweep/sweep/runner/bench"
	"github.com/inference-sweep/sweep/runner/host"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/spf13/cobra"
)

func (a *app) doctorVerb() *cobra.Command {
	format := "table"
	cmd := &cobra.Command{
		Use: "doctor", Short: "the client's own floor on this machine",
		Long: `doctor measures, in two seconds and without any server, what this client adds to what it measures on this machine: how
late its timer wakes up, what a first token and an event cost against a null server that computes nothing, what a reading
of the clock costs; and what the machine allows: descriptors, ports, processors, disk.

Each line says ok or warn, what it means, and what to do about it. Measure when the machine is as quiet as it will be.`,
		Example: "  sweep doctor\n  sweep doctor --format json", Args: none,
		RunE: func(*cobra.Command, []string) error {
			if err := oneOf("--format", format, []string{"table", "json"}); err != nil {
				return err
			}
			return a.doctor(format)
		},
	}
	cmd.Flags().StringVarP(&format, "format", "f", format, "table or json")
	return cmd
}

func (a *app) doctor(format string) error {
	ctx, stop := interruptible()
	defer stop()
	m, err := examine(ctx, filepath.Dir(a.database))
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return err
	}
	return writeExam(a.stdout, m, a.lineWidth(), format)
}

// exam is what was measured and read of this machine.
type exam struct {
	host             host.Facts
	late, ttft, lag  bench.Spread
	eventNS, clockNS float64 // what an event costs in processor time, with its server's share; a reading of the clock
	governor         string
	folder           string
	freeBytes        int64
}

func examine(ctx context.Context, folder string) (exam, error) {
	m := exam{host: host.Describe(), governor: governor(), clockNS: bench.ClockNS(), folder: folder}
	var err error
	if m.freeBytes, err = host.FreeDisk(folder); err != nil {
		return m, &hintError{err, "--db FILE says where the database is to be"}
	}
	if m.late, err = bench.Lateness(ctx); err != nil {
		return m, err
	}
	if m.ttft, err = bench.TTFT(ctx); err != nil {
		return m, err
	}
	meter := host.Start()
	m.lag, err = bench.EventLag(ctx)
	m.eventNS = float64(meter.Stop().CPUNS) / float64(max(m.lag.N, 1))
	return m, err
}

// governor is what decides the processors' frequency, empty where nothing says.
func governor() string {
	text, err := os.ReadFile("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// symptom is one line of the exam.
type symptom struct {
	Status  string         `json:"status"` // ok or warn
	Check   string         `json:"check"`
	Found   string         `json:"found"`
	Values  map[string]any `json:"values"` // the same, in full precision
	Meaning string         `json:"meaning"`
	Hint    string         `json:"hint,omitempty"` // what to do where it is not ok
}

// symptoms judges an exam.
func (m *exam) symptoms() []symptom {
	return slices.Concat(m.ownTimes(), m.clock(), m.limits())
}

// judgeAs completes a line: its status, and its hint where that is not ok.
func (s symptom) judgeAs(ok bool, hint string) symptom {
	s.Status, s.Hint = "ok", ""
	if !ok {
		s.Status, s.Hint = "warn", hint
	}
	return s
}

const (
	lateLimitNS   = int64(time.Millisecond) // a trial is suspect where more than 1 % of its requests leave later
	floorLimitNS  = int64(time.Millisecond)
	lagLimitNS    = int64(time.Millisecond)
	floorPerTTFT  = 20 // a figure under so many times the floor is flagged client-limited
	clockLimitNS  = 200
	descriptorsOK = 10_000
	portsOK       = 16_000
	diskOKBytes   = 5_000_000_000
)

func (m *exam) ownTimes() []symptom {
	return []symptom{
		symptom{
			Check: "timer lateness", Found: spreadText(m.late), Values: spreadValues(m.late),
			Meaning: "how late a request leaves although nothing else is in its way",
		}.judgeAs(m.late.P99NS <= lateLimitNS, "something else uses the processors: stop it, or move the client to a machine of its own"),
		symptom{
			Check: "TTFT floor", Found: spreadText(m.ttft), Values: spreadValues(m.ttft),
			Meaning: "what every TTFT holds of the client; one under " + nsText(floorPerTTFT*m.ttft.P50NS) + " is flagged client-limited",
		}.judgeAs(m.ttft.P50NS <= floorLimitNS, "stop what else runs; in a container, give it whole processors instead of a quota"),
		symptom{
			Check: "event lag", Found: spreadText(m.lag), Values: spreadValues(m.lag),
			Meaning: "from a server's write to the client's stamp, at 4,000 events a second on 20 streams",
		}.judgeAs(m.lag.P99NS <= lagLimitNS, "gaps between tokens are no finer than this: stop what else runs, or use more processors"),
		symptom{
			Check: "event cost", Found: nsText(int64(m.eventNS)), Values: map[string]any{"cpu_ns": m.eventNS},
			Meaning: "processor time of an event that wakes the client up, the null server's share included",
		}.judgeAs(true, ""),
	}
}

func (m *exam) clock() []symptom {
	source := m.host.ClockSource
	slow := slices.Contains([]string{"hpet", "acpi_pm", "jiffies", "pit"}, source)
	processors := fmt.Sprintf("%d of %d", m.host.GOMAXPROCS, m.host.CPUs)
	lines := []symptom{
		symptom{
			Check: "clock", Found: strings.TrimSpace(source + " " + nsText(int64(m.clockNS))), Values: map[string]any{"source": source, "reading_ns": m.clockNS},
			Meaning: "where times come from, and what a reading costs: there is one for each read of the network",
		}.judgeAs(!slow && m.clockNS <= clockLimitNS, "boot with clocksource=tsc, or ask the host for a clock that needs no system call"),
		symptom{
			Check: "processors", Found: processors, Values: map[string]any{"gomaxprocs": m.host.GOMAXPROCS, "cpus": m.host.CPUs},
			Meaning: "what the client may use at once; over 70 % of it is flagged client-limited",
		}.judgeAs(m.host.GOMAXPROCS > 1, "give it two at least: one sends in time while another reads"),
	}
	if m.governor != "" {
		lines = append(lines, symptom{
			Check: "governor", Found: m.governor, Values: map[string]any{"governor": m.governor},
			Meaning: "what decides the processors' frequency",
		}.judgeAs(m.governor == "performance", "cpupower frequency-set --governor performance: else the client is slowest when it is least busy"))
	}
	return lines
}

func (m *exam) limits() []symptom {
	lines := []symptom{
		symptom{
			Check: "descriptors", Found: fmt.Sprintf("%d, at most %d", m.host.Descriptors, m.host.DescriptorsMax),
			Values:  map[string]any{"now": m.host.Descriptors, "most": m.host.DescriptorsMax},
			Meaning: "open files: one for each request in flight, and a few more",
		}.judgeAs(m.host.DescriptorsMax >= descriptorsOK, "ulimit -Hn, or LimitNOFILE= of the service, raises it"),
	}
	if m.host.Ports != sweep.None {
		lines = append(lines, symptom{
			Check: "ports", Found: fmt.Sprint(m.host.Ports), Values: map[string]any{"ports": m.host.Ports},
			Meaning: "local ports: one for each connection to a server, and for a minute after its end",
		}.judgeAs(m.host.Ports >= portsOK, "sysctl net.ipv4.ip_local_port_range='1024 65000'"))
	}
	return append(lines, symptom{
		Check: "disk", Found: size(m.freeBytes) + " free", Values: map[string]any{"folder": m.folder, "free_bytes": m.freeBytes},
		Meaning: "where the database is to be; sweep plan says what a sweep needs",
	}.judgeAs(m.freeBytes >= diskOKBytes, "make room, or put the database elsewhere with --db FILE"))
}

func spreadText(s bench.Spread) string {
	return "p50 " + nsText(s.P50NS) + ", p99 " + nsText(s.P99NS)
}

func spreadValues(s bench.Spread) map[string]any {
	return map[string]any{"n": s.N, "p50_ns": s.P50NS, "p99_ns": s.P99NS}
}

// nsText is a time in the unit that fits it, with three digits at most.
func nsText(ns int64) string {
	units := []string{"ns", "µs", "ms", "s"}
	x := float64(ns)
	for len(units) > 1 && x >= 999.5 {
		x, units = x/1000, units[1:]
	}
	return fmt.Sprintf("%.3g %s", x, units[0])
}

// writeExam prints an exam with what it means.
func writeExam(w io.Writer, m exam, width int, format string) error {
	if format == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(struct {
			Host     host.Facts `json:"host"`
			Go       string     `json:"go"`
			Symptoms []symptom  `json:"checks"`
		}{m.host, runtime.Version(), m.symptoms()})
	}
	fmt.Fprintf(w, "%s, %s %s\n\n", m.host.Name, m.host.System, m.host.Kernel)
	check, found := 0, 0
	for _, s := range m.symptoms() {
		check, found = max(check, utf8.RuneCountInString(s.Check)), max(found, utf8.RuneCountInString(s.Found))
	}
	for _, s := range m.symptoms() {
		text := s.Meaning
		if s.Hint != "" {
			text += "\n→ " + s.Hint
		}
		if _, err := fmt.Fprintln(w, hanging(fmt.Sprintf("%-4s  %-*s  %-*s  ", s.Status, check, s.Check, found, s.Found), text, width)); err != nil {
			return err
		}
	}
	return nil
}
