package stats

import "math"

// MSER finds where a series has settled: the number of leading values to cut so that the marginal standard error of the
// rest, Σ(x − mean)² ÷ count², is least, with that least value. The cut is sought in the first half only, since a rest
// of a few values is always calm; a cut at that limit means that no steady state was found. Of equal minima the
// earliest counts. Fewer than two values have no answer and are at the limit.
func MSER(xs []float64) (cut int, value float64, atLimit bool) {
	if len(xs) < 2 || anyNaN(xs) {
		return 0, math.NaN(), true
	}
	limit := len(xs) / 2
	value = math.Inf(1)
	var mean, squares float64 // of xs[d:]
	for d := len(xs) - 1; d >= 0; d-- {
		count := float64(len(xs) - d)
		delta := xs[d] - mean
		mean += delta / count
		squares += delta * (xs[d] - mean)
		if score := squares / (count * count); d <= limit && score <= value {
			cut, value = d, score
		}
	}
	return cut, value, cut == limit
}

// MSER5 is MSER on the means of five consecutive values, which smooths out the noise of single ones. An incomplete last
// five is left out; the cut is in values of the series.
func MSER5(xs []float64) (cut int, value float64, atLimit bool) {
	const batch = 5
	means := make([]float64, len(xs)/batch)
	for i := range means {
		means[i], _ = Moments(xs[i*batch : (i+1)*batch])
	}
	cut, value, atLimit = MSER(means)
	return cut * batch, value, atLimit
}

// KPSS is the level-stationarity statistic: the scaled squares of the partial sums over a long-run variance with
// Bartlett weights up to the given lag. Critical values at 10, 5, 2.5 and 1 %: 0.347, 0.463, 0.574, 0.739. A constant
// series has none.
func KPSS(xs []float64, lags int) float64 {
	n := float64(len(xs))
	mean, _ := Moments(xs)
	residuals := make([]float64, len(xs))
	var partial, squares float64
	for i, x := range xs {
		residuals[i] = x - mean
		partial += residuals[i]
		squares += partial * partial
	}
	longRun := autocovariance(residuals, 0)
	for j := 1; j <= min(lags, len(xs)-1); j++ {
		longRun += 2 * (1 - float64(j)/float64(lags+1)) * autocovariance(residuals, j)
	}
	if !(longRun > 0) {
		return math.NaN()
	}
	return squares / (n * n * longRun)
}

func autocovariance(residuals []float64, lag int) float64 {
	var sum float64
	for i := lag; i < len(residuals); i++ {
		sum += residuals[i] * residuals[i-lag]
	}
	return sum / float64(len(residuals))
}

// DickeyFuller regresses each change on a constant and the value before it: the slope and its t, without lags. The 5 %
// critical value is −2.86 for long series. On latencies it says "stationary" of overloaded servers too: it informs, it
// must not decide.
func DickeyFuller(xs []float64) (gamma, t float64) {
	n := len(xs) - 1
	if n < 3 {
		return math.NaN(), math.NaN()
	}
	changes := make([]float64, n)
	for i := range changes {
		changes[i] = xs[i+1] - xs[i]
	}
	meanX, _ := Moments(xs[:n])
	meanY, _ := Moments(changes)
	var sxx, sxy, syy float64
	for i, y := range changes {
		dx, dy := xs[i]-meanX, y-meanY
		sxx, sxy, syy = sxx+dx*dx, sxy+dx*dy, syy+dy*dy
	}
	if !(sxx > 0) {
		return math.NaN(), math.NaN()
	}
	gamma = sxy / sxx
	variance := math.Max(0, syy-gamma*sxy) / float64(n-2)
	return gamma, gamma / math.Sqrt(variance/sxx)
}

// Geweke compares the mean of the first tenth of a series with that of its last half, as a normal deviate for
// independent values; correlated ones make it too large. It needs twenty values.
func Geweke(xs []float64) float64 {
	if len(xs) < 20 {
		return math.NaN()
	}
	first, last := xs[:len(xs)/10], xs[len(xs)-len(xs)/2:]
	meanA, sdA := Moments(first)
	meanB, sdB := Moments(last)
	if meanA == meanB {
		return 0
	}
	return (meanA - meanB) / math.Sqrt(sdA*sdA/float64(len(first))+sdB*sdB/float64(len(last)))
}
