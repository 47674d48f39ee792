package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/inference-sweep/sweep/sweep/stats"
)

// near asserts a value to within tolerance, absolute. NaN equals NaN and infinities equal themselves.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if got == want || math.IsNaN(got) && math.IsNaN(want) {
		return
	}
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %.10g, want %.10g ± %g", what, got, want, tolerance)
	}
}

func nearInterval(t *testing.T, what string, got stats.Interval, low, high, tolerance float64) {
	t.Helper()
	near(t, what+" low", got.Low, low, tolerance)
	near(t, what+" high", got.High, high, tolerance)
}

func isNaN(t *testing.T, what string, values ...float64) {
	t.Helper()
	for i, v := range values {
		if !math.IsNaN(v) {
			t.Errorf("%s: value %d = %v, want NaN", what, i, v)
		}
	}
}

// series is from, from+step, … in n values.
func series(from, step float64, n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = from + step*float64(i)
	}
	return xs
}

func each(xs []float64, f func(float64) float64) []float64 {
	ys := make([]float64, len(xs))
	for i, x := range xs {
		ys[i] = f(x)
	}
	return ys
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x5eed)) }

func normals(r *rand.Rand, n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = r.NormFloat64()
	}
	return xs
}

func shuffled(r *rand.Rand, xs []float64) []float64 {
	ys := append([]float64(nil), xs...)
	r.Shuffle(len(ys), func(i, j int) { ys[i], ys[j] = ys[j], ys[i] })
	return ys
}

// The samples that several references share.
var (
	toyA = []float64{10.1, 10.4, 9.9, 10.2, 10.3}
	toyB = []float64{11.0, 10.9, 11.3, 10.8, 11.2}
	// Permeability of membranes at term and at 12 to 26 weeks, from Hollander and Wolfe.
	term  = []float64{.80, .83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, .73, 1.46}
	weeks = []float64{1.15, .88, .90, .74, 1.21}
)
