package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version is the release; a build from a tag sets it with -ldflags "-X main.version=…".
var version = "0.1.0-dev"

// build is what the binary knows of itself.
type build struct {
	Version, Commit, Go string
	Libraries           [][2]string
}

// shownLibraries are those whose version can change a figure or a plan.
var shownLibraries = []string{"cuelang.org/go", "modernc.org/sqlite", "github.com/HdrHistogram/hdrhistogram-go", "github.com/olekukonko/tablewriter", "github.com/spf13/cobra"}

func readBuild() build {
	b := build{Version: version, Commit: "unknown", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	dirty := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+changes"
			}
		}
	}
	if b.Commit != "unknown" {
		b.Commit += dirty
	}
	for _, name := range shownLibraries {
		for _, dep := range info.Deps {
			if dep.Path == name {
				b.Libraries = append(b.Libraries, [2]string{name, dep.Version})
			}
		}
	}
	return b
}

func (a *app) versionVerb() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "version, commit, Go and library versions", Args: none,
		Long: `version prints what made a figure, a line each: the release, the commit that it was built from ("+changes" where the tree
had others), Go, and the libraries that can change a plan or a figure. Every run stores the same (view provenance).`,
		Example: "  sweep version\n  sweep export provenance --format jsonl   # what each sweep was measured with",
		RunE: func(*cobra.Command, []string) error {
			b := readBuild()
			lines := [][2]string{{"sweep", b.Version}, {"commit", b.Commit}, {"go", b.Go}}
			for _, line := range append(lines, b.Libraries...) {
				fmt.Fprintf(a.stdout, "%s%s  %s\n", line[0], strings.Repeat(" ", 40-len(line[0])), line[1])
			}
			return nil
		},
	}
}
