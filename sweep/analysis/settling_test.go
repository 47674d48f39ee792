package analysis_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/analysis"
)

// settlingSeries is one whose batch means of five settle after the third.
var settlingSeries = []int64{
	52, 44, 37, 31, 27, 22, 19, 17, 15, 14, 12, 12, 11, 11, 12, 10, 11, 10, 9, 11, 10, 9, 10, 11, 9,
	11, 10, 10, 12, 9, 9, 10, 11, 10, 11, 10, 9, 10, 9, 10, 11, 10, 11, 10, 10, 9, 11, 10, 10, 9,
}

// series is a trial whose requests, one every 100 ms, take so many milliseconds to their first token: the first few warm
// up, the others are measured.
func series(warmup int, ttftsMS ...int64) sweep.TrialFacts {
	var rs []*sweep.Request
	for i, ttft := range ttftsMS {
		phase := sweep.PhaseWarmup
		if i >= warmup {
			phase = sweep.PhaseMeasure
		}
		rs = append(rs, answered(1000+100*int64(i), inPhase(phase), tokens(ttft, 10, 4)))
	}
	return window(1000+100*int64(warmup), 1000+100*int64(len(ttftsMS)), rs...)
}

func settling(t *testing.T, cell *sweep.PlanCell, f sweep.TrialFacts) sweep.SettlingRow {
	t.Helper()
	row, ok := summarise(t, cell, f).SettlingRow("name")
	if !ok {
		t.Fatal("there is no row")
	}
	return row
}

func average(values []int64) float64 {
	var sum float64
	for _, v := range values {
		sum += float64(v)
	}
	return sum / float64(len(values))
}

func TestWhereTTFTSettles(t *testing.T) {
	ramp := make([]int64, 100)
	for i := range ramp {
		ramp[i] = int64(i) + 10
	}
	for _, c := range []struct {
		name    string
		warmup  int
		ttfts   []int64
		cut     int64
		foundMS float64
		settled bool
	}{
		{"within the warm-up", 20, settlingSeries, 15, 1500, true},
		{"just as the window begins", 15, settlingSeries, 15, 1500, true},
		{"in the window", 5, settlingSeries, 15, 1500, true},
		{"without a warm-up", 0, settlingSeries, 15, 1500, true},
		{"at once", 20, slices.Repeat([]int64{10}, 60), 0, 0, true},
		{"never", 20, ramp, 50, 5000, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			row := settling(t, openCell(), series(c.warmup, c.ttfts...))
			if row.Cell != "name" || row.Block != 1 || row.Trial != 1 || row.N != int64(len(c.ttfts)) || row.WarmupN != int64(c.warmup) {
				t.Errorf("the row is %+v", row)
			}
			if row.CutN != c.cut || row.Settled == nil || *row.Settled != c.settled {
				t.Errorf("cut %d, settled %v; want %d, %v", row.CutN, row.Settled, c.cut, c.settled)
			}
			same(t, "found", row.FoundMS, c.foundMS)
			same(t, "the warm-up", row.WarmupMS, 100*float64(c.warmup))
			same(t, "mean TTFT of the window", row.TTFTMS, average(c.ttfts[c.warmup:]))
			same(t, "mean TTFT with the cut", row.TTFTCutMS, average(c.ttfts[c.cut:]))
		})
	}
}

// Rows come in the order in which requests end, and failed ones have no TTFT, but the load began with them.
func TestSettlingIsOfAnswersInDueOrder(t *testing.T) {
	f := series(20, settlingSeries...)
	want := settling(t, openCell(), f)
	var all []*sweep.Request
	for r := range f.Rows {
		all = append(all, r)
	}
	early := answered(900, inPhase(sweep.PhaseWarmup), failed(sweep.ErrHTTP, 3))
	late := answered(4950, failed(sweep.ErrReset, 3))
	cold := answered(100, inPhase(sweep.PhaseCold), tokens(900, 10, 4))
	tail := answered(7000, inPhase(sweep.PhaseTail), tokens(900, 10, 4))
	all = append(all, early, late, cold, tail)
	slices.Reverse(all)
	f.Rows = func(yield func(*sweep.Request, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	}
	begun := 100.
	*want.FoundMS, *want.WarmupMS = *want.FoundMS+begun, *want.WarmupMS+begun
	if diff := cmp.Diff(want, settling(t, openCell(), f)); diff != "" {
		t.Errorf("in another order, with failures between (-want +got):\n%s", diff)
	}
}

// An open loop settles by the time from due, a closed one by that from sent.
func TestSettlingCountsFromDueWhereTheLoadDoes(t *testing.T) {
	f := series(20, slices.Repeat([]int64{10}, 60)...)
	var all []*sweep.Request
	for r := range f.Rows {
		sentLate(7)(r)
		all = append(all, r)
	}
	f.Rows = rows(all...)
	same(t, "open", settling(t, openCell(), f).TTFTMS, 17)
	same(t, "closed", settling(t, openCell(closed), f).TTFTMS, 10)
}

func TestTooFewToSayWhereTheySettle(t *testing.T) {
	few := settling(t, openCell(), series(20, settlingSeries[:49]...))
	if few.N != 49 || few.CutN != sweep.None || few.Settled != nil || few.FoundMS != nil || few.TTFTCutMS != nil {
		t.Errorf("of 49 requests it is said that %+v", few)
	}
	same(t, "mean TTFT of the window", few.TTFTMS, average(settlingSeries[20:49]))
	none := settling(t, openCell(), window(0, 1000, answered(0, inPhase(sweep.PhaseWarmup)), answered(10, failed(sweep.ErrHTTP, 3))))
	same(t, "mean TTFT of no request", none.TTFTMS, null)
}

func TestWhatHasNoPlaceToSettle(t *testing.T) {
	whole := func(c *sweep.PlanCell) { c.Cell.Contract.Streaming = false }
	f := series(20, settlingSeries...)
	for name, trial := range map[string]*analysis.Trial{
		"a burst":                    summarise(t, openCell(burst), f),
		"answers that do not stream": summarise(t, openCell(whole), f),
		"a trial that has no window": summarise(t, openCell(), window(0, 0, answered(0))),
	} {
		if row, ok := trial.SettlingRow("name"); ok {
			t.Errorf("%s has %+v", name, row)
		}
	}
}
