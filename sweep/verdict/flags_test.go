package verdict_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/inference-sweep/sweep/sweep"
)

// even is a trial of n measured requests 10 ms apart, each answered after 50 ms, with 50 requests of warm-up and tail.
func even(plan *sweep.Plan, n int) sweep.TrialFacts {
	const around = 50
	var rs []*sweep.Request
	for i := range n + 2*around {
		phase := sweep.PhaseMeasure
		if i < around {
			phase = sweep.PhaseWarmup
		} else if i >= around+n {
			phase = sweep.PhaseTail
		}
		r := answer(phase, float64(10*i), float64(10*i), 50, 4, 16)
		r.Seq = int64(i)
		rs = append(rs, r)
	}
	f := facts(plan, &plan.Cells[0], 1, rs)
	f.Record.T0NS, f.Record.T1NS, f.Record.EndNS = 10*around*msNS, int64(10*(around+n)*msNS), int64(10*(2*around+n)*msNS)
	return f
}

// each of the first k measured requests, changed.
func first(k int, change func(*sweep.Request)) func(*sweep.TrialFacts) {
	return func(f *sweep.TrialFacts) {
		for _, r := range measuredOf(*f)[:k] {
			change(r)
		}
	}
}

func late(ms float64) func(*sweep.Request) {
	return func(r *sweep.Request) {
		r.SentNS += int64(ms * msNS)
		r.QueueNS = r.SentNS - r.DueNS
	}
}

func fails(kind string) func(*sweep.Request) {
	return func(r *sweep.Request) {
		kept := *r
		*r = *sweep.NewRequest()
		r.Seq, r.Phase, r.DueNS, r.SentNS, r.QueueNS, r.DialNS = kept.Seq, kept.Phase, kept.DueNS, kept.SentNS, 0, 0
		r.InputAsked, r.OutputAsked = kept.InputAsked, kept.OutputAsked
		r.Status, r.Error, r.EndNS = sweep.RequestFailed, kind, msNS
		if kind == sweep.ErrNotSent {
			r.SentNS, r.EndNS = sweep.None, sweep.None
		}
	}
}

// refused is a request for which no server was there.
func refused(r *sweep.Request) { failsUnsent(sweep.ErrConnect)(r) }

func failsUnsent(kind string) func(*sweep.Request) {
	return func(r *sweep.Request) {
		fails(kind)(r)
		r.SentNS, r.EndNS = sweep.None, sweep.None
	}
}

func counts(tokens int64) func(*sweep.Request) {
	return func(r *sweep.Request) { r.OutputTokens = tokens }
}

// answers replaces the answer of a request.
func answers(firstMS, gapMS float64, tokens int64) func(*sweep.Request) {
	return func(r *sweep.Request) {
		n := answer(r.Phase, float64(r.DueNS)/msNS, float64(r.SentNS)/msNS, firstMS, gapMS, tokens)
		n.Seq = r.Seq
		*r = *n
	}
}

func observes(key string, value any) func(*sweep.TrialFacts) {
	return func(f *sweep.TrialFacts) {
		source := "server"
		if key == sweep.ObsClientCPUShare || key == sweep.ObsFloorNS || key == sweep.ObsDrained {
			source = "client"
		}
		f.Observations = append(f.Observations, sweep.Observation{Source: source, Key: key, Value: value})
	}
}

// says replaces what the launched server says of itself.
func says(key string, value any) func(*sweep.TrialFacts) {
	return func(f *sweep.TrialFacts) { f.Launch.Observed[key] = value }
}

func attached(f *sweep.TrialFacts) { f.Launch.Attached = true }

func cached(tokens int64) func(*sweep.Request) {
	return func(r *sweep.Request) { r.CachedTokens = tokens }
}

