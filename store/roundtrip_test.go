package store_test

import (
	"errors"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/inference-sweep/sweep/store"
	"github.com/inference-sweep/sweep/sweep"
)

func same(t *testing.T, what string, want, got any, opts ...cmp.Option) {
	t.Helper()
	if d := cmp.Diff(want, got, opts...); d != "" {
		t.Errorf("%s comes back otherwise (-want +got):\n%s", what, d)
	}
}

func TestPlanRoundTrip(t *testing.T) {
	db, _ := begun(t)
	got, err := db.Plan("s")
	must(t, err)
	want := testPlan()
	for i := range want.Cells {
		c := want.Cells[i].Cell
		same(t, "the raw JSON of "+c.Name(), compact(t, c.Raw), string(got.Cells[i].Cell.Raw))
		got.Cells[i].Cell.Raw = c.Raw
		want.Definition.Cells = append(want.Definition.Cells, c)
		got.Definition.Cells[i].Raw = c.Raw
	}
	same(t, "the plan", want, got)
	sweeps, err := db.Sweeps()
	must(t, err)
	same(t, "the sweeps", []string{"s"}, sweeps)
	if _, err := db.Plan("other"); !errors.Is(err, store.ErrNoSweep) {
		t.Errorf("the plan of an unknown sweep: %v", err)
	}
}

func TestFactsRoundTrip(t *testing.T) {
	db, sitting := begun(t)
	launch := &sweep.Launch{Sweep: "s", Sitting: sitting, Target: "sim", Node: "n1", Setting: "x", Command: []string{"sweep", "sim"},
		StartedAt: testTime, PortNS: 1e9, ReadyNS: sweep.None, FirstTokenNS: 0, ExitCode: sweep.None}
	must(t, db.StartLaunch(launch))
	launch.StoppedAt, launch.ExitCode, launch.ReadyNS, launch.Log = testTime.Add(time.Minute), 0, 2e9, "line\n"
	launch.Observed = map[string]any{"gpus": int64(4), "power_limit": 700.0, "image": "a&b", "fast": true,
		"gpu_names": []any{"NVIDIA H100"}, "nested": map[string]any{"x": 0.5}}
	must(t, db.UpdateLaunch(launch))
	trial := startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
	trial.Launch = launch.ID

	w := db.NewWriter()
	rows := []*sweep.Request{okRequest(0), failedRequest(1)}
	observations := []sweep.Observation{
		{Trial: trial.ID, AtNS: 5, Source: "client", Key: "s", Value: "8"},
		{Trial: trial.ID, AtNS: sweep.None, Source: "server", Key: "i", Value: int64(8)},
		{Trial: trial.ID, AtNS: 7, Source: "server", Key: "f", Value: 8.0},
		{Trial: trial.ID, AtNS: 8, Source: "target", Key: "b", Value: true},
		{Trial: trial.ID, AtNS: 9, Source: "target", Key: "big", Value: 1e300},
	}
	for _, r := range rows {
		must(t, w.Put(trial.ID, r))
	}
	for _, o := range observations {
		must(t, w.Observe(o))
	}
	sample := sweep.Sample{Trial: trial.ID, AtNS: 5, Source: "host", Metric: "cpu", Value: 0.25}
	must(t, w.Sample(sample))
	trial.Status, trial.T0NS, trial.T1NS, trial.EndNS = sweep.StatusDone, 1, 2, 3
	trial.CacheMethod, trial.ServedModel, trial.WorkloadHash, trial.Node = "salt", "toy", "abc", "n1"
	must(t, w.FinishTrial(trial, nil))
	must(t, w.Close())

	facts, err := db.Facts(trial.ID)
	must(t, err)
	same(t, "the trial", *trial, facts.Record)
	same(t, "the launch", launch, facts.Launch)
	same(t, "the observations", observations, facts.Observations)
	want := rows
	want[0].Text = "" // kept apart
	same(t, "the requests", want, rowsOf(t, db, trial.ID))
	same(t, "the requests, read again", want, rowsOf(t, db, trial.ID))
	samples, err := db.Samples(trial.ID)
	must(t, err)
	same(t, "the samples", []sweep.Sample{sample}, samples)
	answer, err := db.Text(trial.ID, 0)
	must(t, err)
	same(t, "the answer", "an answer", answer)
	launches, err := db.Launches("s")
	must(t, err)
	same(t, "the launches", []sweep.Launch{*launch}, launches)
}

