package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/inference-sweep/sweep/sweep"
)

// ShowTrial is the record of one attempt at a trial. Reading its rows is the only thing that can fail.
func ShowTrial(in Input, facts sweep.TrialFacts) (Record, error) {
	t := facts.Record
	r := Record{Title: fmt.Sprintf("Trial %d: cell %s, block %d, of sweep %s", t.ID, t.Cell, t.Block, t.Sweep)}
	r.with("Identity", []Entry{
		{"digest", t.Digest},
		{"copy", strconv.Itoa(t.Copy)},
		{"attempt", strconv.Itoa(t.Attempt)},
		{"order", strconv.Itoa(t.OrderIndex)},
		{"sitting", strconv.FormatInt(t.Sitting, 10)},
		{"node", t.Node},
		{"nonce", t.Nonce},
		{"workload", t.WorkloadHash},
	})
	r.with("Course", []Entry{
		{"status", statusWords(t.Status, t.Reason)},
		{"started", stamp(t.StartedAt)},
		{"window from", seconds(t.T0NS)},
		{"window to", seconds(t.T1NS)},
		{"end", seconds(t.EndNS)},
		{"cache made by", t.CacheMethod},
		{"served model", t.ServedModel},
	})
	requests, err := tallied(facts)
	if err != nil {
		return Record{}, fmt.Errorf("trial %d: %w", t.ID, err)
	}
	r.with("Requests", requests.entries())
	r.with("Judged", in.complete().trialJudged(t.ID, requests))
	r.launch(facts.Launch)
	r.observed(facts.Observations)
	return r, nil
}

// launch adds the server's life that a trial ran on.
func (r *Record) launch(l *sweep.Launch) {
	if l == nil {
		return
	}
	entries := launchEntries([]sweep.Launch{*l})
	entries = append(entries,
		Entry{"command", commandLine(l.Command)},
		Entry{"port accepted after", seconds(l.PortNS)},
		Entry{"first token after", seconds(l.FirstTokenNS)})
	for _, key := range slices.Sorted(maps.Keys(l.Observed)) {
		entries = append(entries, Entry{key, reading(key, l.Observed[key])})
	}
	r.with("Server", entries)
	r.verbatim("The end of its log", l.Log)
}

// A tally counts a trial's requests by phase, the failed ones by how they failed, and those of any phase that ended ok in
// the window.
type tally struct {
	ok        map[sweep.Phase]int
	failed    map[sweep.Phase]map[string]int
	completed int
}

func tallied(facts sweep.TrialFacts) (tally, error) {
	n := tally{map[sweep.Phase]int{}, map[sweep.Phase]map[string]int{}, 0}
	if facts.Rows == nil {
		return n, nil
	}
	t := &facts.Record
	for row, err := range facts.Rows {
		if err != nil {
			return n, err
		}
		if row.Status == sweep.RequestOK {
			n.ok[row.Phase]++
			if endNS := row.SentNS + row.EndNS; row.EndNS != sweep.None && t.T0NS <= endNS && endNS < t.T1NS {
				n.completed++
			}
			continue
		}
		if n.failed[row.Phase] == nil {
			n.failed[row.Phase] = map[string]int{}
		}
		n.failed[row.Phase][row.Error]++
	}
	return n, nil
}

func (n tally) entries() []Entry {
	var entries []Entry
	for _, phase := range sweep.Phases {
		if n.ok[phase] == 0 && n.failed[phase] == nil {
			continue
		}
		text := fmt.Sprintf("%d ok", n.ok[phase])
		for _, kind := range slices.Sorted(maps.Keys(n.failed[phase])) {
			text += fmt.Sprintf(", %d %s", n.failed[phase][kind], kind)
		}
		entries = append(entries, Entry{string(phase), text})
	}
	return entries
}

// trialJudged is what was derived of a trial, and its flags.
func (in Input) trialJudged(id int64, requests tally) []Entry {
	var entries []Entry
	for _, row := range in.Derived.Trials {
		if row.Trial != id || row.Verdict == "" {
			continue
		}
		entries = append(entries,
			Entry{"verdict", row.Verdict},
			Entry{"due, sent, ok, failed", fmt.Sprintf("%d, %d, %d, %d", row.Due, row.Sent, row.OK, row.Failed)},
			Entry{"window (s)", plain(row.WindowS, significant3).String()},
			Entry{"offered (1/s)", plain(row.OfferedRate, significant3).String() + ": due in the window"},
			Entry{"sent (1/s)", plain(row.AchievedRate, significant3).String() + ": of those due in the window, whether or not they were answered (achieved_rate)"},
			Entry{"completed (1/s)", perSecond(requests.completed, row.WindowS) + ": ended ok in the window, whenever they were due"},
			Entry{"in flight, mean and most", plain(row.InflightMean, significant3).String() + ", " + plain(row.InflightMax, significant3).String()},
			Entry{"share of cached tokens", plain(row.CachedShare, significant3).String()})
		entries = append(entries, in.trialSettled(id)...)
		for _, code := range row.Flags {
			entries = append(entries, Entry{code, glossary[code].text})
		}
	}
	return entries
}

// perSecond is a number of requests over a window.
func perSecond(n int, windowS *float64) string {
	if windowS = finite(windowS); windowS == nil || *windowS <= 0 {
		return dash
	}
	rate := float64(n) / *windowS
	return plain(&rate, significant3).String()
}

// trialSettled is where a trial's TTFT settled.
func (in Input) trialSettled(id int64) []Entry {
	at := slices.IndexFunc(in.Derived.Settling, func(r sweep.SettlingRow) bool { return r.Trial == id })
	if at < 0 {
		return nil
	}
	r := &in.Derived.Settling[at]
	entries := []Entry{{"mean TTFT (ms)", plain(r.TTFTMS, significant3).String()}}
	if r.Settled == nil {
		return append(entries, Entry{"TTFT settled", fmt.Sprintf("%d requests are too few to say", r.N)})
	}
	text := fmt.Sprintf("after %d of %d requests, at %s s of a warm-up of %s s", r.CutN, r.N, plain(inSeconds(r.FoundMS), significant3), plain(inSeconds(r.WarmupMS), significant3))
	if !*r.Settled {
		text = fmt.Sprintf("not in the first half of %d requests", r.N)
	}
	return append(entries, Entry{"TTFT settled", text}, Entry{"mean TTFT from there (ms)", plain(r.TTFTCutMS, significant3).String()})
}
