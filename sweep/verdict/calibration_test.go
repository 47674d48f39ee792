package verdict_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/inference-sweep/sweep/sweep/analysis"
	"github.com/inference-sweep/sweep/sweep/stats"
)

var calibrate = flag.Bool("calibrate", false, "write CALIBRATION.md again: some minutes")

const (
	calibrationFile   = "CALIBRATION.md"
	calibrationSweeps = 4000
	calibrationCells  = 6 // compared with the baseline
	calibrationMargin = .05
	// sharedNoise is what all cells of a block have in common.
	sharedNoise = .05
)

// judgedMetrics are those that comparisons are made of by default.
var judgedMetrics = []string{analysis.GoodputReqS, analysis.OutputRate, "ttft_p95", "tpot_p95"}

// setting is one row of the table: how much a cell's block value spreads by itself, how many blocks there are, and by
// which share one cell of six is worse than the baseline; the others are equal to it.
type setting struct {
	noise, change float64
	blocks        int
}

// tally counts what became of a setting: outcomes of the changed cell, and sweeps in which an unchanged one was called
// better or worse, by one metric and by any of them.
type tally struct {
	outcomes    map[string]int
	comparisons int
	families    int
	wrong       int
	sweeps      int
	wrongSweeps int
}

// simulate draws sweeps of a setting and decides them as Derive does.
func simulate(s setting, sweeps int) tally {
	random := rand.New(rand.NewPCG(uint64(s.blocks), math.Float64bits(s.noise)^math.Float64bits(s.change)))
	t := tally{outcomes: map[string]int{}, sweeps: sweeps}
	for range sweeps {
		any := false
		for _, metric := range judgedMetrics {
			family := s.family(random, metric)
			wrong := false
			for i, c := range family {
				claimed := c.Outcome == analysis.Better || c.Outcome == analysis.Worse
				if i == 0 {
					t.outcomes[c.Outcome]++
					t.comparisons++
				}
				wrong = wrong || claimed && (i > 0 || s.change == 0)
			}
			t.families++
			if wrong {
				t.wrong++
			}
			any = any || wrong
		}
		if any {
			t.wrongSweeps++
		}
	}
	return t
}

// family draws one metric of one sweep and compares every cell with the baseline. The first cell is the changed one.
func (s setting) family(random *rand.Rand, metric string) []*analysis.Comparison {
	values := make([][]float64, calibrationCells+1)
	for range s.blocks {
		block := sharedNoise * random.NormFloat64()
		for cell := range values {
			values[cell] = append(values[cell], 100*math.Exp(block+s.noise*random.NormFloat64()))
		}
	}
	factor := 1 + s.change
	if analysis.HigherIsBetter(metric) {
		factor = 1 - s.change
	}
	var family []*analysis.Comparison
	for cell := range calibrationCells {
		pairs := make([]analysis.Pair, s.blocks)
		for b := range pairs {
			x := values[cell+1][b]
			if cell == 0 {
				x *= factor
			}
			pairs[b] = analysis.Pair{Cell: analysis.Values{metric: x}, Reference: analysis.Values{metric: values[0][b]}}
		}
		c := analysis.Compare(metric, calibrationMargin, pairs)
		family = append(family, &c)
	}
	analysis.Decide(family)
	return family
}

// row is a setting's line of the table.
func (s setting) row(t tally) string {
	of := func(outcome string) float64 { return 100 * float64(t.outcomes[outcome]) / float64(t.comparisons) }
	return fmt.Sprintf("| %.0f %% | %d | %.0f %% | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f |", 100*s.noise, s.blocks, 100*s.change,
		of(analysis.Better), of(analysis.Worse), of(analysis.NoDifference), of(analysis.Inconclusive),
		100*float64(t.wrong)/float64(t.families), 100*float64(t.wrongSweeps)/float64(t.sweeps))
}

// settings are all rows of the table.
func settings() []setting {
	var all []setting
	for _, noise := range []float64{.02, .04} {
		for _, blocks := range []int{3, 6, 10} {
			for _, change := range []float64{0, .02, .05, .10, .15, .20} {
				all = append(all, setting{noise, change, blocks})
			}
		}
	}
	return all
}

// gate is how an unpaired gate of the kind that continuous integration uses would decide, and how a comparison of ours
// does on as many runs: each run a value of its own, 4 % of spread between runs.
func gate(drop float64, gates int) string {
	const runs, noise, threshold = 5, .04, .10
	random := rand.New(rand.NewPCG(uint64(1000*drop), 5))
	var pass, fail, worse, same int
	for range gates {
		before, after := make([]float64, runs), make([]float64, runs)
		pairs := make([]analysis.Pair, runs)
		for i := range runs {
			before[i] = noise * random.NormFloat64()
			after[i] = math.Log1p(-drop) + noise*random.NormFloat64()
			pairs[i].Cell = analysis.Values{analysis.OutputRate: math.Exp(after[i])}
			pairs[i].Reference = analysis.Values{analysis.OutputRate: math.Exp(before[i])}
		}
		switch low, high := welchInterval(after, before, .90); {
		case low > math.Log(1-threshold):
			pass++
		case high < math.Log(1-threshold):
			fail++
		}
		c := analysis.Compare(analysis.OutputRate, threshold, pairs)
		analysis.Decide([]*analysis.Comparison{&c})
		switch c.Outcome {
		case analysis.Worse:
			worse++
		case analysis.NoDifference:
			same++
		}
	}
	share := func(n int) float64 { return 100 * float64(n) / float64(gates) }
	return fmt.Sprintf("| %.0f %% | %.1f | %.1f | %.1f | %.1f | %.1f |", 100*drop, share(pass), share(fail), share(gates-pass-fail), share(worse), share(same))
}

