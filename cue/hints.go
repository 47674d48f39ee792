package cue

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// hints say what to write at a path, by pattern of path.Match with dots for slashes; the first that fits is taken.
var hints = []struct{ pattern, hint string }{
	{"contract.model.revision", "pin the commit (7 to 64 hexadecimal digits): a branch moves"},
	{"contract.model.adapter.revision", "pin the commit (7 to 64 hexadecimal digits): a branch moves"},
	{"contract.engine.revision", "name a release or a commit"},
	{"target", "write sim, launch, ssh://[user@]host or http://host:port"},
	{"contract", "write what is held equal: model, engine, hardware, precision, prompt, output, sampling, prefixCache, load"},
	{"contract.model", `write model: {id: "…", revision: "…"}`},
	{"contract.engine", `write engine: {name: "vllm", revision: "…"}`},
	{"contract.hardware", `write hardware: {gpu: "…", gpus: 1}`},
	{"contract.precision", `write precision: weights: "bf16"`},
	{"contract.prompt", "write prompt: length: fixed: 128"},
	{"contract.output", "write output: length: fixed: 128"},
	{"contract.*.length", "write length: fixed: 128"},
	{"contract.sampling", "write sampling: temperature: 0"},
	{"contract.sampling.temperature", "say it: 0 is greedy"},
	{"contract.prefixCache", `write prefixCache: enabled: false, or prefixCache: {enabled: true, state: "cold"}`},
	{"contract.prefixCache.state", "write cold or warm"},
	{"contract.load", "write load: open: rate: 8"},
	{"contract.load.open.rate", "write requests per second"},
	{"measure", `write measure: requests: 1000, or measure: duration: "2m"`},
	{"warmup", `write warmup: requests: 50, or warmup: duration: "30s"`},
	{"*.factors", "write factors: rate: {baseline: 8, levels: [1, 2, 4]}"},
	{"*.factors.*.baseline", "name the level at which the other factors are measured"},
	{"*.factors.*.levels", "list the other levels"},
	{"*.factors.*.sets.*", "a path starts at the cell: contract.load.open.rate"},
	{"*.factors.*.couples.*", "a path starts at the cell: contract.hardware.gpus, or contract.engine.** for all under one"},
	{"*.grids.*.of.*", "name a factor"},
	{"*.fromEnv", "name an environment variable, as in HF_TOKEN"},
	{"*.*.fromEnv", "name an environment variable, as in HF_TOKEN"},
	{"*.*.*.fromEnv", "name an environment variable, as in HF_TOKEN"},
	{"*.*.*.*.fromEnv", "name an environment variable, as in HF_TOKEN"},
}

// hintFor is what to write at a path, or empty.
func hintFor(names []string) string {
	slashed := strings.Join(names, "/")
	for _, h := range hints {
		if ok, _ := path.Match(strings.ReplaceAll(h.pattern, ".", "/"), slashed); ok {
			return h.hint
		}
	}
	return ""
}

// shortHint is what a list with too few items is for.
func shortHint(names []string) string {
	switch names[len(names)-1] {
	case "levels":
		return "a factor moves: give it one level besides its baseline"
	case "of":
		return "a grid moves two factors or more"
	}
	return ""
}

// choice says in words what the schema's choices ask for, by path.
func (r *reader) choice(f fault) (message, hint string) {
	offered := map[string]string{
		"contract.load":          "open, closed, burst",
		"contract.prompt.length": "fixed, uniform, lognormal, trace",
		"contract.output.length": "fixed, uniform, lognormal, trace",
		"measure":                "requests, duration",
	}
	switch at := strings.Join(f.path, "."); {
	case offered[at] != "":
		names := strings.Split(offered[at], ", ")
		return "takes exactly one of " + offered[at] + r.has(f, names), ""
	case at == "warmup":
		return "needs requests or duration", hintFor(f.path)
	case at == "contract.slo":
		return "needs a bar: ttft, tpot or e2e", ""
	case at == "contract.load.open":
		if strings.Contains(f.args[0], `arrival:"gamma"`) {
			return "gamma arrivals need a shape", "write shape: 0.5 for bursts, 1 for Poisson's"
		}
		return "trace arrivals need a trace", `write trace: "arrivals.txt"`
	case at == "contract.prefixCache":
		return "a cache that is on needs its state", hintFor(append(slices.Clone(f.path), "state"))
	}
	if len(f.args) > 0 && len(f.others) > 0 {
		return "takes a number, a string or a bool, not " + f.args[0], "structure goes in a table that the level indexes"
	}
	return f.text, ""
}

