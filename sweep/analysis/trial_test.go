package analysis_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/analysis"
)

// The lesson's goodput, requests meeting the SLO ÷ total requests × throughput, with every due request counted once.
func TestGoodputIsTheLessonsFormula(t *testing.T) {
	slow := tokens(200, 10, 16)
	trial := summarise(t, openCell(), window(0, 2000,
		answered(0), answered(100), answered(200, slow), answered(300, failed(sweep.ErrHTTP, 5)), answered(400, unsent)))
	row := trial.GoodputRow(sweep.Baseline, 1)
	if row.Due != 5 || row.OK != 3 || row.Failed != 2 || row.Met != 2 {
		t.Errorf("due %d ok %d failed %d met %d, want 5 3 2 2", row.Due, row.OK, row.Failed, row.Met)
	}
	same(t, "attainment, the failed and the unsent one included", row.Attainment, 2./5)
	same(t, "window", row.WindowS, 2)
	same(t, "goodput in requests", row.GoodputReqS, (2./5)*(5/2.))
	same(t, "goodput in tokens", row.GoodputTokS, 2*16/2.)
	same(t, "goodput in tokens a GPU", row.GoodputTokSGPU, 2*16/2./2)
	same(t, "request rate", row.RequestRate, 3/2.)
	same(t, "input rate", row.InputRate, 3*128/2.)
	same(t, "output rate", row.OutputRate, 3*16/2.)

	of := trial.Row()
	if of.Due != 5 || of.Sent != 4 || of.OK != 3 || of.Failed != 2 {
		t.Errorf("trial counts %d %d %d %d, want 5 4 3 2", of.Due, of.Sent, of.OK, of.Failed)
	}
	same(t, "offered rate", of.OfferedRate, 5/2.)
	same(t, "achieved rate", of.AchievedRate, 4/2.)
}

func TestWithoutSLONothingIsJudged(t *testing.T) {
	row := summarise(t, openCell(slo(nil)), window(0, 1000, answered(0))).GoodputRow(sweep.Baseline, 1)
	if row.Met != sweep.None {
		t.Errorf("met = %d, want None", row.Met)
	}
	for what, x := range map[string]*float64{"attainment": row.Attainment, "goodput_req_s": row.GoodputReqS, "goodput_tok_s": row.GoodputTokS} {
		same(t, what, x, null)
	}
	same(t, "output rate", row.OutputRate, 16)
}

func TestOfferedRateIsOnlyOfAnOpenLoop(t *testing.T) {
	for name, cell := range map[string]*sweep.PlanCell{"closed": openCell(closed), "burst": openCell(burst)} {
		row := summarise(t, cell, window(0, 1000, answered(0))).Row()
		same(t, name+": offered rate", row.OfferedRate, null)
		same(t, name+": achieved rate", row.AchievedRate, 1)
	}
}

// Rates see the window alone: requests of every phase count by what of them fell inside.
func TestRatesOverTheWindow(t *testing.T) {
	// Tokens at 100, 110, … 250 ms after sending; the end at 251.
	warmup := answered(900, inPhase(sweep.PhaseWarmup)) // first token at 1000, inside; all 16 tokens inside
	early := answered(800, inPhase(sweep.PhaseWarmup))  // first token at 900, outside; the last 6 inside
	before := answered(0, inPhase(sweep.PhaseWarmup))   // gone before
	inside := answered(1000)
	across := answered(1850)                           // tokens at 1950 … 1990 inside: 5
	tail := answered(1990, inPhase(sweep.PhaseTail))   // nothing inside
	cut := answered(1800, inPhase(sweep.PhaseMeasure)) // tokens at 1900 … 1990 inside: 10, then it breaks
	cut.Status, cut.Error, cut.OutputTokens = sweep.RequestFailed, sweep.ErrReset, sweep.None
	trial := summarise(t, openCell(), window(1000, 2000, before, early, warmup, inside, across, cut, tail))
	row := trial.GoodputRow(sweep.Baseline, 1)
	same(t, "output rate", row.OutputRate, 6+16+16+5+10)
	same(t, "input rate: first token inside", row.InputRate, 4*128)
	same(t, "request rate: ended ok inside", row.RequestRate, 3) // early, warmup, inside
	if row.Due != 3 {
		t.Errorf("due = %d, want the 3 measured", row.Due)
	}
}

