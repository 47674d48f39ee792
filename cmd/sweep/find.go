package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/spf13/cobra"
)

// openRead opens a database for reading. One of an older version is brought up to date before.
func openRead(path string) (*store.DB, error) {
	db, err := store.Open(path, store.Options{ReadOnly: true})
	if older := (*store.OlderError)(nil); errors.As(err, &older) {
		writer, err := store.Open(path, store.Options{Owner: "sweep"})
		if err != nil {
			return nil, storeHint(err)
		}
		if err := writer.Close(); err != nil {
			return nil, err
		}
		return store.Open(path, store.Options{ReadOnly: true})
	}
	if err != nil {
		return nil, storeHint(err)
	}
	return db, nil
}

// openWrite opens a database that exists for writing. owner is what whoever is refused meanwhile is told.
func openWrite(path, owner string) (*store.DB, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return openRead(path) // which says so
	}
	db, err := store.Open(path, store.Options{Owner: owner})
	if err != nil {
		return nil, storeHint(err)
	}
	return db, nil
}

// findCell finds what CELL or SWEEP/CELL means in a database: the plan, and the cell's name in it. hint is what to do
// where nothing is called so; empty for the usual.
func findCell(db *store.DB, id, hint string) (*sweep.Plan, string, error) {
	names, err := db.Sweeps()
	if err != nil {
		return nil, "", err
	}
	only, cell, qualified := strings.Cut(id, "/")
	if !qualified || !slices.Contains(names, only) {
		only, cell = "", id
	}
	var found []*sweep.Plan
	for _, name := range names {
		if only != "" && only != name {
			continue
		}
		p, err := db.Plan(name)
		if err != nil {
			return nil, "", err
		}
		if p.CellNamed(cell) != nil {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		return nil, "", noSuchCell(db, id, only, cell, cmp.Or(hint, "there are the sweeps "+strings.Join(names, ", ")+", and sweep show SWEEP lists the cells of one"))
	case 1:
		return found[0], cell, nil
	}
	return nil, "", usage("several sweeps have a cell "+cell, "write "+found[0].Name+"/"+cell+" or "+found[1].Name+"/"+cell)
}

// noSuchCell says what there is instead.
func noSuchCell(db *store.DB, id, only, cell, hint string) error {
	if only == "" {
		return usage("nothing is called "+id, hint)
	}
	p, err := db.Plan(only)
	if err != nil {
		return err
	}
	return usage(fmt.Sprintf("sweep %s has no cell %s", only, cell), "its cells are "+strings.Join(cellNames(p), ", "))
}

// completeCell completes the names of cells that the database holds, as SWEEP/CELL where several sweeps have one.
func (a *app) completeCell(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	count := map[string]int{}
	cells := a.storedCells()
	for _, c := range cells {
		count[c[1]]++
	}
	var names []string
	for _, c := range cells {
		name := c[1]
		if count[name] > 1 {
			name = c[0] + "/" + name
		}
		names = append(names, name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeGlob completes the names of cells as --cell takes them: without their sweep, each once.
func (a *app) completeGlob(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, c := range a.storedCells() {
		if !slices.Contains(names, c[1]) {
			names = append(names, c[1])
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeSweep completes the names of the sweeps that the database holds.
func (a *app) completeSweep(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, c := range a.storedCells() {
		if !slices.Contains(names, c[0]) {
			names = append(names, c[0])
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// storedCells are the cells of the database, each as its sweep's name and its own; none where it cannot be read.
func (a *app) storedCells() [][2]string {
	db, err := store.Open(a.database, store.Options{ReadOnly: true})
	if err != nil {
		return nil
	}
	defer db.Close()
	sweeps, _ := db.Sweeps()
	var cells [][2]string
	for _, name := range sweeps {
		p, err := db.Plan(name)
		if err != nil {
			continue
		}
		for _, cell := range cellNames(p) {
			cells = append(cells, [2]string{name, cell})
		}
	}
	return cells
}

// completeFilters completes --sweep and --cell.
func (a *app) completeFilters(cmd *cobra.Command) {
	if cmd.Flags().Lookup("sweep") != nil {
		cmd.RegisterFlagCompletionFunc("sweep", a.completeSweep)
	}
	if cmd.Flags().Lookup("cell") != nil {
		cmd.RegisterFlagCompletionFunc("cell", a.completeGlob)
	}
}
