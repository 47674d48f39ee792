package main

import (
	"slices"
	"strings"

	"github.com/inference-sweep/sweep/runner"
	"github.com/inference-sweep/sweep/sweep"
	"github.com/inference-sweep/sweep/sweep/verdict"
)

// shown are the flags that a few requests are enough for, with what to do about each.
var shown = map[string]string{
	"contract-drift":     "correct the contract, or the server",
	"cache-contaminated": `launch the server with the cache as the contract says, or use prefixCache.by: "salt"`,
	"cache-unverified":   "launch it with cached tokens in its usage (vLLM: --enable-prompt-tokens-details)",
	"input-mismatch":     "check prompt.ids against the model's vocabulary, and whether the server cuts prompts",
	"short-output":       "see whether the server knows ignore_eos and min_tokens; comparisons need equal lengths",
	"token-source":       "time per token and output rates need counts: serve with usage in streams",
	"mixed-models":       "name the model that answers in the contract, or server.servedModel",
}

// judged says what a run's own rules make of the requests of a check. A flag is shown once a server.
func judged(c *runner.Checked) []runner.Finding {
	var found []runner.Finding
	answered := false
	for _, facts := range c.Facts {
		for _, err := range facts.Rows {
			answered = answered || err == nil
		}
		derived, err := verdict.DeriveTrial(c.Plan, facts)
		if err != nil {
			found = append(found, runner.Finding{Status: runner.CheckFail, Name: "contract", Detail: err.Error()})
			continue
		}
		for _, f := range derived.Flags {
			finding := flagFinding(f)
			if finding.Hint != "" && !slices.Contains(found, finding) {
				found = append(found, finding)
			}
		}
	}
	if len(found) == 0 && answered {
		found = append(found, runner.Finding{
			Status: runner.CheckOK, Name: "contract", Detail: "what answered is what the contract says, as far as the server tells; tokens are counted, and as many as asked",
		})
	}
	return found
}

// flagFinding is a flag as a line of a check. One without a hint is none of a check's.
func flagFinding(f sweep.Flag) runner.Finding {
	finding := runner.Finding{Status: runner.CheckWarn, Name: "contract", Detail: f.Detail + " (" + f.Code + ", " + string(f.Severity) + ")", Hint: shown[f.Code]}
	if f.Severity == sweep.Invalid {
		finding.Status = runner.CheckFail
	}
	for _, name := range []string{"cache", "token", "input", "output"} {
		if strings.Contains(f.Code, name) {
			finding.Name = strings.NewReplacer("token", "tokens", "input", "tokens", "output", "tokens").Replace(name)
			break
		}
	}
	return finding
}
