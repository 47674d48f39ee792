// Package exchange speaks to other tools: rows of the public views as CSV and JSON lines, one by one, and a cell as the
// command of another load generator that comes closest to it, with what that command cannot say.
//
// It knows no statistics and no database: rows come to it as they are printed. It reads no file and no clock, and writes
// only to the writer that it is given.
package exchange