var (
	capped   = edits{"contract.load.open.maxInFlight": 4}
	closed   = edits{"contract.load": map[string]any{"closed": map[string]any{"clients": 4}}}
	burst    = edits{"contract.load": map[string]any{"burst": map[string]any{}}}
	sim      = edits{"contract.engine": map[string]any{"name": "sim", "revision": "1", "args": map[string]any{}}, "target": "sim"}
	chat     = edits{"contract.endpoint": "chat"}
	warm     = edits{"contract.prefixCache": map[string]any{"enabled": true, "state": "warm", "by": "salt"}, "contract.prompt.shared": map[string]any{"tokens": 100, "groups": 1}}
	cold     = edits{"contract.prefixCache": map[string]any{"enabled": true, "state": "cold", "by": "salt"}}
	textOnly = observes(sweep.ObsRefusedFields, []any{"prompt"})
)

// ramp makes TTFT grow over the window by steps, each kept for as many requests.
func ramp(stepMS float64, each int) func(*sweep.TrialFacts) {
	return func(f *sweep.TrialFacts) {
		for i, r := range measuredOf(*f) {
			answers(50+stepMS*float64(i/each), 4, 16)(r)
		}
	}
}

// stalls makes the last k measured requests end after the window.
func stalls(k int) func(*sweep.TrialFacts) {
	return func(f *sweep.TrialFacts) {
		rs := measuredOf(*f)
		for _, r := range rs[len(rs)-k:] {
			r.EndNS = f.Record.T1NS - r.SentNS + 1
		}
	}
}

// early ends every request within the window.
func early(f *sweep.TrialFacts) {
	for _, r := range rowsOf(*f) {
		if r.Phase == sweep.PhaseMeasure {
			r.EndNS = min(r.EndNS, f.Record.T1NS-r.SentNS-1)
		}
	}
}