func TestOutputTokensAreSpreadWhereEventsDoNotSay(t *testing.T) {
	spread := func(r *sweep.Request) { total := r.OutputTokens; uncounted(r); r.OutputTokens = 2 * total }
	whole := func(r *sweep.Request) { r.ChunkLog = nil }
	for _, c := range []struct {
		name string
		rs   []*sweep.Request
		want float64
	}{
		{"half of the events inside take half of the total", []*sweep.Request{answered(820, spread)}, 16},
		{"a total without a log comes with the last token", []*sweep.Request{answered(700, whole), answered(900, whole)}, 16},
		{"one without a total adds nothing", []*sweep.Request{answered(0), answered(100, uncounted)}, 16},
		{"nobody counted any", []*sweep.Request{answered(0, uncounted)}, null},
		{"none sent", []*sweep.Request{answered(0, unsent)}, null},
		{"none inside", []*sweep.Request{answered(950)}, 0},
	} {
		same(t, c.name, summarise(t, openCell(), window(0, 1000, c.rs...)).GoodputRow(sweep.Baseline, 1).OutputRate, c.want)
	}
}

func TestGoodputTokensOfUncountedAnswersDoNotExist(t *testing.T) {
	ttft := slo(&schema.SLO{Ttft: "150ms"})
	met := summarise(t, openCell(ttft), window(0, 1000, answered(0, uncounted))).GoodputRow(sweep.Baseline, 1)
	same(t, "met, nobody counted", met.GoodputTokS, null)
	none := summarise(t, openCell(ttft), window(0, 1000, answered(0, uncounted, sentLate(500)))).GoodputRow(sweep.Baseline, 1)
	same(t, "none met", none.GoodputTokS, 0)
}

// Latencies are of the requests that ended ok, the number of values and the share of failures beside them.
func TestFailuresStayOutOfLatencies(t *testing.T) {
	var rs []*sweep.Request
	for i := range int64(100) {
		r := answered(10 * i)
		if i%3 == 1 || i == 98 {
			failed(sweep.ErrHTTP, 1)(r)
		}
		rs = append(rs, r)
	}
	trial := summarise(t, openCell(), window(0, 1000, rs...))
	row := latency(t, trial, "ttft")
	if row.N != 66 {
		t.Errorf("n = %d, want 66", row.N)
	}
	same(t, "error share", row.ErrorShare, .34)
	same(t, "p50", row.P50, 100)
	same(t, "mean", row.Mean, 100)
	same(t, "request rate of successes", trial.GoodputRow(sweep.Baseline, 1).RequestRate, float64(countEnded(rs, 1000)))
}

func countEnded(rs []*sweep.Request, toMS int64) (n int) {
	for _, r := range rs {
		if r.Status == sweep.RequestOK && r.SentNS+r.EndNS < toMS*msNS {
			n++
		}
	}
	return n
}

// A percentile that the sample cannot bear is NULL: floors 5, 29, 59 and 299, ranks ⌈n·p⌉.
func TestPercentilesAndTheirFloors(t *testing.T) {
	for _, c := range []struct {
		n                  int64
		p50, p90, p95, p99 float64
	}{
		{4, null, null, null, null}, {5, 3, null, null, null}, {10, 5, null, null, null}, {28, 14, null, null, null},
		{29, 15, 27, null, null}, {58, 29, 53, null, null}, {59, 30, 54, 57, null}, {298, 149, 269, 284, null}, {299, 150, 270, 285, 297},
	} {
		var rs []*sweep.Request
		for i := range c.n {
			rs = append(rs, answered(0, tokens(c.n-i, 1, 2)))
		}
		row := latency(t, summarise(t, openCell(), window(0, 1000, rs...)), "ttft")
		if row.N != c.n {
			t.Errorf("n = %d, want %d", row.N, c.n)
		}
		same(t, "p50", row.P50, c.p50)
		same(t, "p90", row.P90, c.p90)
		same(t, "p95", row.P95, c.p95)
		same(t, "p99", row.P99, c.p99)
		same(t, "min", row.Min, 1)
		same(t, "max", row.Max, float64(c.n))
	}
}