// welchInterval is the interval of the difference of two means of logs.
func welchInterval(a, b []float64, confidence float64) (low, high float64) {
	meanA, sdA := stats.Moments(a)
	meanB, sdB := stats.Moments(b)
	_, df, _ := stats.WelchT(a, b)
	half := stats.TQuantile((1+confidence)/2, df) * math.Sqrt(sdA*sdA/float64(len(a))+sdB*sdB/float64(len(b)))
	return meanA - meanB - half, meanA - meanB + half
}

var gateDrops = []float64{0, .05, .10, .15, .20}

// TestCalibration holds a part of the table; with -calibrate it makes all of it and writes it down.
func TestCalibration(t *testing.T) {
	if *calibrate {
		writeCalibration(t)
	}
	const sweeps = 100
	for _, s := range settings() {
		got := simulate(s, sweeps)
		families, comparisons := float64(got.families), float64(got.comparisons)
		if wrong := float64(got.wrong); wrong > families*.05+4*math.Sqrt(families*.05*.95) {
			t.Errorf("%+v: a wrong claim in %v of %v families", s, wrong, families)
		}
		if same := float64(got.outcomes[analysis.NoDifference]); s.change >= calibrationMargin && same > comparisons*.05+4*math.Sqrt(comparisons*.05*.95) {
			t.Errorf("%+v: called no difference in %v of %v", s, same, comparisons)
		}
		if s.noise == .02 && s.blocks >= 6 && s.change >= .10 && float64(got.outcomes[analysis.Worse]) < .95*comparisons {
			t.Errorf("%+v: found in %v of %v", s, got.outcomes[analysis.Worse], comparisons)
		}
		if s.noise == .02 && s.blocks == 10 && s.change == 0 && float64(got.outcomes[analysis.NoDifference]) < .9*comparisons {
			t.Errorf("%+v: no difference in %v of %v", s, got.outcomes[analysis.NoDifference], comparisons)
		}
	}
}

// The table in the repository is what this code makes, one row and the gate's taken for all.
func TestCalibrationIsCurrent(t *testing.T) {
	text, err := os.ReadFile(calibrationFile)
	if err != nil {
		t.Fatal(err)
	}
	s := setting{noise: .04, blocks: 3, change: 0}
	if row := s.row(simulate(s, calibrationSweeps)); !strings.Contains(string(text), row) {
		t.Errorf("%s has no row\n%s\ngo test ./sweep/verdict -run TestCalibration -calibrate writes it again", calibrationFile, row)
	}
	for _, drop := range gateDrops {
		if row := gate(drop, calibrationSweeps); !strings.Contains(string(text), row) {
			t.Errorf("%s has no row\n%s", calibrationFile, row)
		}
	}
}

func writeCalibration(t *testing.T) {
	t.Helper()
	all := settings()
	rows := make([]string, len(all))
	var wait sync.WaitGroup
	for i, s := range all {
		wait.Go(func() { rows[i] = s.row(simulate(s, calibrationSweeps)) })
	}
	wait.Wait()
	gates := make([]string, len(gateDrops))
	for i, drop := range gateDrops {
		gates[i] = gate(drop, calibrationSweeps)
	}
	text := fmt.Sprintf(calibrationText, calibrationSweeps, calibrationCells+1, calibrationCells, 100*sharedNoise, 100*calibrationMargin,
		strings.Join(rows, "\n"), calibrationSweeps, strings.Join(gates, "\n"))
	if err := os.WriteFile(calibrationFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const calibrationText = `# How often a comparison is right

Made by ` + "`go test ./sweep/verdict -run TestCalibration -calibrate`" + `: the same draws, and so the same table, on every machine.

Each row is %d simulated sweeps of %d cells: a baseline and %d cells that are compared with it, by the four metrics that are judged by
default. A cell has one value a block. Its logarithm is drawn from a normal distribution: the first column is the spread of each cell by itself;
another %.0f %% are common to all cells of a block, and cancel in the pairs. One cell is worse than the baseline by the third column (rates
lower by that share, times higher by it); the other cells are equal to it. Everything is decided as in a real sweep: a paired t on log
ratios, p adjusted after Holm over all cells of a metric, a margin of %.0f %%.

The four middle columns say in how many percent of the comparisons of the changed cell each outcome came (at 0 %% it is not changed). The
last two say in how many percent a cell that is equal to the baseline was called better or worse: anywhere in the comparisons of one metric,
which is what Holm's adjustment bounds at 5 %%; and anywhere in a sweep, over all four metrics, which were drawn independently here. Between
metrics nothing is adjusted: whoever looks for any difference by any metric has to reckon with the last column.

| spread | blocks | true change | better | worse | no difference | inconclusive | wrong claim, one metric | wrong claim, any metric |
|---|---|---|---|---|---|---|---|---|
%s

What to read there: a wrong claim of a difference comes in about 5 %% of the families whatever the spread; a change of the margin or more is called
no difference in at most 5 %% of the comparisons; and what too few blocks cannot show is inconclusive, not no difference.

## Beside it: an unpaired gate

A gate as continuous integration uses it: 5 runs before and 5 after, Welch's 90 %% interval of the difference of mean logs, held against a threshold
of 10 %%. It passes where the interval is above the threshold, fails where it is below, else it does not decide. Runs spread by 4 %%. %d gates a row;
beside them what a comparison of ours says of the same runs, taken as 5 blocks with nothing in common, of one cell, with a margin of 10 %%.
The two ask different things: the gate whether more than 10 %% were lost, the comparison whether anything was.

| true drop | gate passes | gate fails | gate undecided | ours: worse | ours: no difference |
|---|---|---|---|---|---|
%s
`
