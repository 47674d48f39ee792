package main

import (
	_ "embed" // the starter sweep
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/inference-sweep/sweep/cue"
	"github.com/spf13/cobra"
)

// starter is the sweep that init writes.
//
//go:embed starter/starter.cue
var starter []byte

const starterName = "starter.cue"

const initExample = `  sweep init night && cd night           # a folder for your sweeps
  sweep run starter.cue                  # measures the embedded engine, in about a minute
  cue export starter.cue -e starter.plan.cells
  sweep init --update                    # after an update of sweep: its schema, for cue and the editor`

func (a *app) initVerb() *cobra.Command {
	var update bool
	cmd := &cobra.Command{
		Use: "init [DIR]", Short: "write a starter sweep, and what cue and the editor need",
		Long: `init writes into a folder (this one, or DIR) a sweep to start from, the module file and a copy of the schema, so that
cue vet, cue export and the editor's completion work there without a network. A file that exists is kept: a folder that
has CUE files gets no starter. In a CUE module, the copy goes to the module's root.

With --update, the copy of the schema is replaced by the one that this sweep brings, and nothing else is written.`,
		Example: initExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return none(cmd, args[1:])
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return a.init(dir, update)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	cmd.Flags().BoolVar(&update, "update", false, "replace the schema's copy by the one of this sweep")
	return cmd
}

func (a *app) init(dir string, update bool) error {
	var written []string
	own := filepath.Join(dir, starterName)
	if !update {
		occupied, err := hasDefinitions(dir)
		if err != nil {
			return err
		}
		if occupied {
			a.say("%s has CUE files, which are kept: no starter beside them", dir)
		} else {
			if err := writeNew(own, starter); err != nil {
				return err
			}
			written = append(written, own)
		}
	}
	vendored, err := cue.Vendor(dir, update)
	for _, path := range append(written, vendored...) {
		fmt.Fprintln(a.stdout, shortPath(path))
	}
	if err != nil {
		return err
	}
	switch {
	case len(written) > 0:
		a.say("next: sweep plan %s, then sweep run %s", own, own)
	case len(vendored) == 0:
		a.say("everything is there already")
	}
	return nil
}

// hasDefinitions says that a folder holds CUE files. One that does not exist holds none.
func hasDefinitions(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return false, err
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return filepath.Ext(e.Name()) == ".cue" }), nil
}

// writeNew writes a file that must not exist, and the folders above it.
func writeNew(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// shortPath is a path as seen from the working folder, where that is shorter.
func shortPath(path string) string {
	folder, err := os.Getwd()
	if err != nil {
		return path
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	short, err := filepath.Rel(folder, full)
	if err != nil || len(short) > len(full) {
		return path
	}
	return short
}