func TestTimesOfOneRequest(t *testing.T) {
	r := answered(0, tokens(100, 20, 3), sentLate(7), func(r *sweep.Request) {
		r.AnswerNS, r.ServerQueueNS = 120*msNS, 30*msNS
	})
	trial := summarise(t, openCell(), window(0, 1000, r))
	for metric, want := range map[string]float64{
		"ttft": 100, "ttft_due": 107, "tpot": 20, "gap": 20, "itl": 20, "e2e": 140, "e2e_due": 147, "queue": 7, "server_queue": 30, "answer": 120,
	} {
		same(t, metric, latency(t, trial, metric).Mean, want)
	}
	one := summarise(t, openCell(), window(0, 1000, answered(0, tokens(100, 0, 1))))
	for _, metric := range []string{"tpot", "gap", "itl"} {
		if row := latency(t, one, metric); row.N != 0 || row.Mean != nil {
			t.Errorf("%s of one token: n = %d, mean = %v, want none", metric, row.N, row.Mean)
		}
	}
	whole := summarise(t, openCell(func(c *sweep.PlanCell) { c.Cell.Contract.Streaming = false }), window(0, 1000, answered(0)))
	for metric, n := range map[string]int64{"ttft": 0, "tpot": 0, "gap": 0, "e2e": 1, "queue": 1} {
		if row := latency(t, whole, metric); row.N != n {
			t.Errorf("%s of a whole answer: n = %d, want %d", metric, row.N, n)
		}
	}
}

// Several tokens an event: gaps are the events', token times are spread, and a count that only the total has gives none.
func TestGapsAndTokenTimes(t *testing.T) {
	four := func(r *sweep.Request) {
		r.ChunkLog = nil
		for i := range int64(3) {
			r.ChunkLog = sweep.AppendChunk(r.ChunkLog, 40*i*msNS, sweep.Chunk{AtNS: 40 * (i + 1) * msNS, Tokens: 4})
		}
		r.FirstTokenNS, r.LastTokenNS, r.OutputTokens = 40*msNS, 120*msNS, 12
	}
	trial := summarise(t, openCell(), window(0, 1000, answered(0, four)))
	same(t, "tpot", latency(t, trial, "tpot").Mean, 80./11)
	gaps, itl := latency(t, trial, "gap"), latency(t, trial, "itl")
	if gaps.N != 2 || itl.N != 8 {
		t.Errorf("%d gaps and %d token times, want 2 and 8", gaps.N, itl.N)
	}
	same(t, "gap", gaps.Mean, 40)
	same(t, "itl", itl.Mean, 10)

	late := func(r *sweep.Request) { // an event without tokens: its time belongs to the next token
		r.ChunkLog = sweep.AppendChunk(nil, 0, sweep.Chunk{AtNS: 10 * msNS, Tokens: 1})
		r.ChunkLog = sweep.AppendChunk(r.ChunkLog, 10*msNS, sweep.Chunk{AtNS: 20 * msNS, Tokens: 0})
		r.ChunkLog = sweep.AppendChunk(r.ChunkLog, 20*msNS, sweep.Chunk{AtNS: 40 * msNS, Tokens: 1})
	}
	same(t, "itl over an empty event", latency(t, summarise(t, openCell(), window(0, 1000, answered(0, late))), "itl").Mean, 30)

	unknown := summarise(t, openCell(), window(0, 1000, answered(0, uncounted)))
	if n := latency(t, unknown, "itl").N; n != 0 {
		t.Errorf("%d token times where nobody counted", n)
	}
	if n := latency(t, unknown, "gap").N; n != 15 {
		t.Errorf("%d gaps, want 15", n)
	}
}

func TestPhasesAreNeverPooled(t *testing.T) {
	trial := summarise(t, openCell(), window(1000, 2000,
		answered(0, inPhase(sweep.PhaseCold), tokens(2000, 10, 2)), answered(500, inPhase(sweep.PhaseWarmup), tokens(300, 10, 2)),
		answered(1000), answered(2000, inPhase(sweep.PhaseTail), failed(sweep.ErrCancelled, 5))))
	got := map[sweep.Phase]float64{}
	for _, row := range trial.LatencyRows(sweep.Baseline, 1) {
		if row.Metric == "ttft" {
			got[row.Phase] = *row.Max
		}
	}
	want := map[sweep.Phase]float64{sweep.PhaseCold: 2000, sweep.PhaseWarmup: 300, sweep.PhaseMeasure: 100}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("greatest TTFT by phase (-want +got):\n%s", diff)
	}
}

