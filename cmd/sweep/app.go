package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// app is one invocation of the command.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	args           []string
	database       string // --db
}

const longHelp = `sweep runs benchmark sweeps of LLM inference servers whose tables can be defended.

A definition (CUE, YAML or JSON) says what is measured and under which contract. sweep checks it, moves one variable
at a time, repeats every cell in blocks, stores every request in SQLite, and puts a flag on each claim that does not hold.`

const rootExample = `  sweep plan experiments/batch.cue       # check and expand: what would run, and for how long
  sweep run experiments/batch.cue        # measure; the same command goes on after a crash
  sweep report goodput --format latex    # the tables, in any format
  sweep show rate=200                    # everything known of a cell`

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use: "sweep", Short: "benchmark sweeps of LLM inference that can be defended", Long: longHelp, Example: rootExample,
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Args:              cobra.ArbitraryArgs, SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownVerb(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(flagWords(err), cmd.CommandPath()+" --help lists the flags")
	})
	root.PersistentFlags().StringVar(&a.database, "db", defaultDatabase(), "the database `FILE` (default: $SWEEP_DB, else sweep.db here)")
	root.PersistentFlags().Lookup("db").DefValue = ""
	root.AddCommand(a.manVerb(root), a.initVerb(), a.checkVerb(), a.planVerb(), a.runVerb(), a.statusVerb(), a.reportVerb(), a.compareVerb(), a.showVerb(), a.rerunVerb(), a.excludeVerb(), a.exportVerb(), a.simVerb(), a.doctorVerb(), a.versionVerb())
	a.fitHelp(root)
	return root
}

// flagWords say what is wrong with a flag's value, in terms of what it should be.
func flagWords(err error) string {
	bad := (*pflag.InvalidValueError)(nil)
	if !errors.As(err, &bad) {
		return err.Error()
	}
	given, why := "--"+bad.GetFlag().Name+" "+bad.GetValue(), ""
	switch kind := bad.GetFlag().Value.Type(); {
	case errors.Is(err, strconv.ErrRange):
		why = "is too large a number"
	case strings.HasPrefix(kind, "uint"):
		why = "is no whole number from 0 on"
	case strings.HasPrefix(kind, "int"):
		why = "is no whole number"
	case strings.HasPrefix(kind, "float"):
		why = "is no number"
	case kind == "duration":
		why = "is no time with its unit, as 30s or 150ms"
	case kind == "bool":
		return "--" + bad.GetFlag().Name + "=" + bad.GetValue() + " is neither true nor false"
	default:
		return err.Error()
	}
	return given + " " + why
}

// unknownVerb says which verb may have been meant.
func unknownVerb(root *cobra.Command, verb string) error {
	hint := "sweep --help lists the verbs"
	if near := root.SuggestionsFor(verb); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return usage(fmt.Sprintf("there is no verb %q", verb), hint)
}

func defaultDatabase() string {
	if path := os.Getenv("SWEEP_DB"); path != "" {
		return path
	}
	return "sweep.db"
}

// say prints a message for the person who waits, never a result.
func (a *app) say(format string, args ...any) {
	fmt.Fprintf(a.stderr, "sweep: "+format+"\n", args...)
}

// files wants at least one argument.
func files(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage(cmd.CommandPath()+" needs a definition", "for example: "+cmd.CommandPath()+" experiments/batch.cue")
	}
	return nil
}

// none wants no arguments.
func none(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(fmt.Sprintf("%s takes no argument, not %q", cmd.CommandPath(), args[0]), cmd.CommandPath()+" --help shows how it is used")
	}
	return nil
}
