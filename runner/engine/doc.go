// Package engine says what each serving engine understands: the fields of its requests, where it answers questions about
// itself, the names of its metrics, and how the command that launches it is spelt. These are values, one an engine;
// nothing is registered and nothing can be plugged in.
//
// It does not know whether a server is up, what a server answered, or how a process is started: package target asks and
// starts. It does no input or output.
package engine