// One slot of 100 ms, all due at once: latency grows by one service time a request, and there is no offered rate.
func TestBurstIsQueueing(t *testing.T) {
	var rs []*sweep.Request
	for i := range int64(50) {
		rs = append(rs, answered(0, tokens(100*(i+1), 0, 1)))
	}
	trial := summarise(t, openCell(burst), window(0, 5001, rs...))
	row := latency(t, trial, "ttft_due")
	same(t, "max", row.Max, 5000)
	same(t, "p50", row.P50, 2500)
	same(t, "offered rate", trial.Row().OfferedRate, null)
	same(t, "in flight at most", trial.Row().InflightMax, 50)
}

// Behind a limit of one in flight the wait is in the client: 0, 100, … ms, apart from the service time.
func TestSlotWaitIsApart(t *testing.T) {
	var rs []*sweep.Request
	for i := range int64(50) {
		rs = append(rs, answered(0, sentLate(100*i), tokens(99, 0, 1)))
	}
	trial := summarise(t, openCell(), window(0, 5001, rs...))
	same(t, "service", latency(t, trial, "ttft").Max, 99)
	same(t, "longest wait", latency(t, trial, "queue").Max, 4900)
	same(t, "from due", latency(t, trial, "ttft_due").Max, 4999)
	same(t, "in flight at most", trial.Row().InflightMax, 1)
}

// One slow last request does not halve the throughput of the window: it is counted by what fell inside.
func TestDrainStaysOutOfTheWindow(t *testing.T) {
	var rs []*sweep.Request
	for i := range int64(20) {
		rs = append(rs, answered(100*i, tokens(950, 0, 1)))
	}
	stream(rs[19], 9950, 0, 1)
	trial := summarise(t, openCell(closed), window(0, 2000, rs...))
	same(t, "window", trial.GoodputRow(sweep.Baseline, 1).WindowS, 2)
	same(t, "request rate", trial.GoodputRow(sweep.Baseline, 1).RequestRate, float64(countEnded(rs, 2000))/2)
	same(t, "its own latency", latency(t, trial, "e2e").Max, 9950)
}

func TestCachedShare(t *testing.T) {
	cached := func(n int64) func(*sweep.Request) { return func(r *sweep.Request) { r.CachedTokens = n } }
	for _, c := range []struct {
		name string
		rs   []*sweep.Request
		want float64
	}{
		{"nobody said", []*sweep.Request{answered(0)}, null},
		{"none", []*sweep.Request{answered(0, cached(0))}, 0},
		{"half of one", []*sweep.Request{answered(0, cached(64)), answered(1)}, .25},
		{"failed and warm-up ones do not count", []*sweep.Request{answered(0, cached(64)), answered(0, cached(128), inPhase(sweep.PhaseWarmup))}, .5},
	} {
		same(t, c.name, summarise(t, openCell(), window(0, 1000, c.rs...)).Row().CachedShare, c.want)
	}
}

// The integral of the number in flight is the sum of the latencies (Little), and every due request ends as one row.
func TestIdentities(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var rs []*sweep.Request
	sumNS, dueNS := 0.0, int64(0)
	for range 3000 {
		dueNS += int64(rng.ExpFloat64() * 5 * msNS)
		r := answered(0, func(r *sweep.Request) { r.DueNS, r.SentNS = dueNS, dueNS+rng.Int64N(msNS) })
		r.EndNS = int64(rng.ExpFloat64() * 100 * msNS)
		if rng.IntN(10) == 0 {
			failed(sweep.ErrReset, rng.Int64N(50))(r)
		}
		sumNS += float64(r.EndNS)
		rs = append(rs, r)
	}
	rng.Shuffle(len(rs), func(i, j int) { rs[i], rs[j] = rs[j], rs[i] })
	trial := summarise(t, openCell(), window(0, 60_000, rs...))
	row := trial.Row()
	if mean := *row.InflightMean; math.Abs(mean*60e9-sumNS) > 1e-9*sumNS {
		t.Errorf("∫ in flight = %v, Σ latency = %v", mean*60e9, sumNS)
	}
	if row.Due != row.OK+row.Failed || row.Due != 3000 || row.Sent != 3000 {
		t.Errorf("due %d sent %d ok %d failed %d do not add up", row.Due, row.Sent, row.OK, row.Failed)
	}
}

