package sweep

// The derived rows: what analysis and verdict make of the facts, and what the public views print. A *float64 that is
// nil is NULL. Times are milliseconds, rates per second. Block 0 means all blocks together (NULL in SQL).

// TrialRow is a trial's derived part of the view trial.
type TrialRow struct {
	Trial                                           int64
	Verdict                                         string
	Flags                                           []string
	Due, Sent, OK, Failed                           int64
	OfferedRate, AchievedRate                       *float64
	InflightMean, InflightMax, WindowS, CachedShare *float64
}

// LatencyRow is one row of the view latency.
type LatencyRow struct {
	Cell                                   string
	Block                                  int
	Phase                                  Phase
	Metric                                 string
	N                                      int64
	ErrorShare                             *float64
	Mean, SD, Min, P50, P90, P95, P99, Max *float64
	Blocks, LeftOut                        int
	Verdict                                string
	Flags                                  []string
}

// SettlingRow is one row of the view settling: where the time to first token of one open or closed loop's trial settled,
// found by MSER-5 over the requests of warm-up and window that ended ok, in the order in which they were due.
type SettlingRow struct {
	Cell  string
	Block int
	Trial int64
	// N requests have a TTFT, of which WarmupN are of the warm-up.
	N, WarmupN int64
	// CutN is how many leading ones MSER-5 cuts; None where N is too small to say.
	CutN int64
	// FoundMS is from the first warm-up request's due time to that of the first one kept; nil where CutN is None.
	FoundMS *float64
	// WarmupMS is the warm-up's own length: to the start of the window.
	WarmupMS *float64
	// Settled says that the cut is not at the limit of the search, where FoundMS is only the least that it can be; nil where
	// CutN is None.
	Settled *bool
	// TTFTMS is the mean over the measured requests, TTFTCutMS over those that the cut keeps, nil where CutN is None.
	TTFTMS, TTFTCutMS *float64
}

// GoodputRow is one row of the view goodput.
type GoodputRow struct {
	Cell                                     string
	Block                                    int
	Due, OK, Failed, Met                     int64
	Attainment, WindowS                      *float64
	RequestRate, InputRate, OutputRate       *float64
	GoodputReqS, GoodputTokS, GoodputTokSGPU *float64
	Blocks, LeftOut, Moved                   int
	Verdict                                  string
	Flags                                    []string
}

// VarianceRow is one row of the view variance.
type VarianceRow struct {
	Cell, Metric          string
	Blocks                int
	Estimate              *float64
	Estimator             string
	SD, CV, CILow, CIHigh *float64
	CIMethod              string
	Moved                 int
	Verdict               string
	Flags                 []string
}

// ComparisonRow is one row of the view comparison.
type ComparisonRow struct {
	Cell, Reference, Factor, Metric string
	Blocks                          int
	Ratio, CILow, CIHigh, P, PHolm  *float64
	Margin                          float64
	Test, Outcome                   string
	Moved                           int
	Flags                           []string
}

// Derived is everything derived of one sweep: of its current plan and the trials that belong to it. AnalysisVersion
// says which analysis made it.
type Derived struct {
	AnalysisVersion int
	Trials          []TrialRow
	Latency         []LatencyRow
	Settling        []SettlingRow
	Goodput         []GoodputRow
	Variance        []VarianceRow
	Comparison      []ComparisonRow
	Flags           []Flag
}

// TrialDerived is the part of Derived that one trial decides alone: its own row, its block's rows (one set for each
// name of its cell) and its flags.
type TrialDerived struct {
	AnalysisVersion int
	Row             TrialRow
	Latency         []LatencyRow
	Settling        []SettlingRow
	Goodput         []GoodputRow
	Flags           []Flag
}
