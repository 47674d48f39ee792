package report

import (
	"fmt"
	"strings"
	"unicode"
)

// shape is how LaTeX sets one column: words, prose, or siunitx numbers, with a second column for what follows them.
type shape struct {
	number, prose, behind bool
	// Digits of the widest figure: before the point and behind it.
	whole, decimals int
	below           bool
}

func shapeOf(c Column, rows []Row, j int) shape {
	s := shape{number: c.Number, prose: c.Wrap, whole: 1}
	for _, row := range rows {
		p := row.Values[j].print()
		if !p.numeric {
			continue
		}
		figure, below := strings.CutPrefix(p.figure, "< ")
		whole, decimals, _ := strings.Cut(figure, ".")
		s.below = s.below || below
		s.behind = s.behind || p.spread() != ""
		s.whole, s.decimals = max(s.whole, len(whole)), max(s.decimals, len(decimals))
	}
	return s
}

func (s shape) spec() string {
	switch {
	case s.prose:
		return `p{` + proseShare + `\linewidth}`
	case !s.number:
		return "l"
	}
	format := fmt.Sprintf("%d.%d", s.whole, s.decimals)
	if s.below {
		format = "<" + format
	}
	if s.behind {
		return "S[table-format=" + format + "]@{\\,}l"
	}
	return "S[table-format=" + format + "]"
}

// spans is how many columns of LaTeX some shapes take.
func spans(shapes []shape) int {
	n := len(shapes)
	for _, s := range shapes {
		if s.number && s.behind {
			n++
		}
	}
	return n
}

func (s shape) head(text string) string {
	switch {
	case s.number && s.behind:
		return `\multicolumn{2}{c}{` + text + "}"
	case s.number:
		return "{" + text + "}"
	}
	return text
}

func (s shape) entry(v Value) string {
	p := v.print()
	if !s.number {
		return latex(p.figure)
	}
	text := "{" + latex(p.figure) + "}"
	if p.numeric {
		text = strings.Replace(p.figure, "< ", "<", 1)
	}
	if s.behind {
		return text + " & " + latex(strings.TrimSpace(p.spread()))
	}
	return text
}

// latexOwn are characters that LaTeX reads as its own, or that a plain font setup does not have.
var latexOwn = map[rune]string{
	'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '$': `\$`, '&': `\&`, '%': `\%`, '#': `\#`, '_': `\_`,
	'^': `\textasciicircum{}`, '~': `\textasciitilde{}`, '<': `$<$`, '>': `$>$`, '|': `$|$`, '`': `{\textasciigrave}`,
	'[': `{[}`, ']': `{]}`, '*': `{*}`, '"': `{''}`, '-': `{-}`, '\'': `{'}`, ',': `{,}`,
	'—': `---`, '–': `--`, '±': `$\pm$`, '×': `$\times$`, 'Σ': `$\Sigma$`, '²': `$^2$`, '÷': `$\div$`, '≤': `$\leq$`, '≥': `$\geq$`, '→': `$\to$`,
	'−': `$-$`, '…': `\dots{}`, '·': `$\cdot$`, 'µ': `$\mu$`, 'μ': `$\mu$`, 'σ': `$\sigma$`, '°': `$^\circ$`, '†': `$^\dagger$`, '\u00a0': `~`,
	'“': "``", '”': "''", '‘': "`", '’': "'",
}

// latex escapes text for running text, captions and entries of tables. What no plain setup can print is named by its
// code point.
func latex(text string) string {
	var out strings.Builder
	for _, r := range text {
		own, known := latexOwn[r]
		switch {
		case r == '-' || r == ',' || r == '\'':
			// Braces only where two would become one sign.
			if strings.HasSuffix(out.String(), string(r)) || strings.HasSuffix(out.String(), own) {
				out.WriteString(own)
			} else {
				out.WriteRune(r)
			}
		case known:
			out.WriteString(own)
		case r == '\n':
			out.WriteString(`\newline `)
		case unicode.IsControl(r) || unicode.IsSpace(r):
			out.WriteByte(' ')
		case r < 0x80 || r <= 0xff && unicode.IsLetter(r):
			out.WriteRune(r)
		default:
			fmt.Fprintf(&out, "{[}U+%04X{]}", r)
		}
	}
	return out.String()
}