// Every flag of a trial, just below and just above each of its limits.
func TestFlagsOfATrial(t *testing.T) {
	const n = 400
	everyOther := func(change func(*sweep.Request)) func(*sweep.TrialFacts) {
		return func(f *sweep.TrialFacts) {
			for i, r := range measuredOf(*f) {
				if i%2 == 1 {
					change(r)
				}
			}
		}
	}
	for _, c := range []struct {
		name    string
		cell    []edits
		n       int
		changes []func(*sweep.TrialFacts)
		code    string
		want    sweep.Severity
	}{
		// The limit is 2.5 ms, 5 % of the median TTFT of 50 ms; 5 ms, 10 %, is invalid.
		{"late by just less than the limit", nil, n, fs(first(40, late(2.49))), "late-sends", ""},
		{"1 % late", nil, n, fs(first(4, late(2.6))), "late-sends", ""},
		{"more than 1 % late", nil, n, fs(first(5, late(2.6))), "late-sends", sweep.Suspect},
		{"two of 60 late", nil, 60, fs(first(2, late(2.6))), "late-sends", ""},
		{"three of 60 late", nil, 60, fs(first(3, late(2.6))), "late-sends", sweep.Suspect},
		{"later than a tenth of the TTFT", nil, n, fs(first(5, late(5.1))), "late-sends", sweep.Invalid},
		{"connecting is not lateness", nil, n, fs(first(40, func(r *sweep.Request) { late(9)(r); r.DialNS = 9 * msNS })), "late-sends", ""},
		{"nor is a declared wait for a slot", fs2(capped), n, fs(first(40, late(9))), "late-sends", ""},
		{"1 % not sent", nil, n, fs(first(4, fails(sweep.ErrNotSent))), "late-sends", ""},
		{"more than 1 % not sent", nil, n, fs(first(5, fails(sweep.ErrNotSent))), "late-sends", sweep.Invalid},
		{"no server to send to", nil, n, fs(first(100, refused)), "late-sends", ""},
		{"its rate is that of the rest", nil, n, fs(first(100, refused)), "rate-missed", ""},
		{"and their law theirs", nil, n, fs(first(100, refused)), "arrival-law", ""},
		{"it is the server's failure", nil, n, fs(first(100, refused)), "error-rate", sweep.Suspect},
		{"a client without ports is its own", nil, n, fs(first(100, refused), first(5, failsUnsent(sweep.ErrLocal))), "late-sends", sweep.Invalid},

		{"the last one late by 1 % of the time", nil, 101, fs(lastLate(1000 * .0099)), "rate-missed", ""},
		{"by more", nil, 101, fs(lastLate(1000 * .0102)), "rate-missed", sweep.Suspect},
		{"by more than 5 %", nil, 101, fs(lastLate(1000 * .053)), "rate-missed", sweep.Invalid},
		{"49 requests", nil, 49, fs(lastLate(480 * .06)), "rate-missed", ""},
		{"50 requests", nil, 50, fs(lastLate(490 * .06)), "rate-missed", sweep.Invalid},
		{"behind a cap it is a note", fs2(capped), 101, fs(lastLate(1000 * .053)), "rate-missed", sweep.Note},

		// Every second request leaves 2 ms late, so that gaps of 10 ms become 12 and 8.
		{"sent in pairs", nil, n, fs(everyOther(late(2))), "arrival-law", sweep.Suspect},
		{"too few to tell", nil, 199, fs(everyOther(late(2))), "arrival-law", ""},
		{"one step of 1 ms off, constant arrivals", fs2(edits{"contract.load.open.arrival": "constant"}), n, fs(everyOther(late(.4))), "arrival-law", ""},
		{"two steps off, constant arrivals", fs2(edits{"contract.load.open.arrival": "constant"}), n, fs(everyOther(late(2))), "arrival-law", sweep.Suspect},
		{"behind a cap it is a note", fs2(capped), n, fs(everyOther(late(2))), "arrival-law", sweep.Note},
		{"under 5 % of gaps", nil, 401, fs(displaced(19)), "arrival-law", ""},
		{"more than 5 %", nil, 401, fs(displaced(21)), "arrival-law", sweep.Suspect},

		{"client at 70 %", nil, n, fs(observes(sweep.ObsClientCPUShare, .70)), "client-limited", ""},
		{"client over 70 %", nil, n, fs(observes(sweep.ObsClientCPUShare, .71)), "client-limited", sweep.Suspect},
		{"client over 90 %", nil, n, fs(observes(sweep.ObsClientCPUShare, .91)), "client-limited", sweep.Invalid},
		{"floor at 5 % of the TTFT", nil, n, fs(observes(sweep.ObsFloorNS, int64(2.5*msNS))), "client-limited", ""},
		{"floor over it", nil, n, fs(observes(sweep.ObsFloorNS, int64(2.6*msNS))), "client-limited", sweep.Suspect},
		{"one request without a port", nil, n, fs(first(1, fails(sweep.ErrLocal))), "client-limited", sweep.Invalid},

		{"rising and falling behind", nil, n, fs(ramp(5, 20), early, stalls(41)), "overloaded", sweep.Suspect},
		{"rising and keeping up", nil, n, fs(ramp(5, 20), early, stalls(1)), "overloaded", ""},
		{"falling behind without rising", nil, n, fs(early, stalls(41)), "overloaded", ""},
		{"a burst rises by nature", fs2(burst), n, fs(ramp(5, 20), stalls(41)), "overloaded", ""},
		{"rising and keeping up", nil, n, fs(ramp(5, 20), early, stalls(1)), "no-steady-state", sweep.Suspect},
		{"falling", nil, n, fs(ramp(-2, 20), early), "no-steady-state", sweep.Suspect},
		{"199 requests", nil, 199, fs(ramp(5, 10), early), "no-steady-state", ""},
		{"200 requests", nil, 200, fs(ramp(5, 10), early), "no-steady-state", sweep.Suspect},
		{"overloaded says it already", nil, n, fs(ramp(5, 20), early, stalls(41)), "no-steady-state", ""},
		{"a burst rises by nature", fs2(burst), n, fs(ramp(5, 20), early), "no-steady-state", ""},
		{"flat", nil, n, nil, "no-steady-state", ""},

		{"first 5 % twice as slow", nil, n, fs(noWarmup, first(20, answers(100, 4, 16))), "cold-in-window", ""},
		{"slower than that", nil, n, fs(noWarmup, first(20, answers(101, 4, 16))), "cold-in-window", sweep.Suspect},
		{"only half of the first 5 %", nil, n, fs(noWarmup, first(9, answers(900, 4, 16))), "cold-in-window", ""},
		{"four requests", nil, 99, fs(noWarmup, first(4, answers(900, 4, 16))), "cold-in-window", ""},
		{"five requests", nil, 100, fs(noWarmup, first(5, answers(900, 4, 16))), "cold-in-window", sweep.Suspect},
		{"a warm-up as slow as that", nil, n, fs(slowWarmup, first(20, answers(101, 4, 16))), "cold-in-window", sweep.Suspect},
		{"a warm-up that was warm", nil, n, fs(first(20, answers(900, 4, 16))), "cold-in-window", ""},

		// 128 tokens a prompt, blocks of 16: a tolerance of 12.5 points, and 1 beyond it.
		{"cold, and cold", fs2(cold), n, fs(first(n, cached(0))), "cache-contaminated", ""},
		{"a block of each prompt", fs2(cold), n, fs(first(n, cached(16))), "cache-contaminated", ""},
		{"1 point beyond that", fs2(cold), n, fs(first(n, cached(17))), "cache-contaminated", ""},
		{"more", fs2(cold), n, fs(first(n, cached(18))), "cache-contaminated", sweep.Invalid},
		{"off, yet cached", nil, n, fs(first(n, cached(64))), "cache-contaminated", sweep.Invalid},
		{"the server's blocks are larger", fs2(cold), n, fs(says(sweep.ObsBlockSize, int64(64)), first(n, cached(64))), "cache-contaminated", ""},
		{"warm, and warm to whole blocks", fs2(warm), n, fs(first(n, cached(96))), "cache-contaminated", ""},
		{"warm, and a block short", fs2(warm), n, fs(first(n, cached(80))), "cache-contaminated", ""},
		{"warm, and cold", fs2(warm), n, fs(first(n, cached(0))), "cache-contaminated", sweep.Invalid},
		{"a chat template's head", fs2(cold, chat), n, fs(counted(128+24), first(n, cached(16+24))), "cache-contaminated", ""},
		{"more than its head", fs2(cold, chat), n, fs(counted(128+24), first(n, cached(16+24+3))), "cache-contaminated", sweep.Invalid},
		{"nobody says", fs2(cold), n, nil, "cache-unverified", sweep.Note},
		{"nobody says, and it is off by our command", nil, n, nil, "cache-unverified", ""},
		{"nobody says, of a server of others", nil, n, fs(attached), "cache-unverified", sweep.Note},
		{"somebody says", fs2(cold), n, fs(first(n, cached(0))), "cache-unverified", ""},

		{"2 % more input", nil, n, fs(counted(130)), "input-mismatch", ""},
		{"over 2 %", nil, n, fs(counted(131)), "input-mismatch", sweep.Suspect},
		{"a quarter of it", nil, n, fs(counted(32)), "input-mismatch", sweep.Suspect},
		{"text, 25 % more", nil, n, fs(textOnly, counted(160)), "input-mismatch", ""},
		{"text, over 25 %", nil, n, fs(textOnly, counted(161)), "input-mismatch", sweep.Suspect},
		{"a chat template of 64 tokens", fs2(chat), n, fs(counted(192)), "input-mismatch", ""},
		{"chat, cut to a half", fs2(chat), n, fs(counted(64)), "input-mismatch", sweep.Suspect},
		{"chat, far more", fs2(chat), n, fs(counted(225)), "input-mismatch", sweep.Suspect},

		{"1 % of another length", nil, n, fs(first(4, answers(50, 4, 15))), "short-output", ""},
		{"more", nil, n, fs(first(5, answers(50, 4, 15))), "short-output", sweep.Suspect},
		{"lengths are a distribution", fs2(edits{"contract.output.length": map[string]any{"uniform": map[string]any{"min": 8, "max": 16}}}), n,
			fs(first(40, answers(50, 4, 15))), "short-output", ""},

		{"1 % uncounted", nil, n, fs(first(4, uncounted)), "token-source", ""},
		{"more", nil, n, fs(first(5, uncounted)), "token-source", sweep.Suspect},
		{"1 % counted as one more than asked", nil, n, fs(first(4, counts(17))), "token-source", ""},
		{"more", nil, n, fs(first(5, counts(17))), "token-source", sweep.Suspect},
		{"one counted as far more", nil, n, fs(first(1, counts(500))), "token-source", sweep.Suspect},
		{"or beyond all numbers", nil, n, fs(first(3, counts(math.MaxInt64))), "token-source", sweep.Suspect},
		{"fewer than asked", nil, n, fs(first(40, counts(3))), "token-source", ""},

		// 14 gaps a request count, its first apart: 5 % of 5,600 are 280, or 20 whole answers.
		{"5 % of gaps at once", nil, n, fs(first(20, answers(50, .01, 16))), "coalesced", ""},
		{"more", nil, n, fs(first(21, answers(50, .01, 16))), "coalesced", sweep.Suspect},
		{"20 µs are a gap", nil, n, fs(first(n, answers(50, .02, 16))), "coalesced", ""},
		{"the first gap apart", nil, n, fs(first(n, answers(50, .01, 2))), "coalesced", ""},
		{"all in one flush", nil, n, fs(first(n, answers(2100, 0, 200))), "coalesced", sweep.Suspect},

		{"another model", nil, n, fs(first(1, model("toy-small"))), "mixed-models", sweep.Invalid},
		{"all from another model", nil, n, fs(first(n, model("toy-small"))), "mixed-models", sweep.Invalid},
		{"a dated name of the asked one", nil, n, fs(first(n, model("org/model-2026-08"))), "mixed-models", ""},
		{"two dated names", nil, n, fs(first(1, model("org/model-2026-08"))), "mixed-models", sweep.Invalid},
		{"an alias of the server's own list", nil, n, fs(says(sweep.ObsModelAliases, []any{"org/model", "m"}), first(n, model("m"))), "mixed-models", ""},
		{"nobody says", nil, n, fs(first(n, model(""))), "mixed-models", ""},

		{"1 % failed", nil, n, fs(first(4, fails(sweep.ErrHTTP))), "error-rate", ""},
		{"more", nil, n, fs(first(5, fails(sweep.ErrHTTP))), "error-rate", sweep.Suspect},
		{"1 % empty", nil, n, fs(first(4, fails(sweep.ErrEmpty))), "empty", ""},
		{"more", nil, n, fs(first(5, fails(sweep.ErrEmpty))), "empty", sweep.Suspect},
		{"nothing was due", nil, 0, nil, "empty", sweep.Suspect},

		{"nobody else on the server", nil, n, fs(observes(sweep.ObsBusyAtStart, int64(0))), "started-busy", ""},
		{"somebody", nil, n, fs(observes(sweep.ObsBusyAtStart, int64(1))), "started-busy", sweep.Suspect},
		{"it restarted", nil, n, fs(observes(sweep.ObsRestarted, true)), "server-restarted", sweep.Suspect},
		{"it did not", nil, n, fs(observes(sweep.ObsRestarted, false)), "server-restarted", ""},
		{"none ran on", nil, n, fs(observes(sweep.ObsDrained, int64(0))), "drained", ""},
		{"some ran on", nil, n, fs(observes(sweep.ObsDrained, int64(3))), "drained", sweep.Note},
		{"launched", nil, n, nil, "cold-not-measured", ""},
		{"attached", nil, n, fs(attached), "cold-not-measured", sweep.Note},

		{"as the contract says", nil, n, nil, "contract-drift", ""},
		{"another version", nil, n, fs(says(sweep.ObsEngineVersion, "0.31.0")), "contract-drift", sweep.Invalid},
		{"another GPU", nil, n, fs(says(sweep.ObsGPUNames, "NVIDIA A100-SXM4-80GB")), "contract-drift", sweep.Invalid},
		{"two GPUs", nil, n, fs(says(sweep.ObsGPUs, int64(2))), "contract-drift", sweep.Invalid},
		{"another model served", nil, n, fs(says(sweep.ObsServedModel, "toy"), says(sweep.ObsModelRoot, "toy"), says(sweep.ObsModelAliases, []any{"toy"})), "contract-drift", sweep.Invalid},
		{"another name of the same root", nil, n, fs(says(sweep.ObsServedModel, "m")), "contract-drift", ""},
		{"another snapshot", nil, n, fs(says(sweep.ObsModelRoot, "/hub/models--org--model/snapshots/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")), "contract-drift", sweep.Invalid},
		{"changed within the trial", nil, n, fs(observes(sweep.ObsEngineVersion, "0.33.0")), "contract-drift", sweep.Invalid},
		{"the client's own host", fs2(edits{"contract.hardware.host": "h100-01"}), n,
			fs(func(f *sweep.TrialFacts) {
				f.Observations = append(f.Observations, sweep.Observation{Source: "client", Key: sweep.ObsHost, Value: "laptop"})
			}), "contract-drift", ""},
		{"the server's host", fs2(edits{"contract.hardware.host": "h100-02"}), n, nil, "contract-drift", sweep.Invalid},
		{"the embedded engine answers for its version", fs2(sim), n, fs(says(sweep.ObsEngineVersion, "1")), "contract-drift", ""},
		{"and for no more", fs2(sim), n, fs(says(sweep.ObsEngineVersion, "2")), "contract-drift", sweep.Invalid},
		{"text that no rule knows", nil, n, fs(says(sweep.ObsEngineVersion, "nightly")), "contract-unverified", sweep.Note},
		{"nothing moved and nothing said", nil, n, fs(func(f *sweep.TrialFacts) { f.Launch.Observed = nil }), "contract-unverified", ""},
	} {
		plan := onlyBaseline(t, c.cell...)
		f := even(plan, c.n)
		f.Launch.Observed = h100()
		for _, change := range c.changes {
			change(&f)
		}
		d := deriveTrial(t, plan, f)
		if got := severities(d.Flags)[c.code]; got != c.want {
			t.Errorf("%s: %s = %q, want %q (%v)", c.name, c.code, got, c.want, d.Flags)
		}
		for _, flag := range d.Flags {
			if flag.Detail == "" || flag.Cell != sweep.Baseline || flag.Block != 1 {
				t.Errorf("%s: a flag without its words or place: %+v", c.name, flag)
			}
		}
		if c.want != "" && !slices.Contains(d.Row.Flags, c.code) {
			t.Errorf("%s: the trial's row has %v", c.name, d.Row.Flags)
		}
	}
}

