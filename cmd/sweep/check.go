package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/inference-sweep/sweep/runner"
	"github.com/inference-sweep/sweep/runner/target"
	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/spf13/cobra"
)

const checkExample = `  sweep check experiments/batch.cue
  sweep check experiments/load.cue -t target=http://localhost:8000 -t model=my/model -t engine=vllm
  sweep check night.cue --launch         # also launches each server once: minutes for a large model
  sweep check night.cue && sweep run night.cue --until 07:00`

// checking is what the verb check was asked.
type checking struct {
	reading
	launch bool
	format string
}

func (a *app) checkVerb() *cobra.Command {
	r := checking{format: "table"}
	cmd := &cobra.Command{
		Use: "check FILE…", Short: "find in a minute what would go wrong at night",
		Long: `check looks at everything that a run needs: the definition, the database, the disk, open files and local ports, programs,
ports and secrets of servers to be launched; and of each server that is up: its key, the model's name, the fields that it
takes, its context length, tokens counted as asked, the reset of its cache, the round trip. It sends one request of each
shape and length extreme, through the client that measures, and judges what comes back as a run would.

Each line says ok, warn, fail or skip, and what to do about it. The exit code is 0 where nothing fails, 1 where
something does, 2 where the definition is wrong. Servers that the run would launch are launched only with --launch.`,
		Example: checkExample, Args: files,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := oneOf("--format", r.format, []string{"table", "json"}); err != nil {
				return err
			}
			return a.check(args, &r)
		},
	}
	r.flags(cmd)
	cmd.Flags().BoolVar(&r.launch, "launch", false, "launch each setting of each server once, and look at it")
	cmd.Flags().StringVarP(&r.format, "format", "f", r.format, "table or json")
	return cmd
}

// checkLine is a finding with what it is about.
type checkLine struct {
	runner.Finding
	Subject string `json:"subject,omitempty"`
}

