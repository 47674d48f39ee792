package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/inference-sweep/sweep/cue"
	"github.com/inference-sweep/sweep/runner/engine"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/spf13/cobra"
)

// reading is how definitions are read: the flags that plan and run share.
type reading struct {
	names, tags []string
	blocks      int
	blocksSet   bool // --blocks was given
	options     cue.Options
}

func (r *reading) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVarP(&r.names, "expression", "e", nil, "only the sweep `NAME` of several (repeatable)")
	f.StringArrayVarP(&r.tags, "tag", "t", nil, "set a tag of the definition, as `key=value` (repeatable)")
	f.DurationVar(&r.options.Timeout, "eval-timeout", 0, "bound on evaluating the definition (default 30s)")
	f.Uint64Var(&r.options.MaxHeapBytes, "eval-heap", 0, "bound on memory while evaluating it, in `BYTES` (default 2 GiB)")
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"cue", "yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
	}
}

// maxBlocks is the schema's.
const maxBlocks = 200

// plans reads every file and thinks each of its sweeps through.
func (a *app) plans(paths []string, r *reading) ([]*sweep.Plan, error) {
	r.options.Names, r.options.Tags = r.names, r.tags
	absent := map[string]int{} // of --expression: in how many files
	if len(paths) > 1 {
		r.options.Absent = func(name string) { absent[name]++ }
	}
	r.options.Warn = func(s string) { a.say("%s", s) }
	if r.blocksSet && (r.blocks < 1 || r.blocks > maxBlocks) {
		return nil, usage(fmt.Sprintf("--blocks %d: a sweep has 1 to %d blocks", r.blocks, maxBlocks), "")
	}
	if r.options.Timeout < 0 {
		return nil, usage(fmt.Sprintf("--eval-timeout %v: a bound is a positive time", r.options.Timeout), "for example: --eval-timeout 2m")
	}
	var plans []*sweep.Plan
	for _, path := range paths {
		definitions, err := cue.Load(path, r.options)
		if err != nil {
			return nil, readingHint(path, err)
		}
		for _, d := range definitions {
			if r.blocks > 0 {
				d.Blocks = r.blocks
			}
			p, err := sweep.NewPlan(d, sweep.Rendering{Command: engine.Command, Setting: engine.Setting})
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(plans, func(q *sweep.Plan) bool { return q.Name == p.Name }) {
				return nil, usage(fmt.Sprintf("two sweeps are called %s", p.Name), "a sweep's name is its field in the file: rename one, or give the files in two runs")
			}
			plans = append(plans, p)
		}
	}
	for _, name := range r.names {
		if len(paths) > 1 && absent[name] == len(paths) {
			return nil, nowhere(name, paths, r.options)
		}
	}
	return plans, nil
}

// nowhere is what each of several files says of a sweep that none of them has.
func nowhere(name string, paths []string, o cue.Options) error {
	o.Names, o.Absent = []string{name}, nil
	var all cue.Errors
	for _, path := range paths {
		var found cue.Errors
		if _, err := cue.Load(path, o); errors.As(err, &found) {
			all = append(all, found...)
		}
	}
	return all
}

// readingHint makes a mistake in the arguments of a definition that is not there, or that takes too much.
func readingHint(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usage("there is no file "+path, "a definition is a file (.cue, .yaml, .json), or a folder and the sweeps of its package")
	case errors.Is(err, cue.ErrGivenUp):
		return usage(err.Error(), "--eval-heap and --eval-timeout move the bounds")
	}
	return err
}
