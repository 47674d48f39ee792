package cue

import (
	"fmt"
	"os"
	"strings"

	"cuelang.org/go/cue/scanner"
	"cuelang.org/go/cue/token"
)

// bracket is one that opens, and how far its line is indented.
type bracket struct {
	pos    token.Pos
	indent int
}

// unclosed guesses which bracket a file that ends too early leaves open: the first whose partner stands on a line that is
// indented otherwise, since lines are indented as they are meant; else the outermost. It is empty where there is none, or
// where it is on the last line anyway.
func unclosed(end token.Pos) string {
	text, err := os.ReadFile(end.Filename())
	if err != nil {
		return ""
	}
	lines := strings.Split(string(text), "\n")
	indent := func(p token.Pos) int {
		line := lines[p.Line()-1]
		return len(line) - len(strings.TrimLeft(line, " \t"))
	}
	var s scanner.Scanner
	s.Init(token.NewFile(end.Filename(), -1, len(text)), text, func(token.Pos, string, []any) {}, 0)
	var open []bracket
	for {
		pos, tok, _ := s.Scan()
		switch tok {
		case token.LBRACE, token.LBRACK, token.LPAREN:
			open = append(open, bracket{pos, indent(pos)})
		case token.RBRACE, token.RBRACK, token.RPAREN:
			if len(open) == 0 {
				return ""
			}
			last := open[len(open)-1]
			if last.pos.Line() != pos.Line() && last.indent != indent(pos) {
				return last.words(end)
			}
			open = open[:len(open)-1]
		case token.EOF:
			if len(open) == 0 {
				return ""
			}
			return open[0].words(end)
		}
	}
}

func (b bracket) words(end token.Pos) string {
	if b.pos.Line() == end.Line() {
		return ""
	}
	return fmt.Sprintf("what begins at %d:%d is perhaps not closed", b.pos.Line(), b.pos.Column())
}
