package stats

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Gaps holds very many durations in nanoseconds, such as the times between tokens, in little memory, and answers with
// percentiles by nearest rank whose value is off by less than 0.05 %; extremes, mean and deviation are exact. It takes
// every duration from 0 up: nothing is too long to be counted. The zero value is ready for use; it is not to be copied
// after that, and not safe for concurrent use.
type Gaps struct {
	hist          *hdrhistogram.PackedHistogram
	n             int64
	minNS, maxNS  int64
	mean, squares float64 // squares is the sum of squared deviations from the mean, in ns²
}

// The histogram is sparse, so a range far beyond any duration costs nothing. Three significant digits keep 2^10 buckets
// or more for each doubling, and every value below 2^11 ns exact.
const (
	gapLimitNS        = math.MaxInt64
	significantDigits = 3
	exactBits         = 11
)

// Record counts one duration of at least 0.
func (g *Gaps) Record(gapNS int64) error { return g.RecordN(gapNS, 1) }

// RecordN counts a duration of at least 0 as often as n says.
func (g *Gaps) RecordN(gapNS, n int64) error {
	if n < 0 || gapNS < 0 {
		return fmt.Errorf("record gap of %d ns %d times: negative", gapNS, n)
	}
	if n == 0 {
		return nil
	}
	if g.hist == nil {
		g.hist = hdrhistogram.NewPacked(1, gapLimitNS, significantDigits)
	}
	if err := g.hist.RecordValues(gapNS, n); err != nil {
		return fmt.Errorf("record gap of %d ns: %w", gapNS, err)
	}
	g.join(n, gapNS, gapNS, float64(gapNS), 0)
	return nil
}

// Merge adds all durations of other, which stays as it is. On an error nothing was added.
func (g *Gaps) Merge(other *Gaps) error {
	if other.n == 0 {
		return nil
	}
	if other.n > math.MaxInt64-g.n {
		return fmt.Errorf("merge gaps: %d and %d are more than can be counted", g.n, other.n)
	}
	if g.hist == nil {
		g.hist = other.hist.Clone()
	} else if lost := g.hist.Merge(other.hist); lost != 0 {
		return fmt.Errorf("merge gaps: %d of %d do not fit", lost, other.n)
	}
	g.join(other.n, other.minNS, other.maxNS, other.mean, other.squares)
	return nil
}

// join brings the exact figures up to date with n more durations of the given figures.
func (g *Gaps) join(n, minNS, maxNS int64, mean, squares float64) {
	if g.n == 0 {
		g.n, g.minNS, g.maxNS, g.mean, g.squares = n, minNS, maxNS, mean, squares
		return
	}
	before, added := float64(g.n), float64(n)
	delta, all := mean-g.mean, before+added
	g.mean += delta * added / all
	g.squares += squares + delta*delta*before*added/all
	g.n += n
	g.minNS, g.maxNS = min(g.minNS, minNS), max(g.maxNS, maxNS)
}

// N is the number of durations counted.
func (g *Gaps) N() int64 { return g.n }

// ExtremesNS are the least and the greatest duration, exact; NaN where none was counted.
func (g *Gaps) ExtremesNS() (least, greatest float64) {
	if g.n == 0 {
		return math.NaN(), math.NaN()
	}
	return float64(g.minNS), float64(g.maxNS)
}

// MomentsNS are the mean and the standard deviation with n − 1, exact; NaN as for Moments.
func (g *Gaps) MomentsNS() (mean, sd float64) {
	switch g.n {
	case 0:
		return math.NaN(), math.NaN()
	case 1:
		return g.mean, math.NaN()
	}
	return g.mean, math.Sqrt(g.squares / float64(g.n-1))
}

// PercentileNS is the duration at the nearest rank of the quantile perMille/1000; NaN where none was counted. Like
// Percentile it does not ask for the floor.
func (g *Gaps) PercentileNS(perMille int) float64 {
	rank := int64(Rank(int(g.n), perMille))
	switch rank {
	case 0:
		return math.NaN()
	case 1:
		return float64(g.minNS)
	case g.n:
		return float64(g.maxNS)
	}
	var seen int64
	for lowNS, count := range g.hist.ForEachBucket {
		if seen += count; seen >= rank {
			return min(max(bucketMiddle(lowNS), float64(g.minNS)), float64(g.maxNS))
		}
	}
	return float64(g.maxNS)
}

// bucketMiddle is the middle of the bucket whose least value is lowNS. The library's own answer is the bucket's upper
// edge, which is off by up to 0.1 % and always to the same side.
func bucketMiddle(lowNS int64) float64 {
	width := int64(1) << max(0, bits.Len64(uint64(lowNS))-exactBits)
	return float64(lowNS) + float64(width-1)/2
}
