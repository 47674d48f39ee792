package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/sweep"
)

// sloBars are those of --slo in the help of its verbs.
const sloBars = "ttft=200ms,tpot=50ms,e2e=5s,attainment=0.95; they replace all of its bars, attainment alone none"

const sloHint = "as in --slo ttft=200ms,tpot=50ms,e2e=5s,attainment=0.95"

// meantShare is the share of requests that an SLO is meant for where it does not say, as in the schema.
const meantShare = 0.99

// parseSLO reads the bars of --slo; an empty text is none. The bars that it does not name are gone, unless it names none
// on a time: then the contract's stay, meant for another share.
func parseSLO(text string) (*schema.SLO, error) {
	if text == "" {
		return nil, nil
	}
	slo := &schema.SLO{Attainment: meantShare}
	for _, part := range strings.Split(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			return nil, usage("--slo "+text+": "+strconv.Quote(part)+" is no bar", sloHint)
		}
		if err := setBar(slo, name, value); err != nil {
			return nil, err
		}
	}
	return slo, nil
}

func setBar(slo *schema.SLO, name, value string) error {
	if name == "attainment" {
		share, err := strconv.ParseFloat(value, 64)
		if err != nil || !(share > 0 && share <= 1) {
			return usage("--slo attainment="+value+" is no share above 0 and up to 1", sloHint)
		}
		slo.Attainment = share
		return nil
	}
	bars := map[string]*schema.Duration{"ttft": &slo.Ttft, "tpot": &slo.Tpot, "e2e": &slo.E2e}
	bar, ok := bars[name]
	if !ok {
		return usage("--slo: there is no bar "+name, sloHint)
	}
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		return usage("--slo "+name+"="+value+" has no unit", "write "+name+"="+value+"ms, or s for seconds")
	}
	if d, err := time.ParseDuration(value); err != nil || d <= 0 {
		return usage("--slo "+name+"="+value+" is no time above 0", sloHint)
	}
	*bar = schema.Duration(value)
	return nil
}

// withSLO is a plan whose cells are judged by other bars. The plan given stays as it is.
func withSLO(p *sweep.Plan, slo *schema.SLO) (*sweep.Plan, error) {
	judged := *p
	judged.Cells = slices.Clone(p.Cells)
	if onlyShare(slo) {
		return &judged, withShare(&judged, slo.Attainment)
	}
	for i := range judged.Cells {
		c := &judged.Cells[i].Cell.Contract
		if !c.Streaming && (slo.Ttft != "" || slo.Tpot != "") {
			return nil, usage("--slo: cell "+judged.Cells[i].Name()+" has whole answers (streaming: false), which have no time to first token nor per token", "a bar on e2e can be judged")
		}
		c.SLO = slo
	}
	judged.Flags = slices.DeleteFunc(slices.Clone(p.Flags), func(f sweep.Flag) bool { return f.Code == "no-slo" })
	return &judged, nil
}

// onlyShare says that an SLO has no bar on a time.
func onlyShare(slo *schema.SLO) bool { return slo.Ttft == "" && slo.Tpot == "" && slo.E2e == "" }

// withShare changes the share of requests that the SLO of each cell is meant for, where it has one.
func withShare(p *sweep.Plan, share float64) error {
	has := false
	for i := range p.Cells {
		c := &p.Cells[i].Cell.Contract
		if c.SLO != nil {
			bars := *c.SLO
			bars.Attainment, has = share, true
			c.SLO = &bars
		}
	}
	if !has {
		return usage("--slo names a share, and sweep "+p.Name+" has no bar on a time that it could be of", sloHint)
	}
	return nil
}