func TestRowsMayBeLeftEarly(t *testing.T) {
	db, sitting := begun(t)
	trial := startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
	w := db.NewWriter()
	for i := range int64(10) {
		must(t, w.Put(trial.ID, okRequest(i)))
	}
	must(t, w.Close())
	for range 20 { // more often than there are readers
		facts, err := db.Facts(trial.ID)
		must(t, err)
		for r := range facts.Rows {
			if r.Seq == 3 {
				break
			}
		}
	}
}

func TestAttemptsAndFinished(t *testing.T) {
	db, sitting := begun(t)
	w := db.NewWriter()
	defer w.Close()
	first := startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
	first.Status, first.Reason = sweep.StatusFailed, "the server died"
	must(t, w.FinishTrial(first, nil))
	second := startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
	blocked := &sweep.TrialRecord{Sweep: "s", Cell: "mode=closed", Key: sweep.Key{Digest: digestClosed, Block: 1, Copy: 1},
		Sitting: sitting, Status: sweep.StatusBlocked, Reason: "no launch"}
	must(t, db.StartTrial(blocked))
	if first.Attempt != 1 || second.Attempt != 2 || blocked.Attempt != 1 {
		t.Errorf("attempts %d, %d and %d, want 1, 2 and 1", first.Attempt, second.Attempt, blocked.Attempt)
	}
	got, err := db.Finished("s")
	must(t, err)
	want := []store.Finished{
		{FinishedTrial: sweep.FinishedTrial{Key: first.Key, Sitting: sitting, Status: "failed"}, Attempt: 1, Reason: "the server died"},
		{FinishedTrial: sweep.FinishedTrial{Key: blocked.Key, Sitting: sitting, Status: "blocked"}, Attempt: 1, Reason: "no launch"},
	}
	same(t, "what has ended", want, got)

	// A fresh start leaves all of that out, and counts attempts on.
	fresh, err := db.BeginSitting(store.Sitting{Sweep: "s", StartedAt: testTime, Fresh: true}, testPlan())
	must(t, err)
	third := startTrial(t, db, fresh, "baseline", digestBase, 1, 1)
	trials, err := db.Trials("s")
	must(t, err)
	if len(trials) != 1 || trials[0].ID != third.ID || third.Attempt != 3 {
		t.Errorf("after a fresh start: %+v, want only attempt 3", trials)
	}
	if got, err := db.Finished("s"); err != nil || len(got) != 0 {
		t.Errorf("after a fresh start %v, %v have ended, want none", got, err)
	}
}

