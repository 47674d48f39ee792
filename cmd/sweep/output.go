package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"

	"github.com/inference-sweep/sweep/sweep/report"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// result is the standard output. It remembers the first error, so that no verb ends well whose result nobody got.
type result struct {
	w   io.Writer
	err error
	// goesOn says that what cannot be written ends nothing: the rest is dropped, and the error told at the end.
	goesOn bool
}

func (r *result) Write(p []byte) (int, error) {
	if r.goesOn && r.err != nil {
		return len(p), nil
	}
	n, err := r.w.Write(p)
	if r.err == nil {
		r.err = err
	}
	if r.goesOn {
		return len(p), nil
	}
	return n, err
}

// terminalOf is the terminal that w writes to, or nil.
func terminalOf(w io.Writer) *os.File {
	if r, ok := w.(*result); ok {
		w = r.w
	}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return f
}

// output is where tables go, and in which format.
type output struct {
	format, path string
	force        bool
	tabular      bool
}

// besideSuffix ends the name of the file beside a table that holds its full contracts and provenance.
const besideSuffix = ".contract.json"

func (o *output) flags(cmd *cobra.Command) {
	formatFlag(cmd, &o.format)
	cmd.Flags().StringVarP(&o.path, "output", "o", "", "write to a `FILE`, and the contracts and provenance to FILE"+besideSuffix)
	cmd.Flags().BoolVar(&o.force, "force", false, "let -o overwrite files")
	cmd.Flags().BoolVar(&o.tabular, "tabular", false, "with --format latex: the tabular alone, without float, caption and notes")
}

func (o *output) check() error {
	if o.tabular && o.format != "latex" {
		return usage("--tabular is of the format latex", "add --format latex")
	}
	return oneOf("--format", o.format, report.Formats())
}

// writeTables writes tables one below the other to the standard output, or to a file with what lies beside it. ins are
// what they were made from.
func (a *app) writeTables(tables []*report.Table, ins []report.Input, o *output) error {
	if o.path == "" {
		options := a.tableOptions()
		options.TabularOnly = o.tabular
		return report.WriteAll(a.stdout, tables, o.format, options)
	}
	var text bytes.Buffer
	if err := report.WriteAll(&text, tables, o.format, report.Options{TabularOnly: o.tabular}); err != nil {
		return err
	}
	beside, err := besideText(ins)
	if err != nil {
		return err
	}
	for _, path := range []string{o.path, o.path + besideSuffix} {
		if err := a.spare(path); err != nil {
			return err
		}
		if _, err := os.Stat(path); err == nil && !o.force {
			return usage(path+" exists", "--force overwrites it; -o names another")
		}
	}
	if err := os.WriteFile(o.path, text.Bytes(), 0o666); err != nil {
		return err
	}
	if err := os.WriteFile(o.path+besideSuffix, beside, 0o666); err != nil {
		return err
	}
	a.say("wrote %s and %s", o.path, o.path+besideSuffix)
	return nil
}

// besideText is an object a sweep, and an array of them where there are several.
func besideText(ins []report.Input) ([]byte, error) {
	var objects []json.RawMessage
	for _, in := range ins {
		var text bytes.Buffer
		if err := report.WriteBeside(&text, in); err != nil {
			return nil, err
		}
		objects = append(objects, text.Bytes())
	}
	if len(objects) == 1 {
		return objects[0], nil
	}
	return json.MarshalIndent(objects, "", "  ")
}
