// Package target is the server under test: it attaches to one that is up or launches one, waits until it answers a real
// completion, finds which fields of a request it refuses, asks what it is, empties its cache, waits until it is idle, and
// stops it with everything that it started. Open is where to begin.
//
// It does not know how load is made or measured, what a flag is, or when a trial runs. Its own requests are few and
// never inside a measured window. It never signals a process that it did not start.
package target
