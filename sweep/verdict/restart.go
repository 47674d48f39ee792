package verdict

import (
	"cmp"
	"slices"

	"github.com/inference-sweep/sweep/sweep"
)

// startSlackS is how far two readings of one process's start may be apart: some libraries count it from the time of boot,
// which a correction of the clock moves by a second.
const startSlackS = 1.5

// An address is where a server that is not ours was reached in one sitting: between nights it may be restarted.
type address struct {
	sitting int64
	target  string
}

// A startReading is when the process that answered a trial had begun.
type startReading struct {
	trial  int64
	done   bool
	beganS float64
}

// restarts flags the trials at an attached server that was another process, at their start or their end, than the last done
// trial before them saw last. Where a process answers again after one that began later, there are several behind one
// address, which says nothing of a restart.
func restarts(trials []sweep.TrialFacts) map[int64][]sweep.Flag {
	flags := map[int64][]sweep.Flag{}
	for _, readings := range startReadings(trials) {
		if severalProcesses(readings) {
			continue
		}
		current := readings[0].beganS
		for _, r := range readings {
			if r.beganS > current+startSlackS && flags[r.trial] == nil {
				flags[r.trial] = []sweep.Flag{flagged(serverRestarted, rules[serverRestarted].always)}
			}
			if r.done {
				current = r.beganS
			}
		}
	}
	return flags
}

func severalProcesses(readings []startReading) bool {
	latest := readings[0].beganS
	for _, r := range readings {
		if r.beganS < latest-startSlackS {
			return true
		}
		latest = max(latest, r.beganS)
	}
	return false
}

// startReadings are what trials observed of the process at each address, in the order in which it was seen.
func startReadings(trials []sweep.TrialFacts) map[address][]startReading {
	inOrder := slices.SortedFunc(slices.Values(trials), func(a, b sweep.TrialFacts) int {
		return cmp.Or(a.Record.StartedAt.Compare(b.Record.StartedAt), cmp.Compare(a.Record.ID, b.Record.ID))
	})
	readings := map[address][]startReading{}
	for _, f := range inOrder {
		if f.Launch == nil || !f.Launch.Attached {
			continue
		}
		at := address{f.Record.Sitting, f.Launch.Target}
		done := f.Record.Status == sweep.StatusDone || f.Record.Status == sweep.StatusExcluded
		for _, o := range f.Observations {
			if began, ok := numberOf(o.Value); ok && o.Key == sweep.ObsProcessStart {
				readings[at] = append(readings[at], startReading{f.Record.ID, done, began})
			}
		}
	}
	return readings
}