func fullDerived(trials ...int64) *sweep.Derived {
	x, y := 1.5, 0.1+0.2
	d := &sweep.Derived{AnalysisVersion: 7}
	for _, id := range trials {
		d.Trials = append(d.Trials, sweep.TrialRow{Trial: id, Verdict: "suspect", Flags: []string{"late-sends"}, Due: 10, Sent: 9, OK: 8, Failed: 2,
			OfferedRate: &x, AchievedRate: &y, InflightMean: &x, InflightMax: &y, WindowS: &x})
	}
	d.Latency = []sweep.LatencyRow{
		{Cell: "baseline", Phase: sweep.PhaseMeasure, Metric: "ttft", N: 20, ErrorShare: &x, Mean: &x, SD: &y, Min: &x, P50: &y, P90: &x, P95: &x, Max: &y, Blocks: 2, LeftOut: 1, Verdict: "valid"},
		{Cell: "baseline", Block: 1, Phase: sweep.PhaseCold, Metric: "gap", Verdict: "invalid", Flags: []string{"a", "b"}},
	}
	if no := false; len(trials) > 0 {
		d.Settling = []sweep.SettlingRow{
			{Cell: "baseline", Block: 1, Trial: trials[0], N: 90, WarmupN: 20, CutN: 45, FoundMS: &x, WarmupMS: &y, Settled: &no, TTFTMS: &x, TTFTCutMS: &y},
			{Cell: "rate=8", Block: 1, Trial: trials[0], N: 9, CutN: sweep.None, WarmupMS: &x},
		}
	}
	d.Goodput = []sweep.GoodputRow{
		{Cell: "baseline", Due: 1, OK: 2, Failed: 3, Met: 4, Attainment: &x, WindowS: &x, RequestRate: &y, InputRate: &x, OutputRate: &x, GoodputReqS: &y, GoodputTokS: &x, GoodputTokSGPU: &x, Blocks: 1, LeftOut: 2, Moved: 3, Verdict: "valid"},
		{Cell: "baseline", Block: 2, Met: sweep.None, Verdict: "valid"},
	}
	d.Variance = []sweep.VarianceRow{{Cell: "baseline", Metric: "goodput_req_s", Blocks: 3, Estimate: &x, Estimator: "geometric", SD: &y, CV: &x, CILow: &x, CIHigh: &y, CIMethod: "t-log", Moved: 1, Verdict: "valid"}, {Cell: "rate=8", Metric: "ttft_p99"}}
	d.Comparison = []sweep.ComparisonRow{{Cell: "rate=8", Reference: "baseline", Factor: "rate", Metric: "attainment", Blocks: 3, Ratio: &x, CILow: &x, CIHigh: &x, P: &y, PHolm: &y, Margin: 0.02, Test: "paired-t", Outcome: "better", Moved: 1, Flags: []string{"extended"}}}
	d.Flags = []sweep.Flag{{Code: "extended", Severity: sweep.Note, Detail: "two nights"}, {Cell: "baseline", Block: 2, Code: "drift", Severity: sweep.Suspect, Detail: "12 %"}}
	return d
}

func TestDerivedRoundTripAndStale(t *testing.T) {
	db, sitting := begun(t)
	trial := startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
	stale := func(version int, want bool, when string) {
		t.Helper()
		if got, err := db.Stale("s", version); err != nil || got != want {
			t.Errorf("%s: stale is %v, %v; want %v", when, got, err, want)
		}
	}
	stale(7, true, "before anything was derived")
	for range 2 { // the second time replaces the first
		must(t, db.PutDerived("s", fullDerived(trial.ID)))
	}
	got, err := db.Derived("s")
	must(t, err)
	same(t, "what is derived", fullDerived(trial.ID), got)
	stale(7, false, "after it was")
	stale(8, true, "for a newer analysis")

	begin(t, db, testPlan())
	stale(7, false, "after a sitting of the same plan")
	w := db.NewWriter()
	trial.Status = sweep.StatusDone
	must(t, w.FinishTrial(trial, nil))
	must(t, w.Close())
	stale(7, true, "after a trial ended")
	must(t, db.PutDerived("s", fullDerived(trial.ID)))
	changed := testPlan()
	changed.Cells[2].Digest = "sha256:other"
	begin(t, db, changed)
	stale(7, true, "after another plan")
}

func TestOutdatedCellsLoseTheirDerivedRows(t *testing.T) {
	db, _ := begun(t)
	d := &sweep.Derived{AnalysisVersion: 1}
	for _, cell := range []string{"baseline", "baseline#2", "rate=8", "mode=closed"} {
		d.Goodput = append(d.Goodput, sweep.GoodputRow{Cell: cell, Block: 1})
	}
	d.Comparison = []sweep.ComparisonRow{{Cell: "baseline#2", Reference: "baseline", Outcome: "no-difference"}, {Cell: "baseline", Reference: "mode=closed"}}
	d.Flags = []sweep.Flag{{Code: "extended", Severity: sweep.Note}, {Cell: "mode=closed", Code: "drift", Severity: sweep.Suspect}}
	must(t, db.PutDerived("s", d))
	changed := testPlan()
	changed.Cells[1].Cell = testCell("rate=8", `"rate"`, "8.0", `{"open":{"rate":8.0,"arrival":"poisson"}}`, `,"slo":{"ttft":"2s","attainment":0.9}`)
	changed.Cells[2].Digest = "sha256:other"
	begin(t, db, changed)
	got, err := db.Derived("s")
	must(t, err)
	var left []string
	for _, r := range got.Goodput {
		left = append(left, r.Cell)
	}
	same(t, "the cells with derived rows", []string{"baseline", "baseline#2"}, left)
	same(t, "the comparisons", d.Comparison[:1], got.Comparison)
	same(t, "the flags", d.Flags[:1], got.Flags)
}

