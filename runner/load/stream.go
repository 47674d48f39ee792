package load

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/sweep"
)

// The streams of draws of one trial. Each has its own seeds, so that the length of the warm-up moves nothing in the
// window.
const (
	streamWarmup  = "warmup"
	streamMeasure = "measure"
)

// stream draws gaps and lengths. Gaps, prompt lengths and output lengths are three independent sequences, so that a
// factor that moves one of them leaves the others alone.
type stream struct {
	gap           func() float64 // mean 1
	input, output func() int64
}

func newStream(cell *sweep.Cell, seed int64, block int, name string, traces map[string][]float64) (*stream, error) {
	s := &stream{gap: func() float64 { return 0 }}
	var err error
	if open := cell.Contract.Load.Open; open != nil {
		if s.gap, err = gaps(open, generator(seed, block, name, "gaps"), traces); err != nil {
			return nil, err
		}
	}
	if s.input, err = lengths(cell.Contract.Prompt.Length, generator(seed, block, name, "input"), traces); err != nil {
		return nil, err
	}
	s.output, err = lengths(cell.Contract.Output.Length, generator(seed, block, name, "output"), traces)
	return s, err
}

func (s *stream) lengths() (input, output int64) { return s.input(), s.output() }

// generator is the random source of one sequence of one block.
func generator(seed int64, block int, stream, sequence string) *rand.Rand {
	sum := sha256.Sum256(fmt.Appendf(nil, "sweep draw %d %d %s %s", seed, block, stream, sequence))
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])))
}

// gaps draws unit gaps, of mean 1, of an arrival process.
func gaps(open *schema.Open, r *rand.Rand, traces map[string][]float64) (func() float64, error) {
	switch open.Arrival {
	case "poisson":
		return r.ExpFloat64, nil
	case "constant":
		return func() float64 { return 1 }, nil
	case "gamma":
		shape := *open.Shape
		return func() float64 { return gamma(r, shape) / shape }, nil
	case "trace":
		return recordedGaps(traces[open.Trace], open.Trace)
	}
	return nil, fmt.Errorf("arrival %q is not known", open.Arrival)
}

// gamma draws from the gamma distribution of a shape and scale 1, by Marsaglia and Tsang, "A simple method for
// generating gamma variables", ACM TOMS 26(3), 2000; a shape under 1 by their boost with a uniform power.
func gamma(r *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return gamma(r, shape+1) * math.Pow(1-r.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if u := 1 - r.Float64(); math.Log(u) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// recordedGaps replays recorded arrival times, over and over, scaled to a mean gap of 1.
func recordedGaps(times []float64, name string) (func() float64, error) {
	if len(times) < 2 || times[len(times)-1] <= times[0] {
		return nil, fmt.Errorf("recorded arrivals %s: at least two different times are needed", name)
	}
	mean := (times[len(times)-1] - times[0]) / float64(len(times)-1)
	i := 0
	return func() float64 {
		i = i%(len(times)-1) + 1
		return (times[i] - times[i-1]) / mean
	}, nil
}

// lengths draws token counts, at least 1.
func lengths(l schema.Lengths, r *rand.Rand, traces map[string][]float64) (func() int64, error) {
	switch {
	case l.Fixed > 0:
		return func() int64 { return int64(l.Fixed) }, nil
	case l.Uniform != nil:
		low, span := int64(l.Uniform.Min), int64(l.Uniform.Max-l.Uniform.Min)+1
		return func() int64 { return low + r.Int64N(span) }, nil
	case l.Lognormal != nil:
		mu, sigma, limit := math.Log(float64(l.Lognormal.Median)), l.Lognormal.Sigma, int64(l.Lognormal.Max)
		return func() int64 { return clampLength(math.Exp(mu+sigma*r.NormFloat64()), limit) }, nil
	case l.Trace != "":
		recorded := traces[l.Trace]
		if len(recorded) == 0 {
			return nil, fmt.Errorf("recorded lengths %s: there are none", l.Trace)
		}
		i := r.IntN(len(recorded))
		return func() int64 {
			i = (i + 1) % len(recorded)
			return clampLength(recorded[i], 0)
		}, nil
	}
	return nil, fmt.Errorf("a length distribution is needed")
}

// clampLength rounds a length and keeps it from 1 to limit, where there is one.
func clampLength(length float64, limit int64) int64 {
	n := max(int64(math.Round(math.Min(length, 1<<40))), 1)
	if limit > 0 {
		n = min(n, limit)
	}
	return n
}

// hashedDraws is how many draws stand for a whole sequence in a workload's hash.
const hashedDraws = 1024

// WorkloadHash identifies the lengths and unit gaps of a cell's window: it is equal for all cells of a block that share
// them, whatever their rates.
func WorkloadHash(cell *sweep.Cell, seed int64, block int, traces map[string][]float64) (string, error) {
	s, err := newStream(cell, seed, block, streamMeasure, traces)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for range hashedDraws {
		input, output := s.lengths()
		fmt.Fprintf(hash, "%x %d %d\n", s.gap(), input, output)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8]), nil
}

// Lengths draws the lengths of requests that have no schedule: a closed loop's or a burst's. They are those that an
// open loop of the same block would send, in the order of sending.
func Lengths(cell *sweep.Cell, seed int64, block int, phase sweep.Phase, traces map[string][]float64) (func() (input, output int64), error) {
	name := streamMeasure
	if phase == sweep.PhaseWarmup || phase == sweep.PhaseCold {
		name = streamWarmup
	}
	s, err := newStream(cell, seed, block, name, traces)
	if err != nil {
		return nil, err
	}
	return s.lengths, nil
}
