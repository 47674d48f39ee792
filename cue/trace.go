package cue

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// readTrace reads recorded numbers, one a line; blank lines and lines that begin with # are none. Lengths are whole
// and positive, arrivals are not negative and ascend. What is wrong comes with the trace's own position.
func readTrace(dir, name string, arrivals bool) ([]float64, error) {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, name)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var numbers []float64
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		wrong := func(what string) error {
			return Errors{{File: relative(path), Line: n, Col: 1, Message: what}}
		}
		x, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil || math.IsNaN(x) || math.IsInf(x, 0):
			return nil, wrong(fmt.Sprintf("%q is no number", text))
		case arrivals && x < 0:
			return nil, wrong("an arrival before the start: " + text)
		case arrivals && len(numbers) > 0 && x < numbers[len(numbers)-1]:
			return nil, wrong("arrivals go back in time: " + text)
		case !arrivals && (x < 1 || x != math.Trunc(x)):
			return nil, wrong("a length is a whole number of tokens, 1 or more: " + text)
		}
		numbers = append(numbers, x)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", relative(path), err)
	}
	least := 1
	if arrivals {
		least = 2
	}
	if len(numbers) < least || arrivals && numbers[len(numbers)-1] == numbers[0] {
		return nil, Errors{{File: relative(path), Message: "too few numbers in it", Hint: "one a line; arrivals need two different ones"}}
	}
	return numbers, nil
}