func fs(changes ...func(*sweep.TrialFacts)) []func(*sweep.TrialFacts) { return changes }

func fs2(changes ...edits) []edits { return changes }

func lastLate(ms float64) func(*sweep.TrialFacts) {
	return func(f *sweep.TrialFacts) {
		rs := measuredOf(*f)
		late(ms)(rs[len(rs)-1])
	}
}

// displaced makes k requests leave 2 ms late, far apart: k gaps of 12 ms and k of 8 among those of 10.
func displaced(k int) func(*sweep.TrialFacts) {
	return func(f *sweep.TrialFacts) {
		for i := range k {
			late(2)(measuredOf(*f)[10+10*i])
		}
	}
}

func noWarmup(f *sweep.TrialFacts) {
	rows := slices.DeleteFunc(rowsOf(*f), func(r *sweep.Request) bool { return r.Phase == sweep.PhaseWarmup })
	f.Rows = each(rows)
}

func slowWarmup(f *sweep.TrialFacts) {
	for _, r := range rowsOf(*f) {
		if r.Phase == sweep.PhaseWarmup {
			answers(101, 4, 16)(r)
		}
	}
}

func counted(tokens int64) func(*sweep.TrialFacts) {
	return func(f *sweep.TrialFacts) {
		for _, r := range measuredOf(*f) {
			r.InputTokens = tokens
		}
	}
}

