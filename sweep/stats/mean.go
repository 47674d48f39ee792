package stats

import (
	"math"
	"slices"
)

// Moments are the mean and the standard deviation with n − 1. The mean is NaN for an empty sample, the deviation for
// fewer than two values. Equal values give exactly that value and exactly 0.
func Moments(xs []float64) (mean, sd float64) {
	if len(xs) == 0 {
		return math.NaN(), math.NaN()
	}
	var squares float64
	for i, x := range xs {
		delta := x - mean
		mean += delta / float64(i+1)
		squares += delta * (x - mean)
	}
	if len(xs) < 2 {
		return mean, math.NaN()
	}
	return mean, math.Sqrt(squares / float64(len(xs)-1))
}

// TInterval is the mean with its t interval. Without any spread the interval is the value itself; for fewer than two
// values there is none.
func TInterval(xs []float64, conf float64) (mean float64, iv Interval) {
	mean, sd := Moments(xs)
	return mean, tAround(mean, sd, len(xs), conf)
}

// LogTInterval is the geometric mean with the t interval of the logarithms, back-transformed. All values must be
// greater than 0: with any other there is no estimate and no interval.
func LogTInterval(xs []float64, conf float64) (geomean float64, iv Interval) {
	if len(xs) == 0 || slices.Min(xs) <= 0 {
		return math.NaN(), noInterval()
	}
	if len(xs) > 1 && slices.Min(xs) == slices.Max(xs) {
		return xs[0], Interval{xs[0], xs[0]} // exp(log x) may differ from x in its last digit
	}
	logs := make([]float64, len(xs))
	for i, x := range xs {
		logs[i] = math.Log(x)
	}
	mean, iv := TInterval(logs, conf)
	return math.Exp(mean), Interval{math.Exp(iv.Low), math.Exp(iv.High)}
}

func tAround(mean, sd float64, n int, conf float64) Interval {
	if n < 2 || math.IsNaN(sd) {
		return noInterval()
	}
	if sd == 0 {
		return Interval{mean, mean}
	}
	half := TQuantile((1+conf)/2, float64(n-1)) * sd / math.Sqrt(float64(n))
	return Interval{mean - half, mean + half}
}

// RepeatsNeeded is the least number of repeats whose t interval of the mean is no wider than ± half of the mean, when
// one repeat varies by cv: both are shares of the mean. It is at least 2, and the largest int where none suffices.
func RepeatsNeeded(cv, half, conf float64) int {
	if cv == 0 && half >= 0 {
		return 2
	}
	z := normalQuantile((1+conf)/2) * cv / half
	if !(half > 0) || !(z*z < 1e9) {
		return math.MaxInt
	}
	// The normal figure is a lower bound, and t falls short of it by a few repeats at most.
	n := max(2, int(z*z))
	for TQuantile((1+conf)/2, float64(n-1))*cv > half*math.Sqrt(float64(n)) {
		n++
	}
	return n
}