func TestFinishTrialDerivesFromWhatItFinishes(t *testing.T) {
	db, sitting := begun(t)
	trial := startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
	w := db.NewWriter()
	for i := range int64(3) {
		must(t, w.Put(trial.ID, okRequest(i)))
	}
	trial.Status, trial.T0NS = sweep.StatusDone, 77
	derived := &sweep.TrialDerived{AnalysisVersion: 1, Row: sweep.TrialRow{Trial: trial.ID, Verdict: "valid", Due: 3},
		Settling: []sweep.SettlingRow{{Cell: "baseline", Block: 1, Trial: trial.ID, N: 3, CutN: sweep.None}},
		Goodput:  []sweep.GoodputRow{{Cell: "baseline", Block: 1, Due: 3}, {Cell: "rate=8", Block: 1, Due: 3}},
		Flags:    []sweep.Flag{{Cell: "baseline", Block: 1, Code: "simulated", Severity: sweep.Note, Detail: "d"}}}
	must(t, w.FinishTrial(trial, func() (*sweep.TrialDerived, error) {
		facts, err := db.Facts(trial.ID)
		must(t, err)
		if facts.Record.T0NS != 77 || facts.Record.Status != sweep.StatusDone {
			t.Errorf("derive sees %+v, want the trial as it is finished", facts.Record)
		}
		if n := len(rowsOf(t, db, trial.ID)); n != 3 {
			t.Errorf("derive sees %d requests, want the 3 that were put", n)
		}
		return derived, nil
	}))
	got, err := db.Derived("s")
	must(t, err)
	same(t, "the derived trial", []sweep.TrialRow{derived.Row}, got.Trials)
	same(t, "where it settled", derived.Settling, got.Settling)
	same(t, "the derived goodput", derived.Goodput, got.Goodput)
	same(t, "the flags", derived.Flags, got.Flags)

	// A second attempt that is done takes the first one's place, one that is not takes nothing; a pairing baseline stands
	// beside them.
	again := startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
	broken := startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
	paired := startTrial(t, db, sitting, "baseline", digestBase, 1, 3)
	again.Status, broken.Status, paired.Status = sweep.StatusDone, sweep.StatusFailed, sweep.StatusDone
	for _, r := range []*sweep.TrialRecord{again, broken, paired} {
		must(t, w.FinishTrial(r, func() (*sweep.TrialDerived, error) {
			return &sweep.TrialDerived{Row: sweep.TrialRow{Trial: r.ID},
				Settling: []sweep.SettlingRow{{Cell: "baseline", Block: 1, Trial: r.ID, CutN: sweep.None}}, Goodput: []sweep.GoodputRow{{Cell: "baseline", Block: 1, Due: r.ID}}}, nil
		}))
	}
	must(t, w.Close())
	got, err = db.Derived("s")
	must(t, err)
	due := func(r sweep.GoodputRow) int64 { return r.Due }
	var dues []int64
	for _, r := range got.Goodput {
		dues = append(dues, due(r))
	}
	same(t, "the settling rows", []sweep.SettlingRow{
		{Cell: "baseline", Block: 1, Trial: again.ID, CutN: sweep.None}, {Cell: "baseline", Block: 1, Trial: paired.ID, CutN: sweep.None}}, got.Settling)
	same(t, "the goodput rows", []int64{3, again.ID, paired.ID}, dues) // 3: the alias that the second attempt has no row for
}

