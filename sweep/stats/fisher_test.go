package stats_test

import (
	"testing"
	"testing/quick"

	"github.com/inference-sweep/sweep/sweep/stats"
)

func TestFisherExact(t *testing.T) {
	for _, c := range []struct {
		a, b, c, d int
		want       float64
	}{
		{3, 1, 1, 3, .4857142857}, // the lady tasting tea
		{1, 9, 11, 3, .0027594562},
		{10, 10, 10, 10, 1},
		{0, 0, 0, 0, 1}, {0, 5, 0, 7, 1},
		{0, 1000, 30, 970, 1.4e-9},
	} {
		near(t, "p", stats.FisherExact(c.a, c.b, c.c, c.d), c.want, 1e-9)
	}
	isNaN(t, "negative", stats.FisherExact(-1, 2, 3, 4))
}

func TestFisherExactIsSymmetric(t *testing.T) {
	property := func(a, b, c, d uint8) bool {
		w, x, y, z := int(a%40), int(b%40), int(c%40), int(d%40)
		p := stats.FisherExact(w, x, y, z)
		return p > 0 && p <= 1 && alike(p, stats.FisherExact(y, z, w, x)) && alike(p, stats.FisherExact(x, w, z, y)) &&
			alike(p, stats.FisherExact(w, y, x, z))
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}
