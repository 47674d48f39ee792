package analysis

import (
	"math"
	"slices"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/stats"
)

// A Sample is the values of one metric in one phase, in nanoseconds: each of them, or a histogram of very many gaps.
type Sample struct {
	valuesNS []float64
	sorted   bool
	gaps     *stats.Gaps
	// requests is how many requests the gaps came from.
	requests int64
}

// N is the number of values.
func (s *Sample) N() int64 {
	if s.gaps != nil {
		return s.gaps.N()
	}
	return int64(len(s.valuesNS))
}

// Requests is the number of requests that the values came from.
func (s *Sample) Requests() int64 {
	if s.gaps != nil {
		return s.requests
	}
	return int64(len(s.valuesNS))
}

func (s *Sample) record(ns float64) {
	s.valuesNS, s.sorted = append(s.valuesNS, ns), false
}

func (s *Sample) recordGap(ns, times int64) error {
	if s.gaps == nil {
		s.gaps = &stats.Gaps{}
	}
	return s.gaps.RecordN(ns, times)
}

// add appends another sample's values.
func (s *Sample) add(other *Sample) error {
	if other.gaps != nil {
		if s.gaps == nil {
			s.gaps = &stats.Gaps{}
		}
		s.requests += other.requests
		return s.gaps.Merge(other.gaps)
	}
	s.valuesNS, s.sorted = append(s.valuesNS, other.valuesNS...), false
	return nil
}

// PercentileNS is the value at the nearest rank, whether or not the sample bears it; NaN where there is no value.
func (s *Sample) PercentileNS(perMille int) float64 {
	if s.gaps != nil {
		return s.gaps.PercentileNS(perMille)
	}
	return stats.Percentile(s.sortedNS(), perMille)
}

func (s *Sample) sortedNS() []float64 {
	if !s.sorted {
		slices.Sort(s.valuesNS)
		s.sorted = true
	}
	return s.valuesNS
}

// percentileMS is the percentile in milliseconds, or nil under its floor.
func (s *Sample) percentileMS(perMille int) *float64 {
	if s.N() < int64(stats.Floor(perMille)) {
		return nil
	}
	return milliseconds(s.PercentileNS(perMille))
}

// momentsNS are the mean and the standard deviation, summed in the order of size: the same for any order of the rows.
func (s *Sample) momentsNS() (mean, sd float64) {
	if s.gaps != nil {
		return s.gaps.MomentsNS()
	}
	return stats.Moments(s.sortedNS())
}

func (s *Sample) extremesNS() (least, greatest float64) {
	if s.gaps != nil {
		return s.gaps.ExtremesNS()
	}
	values := s.sortedNS()
	if len(values) == 0 {
		return math.NaN(), math.NaN()
	}
	return values[0], values[len(values)-1]
}

// row fills in the figures of a latency row.
func (s *Sample) row(row sweep.LatencyRow) sweep.LatencyRow {
	mean, sd := s.momentsNS()
	least, greatest := s.extremesNS()
	row.N = s.N()
	row.Mean, row.SD = milliseconds(mean), milliseconds(sd)
	row.Min, row.Max = milliseconds(least), milliseconds(greatest)
	row.P50, row.P90 = s.percentileMS(500), s.percentileMS(900)
	row.P95, row.P99 = s.percentileMS(950), s.percentileMS(990)
	return row
}

const nsPerMS = 1e6

// milliseconds is nil for a NaN.
func milliseconds(ns float64) *float64 { return number(ns / nsPerMS) }

// number is a figure, or nil where there is none.
func number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
