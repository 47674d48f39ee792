//go:build unix

package stream

import "syscall"

// quiet says that an unused connection is still up and that the server has sent nothing on it. Under TLS, where a
// record may be waiting that means nothing, only the end of the connection counts. A connection without a descriptor
// is taken on trust.
func quiet(cn *conn) bool {
	if cn.quiet != nil {
		return cn.quiet()
	}
	sc, ok := cn.raw.(syscall.Conn)
	if !ok {
		return true
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	up := false
	err = rc.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		up = err == syscall.EAGAIN || err == syscall.EINTR || err == nil && n > 0 && cn.secure()
	})
	return err == nil && up
}
