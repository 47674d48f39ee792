package verdict

import (
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// slowing are what holds a GPU's clocks back without the contract saying so. Its power limit, which it does say, is not among
// them: a GPU under load runs at its limit for most of the time.
var slowing = []struct{ key, name, words string }{
	{sweep.ObsSWThermalUS, "SW Thermal Slowdown", "heat (by the driver)"},
	{sweep.ObsHWThermalUS, "HW Thermal Slowdown", "heat (by the card)"},
	{sweep.ObsPowerBrakeUS, "HW Power Brake Slowdown", "the power brake of the machine"},
}

// checkClocks: GPUs that were slowed down by heat or by their power supply. Where that is counted, it is how much the count
// grew from before the load to after it that tells; where it is not, what was so at either moment.
func checkClocks(j *judged) {
	var found []string
	cappedUS, _, capped := j.growth(sweep.ObsPowerCappedUS)
	gpus := 1.0 // the counts are sums over them
	if n, ok := j.observed.number(sweep.ObsGPUs); ok && n > 1 {
		gpus = n
	}
	for _, s := range slowing {
		us, overNS, ok := j.growth(s.key)
		// Some drivers keep one count for the power limit and for heat, which then tells nothing of heat.
		if !ok || capped && s.key == sweep.ObsSWThermalUS && us == cappedUS {
			continue
		}
		share := us * 1e3 / overNS / gpus
		if _, much := beyond(throttled, share); much {
			found = append(found, s.words+" for "+percent(share)+" of the time")
		}
	}
	now := strings.Join(j.observed.texts(sweep.ObsSlowedBy), ", ")
	for _, s := range slowing {
		if strings.Contains(now, s.name) {
			found = append(found, s.words+" just before the load or just after it")
		}
	}
	if len(found) > 0 {
		j.raise(throttled, sweep.Suspect, strings.Join(found, ", "))
	}
}

// growth is by how much a count grew from its first reading in the trial to its last, and the nanoseconds between the two. A
// count that fell began anew: it tells nothing.
func (j *judged) growth(key string) (by, overNS float64, ok bool) {
	var first, last *sweep.Observation
	for i := range j.observations {
		o := &j.observations[i]
		if o.Key != key {
			continue
		}
		if first == nil {
			first = o
		}
		last = o
	}
	if first == nil {
		return 0, 0, false
	}
	from, okFrom := numberOf(first.Value)
	to, okTo := numberOf(last.Value)
	return to - from, float64(last.AtNS - first.AtNS), okFrom && okTo && to >= from && last.AtNS > first.AtNS
}
