package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/inference-sweep/sweep/schema"
	"github.com/inference-sweep/sweep/sweep"
)

const sloHint = "as in --slo ttft=200ms,tpot=50ms,e2e=5s,attainment=0.95"

// meantShare is the share of requests that an SLO is meant for where it does not say, as in the schema.
const meantShare = 0.99

// parseSLO reads the bars of --slo; an empty text is none. The bars that it does not name are gone.
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
	if slo.Ttft == "" && slo.Tpot == "" && slo.E2e == "" {
		return nil, usage("--slo "+text+" has no bar on a time", sloHint)
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
