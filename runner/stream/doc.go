// Package stream turns one request to an inference server into one timed row. Whatever happens on the wire, from a
// refused connection to an error inside a 200, ends as fields of that row: a failure is data, never a Go error.
//
// Bytes take one path. A connection of the Client's pool is read: on Linux and without TLS by one loop for all of them,
// else by its request's goroutine. The moment a read returns is its time; the response parser takes the HTTP framing
// off; the Decoder takes the event framing off, scans the JSON without allocating, and applies the definitions: what
// stops the clock of the first token, which event was the last token, who counted the tokens. Parser and Decoder are
// push values that know no clock and no connection.
//
// The package does not know what a request means, when it was due, how many may run at once, what any engine is called,
// or what becomes of a row. It retries nothing: a kept connection that dies before the first byte of a response is the
// row's error "stale", and the next request is a new connection's.
package stream
