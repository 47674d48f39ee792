package target

import (
	"context"
	"strconv"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// slowdowns are what can hold a GPU's clocks back, by nvidia-smi's names: of the time that it took so far, and of whether it
// does now.
var slowdowns = []struct{ counter, flag, key string }{
	{"SW Power Capping", "SW Power Cap", sweep.ObsPowerCappedUS},
	{"SW Thermal Slowdown", "SW Thermal Slowdown", sweep.ObsSWThermalUS},
	{"HW Thermal Slowdown", "HW Thermal Slowdown", sweep.ObsHWThermalUS},
	{"HW Power Braking", "HW Power Brake Slowdown", sweep.ObsPowerBrakeUS},
}

// Slowdowns tells for how long the clocks of the server's GPUs have been held back, and by what, under the Obs keys. Not
// every driver counts every reason; of those that it does not count, it tells which hold them back now. Nothing is told of a
// server whose GPUs Observe did not find.
func (s *Server) Slowdowns(ctx context.Context) map[string]any {
	if len(s.gpus) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sideTimeout)
	defer cancel()
	text, err := s.deps.Output(ctx, "nvidia-smi", "-q", "-d", "PERFORMANCE")
	if err != nil {
		return nil
	}
	pages := parsePerformance(string(text))
	var used []performance
	for _, g := range s.gpus {
		page, ok := pages[strings.ToUpper(g.bus)]
		if !ok {
			return nil
		}
		used = append(used, page)
	}
	return slowedBy(used)
}

// performance is what nvidia-smi says of one GPU: times in microseconds, and what is so now, by its names.
type performance struct {
	us  map[string]int64
	now map[string]bool
}

// parsePerformance reads nvidia-smi's page by the addresses of its GPUs. A time and a state can have one name, and what they
// stand under differs between drivers: the values tell them apart.
func parsePerformance(text string) map[string]performance {
	pages := map[string]performance{}
	var page performance
	for line := range strings.Lines(text) {
		if bus, ok := strings.CutPrefix(line, "GPU "); ok {
			page = performance{map[string]int64{}, map[string]bool{}}
			pages[strings.ToUpper(strings.TrimSpace(bus))] = page
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || page.us == nil {
			continue
		}
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if n, isTime := strings.CutSuffix(value, " us"); isTime {
			if us, err := strconv.ParseInt(n, 10, 64); err == nil {
				page.us[name] = us
			}
		} else if value == "Active" || value == "Not Active" {
			page.now[name] = value == "Active"
		}
	}
	return pages
}

// slowedBy sums over GPUs the time of the reasons that each of them counts. Of the others it is what any of them is slowed by.
func slowedBy(gpus []performance) map[string]any {
	o := map[string]any{}
	var now []string
	said := false
	for _, reason := range slowdowns {
		var sum int64
		counted, active := true, false
		for _, g := range gpus {
			us, counts := g.us[reason.counter]
			sum, counted = sum+us, counted && counts
			state, says := g.now[reason.flag]
			said, active = said || says && !counts, active || state
		}
		switch {
		case counted:
			o[reason.key] = sum
		case active:
			now = append(now, reason.flag)
		}
	}
	switch {
	case len(now) > 0:
		o[sweep.ObsSlowedBy] = strings.Join(now, ", ")
	case said:
		o[sweep.ObsSlowedBy] = "nothing"
	}
	return o
}