// has says which of names are written.
func (r *reader) has(f fault, names []string) string {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		at := f
		at.path = append(slices.Clone(f.path), name)
		_, written := r.written(at)
		return !written
	})
	if len(names) < 2 {
		return ""
	}
	return ": here are " + strings.Join(names, " and ")
}

// written finds a value as somebody writes it, where a type or a bound is none.
var written = regexp.MustCompile(`^("|'|-?[0-9]|(true|false|null)$)`)

// isWholeNumber finds one in decimal digits.
var isWholeNumber = regexp.MustCompile(`^-?[0-9]+$`)

func isNumber(kind string) bool { return kind == "int" || kind == "float" || kind == "number" }

// mismatch is the message for a value of another type than the schema's.
func mismatch(f fault) (message, hint string) {
	given, asked, is, want := f.args[0], f.args[1], f.args[2], f.args[3]
	if written.MatchString(given) && written.MatchString(asked) {
		return "conflicting values " + given + " and " + asked, ""
	}
	if !written.MatchString(given) && written.MatchString(asked) {
		given, asked, is, want = asked, given, want, is // CUE names the two in the order in which it met them
	}
	if strings.HasPrefix(asked, "time.Duration") {
		return "invalid value " + given + " (not a duration)", writeDuration(given, f.path)
	}
	bare := strings.Trim(given, `"`)
	switch {
	case is == "float" && want == "int":
		hint = "write a whole number; div(a, b) divides to one"
	case is == "string" && want == "bool" && (bare == "true" || bare == "false"), is == "string" && isNumber(want) && isWholeNumber.MatchString(bare):
		hint = "write " + bare
	case (is == "int" || is == "float") && want == "string":
		hint = "write " + strconv.Quote(given)
	}
	return fmt.Sprintf("invalid value %s (%s where %s is needed)", given, article(is), article(want)), hint
}

func article(noun string) string {
	if strings.ContainsAny(noun[:1], "aeiou") {
		return "an " + noun
	}
	return "a " + noun
}

// withPassword finds what stands before the host of a URL.
var withPassword = regexp.MustCompile(`://[^/\s]*@`)

// unfit is the message for a value that a validator refuses.
func unfit(f fault) (message, hint string) {
	given, validator := f.args[0], f.args[1]
	switch {
	case strings.HasPrefix(validator, "time.Duration"):
		return "invalid value " + given + " (not a duration)", writeDuration(given, f.path)
	case strings.HasPrefix(validator, "strings.MinRunes"):
		return "is empty", ""
	case strings.HasPrefix(validator, "list.UniqueItems"):
		return "lists the same item twice: " + given, ""
	}
	return f.text, ""
}

// aDuration takes the number and the unit of what somebody wrote for a duration.
var aDuration = regexp.MustCompile(`^"?\s*([0-9]+\.?[0-9]*)\s*([a-zA-Zµ]*)\s*"?$`)

// writeDuration guesses the duration that was meant. A bare number is milliseconds in a bar of the SLO, else seconds.
func writeDuration(given string, at []string) string {
	parts := aDuration.FindStringSubmatch(given)
	if parts == nil {
		return `a duration reads "150ms" or "1m30s"`
	}
	number, unit := parts[1], strings.ToLower(parts[2])
	switch {
	case unit == "" && slices.Contains(at, "slo"):
		unit = "ms"
	case unit == "":
		unit = "s"
	case strings.HasPrefix(unit, "ms"), strings.HasPrefix(unit, "mil"):
		unit = "ms"
	case strings.HasPrefix(unit, "us"), strings.HasPrefix(unit, "µ"), strings.HasPrefix(unit, "mic"):
		unit = "us"
	case strings.HasPrefix(unit, "s"), strings.HasPrefix(unit, "m"), strings.HasPrefix(unit, "h"):
		unit = unit[:1]
	default:
		return `a duration reads "150ms" or "1m30s"`
	}
	if given == strconv.Quote(number+unit) || given == number+unit {
		return "a duration is at most a year, as in \"8760h\"" // well written, and too long for a time
	}
	return fmt.Sprintf("write %q", number+unit)
}
