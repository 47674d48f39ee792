package stats_test

import (
	"math"
	"testing"

	"github.com/inference-sweep/sweep/sweep/stats"
)

func TestSpearman(t *testing.T) {
	iq := []float64{106, 86, 100, 101, 99, 103, 97, 113, 112, 110}
	tv := []float64{7, 0, 27, 50, 28, 29, 20, 12, 6, 17}
	for _, c := range []struct {
		what   string
		x, y   []float64
		rho, p float64
	}{
		{"ties", series(1, 1, 5), []float64{5, 6, 7, 8, 7}, .820783, .0885870},
		{"intelligence and television", iq, tv, -.175758, .627188},
		{"the same order", series(1, 1, 6), each(series(1, 1, 6), math.Exp), 1, 0},
		{"the opposite order", series(1, 1, 6), series(9, -1, 6), -1, 0},
		{"no spread", series(1, 1, 6), series(1, 0, 6), math.NaN(), math.NaN()},
		{"unequal", series(1, 1, 6), series(1, 1, 5), math.NaN(), math.NaN()},
	} {
		rho, p := stats.Spearman(c.x, c.y)
		near(t, c.what+": rho", rho, c.rho, 5e-7)
		near(t, c.what+": p", p, c.p, 5e-7)
	}
}

func TestLag1(t *testing.T) {
	rho, tt, p := stats.Lag1([]float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9})
	near(t, "rho", rho, .327741, 5e-7)
	near(t, "t", tt, 1.201702, 5e-7)
	near(t, "p", p, .252659, 5e-7)
	rho, tt, p = stats.Lag1([]float64{1, 2})
	isNaN(t, "too short", rho, tt, p)
}

func TestEffectiveN(t *testing.T) {
	near(t, "independent", stats.EffectiveN(100, 0), 100, 0)
	near(t, "a half", stats.EffectiveN(300, .5), 100, 1e-12)
}
