// Package schema is the vocabulary of sweep definitions: the CUE files that check and expand a definition, and the Go
// types generated from them, which are the only Contract type in this module.
//
// It knows nothing of CUE's evaluator, of plans or of measurements: package cue reads definitions, package sweep plans.
package schema

import "embed"

// ImportPath is the path under which a definition imports these files.
const ImportPath = "github.com/inference-sweep/sweep/schema"

// Files holds the package's CUE files, the text that every definition is checked against.
//
//go:embed *.cue
var Files embed.FS

//go:generate go tool cue exp gengotypes .
