// Package bench measures the client itself: against a null server, which computes nothing and keeps known times, what
// remains is what this client adds on this machine. Floor is that figure for one request.
//
// The package's tests hold the comparison with a reader that does nothing but read, and with other tools: see `just
// bench`.
//
// It does not know any real server, any definition or any trial, nor when a figure is a reason for doubt.
package bench
