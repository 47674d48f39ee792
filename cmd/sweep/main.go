// Command sweep runs benchmark sweeps of LLM inference servers that can be defended in a paper: it checks a definition,
// expands one variable at a time, measures every cell in every block, keeps every request, and prints tables with a flag
// on each claim that does not hold.
//
// This package is flags, words, wiring and exit codes. It knows nothing of how a figure comes about.
package main

import (
	"fmt"
	"io"
	"log"
	"os"
)

func main() {
	// What net/http has to say of a server's bytes it says there; what matters of them comes back as an error.
	log.SetOutput(io.Discard)
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole command: arguments and streams in, exit code out.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := &result{w: stdout}
	a := &app{stdin: stdin, stdout: out, stderr: stderr, args: args}
	root := a.root()
	root.SetArgs(args)
	err := root.Execute()
	if err == nil && out.err != nil {
		err = fmt.Errorf("the result is not whole: %w", out.err)
	}
	return a.exitCode(err)
}