func TestFailedDerivationKeepsTheTrial(t *testing.T) {
	db, sitting := begun(t)
	w := db.NewWriter()
	defer w.Close()
	cause := errors.New("no figure")
	broken := map[string]func() (*sweep.TrialDerived, error){
		"an error": func() (*sweep.TrialDerived, error) { return nil, cause },
		"rows of no trial": func() (*sweep.TrialDerived, error) {
			return &sweep.TrialDerived{Row: sweep.TrialRow{Trial: 999}}, nil
		},
	}
	for name, derive := range broken {
		trial := startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
		must(t, w.Put(trial.ID, okRequest(0)))
		trial.Status = sweep.StatusDone
		if err := w.FinishTrial(trial, derive); err == nil {
			t.Errorf("%s: no error", name)
		}
		facts, err := db.Facts(trial.ID)
		must(t, err)
		if facts.Record.Status != sweep.StatusDone || len(rowsOf(t, db, trial.ID)) != 1 {
			t.Errorf("%s: the trial is %s, want done with its request", name, facts.Record.Status)
		}
		if err := w.Err(); err != nil {
			t.Errorf("%s: the writer broke: %v", name, err)
		}
	}
}

// The database is opened outside the bubble and used inside it: nothing of it may belong to either.
func TestWriterInVirtualTime(t *testing.T) {
	db, sitting := begun(t)
	synctest.Test(t, func(t *testing.T) {
		w := db.NewWriter()
		trial := startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
		done := make(chan error)
		for g := range int64(4) {
			go func() {
				var errs []error
				for i := range int64(200) {
					errs = append(errs, w.Put(trial.ID, okRequest(4*i+g)))
					time.Sleep(time.Millisecond)
				}
				done <- errors.Join(errs...)
			}()
		}
		for range 4 {
			must(t, <-done)
		}
		time.Sleep(time.Second)
		if n := len(rowsOf(t, db, trial.ID)); n != 800 {
			t.Errorf("%d rows are committed a second later, want 800", n)
		}
		trial.Status = sweep.StatusDone
		must(t, w.FinishTrial(trial, func() (*sweep.TrialDerived, error) {
			facts, err := db.Facts(trial.ID)
			for range facts.Rows {
			}
			return &sweep.TrialDerived{Row: sweep.TrialRow{Trial: trial.ID}}, err
		}))
		must(t, db.PutDerived("s", fullDerived(trial.ID)))
		must(t, w.Close())
	})
	synctest.Test(t, func(t *testing.T) { // and a second bubble on the same database
		if n := len(rowsOf(t, db, 1)); n != 800 {
			t.Errorf("%d rows, want 800", n)
		}
	})
}

