// Package sweep holds the words of the house and the pure thinking about them: what a definition expands to, which
// leaves moved, what identifies a measurement, in which order trials run, what is left after an earlier run.
//
// It does no input or output: it knows no clock, no file, no network, no database and no global randomness. Figures are
// derived in its subpackages: stats, analysis, verdict, report.
package sweep

import "math"

// None stands for a number that does not exist, in every int64 field of this package that says "or None". It is never
// confused with zero; in SQL it is NULL.
const None = math.MinInt64

// Phase says in which part of a trial a request was due.
type Phase string

// The phases of a trial, in order. Cold requests exist once a launch; quality requests are a place reserved.
const (
	PhaseCold    Phase = "cold"
	PhaseWarmup  Phase = "warmup"
	PhaseMeasure Phase = "measure"
	PhaseTail    Phase = "tail"
	PhaseQuality Phase = "quality"
)

// Phases lists every phase in the order of a trial.
var Phases = []Phase{PhaseCold, PhaseWarmup, PhaseMeasure, PhaseTail, PhaseQuality}

// The statuses of a trial. Only done trials feed the tables.
const (
	StatusDone        = "done"
	StatusFailed      = "failed"
	StatusInterrupted = "interrupted"
	StatusBlocked     = "blocked"
	StatusRunning     = "running"
	// StatusExcluded is a done trial that somebody took out of the tables.
	StatusExcluded = "excluded"
)

// The statuses of a request.
const (
	RequestOK     = "ok"
	RequestFailed = "failed"
)

// The kinds of a failed request: the values of request.error.
const (
	ErrConnect     = "connect"
	ErrDNS         = "dns"
	ErrTLS         = "tls"
	ErrLocal       = "local" // the client had no port or descriptor
	ErrTimeout     = "timeout"
	ErrStalled     = "stalled" // idle, or no token for too long
	ErrReset       = "reset"
	ErrEOF         = "eof"       // the stream ended before any output
	ErrTruncated   = "truncated" // it ended after some
	ErrStale       = "stale"     // a kept connection died before any response byte
	ErrHTTP        = "http"      // a status other than 200
	ErrServer      = "server_error"
	ErrNotStream   = "not_stream"
	ErrAborted     = "aborted"
	ErrEmpty       = "empty"
	ErrMalformed   = "malformed"
	ErrLineTooLong = "line_too_long"
	ErrNotSent     = "not_sent"
	ErrCancelled   = "cancelled"
)

// Severity says what a flag does to the row that carries it.
type Severity string

// The severities, from a footnote to a row that is left out of tables.
const (
	Note    Severity = "note"
	Suspect Severity = "suspect"
	Invalid Severity = "invalid"
)

// VerdictValid is the verdict of a row without a suspect or an invalid flag; the others are named as the severities.
const VerdictValid = "valid"

// Flag is one reason to doubt a figure.
type Flag struct {
	// Cell and Block say what it is about: an empty cell means the whole sweep, block 0 the whole cell.
	Cell     string   `json:"cell,omitempty"`
	Block    int      `json:"block,omitempty"`
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	// Detail is the reason in words, with the numbers.
	Detail string `json:"detail"`
}

// Verdict is the worst severity among flags, as a word: valid, suspect or invalid. Notes do not count.
func Verdict(flags []Flag) string {
	verdict := VerdictValid
	for _, f := range flags {
		switch f.Severity {
		case Invalid:
			return string(Invalid)
		case Suspect:
			verdict = string(Suspect)
		}
	}
	return verdict
}