func uncounted(r *sweep.Request) { r.OutputTokens, r.OutputSource, r.ChunkLog = sweep.None, "", nil }

func model(name string) func(*sweep.Request) {
	return func(r *sweep.Request) { r.ResponseModel = name }
}

func TestUnfinishedTrialsAreNotJudgedByTheirRows(t *testing.T) {
	plan := onlyBaseline(t)
	for status, want := range map[string]string{
		sweep.StatusFailed: string(sweep.Suspect), sweep.StatusInterrupted: sweep.VerdictValid,
		sweep.StatusBlocked: sweep.VerdictValid, sweep.StatusRunning: sweep.VerdictValid,
	} {
		f := even(plan, 100)
		first(100, fails(sweep.ErrHTTP))(&f)
		f.Record.Status, f.Record.T1NS = status, sweep.None
		d := deriveTrial(t, plan, f)
		if d.Row.Verdict != want || len(d.Latency)+len(d.Goodput) > 0 {
			t.Errorf("%s: verdict %s, want %s; %d rows", status, d.Row.Verdict, want, len(d.Latency)+len(d.Goodput))
		}
		if d.Row.Due != 100 || d.Row.Failed != 100 {
			t.Errorf("%s: due %d failed %d", status, d.Row.Due, d.Row.Failed)
		}
	}
	f := even(plan, 10)
	f.Record.Digest = "gone"
	if _, err := deriveErr(plan, f); err == nil {
		t.Error("a trial of another plan was derived")
	}
}

