package sweep

import (
	"math"
	"slices"

	"github.com/inference-sweep/sweep/schema"
)

// The kinds of length distributions.
const (
	LengthFixed     = "fixed"
	LengthUniform   = "uniform"
	LengthLognormal = "lognormal"
	LengthTrace     = "trace"
)

// LengthRange sums up a distribution of lengths: its kind, its middle in tokens (the median), and how far it reaches to
// either side as a share of that, which is 0 but for a uniform one.
func LengthRange(l schema.Lengths, traces map[string][]float64) (kind string, middle int64, reach float64) {
	switch {
	case l.Fixed > 0:
		return LengthFixed, int64(l.Fixed), 0
	case l.Uniform != nil:
		low, high := float64(l.Uniform.Min), float64(l.Uniform.Max)
		return LengthUniform, int64(math.Round((low + high) / 2)), (high - low) / (high + low)
	case l.Lognormal != nil:
		return LengthLognormal, int64(l.Lognormal.Median), 0
	}
	recorded := slices.Sorted(slices.Values(traces[l.Trace]))
	if len(recorded) == 0 {
		return LengthTrace, 1, 0
	}
	return LengthTrace, int64(recorded[len(recorded)/2]), 0
}
