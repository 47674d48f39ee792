package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/inference-sweep/sweep/sweep/report"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// leastWidth is what lines for people are not narrowed beyond: a terminal may claim to have no columns.
const leastWidth = 40

// lineWidth is how many columns lines for people may have: those of the terminal, else what COLUMNS says; 0, where neither
// does, is any number, for programs that look at lines.
func (a *app) lineWidth() int {
	if f := terminalOf(a.stdout); f != nil {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return max(width, leastWidth)
		}
	}
	if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width > 0 {
		return max(width, leastWidth)
	}
	return 0
}

// fitHelp has help keep to the width of lines.
func (a *app) fitHelp(root *cobra.Command) {
	width := a.lineWidth()
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", width)))
	if width == 0 {
		return
	}
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.Long = wrapParagraphs(cmd.Long, width)
		help(cmd, args)
	})
}

// wrapParagraphs breaks the lines of paragraphs anew, but for those that have an indented line.
func wrapParagraphs(text string, width int) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if !strings.Contains("\n"+p, "\n ") {
			paragraphs[i] = report.Wrap(strings.ReplaceAll(p, "\n", " "), width, "")
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// hanging breaks what stands behind head, of which only the lines after the first are indented. Where head leaves little
// room, all of it stands below.
func hanging(head, text string, width int) string {
	indent := utf8.RuneCountInString(head)
	if width == 0 {
		return head + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", indent))
	}
	if width-indent < leastWidth {
		hang := strings.Repeat(" ", 6)
		return strings.TrimRight(head, " ") + "\n" + hang + report.Wrap(text, width-len(hang), hang)
	}
	return head + report.Wrap(text, width-indent, strings.Repeat(" ", indent))
}