// Codes of a cell stand on each of its rows; figures stay.
func TestCellFlagsStandOnEachRow(t *testing.T) {
	for _, c := range []struct {
		cell    edits
		code    string
		want    sweep.Severity
		verdict string
	}{
		{edits{"contract.slo": nil}, "no-slo", sweep.Suspect, "suspect"},
		{closed, "closed-loop", sweep.Note, "valid"},
		{sim, "simulated", sweep.Note, "valid"},
	} {
		plan := onlyBaseline(t, c.cell)
		f := even(plan, 400)
		if c.code == "simulated" {
			f.Launch.Observed = map[string]any{sweep.ObsEngineVersion: "1"}
			first(400, model(""))(&f)
		}
		d := derive(t, plan, f)
		if got := severities(d.Flags)[c.code]; got != c.want {
			t.Errorf("%s = %q, want %q", c.code, got, c.want)
		}
		rows := map[string][]string{"trial " + d.Trials[0].Verdict: d.Trials[0].Flags}
		for i, r := range d.Goodput {
			rows[fmt.Sprint("goodput ", i, " ", r.Verdict)] = r.Flags
		}
		for i, r := range d.Latency {
			rows[fmt.Sprint("latency ", i, " ", r.Verdict)] = r.Flags
		}
		for i, r := range d.Variance {
			rows[fmt.Sprint("variance ", i, " ", r.Verdict)] = r.Flags
		}
		for what, flags := range rows {
			if !slices.Contains(flags, c.code) || what[len(what)-len(c.verdict):] != c.verdict {
				t.Errorf("%s: %s has %v", c.code, what, flags)
			}
		}
	}
}

