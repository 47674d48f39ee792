//go:build !unix

package stream

// quiet takes an unused connection on trust.
func quiet(*conn) bool { return true }
