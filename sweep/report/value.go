package report

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/inference-sweep/sweep/sweep"
)

// dash stands for a figure that does not exist.
const dash = "—"

// alone stands behind a figure that rests on one block.
const alone = "†"

// Value is one entry of a table: words, or a figure with its uncertainty. The zero Value is an empty entry.
type Value struct {
	// Words stand for themselves.
	Words string
	// Figure says that the entry is a number: X, or a dash where X is nil.
	Figure bool
	X      *float64
	// Lo and Hi bound the 95 % interval of X; nil where it has none.
	Lo, Hi *float64
	// Ends asks for the interval's ends also where plus-minus would do.
	Ends bool
	// Places is the number of decimals where there is no interval to round by; below zero, of significant digits.
	Places int
	// Below says that the figure is less than X.
	Below bool
	// Alone says that X rests on one block: there is no spread to give.
	Alone bool
	// Suffix follows the figure: " of 6".
	Suffix string
}

// Figures without an interval keep so many significant digits, integers whole.
const (
	significant2 = -2
	significant3 = -3
)

func words(text string) Value { return Value{Words: text} }

func count[N int | int64](n N) Value {
	x := float64(n)
	return Value{Figure: true, X: &x}
}

func plain(x *float64, places int) Value { return Value{Figure: true, X: finite(x), Places: places} }

// estimated is an estimate over blocks with its interval.
func estimated(r *sweep.VarianceRow) Value {
	v := interval(r.Estimate, r.CILow, r.CIHigh)
	v.Alone = r.Blocks == 1
	if r.Metric == "attainment" {
		v.Places = 3
	}
	return v
}

func interval(x, lo, hi *float64) Value {
	return Value{Figure: true, X: finite(x), Lo: finite(lo), Hi: finite(hi), Places: significant3}
}

// Missing says that the entry is a figure that does not exist.
func (v Value) Missing() bool { return v.Figure && v.X == nil }

// finite keeps what is no number out of tables.
func finite(x *float64) *float64 {
	if x == nil || math.IsNaN(*x) || math.IsInf(*x, 0) {
		return nil
	}
	return x
}

// printed is a value set in digits: the figure alone, half of its interval, or the interval's ends. Formats put the
// parts together; the digits are the same in all.
type printed struct {
	figure  string
	half    string // of a symmetric interval
	lo, hi  string // of any other
	mark    string // behind a figure of one block
	suffix  string
	numeric bool
}

func (v Value) print() printed {
	switch {
	case !v.Figure:
		return printed{figure: printable(v.Words)}
	case v.X == nil:
		return printed{figure: dash}
	}
	p := printed{suffix: v.Suffix, numeric: true}
	if v.Alone {
		p.mark = alone
	}
	half, ok := v.half()
	if !ok || half == 0 {
		p.figure = fixed(*v.X, v.places(), 0)
		switch {
		case v.Below:
			p.figure = "< " + p.figure
		case ok && v.Ends:
			p.lo, p.hi = p.figure, p.figure
		case ok:
			p.half = "0"
		}
		return p
	}
	place := uncertainPlace(half)
	if narrow := min(*v.X-*v.Lo, *v.Hi-*v.X); v.vanishes(place) && narrow > 0 {
		place = uncertainPlace(narrow)
	}
	decimals := max(0, -place)
	p.figure = fixed(*v.X, decimals, place)
	if v.Ends || v.lopsided(half) {
		p.lo, p.hi = fixed(*v.Lo, decimals, place), fixed(*v.Hi, decimals, place)
	} else {
		p.half = fixed(half, decimals, place)
	}
	return p
}

// printable turns what would move a terminal's cursor, or worse, into spaces; words come from servers, too. Line ends stay.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && (unicode.IsControl(r) || r == '\u2028' || r == '\u2029') {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}

// half is half the width of the interval, 0 where that is the noise of floating point. No interval has no half, nor has
// one without an end.
func (v Value) half() (float64, bool) {
	if v.Lo == nil || v.Hi == nil {
		return 0, false
	}
	half := (*v.Hi - *v.Lo) / 2
	if half <= 1e-9*math.Abs(*v.X) {
		return 0, true
	}
	return half, !math.IsInf(half, 0)
}

// vanishes says that rounding to a place would turn the figure, or an end of its interval, into a zero that it is not.
func (v Value) vanishes(place int) bool {
	unit := math.Pow(10, float64(place)) / 2
	gone := func(x float64) bool { return x != 0 && math.Abs(x) < unit }
	half, _ := v.half()
	return v.lopsided(half) && (gone(*v.X) || gone(*v.Lo) || gone(*v.Hi))
}

// lopsided says that one half of the interval is more than a fifth wider than plus-minus would show.
func (v Value) lopsided(half float64) bool {
	return math.Abs((*v.Hi-*v.X)-half) > 0.2*half
}

func (v Value) places() int {
	if v.Places >= 0 {
		return v.Places
	}
	if *v.X == 0 {
		return 0
	}
	more := -v.Places - 1
	return min(9, max(0, more-exponent(*v.X, more)))
}

// uncertainPlace is the power of ten of the second significant digit of half, after rounding to two.
func uncertainPlace(half float64) int { return max(-9, exponent(half, 1)-1) }

// exponent is the power of ten of x's first digit after rounding to one digit and `digits` more.
func exponent(x float64, digits int) int {
	text := strconv.FormatFloat(math.Abs(x), 'e', digits, 64)
	e, _ := strconv.Atoi(text[strings.IndexByte(text, 'e')+1:])
	return e
}

// fixed writes x with so many decimals, or rounded to the power of ten `place` where that is above the point.
func fixed(x float64, decimals, place int) string {
	if place > 0 {
		unit := math.Pow(10, float64(place))
		x = math.Round(x/unit) * unit
	}
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-")
	}
	return text
}

// String is the value on one line.
func (v Value) String() string { return v.print().String() }

func (p printed) String() string { return p.figure + p.spread() }

// spread is what follows the figure.
func (p printed) spread() string {
	switch {
	case p.half != "":
		return " ± " + p.half + p.suffix
	case p.lo != "":
		return " [" + p.lo + ", " + p.hi + "]" + p.suffix
	case p.mark != "":
		return " " + p.mark + p.suffix
	}
	return p.suffix
}
