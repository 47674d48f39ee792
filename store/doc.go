// Package store remembers: one SQLite file with the plan and the facts of every sitting, the rows derived from them,
// and the public views over both. One process writes at a time (a lock file says which); any number may read, also
// while it writes. Open is where to start; a run goes BeginSitting, StartTrial, Writer.Put, Writer.FinishTrial.
//
// What it does not know: how a figure is made, what a verdict means, which trials are left, how a request is sent. It
// judges nothing but request.met, which is a comparison of stored times with stored bars.
//
// Raw tables only grow. A trial and a launch may change until they have ended, nothing else is ever altered. Which
// trials feed the tables is the plan's of the last sitting: trials of other digests stay in the raw views (trial,
// request, answer), under the name that they were recorded with, as evidence; a digest that the current plan has goes
// by its first name there. After a sitting that began anew (Sitting.Fresh), Trials, Finished and Launches leave out
// what older sittings left; the raw views still show it.
package store
