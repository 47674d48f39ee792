// Package verdict says which figures to doubt, and why: it holds the flags, and the verdicts that follow from them.
//
// [DeriveTrial] judges one trial when it ends, [Derive] a whole sweep: trials by themselves and against each other, cells,
// and the comparisons between cells. Both put verdict and flags on the rows that package analysis makes. The limits of
// every flag stand in one table, in rules.go.
//
// It is pure: everything comes from the plan, the records and the rows. It knows no file, clock or database, prints
// nothing, and does not know what a flag looks like in a table.
package verdict

import "github.com/inference-sweep/sweep/sweep/analysis"

// Version identifies what derived rows were made by: the definitions of package analysis and the rules of this one. A
// change to a rule counts one up.
const Version = analysis.Version + rulesVersion

const rulesVersion = 6
