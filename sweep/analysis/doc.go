// Package analysis makes the derived rows: what the requests of a trial add up to, the same pooled over blocks, the
// spread between blocks, and the comparison of two cells.
//
// The definitions of TTFT, TPOT, gap, percentile, rate, attainment and goodput stand here and nowhere else. [Summarise]
// reads a trial's rows once, in any order, and keeps a few numbers a request; [Totals] of trials add up to pooled ones,
// and make the rows of the public views latency and goodput; [Variance] and [Compare] work on one value a block.
//
// It is pure and judges nothing: it knows no flag, no threshold and no verdict, does not decide which trials count, and
// knows no file, clock or database. Its rows leave Verdict and Flags empty for package verdict to fill in.
package analysis

// Version counts the changes to these definitions: figures of one version are comparable.
const Version = 2
