package sweep

import "fmt"

// What one trial may ask for at most. Beyond it no client keeps up, no memory holds the schedule, and no night is long
// enough: such a number was written by mistake.
const (
	maxRatePerS = 1_000_000
	// maxConnections is how many one client can have open to one server: as many as there are ports.
	maxConnections = 65_535
	maxRequests    = 20_000_000
	maxTrialS      = 30 * 24 * 3600
	// maxGroups is of heads that prompts share: at one block of tokens each they are more than any server caches.
	maxGroups = 1_000_000
)

// bounded refuses a cell that nobody could measure.
func (p *Plan) bounded(cell *PlanCell) error {
	load, measure, shared := cell.Cell.Contract.Load, cell.Cell.Measure, cell.Cell.Contract.Prompt.Shared
	switch {
	case shared != nil && shared.Groups > maxGroups:
		return p.refuseAt(cell, "contract.prompt.shared.groups",
			fmt.Sprintf("has %d groups of prompts: no server keeps the heads of more than %d", shared.Groups, maxGroups), "ask for fewer groups")
	case load.Open != nil && load.Open.Rate > maxRatePerS:
		return p.refuseAt(cell, "contract.load.open.rate",
			fmt.Sprintf("asks for %.6g requests a second: no client sends more than %d", load.Open.Rate, maxRatePerS), "lower the rate")
	case load.Closed != nil && load.Closed.Clients > maxConnections:
		return p.refuseAt(cell, "contract.load.closed.clients",
			fmt.Sprintf("has %d clients: there are %d ports for their connections", load.Closed.Clients, maxConnections), "name fewer clients")
	case load.Burst != nil && measure.Requests > maxConnections:
		return p.refuseAt(cell, "measure.requests",
			fmt.Sprintf("is a burst of %d requests: there are %d ports for their connections", measure.Requests, maxConnections), "ask for fewer requests")
	case load.Open != nil && measure.Requests == 0 && expectedDue(&cell.Cell) < 0.5:
		return p.refuseAt(cell, "measure.duration",
			fmt.Sprintf("expects no request in a window of %s at %.3g a second", measure.Duration, load.Open.Rate), "measure for longer, or by requests")
	}
	return p.boundedTrial(cell)
}

// boundedTrial refuses a trial that is too long or too full. A closed loop stops by itself; an open one is drawn to the
// end of its tail.
func (p *Plan) boundedTrial(cell *PlanCell) error {
	seconds, sent := expectedLoadS(&cell.Cell, expectedRequests(&cell.Cell))
	primingS := expectedPrimingS(&cell.Cell)
	drawn := sent
	if open := cell.Cell.Contract.Load.Open; open != nil {
		drawn += open.Rate * Duration(cell.Cell.Tail).Seconds()
	}
	switch {
	case primingS > maxTrialS:
		return p.refuseAt(cell, "contract.prompt.shared.groups", fmt.Sprintf("would take %s a trial to send the heads of %d groups, and the most is 30 days",
			longTime(primingS), cell.Cell.Heads()), "ask for fewer groups")
	case seconds > maxTrialS:
		return p.refuseAt(cell, "measure", "would take "+longTime(seconds)+" a trial, and the most is 30 days",
			"ask for fewer requests, or a shorter time")
	case sent > maxRequests:
		return p.refuseAt(cell, "measure", fmt.Sprintf("would send about %.0f million requests a trial, and the most is %d million", sent/1e6, maxRequests/1_000_000),
			"ask for fewer requests, or a shorter time")
	case drawn > maxRequests:
		return p.refuseAt(cell, "tail", fmt.Sprintf("would send up to %.0f million requests a trial with its tail of %s, and the most is %d million", drawn/1e6, cell.Cell.Tail, maxRequests/1_000_000),
			"a tail lasts until the window's last request has ended: it can be short")
	}
	return nil
}

// longTime is a time of many days in words. It may be longer than a time.Duration holds.
func longTime(seconds float64) string {
	const dayS, yearS = 24 * 3600, 365.25 * 24 * 3600
	switch {
	case seconds > 1e6*yearS:
		return "over a million years"
	case seconds > 2*yearS:
		return fmt.Sprintf("about %.0f years", seconds/yearS)
	}
	return fmt.Sprintf("about %.0f days", seconds/dayS)
}
