package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/sweep/report"
	"github.com/spf13/cobra"
)

// formatFlag adds --format with completion.
func formatFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVarP(format, "format", "f", *format, strings.Join(report.Formats(), ", "))
	cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(report.Formats(), cobra.ShellCompDirectiveNoFileComp))
}

// oneOf refuses a value that is none of a few.
func oneOf(what, value string, known []string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return usage(fmt.Sprintf("%s %s is not known", what, value), "it is one of "+strings.Join(known, ", "))
}
