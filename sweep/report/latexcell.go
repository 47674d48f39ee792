package report

import (
	"fmt"
	"strings"
	"unicode"
)

// shape is how LaTeX sets one column: words, prose, or siunitx numbers, with a second column for intervals that have
// unequal halves.
type shape struct {
	number, prose, ends bool
	// Digits of the widest figure: before the point and behind it; of the uncertainty, those before the point.
	whole, decimals, uncertain int
	below                      bool
}

func shapeOf(c Column, rows []Row, j int) shape {
	s := shape{number: c.Number, prose: c.Wrap, whole: 1}
	for _, row := range rows {
		p := row.Values[j].print()
		if !p.numeric || p.suffix != "" {
			continue
		}
		figure, below := strings.CutPrefix(p.figure, "< ")
		whole, decimals, _ := strings.Cut(strings.TrimPrefix(figure, "-"), ".")
		s.below = s.below || below
		s.ends = s.ends || p.lo != ""
		s.whole, s.decimals = max(s.whole, len(whole)), max(s.decimals, len(decimals))
		half, _, _ := strings.Cut(p.half, ".")
		s.uncertain = max(s.uncertain, len(half))
	}
	return s
}

// digits is an uncertainty as siunitx takes it, in units of the figure's last place: "0.58" is 58.
func digits(half string) string {
	if half == "0" {
		return half
	}
	return strings.TrimLeft(strings.ReplaceAll(half, ".", ""), "0")
}

func (s shape) spec() string {
	switch {
	case s.prose:
		return `p{` + proseShare + `\linewidth}`
	case !s.number:
		return "l"
	}
	format := fmt.Sprintf("%d.%d", s.whole, s.decimals)
	if s.uncertain > 0 {
		format += fmt.Sprintf("(%d)", s.uncertain+s.decimals)
	}
	if s.below {
		format = "<" + format
	}
	if s.ends {
		return "S[table-format=" + format + "]@{\\,}l"
	}
	return "S[table-format=" + format + "]"
}

// spans is how many columns of LaTeX some shapes take.
func spans(shapes []shape) int {
	n := len(shapes)
	for _, s := range shapes {
		if s.number && s.ends {
			n++
		}
	}
	return n
}

func (s shape) head(text string) string {
	switch {
	case s.number && s.ends:
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
	text, behind := "{"+latex(p.String())+"}", ""
	switch {
	case p.figure == "":
		text = "{}"
	case p.numeric && p.suffix == "" && p.half != "":
		text = p.figure + "(" + digits(p.half) + ")"
	case p.numeric && p.suffix == "":
		text = strings.Replace(p.figure, "< ", "<", 1)
		if p.lo != "" {
			behind = latex("[" + p.lo + ", " + p.hi + "]")
		}
		if p.mark != "" {
			text += "{" + latexOwn['†'] + "}"
		}
	}
	if s.ends {
		return text + " & " + behind
	}
	return text
}

// latexOwn are characters that LaTeX reads as its own, or that a plain font setup does not have.
var latexOwn = map[rune]string{
	'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '$': `\$`, '&': `\&`, '%': `\%`, '#': `\#`, '_': `\_`,
	'^': `\textasciicircum{}`, '~': `\textasciitilde{}`, '<': `$<$`, '>': `$>$`, '|': `$|$`, '`': `{\textasciigrave}`,
	'[': `{[}`, ']': `{]}`, '*': `{*}`, '"': `{''}`, '-': `{-}`, '\'': `{'}`, ',': `{,}`,
	'—': `---`, '–': `--`, '±': `$\pm$`, '×': `$\times$`, '÷': `$\div$`, '≤': `$\leq$`, '≥': `$\geq$`, '→': `$\to$`,
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
