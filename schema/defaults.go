package schema

// Defaults maps each leaf of a cell that the schema gives a value, where a definition gives none, to that value: a
// string, a bool or a float64. Paths start at the cell. Planning leaves a leaf that equals its default out of a cell's
// identity, so that a field added later, with a default, does not orphan old results. A test in package cue derives
// the same table from the schema.
//
// Each call returns a map of the caller's own.
func Defaults() map[string]any {
	return map[string]any{
		"contract.endpoint":             "completions",
		"contract.streaming":            true,
		"contract.precision.kvCache":    "auto",
		"contract.prompt.ids.from":      1000.0,
		"contract.prompt.ids.to":        4000.0,
		"contract.prompt.shared.groups": 1.0,
		"contract.sampling.ignoreEOS":   true,
		"contract.prefixCache.by":       "salt",
		"contract.load.open.arrival":    "poisson",
		"contract.slo.attainment":       0.99,
		"server.port":                   8000.0,
		"server.restart":                "block",
		"tail":                          "30s",
		"timeout.ready":                 "20m",
		"timeout.connect":               "10s",
		"timeout.idle":                  "60s",
		"timeout.noToken":               "120s",
		"timeout.total":                 "10m",
		"timeout.grace":                 "2s",
		"timeout.stop":                  "30s",
		"errorLimit":                    1.0,
	}
}
