package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/exchange"
	"github.com/spf13/cobra"
)

const exportExample = `  sweep export                                       # what there is to export
  sweep export requests -o requests.csv              # every request of every trial
  sweep export requests --cell 'rate=*' --format jsonl | jq .ttft_ms
  sweep export chunks --sweep night -o chunks.csv    # every output event: its time and its tokens
  sweep export --vllm-bench rate=200                 # a cell as a command of vllm bench serve`

// exporting is what the verb export was asked.
type exporting struct {
	format, sweep, cell, path, vllmBench string
	chunks, force                        bool
}

// chunksView is what export calls the output events, which no view holds: they lie in a blob beside each request.
const chunksView = "chunk"

// viewWords say what a row of each view is.
var viewWords = map[string]string{
	"cell": "a cell of a sweep's last plan", "point": "a coordinate of a cell", "trial": "an attempt at a trial",
	"request": "a request: its times, tokens and outcome", "latency": "a time of a cell, in a block or over all",
	"settling": "where a trial's time to first token settled",
	"goodput":  "rates and attainment of a cell, in a block or over all", "variance": "a figure of a cell between blocks",
	"comparison": "a ratio of two cells", "launch": "a life of a server", "answer": "a stored answer",
	"capacity": "a rate that a search found", "quality": "a score of a cell", "flag": "a reason to doubt a figure",
	"observation": "what was observed beside a trial's requests", "sample": "a reading of telemetry",
	"provenance": "what made a sweep's last sitting", "sitting": "a run of the command", "exclusion": "a trial taken out or put back",
	chunksView: "an output event: its time, tokens and kind (not a view of the database: it lies packed beside each request)",
}

func (a *app) exportVerb() *cobra.Command {
	r := exporting{format: "csv"}
	views := append(slices.Clone(store.Views), chunksView)
	cmd := &cobra.Command{
		Use: "export [VIEW]", Short: "raw rows for other programs",
		Long: `export writes the rows of a public view, one by one, as CSV or JSON lines: columns by the names that the README promises,
figures in full precision, what does not exist as nothing (CSV) or null. A plural is understood (requests, trials, chunks).
Without a VIEW it lists them. chunk is the one that the database does not have as a view: SQL finds only the packed
column raw_request.chunk_log, and export unpacks it, trial by trial and request by request.

With --vllm-bench it prints a cell as the command of vllm bench serve that comes closest to it: a shell script whose
comments say what that command cannot.`,
		Example: exportExample, ValidArgs: views,
		Args: func(_ *cobra.Command, args []string) error { return r.checkArgs(args, views) },
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && r.vllmBench == "" && !r.chunks {
				return a.listViews(views)
			}
			if r.vllmBench != "" {
				return a.exportVLLMBench(&r)
			}
			return a.export(viewNamed(args, &r, views), &r)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&r.format, "format", "f", r.format, strings.Join(exchange.Formats(), ", "))
	f.StringVar(&r.sweep, "sweep", "", "only the sweep `NAME`")
	f.StringVar(&r.cell, "cell", "", "only the cells that match a `GLOB`")
	f.StringVarP(&r.path, "output", "o", "", "write to a `FILE`")
	f.BoolVar(&r.force, "force", false, "let -o overwrite a file")
	f.BoolVar(&r.chunks, "chunks", false, "the same as the view chunk")
	f.StringVar(&r.vllmBench, "vllm-bench", "", "a `CELL` as a command of vllm bench serve")
	cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(exchange.Formats(), cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("vllm-bench", a.completeCell)
	a.completeFilters(cmd)
	return cmd
}

func (r *exporting) checkArgs(args, views []string) error {
	if err := oneOf("--format", r.format, exchange.Formats()); err != nil {
		return err
	}
	given := len(args)
	if r.chunks {
		given++
	}
	if r.vllmBench != "" {
		given++
	}
	if given > 1 {
		return usage("sweep export needs one view", "one of "+strings.Join(views, ", ")+", or --vllm-bench CELL")
	}
	if len(args) == 1 && viewNamed(args, r, views) == "" {
		return usage("there is no view "+args[0], "it is one of "+strings.Join(views, ", "))
	}
	return nil
}

// listViews says what there is to export.
func (a *app) listViews(views []string) error {
	for _, name := range views {
		if _, err := fmt.Fprintf(a.stdout, "%-12s %s\n", name, viewWords[name]); err != nil {
			return err
		}
	}
	return nil
}

// viewNamed is the view that is meant, by its name or its plural; empty where there is none.
func viewNamed(args []string, r *exporting, views []string) string {
	if r.chunks {
		return chunksView
	}
	asked := args[0]
	for _, name := range []string{asked, strings.TrimSuffix(asked, "s"), strings.TrimSuffix(asked, "es"), strings.TrimSuffix(asked, "ies") + "y"} {
		if slices.Contains(views, name) {
			return name
		}
	}
	return ""
}

func (a *app) export(view string, r *exporting) error {
	db, _, cells, err := a.openChosen(r.sweep, r.cell)
	if err != nil {
		return err
	}
	defer db.Close()
	columns, rows, err := rowsOfView(db, view, r.sweep, cells)
	if err != nil {
		return err
	}
	return a.into(r, func(w io.Writer) error { return exchange.WriteRows(w, r.format, columns, rows) })
}

// into gives write the standard output, or a new file.
func (a *app) into(r *exporting, write func(io.Writer) error) error {
	if r.path == "" {
		return write(a.stdout)
	}
	if err := a.spare(r.path); err != nil {
		return err
	}
	mode := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if r.force {
		mode = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(r.path, mode, 0o666)
	if errors.Is(err, os.ErrExist) {
		return usage(r.path+" exists", "--force overwrites it; -o names another")
	}
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 1<<20)
	err = errors.Join(write(out), out.Flush(), f.Close())
	if err != nil {
		return fmt.Errorf("%s is not whole: %w", r.path, err)
	}
	a.say("wrote %s", r.path)
	return nil
}

// rowsOfView reads a view, of one sweep and of some cells where they are given.
func rowsOfView(db *store.DB, view, sweepName string, cells func(string) bool) ([]string, iter.Seq2[[]any, error], error) {
	if view == chunksView {
		return []string{"trial", "seq", "at_ms", "tokens", "kind"}, chunkRows(db, sweepName, cells), nil
	}
	columns, rows, err := db.View(view, sweepName)
	if err != nil || cells == nil {
		return columns, rows, err
	}
	if at := slices.Index(columns, "cell"); at >= 0 {
		return columns, only(rows, func(row []any) bool { name, _ := row[at].(string); return cells(name) }), nil
	}
	at := slices.Index(columns, "trial")
	if at < 0 {
		return nil, nil, usage("the view "+view+" has no cells", "leave --cell out")
	}
	wanted, err := trialsOf(db, sweepName, cells)
	if err != nil {
		return nil, nil, err
	}
	return columns, only(rows, func(row []any) bool { id, _ := row[at].(int64); return slices.Contains(wanted, id) }), nil
}

func only(rows iter.Seq2[[]any, error], keep func([]any) bool) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for row, err := range rows {
			if (err != nil || keep(row)) && !yield(row, err) {
				return
			}
		}
	}
}

