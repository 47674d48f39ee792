package cue

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cuelang.org/go/cue/token"
)

// Problem is one mistake in a definition, however many cells it shows in.
type Problem struct {
	// File is relative to the working folder. Line and Col count from 1; both are 0 where the whole file is meant.
	File      string
	Line, Col int
	// Path is the leaf: from the cell (contract.load.open.rate), or from the file (batch.factors.rate.levels). It is
	// empty where the text itself is wrong.
	Path    string
	Message string
	// Hint says what to write instead, or is empty.
	Hint string
	// Cells is how many cells the mistake shows in, or 0 where it is in none of them.
	Cells int
	// Required is where the schema asks for something else, as file:line:col, or empty.
	Required string
}

// String is the problem in one line: file:line:col: path: what; hint (27 cells).
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Col)
	}
	if p.Path != "" {
		b.WriteString(": " + p.Path)
	}
	b.WriteString(": " + p.Message)
	if p.Hint != "" {
		b.WriteString("; " + p.Hint)
	}
	if p.Cells > 1 {
		fmt.Fprintf(&b, " (%d cells)", p.Cells)
	}
	return b.String()
}

// Errors is everything that is wrong with a definition, each mistake once, in the order of the files.
type Errors []Problem

// Error prints one line a problem.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// sorted puts problems in the order of the files, each once.
func (e Errors) sorted() Errors {
	slices.SortStableFunc(e, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(e, func(a, b Problem) bool { return a.String() == b.String() })
}

// err is the problems as an error, nil where there are none.
func (e Errors) err() error {
	if len(e) == 0 {
		return nil
	}
	return e.sorted()
}

// at puts the problem where pos is.
func (p Problem) at(pos token.Pos) Problem {
	if pos.IsValid() {
		p.File, p.Line, p.Col = relative(pos.Filename()), pos.Line(), pos.Column()
	}
	return p
}

// relative is path as seen from the working folder, unless that is longer.
func relative(path string) string {
	folder, err := os.Getwd()
	if err != nil {
		return path
	}
	short, err := filepath.Rel(folder, path)
	if err != nil || len(short) > len(path) {
		return path
	}
	return short
}