// readsClocks is what is read of one count before the load, and a hundred seconds later.
func readsClocks(key string, before, after any) func(*sweep.TrialFacts) {
	return func(f *sweep.TrialFacts) {
		for at, value := range map[int64]any{1e9: before, 101e9: after} {
			if value != nil {
				f.Observations = append(f.Observations, sweep.Observation{AtNS: at, Source: "server", Key: key, Value: value})
			}
		}
		slices.SortStableFunc(f.Observations, func(a, b sweep.Observation) int { return int(a.AtNS - b.AtNS) })
	}
}

// GPUs whose clocks were held back.
func TestThrottled(t *testing.T) {
	const second = int64(1e6)
	for _, c := range []struct {
		name    string
		changes []func(*sweep.TrialFacts)
		want    string
	}{
		{"nothing is known", nil, ""},
		{"at no time", fs(readsClocks(sweep.ObsHWThermalUS, 5*second, 5*second)), ""},
		{"by heat for 1 %", fs(readsClocks(sweep.ObsHWThermalUS, 5*second, 6*second)), ""},
		{"by heat for more", fs(readsClocks(sweep.ObsHWThermalUS, 5*second, 7*second)), "the clocks of the server's GPUs were held back by heat (by the card) for 2 % of the time"},
		{"by heat, as the driver sees it", fs(readsClocks(sweep.ObsSWThermalUS, 0*second, 50*second), readsClocks(sweep.ObsPowerCappedUS, 0*second, 60*second)),
			"the clocks of the server's GPUs were held back by heat (by the driver) for 50 % of the time"},
		{"by the power limit, as the contract says", fs(readsClocks(sweep.ObsPowerCappedUS, 0*second, 95*second)), ""},
		{"by the power limit, which the driver counts as heat too", fs(readsClocks(sweep.ObsSWThermalUS, 0*second, 95*second), readsClocks(sweep.ObsPowerCappedUS, 0*second, 95*second)), ""},
		{"by the power brake and by heat", fs(readsClocks(sweep.ObsPowerBrakeUS, 0*second, 3*second), readsClocks(sweep.ObsHWThermalUS, 0*second, 3*second)),
			"the clocks of the server's GPUs were held back by heat (by the card) for 3 % of the time, the power brake of the machine for 3 % of the time"},
		{"before the trial alone", fs(readsClocks(sweep.ObsHWThermalUS, 99*second, nil)), ""},
		{"a driver that was loaded anew", fs(readsClocks(sweep.ObsHWThermalUS, 99*second, 9*second)), ""},
		{"uncounted, and never", fs(readsClocks(sweep.ObsSlowedBy, "nothing", "nothing")), ""},
		{"uncounted, by the power limit", fs(readsClocks(sweep.ObsSlowedBy, "nothing", "SW Power Cap")), ""},
		{"uncounted, by heat after the load", fs(readsClocks(sweep.ObsSlowedBy, "nothing", "SW Power Cap, HW Thermal Slowdown")),
			"the clocks of the server's GPUs were held back by heat (by the card) just before the load or just after it"},
		{"uncounted, by the power brake before it", fs(readsClocks(sweep.ObsSlowedBy, "HW Power Brake Slowdown", "nothing")),
			"the clocks of the server's GPUs were held back by the power brake of the machine just before the load or just after it"},
	} {
		plan := onlyBaseline(t)
		f := even(plan, 400)
		for _, change := range c.changes {
			change(&f)
		}
		d := deriveTrial(t, plan, f)
		got := ""
		for _, flag := range d.Flags {
			if flag.Code == "throttled" {
				got = flag.Detail
				if flag.Severity != sweep.Suspect {
					t.Errorf("%s: it is %s", c.name, flag.Severity)
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if d.Row.Verdict != map[bool]string{true: "valid", false: "suspect"}[c.want == ""] {
			t.Errorf("%s: the verdict is %s", c.name, d.Row.Verdict)
		}
	}
}

// The counts of several GPUs are one sum: what counts is their share of the time of all.
func TestThrottledGPUs(t *testing.T) {
	const second = int64(1e6) // in what nvidia-smi counts in
	for slowedS, want := range map[int64]bool{7: false, 16: true} {
		plan := onlyBaseline(t)
		plan.Cells[0].Cell.Contract.Hardware.Gpus = 8
		f := even(plan, 400)
		says(sweep.ObsGPUs, int64(8))(&f)
		readsClocks(sweep.ObsHWThermalUS, 5*second, (5+slowedS)*second)(&f)
		d := deriveTrial(t, plan, f)
		if got := slices.ContainsFunc(d.Flags, func(flag sweep.Flag) bool { return flag.Code == "throttled" }); got != want {
			t.Errorf("slowed for %d s of 800: flagged %t", slowedS, got)
		}
	}
}