// trialsOf are the numbers of the trials of some cells, by the names that the view trial gives them.
func trialsOf(db *store.DB, sweepName string, cells func(string) bool) ([]int64, error) {
	columns, rows, err := db.View("trial", sweepName)
	if err != nil {
		return nil, err
	}
	cell, trial := slices.Index(columns, "cell"), slices.Index(columns, "trial")
	var ids []int64
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		name, _ := row[cell].(string)
		if id, ok := row[trial].(int64); ok && (cells == nil || cells(name)) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// chunkRows are the output events of every request, trial by trial.
func chunkRows(db *store.DB, sweepName string, cells func(string) bool) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		trials, err := trialsOf(db, sweepName, cells)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, trial := range trials {
			facts, err := db.Facts(trial)
			if err != nil {
				yield(nil, err)
				return
			}
			for r, err := range facts.Rows {
				if err != nil {
					yield(nil, err)
					return
				}
				if !yieldChunks(trial, r, yield) {
					return
				}
			}
		}
	}
}

// yieldChunks yields the output events of one request; false ends it.
func yieldChunks(trial int64, r *sweep.Request, yield func([]any, error) bool) bool {
	for c, err := range sweep.Chunks(r.ChunkLog) {
		if err != nil {
			return yield(nil, fmt.Errorf("trial %d, request %d: %w", trial, r.Seq, err))
		}
		var tokens any
		if c.Tokens != sweep.None {
			tokens = c.Tokens
		}
		if !yield([]any{trial, r.Seq, float64(c.AtNS) / 1e6, tokens, c.Kind.String()}, nil) {
			return false
		}
	}
	return true
}

// exportVLLMBench prints a cell as a shell script around vllm bench serve.
func (a *app) exportVLLMBench(r *exporting) error {
	db, err := openRead(a.database)
	if err != nil {
		return err
	}
	defer db.Close()
	plan, name, err := findCell(db, r.vllmBench, "")
	if err != nil {
		return err
	}
	title := fmt.Sprintf("Cell %s of sweep %s, as far as vllm bench serve can say it.", name, plan.Name)
	text := exchange.VLLMBench(plan, plan.CellNamed(name)).Script(title)
	return a.into(r, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}