func TestInflight(t *testing.T) {
	// In flight over [0, 100) ms: [0, 60), [40, 120) clipped, [60, 60), one that never ended, one that was never sent.
	span := func(from, to int64) *sweep.Request {
		return answered(from, failed(sweep.ErrReset, to-from))
	}
	open := answered(90, func(r *sweep.Request) { r.EndNS = sweep.None })
	row := summarise(t, openCell(), window(0, 100, span(0, 60), span(40, 120), span(60, 60), open, answered(0, unsent))).Row()
	same(t, "mean", row.InflightMean, (60+60+10)/100.)
	same(t, "max", row.InflightMax, 2)
	back := summarise(t, openCell(), window(0, 100, span(0, 50), span(50, 100))).Row()
	same(t, "one ends as another starts", back.InflightMax, 1)
}

func TestNoWindowNoRates(t *testing.T) {
	f := window(0, 0, answered(0))
	f.Record.T0NS, f.Record.T1NS = sweep.None, sweep.None
	trial := summarise(t, openCell(), f)
	row, of := trial.GoodputRow(sweep.Baseline, 1), trial.Row()
	for what, x := range map[string]*float64{
		"window": row.WindowS, "request rate": row.RequestRate, "output rate": row.OutputRate, "goodput": row.GoodputReqS,
		"offered": of.OfferedRate, "achieved": of.AchievedRate, "in flight": of.InflightMean,
	} {
		same(t, what, x, null)
	}
	same(t, "attainment needs none", row.Attainment, 1)
	empty := summarise(t, openCell(), window(0, 1000)).GoodputRow(sweep.Baseline, 1)
	same(t, "attainment of nothing due", empty.Attainment, null)
	same(t, "goodput of nothing due", empty.GoodputReqS, 0)
}

func TestDamagedRowsAreErrors(t *testing.T) {
	bad := answered(0, func(r *sweep.Request) { r.ChunkLog = []byte{0x80} })
	if _, err := analysis.Summarise(openCell(), window(0, 1000, bad)); err == nil {
		t.Error("a damaged chunk log was summarised")
	}
	f := window(0, 1000)
	broken := errors.New("disk")
	f.Rows = func(yield func(*sweep.Request, error) bool) { yield(nil, broken) }
	if _, err := analysis.Summarise(openCell(), f); !errors.Is(err, broken) {
		t.Errorf("err = %v, want %v", err, broken)
	}
}

// Aliases are judged by their own SLO; everything that was measured is the same.
func TestAliasesHaveTheirOwnSLO(t *testing.T) {
	alias := openCell(slo(&schema.SLO{Ttft: "50ms"}))
	alias.Cell.Cell.Cell = "rate=10"
	trial := summarise(t, openCell(), window(0, 1000, answered(0), answered(10, tokens(50, 20, 3))), alias)
	first, second := trial.GoodputRow(sweep.Baseline, 1), trial.GoodputRow("rate=10", 1)
	if first.Met != 1 || second.Met != 1 || *first.GoodputTokS != 16 || *second.GoodputTokS != 3 {
		t.Errorf("met %d and %d, goodput %v and %v tokens/s", first.Met, second.Met, *first.GoodputTokS, *second.GoodputTokS)
	}
	a, b := trial.LatencyRows(sweep.Baseline, 1), trial.LatencyRows("rate=10", 1)
	for i := range b {
		b[i].Cell = sweep.Baseline
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("latencies differ under the alias:\n%s", diff)
	}
	twin := window(0, 1000, answered(0))
	twin.Record.Copy = 2
	if got := summarise(t, openCell(), twin).Names[0].Name; got != sweep.TwinName {
		t.Errorf("copy 2 is called %s", got)
	}
}

// mixed is a trial with every sort of request, scaled in time.
func mixed(seed uint64, n int, scale int64) []*sweep.Request {
	rng := rand.New(rand.NewPCG(seed, 7))
	var rs []*sweep.Request
	due := int64(0)
	for range n {
		due += rng.Int64N(20)
		r := answered(due*scale, sentLate(rng.Int64N(3)*scale), tokens((20+rng.Int64N(300))*scale, (1+rng.Int64N(20))*scale, 1+rng.Int64N(40)))
		r.EndNS = r.LastTokenNS
		switch rng.IntN(8) {
		case 0:
			failed(sweep.ErrHTTP, rng.Int64N(10)*scale)(r)
		case 1:
			uncounted(r)
		case 2:
			r.Phase = sweep.PhaseWarmup
		}
		rs = append(rs, r)
	}
	return rs
}

