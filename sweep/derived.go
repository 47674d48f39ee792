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
	Goodput         []GoodputRow
	Flags           []Flag
}
