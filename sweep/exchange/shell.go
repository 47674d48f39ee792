package exchange

import (
	"fmt"
	"strings"
)

// Word is one word of a command line. Expand says that a variable in it is to be replaced by its value.
type Word struct {
	Text   string
	Expand bool
}

// shellSpecial are the characters that a shell does not take as they are.
const shellSpecial = " \t\n'\"\\$`*?[]{}()<>|&;#~!"

// String is the word as a shell takes it.
func (w Word) String() string {
	switch {
	case w.Expand:
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`").Replace(w.Text) + `"`
	case w.Text != "" && !strings.ContainsAny(w.Text, shellSpecial):
		return w.Text
	}
	return "'" + strings.ReplaceAll(w.Text, "'", `'\''`) + "'"
}

// CommandLine is a command as it would be typed.
func CommandLine(words ...string) string {
	typed := make([]string, len(words))
	for i, word := range words {
		typed[i] = Word{Text: word}.String()
	}
	return strings.Join(typed, " ")
}

// Script is the command as a shell script: comments say what it cannot, and what has to come before.
func (e Equivalent) Script(title string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s It cannot say:\n", title)
	for _, line := range e.Unsaid {
		fmt.Fprintf(&b, "#   %s\n", line)
	}
	for _, line := range e.Before {
		fmt.Fprintf(&b, "# before: %s\n", line)
	}
	for i, word := range e.Args {
		switch {
		case strings.HasPrefix(word.Text, "--"):
			b.WriteString(" \\\n  ")
		case i > 0:
			b.WriteString(" ")
		}
		b.WriteString(word.String())
	}
	b.WriteString("\n")
	return b.String()
}
