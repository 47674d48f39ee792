//go:build !linux

package stream

// loop is for epoll alone; elsewhere each exchange reads its own connection.
type loop struct{}

func (c *Client) join(*conn) {}
