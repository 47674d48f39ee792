package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manDate stands on each page: pages made of one version are equal, whenever they are made.
var manDate = time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)

func (a *app) manVerb(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "write the manual pages into a folder",
		Long:    "man writes one manual page a verb, sweep.1, sweep-run.1 and so on, into a folder, which it makes where there is none.",
		Example: "  sweep man ~/.local/share/man/man1\n  man sweep-run",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("sweep man needs one folder", "for example: sweep man ~/.local/share/man/man1")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("the folder of the manual pages: %w", err)
			}
			header := &doc.GenManHeader{Title: "SWEEP", Section: "1", Source: "sweep " + version, Manual: "sweep", Date: &manDate}
			return doc.GenManTree(root, header, args[0])
		},
	}
}
