package stream

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/inference-sweep/sweep/sweep"
)

// dialKind is the error kind of a connection that could not be made.
func dialKind(err error) string {
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.Canceled):
		return sweep.ErrCancelled
	case ranOut(err):
		return sweep.ErrLocal
	case errors.As(err, &dns):
		return sweep.ErrDNS
	}
	return sweep.ErrConnect
}

func tlsKind(err error) string {
	if errors.Is(err, context.Canceled) {
		return sweep.ErrCancelled
	}
	return sweep.ErrTLS
}

// ranOut says that this machine had no port, descriptor or buffer left.
func ranOut(err error) bool {
	for _, e := range []error{syscall.EADDRNOTAVAIL, syscall.EADDRINUSE, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// wireEnding is how a read or write error ends an exchange.
func wireEnding(err error) Ending {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return Ending{sweep.ErrEOF, "the server closed the connection"}
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED),
		errors.Is(err, io.ErrClosedPipe):
		return Ending{sweep.ErrReset, err.Error()}
	case ranOut(err):
		return Ending{sweep.ErrLocal, err.Error()}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Ending{sweep.ErrTimeout, err.Error()}
	}
	return Ending{sweep.ErrReset, err.Error()}
}
