package cue

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	// maxTraceBytes bounds a recording: it is kept whole in every plan.
	maxTraceBytes = 64 << 20
	// maxLineBytes bounds a line of it, which is a number or a remark.
	maxLineBytes = 4 << 10
	// maxArrivalS is far beyond any clock, and times below it can still be told apart.
	maxArrivalS = 1e12
)

// readTrace reads recorded numbers, one a line; blank lines and lines that begin with # are none. Lengths are whole
// and positive, arrivals are not negative and ascend. What is wrong comes with the trace's own position.
func readTrace(dir, name string, arrivals bool) ([]float64, error) {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, name)
	}
	file, err := openTrace(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var numbers []float64
	wrong := func(line int, what string) error {
		return Errors{{File: relative(path), Line: line, Col: 1, Message: what}}
	}
	rest := &io.LimitedReader{R: file, N: maxTraceBytes + 1}
	lines := bufio.NewScanner(rest)
	lines.Buffer(nil, maxLineBytes)
	n := 1
	for ; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		previous := math.Inf(-1)
		if len(numbers) > 0 {
			previous = numbers[len(numbers)-1]
		}
		x, what := traceNumber(text, previous, arrivals)
		if what != "" {
			return nil, wrong(n, what)
		}
		numbers = append(numbers, x)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, wrong(n, fmt.Sprintf("a line of more than %d bytes: each number has a line of its own", maxLineBytes))
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", relative(path), err)
	case rest.N <= 0:
		return nil, Errors{{File: relative(path), Message: fmt.Sprintf("more than %d MiB", maxTraceBytes>>20), Hint: "record fewer numbers: they are replayed over and over"}}
	case tooFew(numbers, arrivals):
		return nil, Errors{{File: relative(path), Message: "too few numbers in it", Hint: "one a line; arrivals need two different ones"}}
	}
	return numbers, nil
}

// openTrace opens what can be read to its end: opening a pipe would wait for whoever writes to it.
func openTrace(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is a folder, a pipe or a device: a trace is a file of numbers, one a line", relative(path))
	}
	return os.Open(path)
}

func tooFew(numbers []float64, arrivals bool) bool {
	if !arrivals {
		return len(numbers) == 0
	}
	return len(numbers) < 2 || numbers[len(numbers)-1] == numbers[0]
}

// traceNumber reads one line, and says what is wrong with it.
func traceNumber(text string, previous float64, arrivals bool) (x float64, wrong string) {
	x, err := strconv.ParseFloat(text, 64)
	if len(text) > 40 {
		text = text[:40] + "…"
	}
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(x):
		return 0, fmt.Sprintf("%q is no number", text)
	case arrivals && x < 0:
		return 0, "an arrival before the start: " + text
	case arrivals && x > maxArrivalS:
		return 0, fmt.Sprintf("an arrival later than %.0e s: %s", float64(maxArrivalS), text)
	case arrivals && x < previous:
		return 0, "arrivals go back in time: " + text
	case !arrivals && (x < 1 || x != math.Trunc(x)):
		return 0, "a length is a whole number of tokens, 1 or more: " + text
	case !arrivals && x > maxTokens:
		return 0, fmt.Sprintf("%s tokens: no model takes more than %d", text, maxTokens)
	}
	return x, ""
}
