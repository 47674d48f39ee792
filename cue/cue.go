// Package cue is the only reader of sweep definitions, and the only importer of the CUE library. It checks a file
// against the schema, lets CUE expand it into cells, decodes those, and says what is wrong in one line a mistake. Start
// at Load; explain.go makes the lines.
//
// It does not know what an engine understands, which leaves moved, what a plan costs or how anything is measured:
// package sweep thinks, this package reads.
package cue

import (
	"errors"
	"fmt"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// Options say what to read of a definition, and what that may cost.
type Options struct {
	// Names are the sweeps to load, in any order; none means all that the definition holds.
	Names []string
	// Absent is told each of Names that the definition does not have, for whoever looks in several; where it is nil, that is
	// an error.
	Absent func(name string)
	// Tags are values for the definition's tags, as key=value. A key that it has no tag for is an error.
	Tags []string
	// Timeout bounds the evaluation; 0 is 30 s.
	Timeout time.Duration
	// MaxHeapBytes bounds the heap while it lasts; 0 is 2 GiB.
	MaxHeapBytes uint64
	// Warn is told what a user should know although nothing is wrong, in one line each. It may be nil.
	Warn func(string)
}

// Load reads the sweeps of a definition: a .cue, .yaml, .yml or .json file alone, or a folder's package. It returns
// them in the order in which they are written. Where the definition is wrong the error is of type Errors; any other
// error is a bound that was passed or a file that cannot be read. After a bound was passed the evaluation is still going
// on, uselessly: the program should end.
func Load(path string, o Options) ([]*sweep.Definition, error) {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxHeapBytes == 0 {
		o.MaxHeapBytes = defaultMaxHeapBytes
	}
	definitions, err := bounded(o, func() ([]*sweep.Definition, error) {
		s, err := open(path)
		if err != nil {
			return nil, err
		}
		for _, warning := range s.warnings {
			if o.Warn != nil {
				o.Warn(warning)
			}
		}
		return s.read(o)
	})
	if err != nil && !errors.As(err, new(Errors)) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return definitions, err
}