func TestOrderOfRowsChangesNothing(t *testing.T) {
	rs := mixed(3, 500, 1)
	want := summarise(t, openCell(), window(0, 5000, rs...))
	shuffled := slices.Clone(rs)
	rand.New(rand.NewPCG(9, 9)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	got := summarise(t, openCell(), window(0, 5000, shuffled...))
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) })
	if diff := cmp.Diff(want.LatencyRows("baseline", 1), got.LatencyRows("baseline", 1), near); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.GoodputRow("baseline", 1), got.GoodputRow("baseline", 1), near); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.Row(), got.Row()); diff != "" {
		t.Error(diff)
	}
}

// Stretching time stretches every time and slows every rate by the same factor.
func TestScalingTimes(t *testing.T) {
	const by = 3
	bars := func(c *sweep.PlanCell) { c.Cell.Contract.SLO = &schema.SLO{Ttft: "150ms", Tpot: "10ms"} }
	scaledBars := func(c *sweep.PlanCell) { c.Cell.Contract.SLO = &schema.SLO{Ttft: "450ms", Tpot: "30ms"} }
	one := summarise(t, openCell(bars), window(0, 5000, mixed(4, 600, 1)...))
	three := summarise(t, openCell(scaledBars), window(0, 5000*by, mixed(4, 600, by)...))
	a, b := one.GoodputRow("baseline", 1), three.GoodputRow("baseline", 1)
	if a.Met != b.Met || a.Met == 0 || a.Met == a.Due {
		t.Errorf("met %d and %d", a.Met, b.Met)
	}
	for _, pair := range [][2]*float64{{a.GoodputReqS, b.GoodputReqS}, {a.OutputRate, b.OutputRate}, {a.InputRate, b.InputRate}, {a.RequestRate, b.RequestRate}} {
		same(t, "rate", pair[1], *pair[0]/by)
	}
	for _, metric := range []string{"ttft", "ttft_due", "tpot", "e2e", "queue"} {
		x, y := latency(t, one, metric), latency(t, three, metric)
		if x.N != y.N {
			t.Errorf("%s: n %d and %d", metric, x.N, y.N)
		}
		for _, pair := range [][2]*float64{{x.Mean, y.Mean}, {x.SD, y.SD}, {x.P50, y.P50}, {x.P95, y.P95}, {x.Max, y.Max}} {
			same(t, metric, pair[1], *pair[0]*by)
		}
	}
}

// Pooled percentiles come from the rows: 1 … 200 and 301 … 500 together have 480 as p95, not the mean of 190 and 490.
func TestPoolingIsOfRows(t *testing.T) {
	block := func(from int64) *analysis.Trial {
		var rs []*sweep.Request
		for i := range int64(200) {
			rs = append(rs, answered(0, tokens(from+i, 1, 2)))
		}
		return summarise(t, openCell(), window(0, 1000, rs...))
	}
	a, b := block(1), block(301)
	var pooled analysis.Totals
	for _, trial := range []*analysis.Trial{a, b} {
		if err := pooled.Add(&trial.Totals); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range pooled.LatencyRows(sweep.Baseline, 0) {
		switch row.Metric {
		case "ttft":
			if row.N != 400 {
				t.Errorf("n = %d", row.N)
			}
			same(t, "p50", row.P50, 200)
			same(t, "p95", row.P95, 480)
			same(t, "p99", row.P99, 496)
		case "gap":
			same(t, "gap", row.P50, 1)
		}
	}
	one, sum := a.GoodputRow(sweep.Baseline, 1), pooled.GoodputRow(sweep.Baseline, 0)
	if sum.Due != 400 || sum.Met != one.Met {
		t.Errorf("due %d met %d", sum.Due, sum.Met)
	}
	same(t, "goodput: sums ÷ sums", sum.GoodputReqS, float64(one.Met)/2)
	same(t, "a's rows stay", latency(t, a, "ttft").Max, 200)
}