func TestCommitsWithinAQuarterSecond(t *testing.T) {
	db, sitting := begun(t)
	synctest.Test(t, func(t *testing.T) {
		w := db.NewWriter()
		trial := startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
		must(t, w.Put(trial.ID, okRequest(0)))
		time.Sleep(249 * time.Millisecond)
		synctest.Wait()
		if n := len(rowsOf(t, db, trial.ID)); n != 0 {
			t.Errorf("%d rows after 249 ms, want none yet", n)
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if n := len(rowsOf(t, db, trial.ID)); n != 1 {
			t.Errorf("%d rows after 251 ms, want 1", n)
		}
		for i := range int64(500) {
			must(t, w.Put(trial.ID, okRequest(1+i)))
		}
		synctest.Wait()
		if n := len(rowsOf(t, db, trial.ID)); n != 501 {
			t.Errorf("%d rows after 500 more at once, want 501", n)
		}
		must(t, w.Close())
		if err := w.Put(trial.ID, okRequest(600)); err == nil {
			t.Error("a closed writer took a row")
		}
	})
}

func TestWriterReturnsItsCauseForEver(t *testing.T) {
	db, sitting := begun(t)
	trial := startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
	w := db.NewWriter()
	must(t, w.Put(trial.ID, okRequest(0)))
	must(t, w.Put(trial.ID, okRequest(0))) // the same request twice is a mistake, and not to be swallowed
	trial.Status = sweep.StatusDone
	first := w.FinishTrial(trial, nil)
	if first == nil {
		t.Fatal("one request was stored twice")
	}
	for _, err := range []error{w.Put(trial.ID, okRequest(1)), w.Observe(sweep.Observation{}), w.Sample(sweep.Sample{}), w.FinishTrial(trial, nil), w.Err(), w.Close()} {
		if err == nil || err.Error() != first.Error() {
			t.Errorf("later: %v, want %v", err, first)
		}
	}
}

func TestSittings(t *testing.T) {
	db, _ := begun(t)
	_, err := db.BeginSitting(store.Sitting{Sweep: "s", Argv: "second", StartedAt: testTime}, testPlan())
	must(t, err)
	got, err := db.Sittings("s")
	must(t, err)
	want := []store.Sitting{
		{ID: 1, Sweep: "s", Argv: "sweep run s.cue", Version: "v1", Commit: "abc", Host: "h", StartedAt: testTime},
		{ID: 2, Sweep: "s", Argv: "second", StartedAt: testTime},
	}
	same(t, "the sittings", want, got, cmpopts.IgnoreFields(store.Sitting{}, "Provenance"))
	same(t, "the provenance", map[string]string{"argv": "sweep run s.cue", "version": "v1", "commit": "abc", "host": "h",
		"started_at": "2026-03-01T12:30:15.123456Z", "journal": "wal", "tags": "a=b", "source s.cue": "s: #Sweep & {}", "go": "go1.26"}, got[0].Provenance)
	if !slices.IsSortedFunc(got, func(a, b store.Sitting) int { return int(a.ID - b.ID) }) {
		t.Error("sittings are out of order")
	}
}

// More trials can be read at once than there are kept connections, in virtual time too.
func TestManyReadersAtOnce(t *testing.T) {
	db, sitting := begun(t)
	trial := startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
	w := db.NewWriter()
	for i := range int64(3) {
		must(t, w.Put(trial.ID, okRequest(i)))
	}
	must(t, w.Close())
	synctest.Test(t, func(t *testing.T) {
		facts, err := db.Facts(trial.ID)
		must(t, err)
		for range 20 {
			next, stop := iter.Pull2(facts.Rows)
			defer stop()
			if _, err, ok := next(); err != nil || !ok {
				t.Fatalf("no first row: %v", err)
			}
		}
	})
}

// Rows for figures know what figures are made from, of a row like any other, and nothing of the row before.
func TestRowsForFigures(t *testing.T) {
	db, sitting := begun(t)
	trial := startTrial(t, db, sitting, "baseline", digestBase, 1, 1)
	w := db.NewWriter()
	for seq := range int64(4) {
		r := okRequest(seq)
		if seq%2 == 1 {
			r = failedRequest(seq)
		}
		must(t, w.Put(trial.ID, r))
	}
	must(t, w.Close())
	facts, err := db.FactsForFigures(trial.ID)
	must(t, err)
	whole := rowsOf(t, db, trial.ID)
	for range 2 { // as often as is wanted
		i := 0
		for r, err := range facts.Rows {
			must(t, err)
			want := *whole[i]
			want.RequestID, want.ConnNew, want.InputSource, want.ErrorMessage, want.FinishReason, want.Marks = "", false, "", "", "", nil
			want.WrittenNS, want.TTFBNS, want.FirstTokens, want.ReasoningTokens, want.Chunks, want.HTTPStatus, want.RetryAfterNS =
				sweep.None, sweep.None, sweep.None, sweep.None, sweep.None, sweep.None, sweep.None
			if diff := cmp.Diff(want, *r, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("row %d (-whole +for figures)\n%s", i, diff)
			}
			i++
		}
		if i != len(whole) {
			t.Errorf("%d rows of %d", i, len(whole))
		}
	}
	if _, err := db.FactsForFigures(99); err == nil {
		t.Error("facts of a trial that is not there")
	}
}