func (a *app) check(args []string, r *checking) error {
	plans, err := a.plans(args, &r.reading)
	if err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	out := newCheckWriter(a.stdout, a.lineWidth(), r.format)
	for _, p := range plans {
		for _, f := range append(planFindings(p), a.hostFindings(p)...) {
			out.line(checkLine{f, ""})
		}
	}
	for _, p := range plans {
		a.checkServers(ctx, p, r.launch, out)
	}
	if err := out.close(); err != nil {
		return err
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if out.failed > 0 {
		return &hintError{fmt.Errorf("%d of %d checks failed", out.failed, out.lines), "each line that begins with fail says what to do"}
	}
	return nil
}

// checkServers looks at a plan's servers and judges what they answered.
func (a *app) checkServers(ctx context.Context, p *sweep.Plan, launch bool, out *checkWriter) {
	config := runner.CheckConfig{
		Config: runner.Config{Target: target.Deps{Getenv: os.LookupEnv, Executable: executable()}, Nonce: nonce},
		Launch: launch,
	}
	for checked := range runner.CheckServers(ctx, p, config) {
		for _, f := range append(checked.Findings, judged(checked)...) {
			out.line(checkLine{f, checked.Subject})
		}
	}
}

// planFindings says what planning found.
func planFindings(p *sweep.Plan) []runner.Finding {
	seconds, bytes := p.Expected(p.Trials)
	found := []runner.Finding{{
		Status: runner.CheckOK, Name: "definition",
		Detail: fmt.Sprintf("%s: %d cells, %d trials, about %s and %s", p.Name, len(p.Cells), len(p.Trials), roundTime(seconds), size(bytes)),
	}}
	flags := p.Flags
	for i := range p.Cells {
		flags = append(flags, p.Cells[i].Flags...)
	}
	for _, f := range flags {
		if f.Severity == sweep.Note {
			continue
		}
		about := p.Name
		if f.Cell != "" {
			about = f.Cell
		}
		found = append(found, runner.Finding{
			Status: runner.CheckWarn, Name: "definition", Detail: fmt.Sprintf("%s: %s (%s): %s", about, f.Code, f.Severity, f.Detail),
			Hint: "every table would say so: correct the definition, or mean it",
		})
	}
	return found
}

// hostFindings says what this machine allows.
func (a *app) hostFindings(p *sweep.Plan) []runner.Finding {
	left, found := a.checkDatabase(p)
	return append(append(found, a.checkDisk(p, left)), runner.CheckHost(p, os.LookupEnv)...)
}

// checkBefore is the cheap part of a check, before a run: what this machine allows. Warnings are printed.
func (a *app) checkBefore(p *sweep.Plan, trials []sweep.Trial) error {
	if len(trials) == 0 {
		return nil
	}
	for _, f := range append(runner.CheckHost(p, os.LookupEnv), a.checkDisk(p, trials)) {
		switch f.Status {
		case runner.CheckFail:
			return &hintError{fmt.Errorf("%s: %s", f.Name, f.Detail), f.Hint}
		case runner.CheckWarn:
			a.say("%s: %s; %s", f.Name, f.Detail, f.Hint)
		}
	}
	return nil
}

// checkDatabase says whether the run could write to the database, and which trials are left in it.
func (a *app) checkDatabase(p *sweep.Plan) (left []sweep.Trial, found []runner.Finding) {
	finding := func(status, hint, format string, args ...any) []runner.Finding {
		return []runner.Finding{{Status: status, Name: "database", Detail: fmt.Sprintf(format, args...), Hint: hint}}
	}
	const elsewhere = "--db FILE or $SWEEP_DB names another"
	if owner := store.Owner(a.database); owner != nil {
		return p.Trials, finding(runner.CheckFail, "wait for it, or "+elsewhere, "%v", owner)
	}
	if err := writable(a.database); err != nil {
		return p.Trials, finding(runner.CheckFail, elsewhere, "%v", err)
	}
	db, err := store.Open(a.database, store.Options{ReadOnly: true})
	older := (*store.OlderError)(nil)
	switch {
	case isMissing(err) || isEmptyFile(a.database):
		return p.Trials, finding(runner.CheckOK, "", "%s does not exist yet, and can be made", a.database)
	case errors.As(err, &older):
		return p.Trials, finding(runner.CheckOK, "", "%s is of an older version: the run brings it up to date", a.database)
	case err != nil:
		return p.Trials, finding(runner.CheckFail, elsewhere, "%v", err)
	}
	defer db.Close()
	finished, err := db.Finished(p.Name)
	if err != nil {
		return p.Trials, finding(runner.CheckFail, elsewhere, "%v", err)
	}
	left, err = remaining(p, finished, &running{})
	if err != nil {
		return p.Trials, finding(runner.CheckFail, "", "%v", err)
	}
	return left, finding(runner.CheckOK, "", "%s can be written; %d of %d trials of %s are left", a.database, len(left), len(p.Trials), p.Name)
}

// writable says why a database cannot be written, and writes nothing that stays.
func writable(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		return f.Close()
	}
	if !os.IsNotExist(err) {
		return err
	}
	f, err = os.CreateTemp(filepath.Dir(path), ".sweep-check-*")
	if err != nil {
		return fmt.Errorf("%s does not exist and cannot be made: %w", path, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func isEmptyFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() == 0
}

// checkDisk compares the space that is left with what the trials are expected to take.
func (a *app) checkDisk(p *sweep.Plan, trials []sweep.Trial) runner.Finding {
	folder := filepath.Dir(a.database)
	_, need := p.Expected(trials)
	free, err := store.FreeBytes(folder)
	f := runner.Finding{Name: "disk", Hint: "make space in " + folder + ", or give a database elsewhere with --db FILE"}
	switch {
	case err != nil:
		f.Status, f.Detail = runner.CheckSkip, err.Error()
	case free < need:
		f.Status, f.Detail = runner.CheckFail, fmt.Sprintf("%s are free, and the run is expected to write %s", size(free), size(need))
	case free < 2*need+minimumFree:
		f.Status, f.Detail = runner.CheckWarn, fmt.Sprintf("%s are free, and the run is expected to write %s: not much more", size(free), size(need))
	default:
		f.Status, f.Detail, f.Hint = runner.CheckOK, fmt.Sprintf("%s are free, and the run is expected to write %s", size(free), size(need)), ""
	}
	return f
}

// minimumFree is what should be left of a disk beside what is expected, in bytes: journals and other programs grow.
const minimumFree = 100 << 20

// size is a number of bytes for people.
func size(bytes int64) string {
	units := []string{"bytes", "kB", "MB", "GB", "TB"}
	x := float64(bytes)
	for len(units) > 1 && x >= 1000 {
		x, units = x/1000, units[1:]
	}
	return fmt.Sprintf("%.3g %s", x, units[0])
}

// checkWriter writes findings as they come.
type checkWriter struct {
	w             io.Writer
	width         int
	format        string
	all           []checkLine
	lines, failed int
}

func newCheckWriter(w io.Writer, width int, format string) *checkWriter {
	return &checkWriter{w: w, width: width, format: format, all: []checkLine{}}
}

func (c *checkWriter) line(l checkLine) {
	c.lines++
	if l.Status == runner.CheckFail {
		c.failed++
	}
	if c.format == "json" {
		c.all = append(c.all, l)
		return
	}
	text := strings.TrimRight(strings.ReplaceAll(l.Detail, "\n", " "), ".")
	if !strings.HasPrefix(text, l.Subject) {
		text = l.Subject + ": " + text
	}
	if l.Hint != "" {
		text += "; " + l.Hint
	}
	fmt.Fprintln(c.w, hanging(fmt.Sprintf("%-4s  %-11s  ", l.Status, l.Name), text, c.width))
}

func (c *checkWriter) close() error {
	if c.format != "json" {
		return nil
	}
	encoder := json.NewEncoder(c.w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(c.all)
}
