package target

import (
	"io"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
)

// guard is a small process that outlives this one: should this one be killed, it ends the process group that it was
// given. The end of its standard input tells it; a line there dismisses it.
type guard struct {
	input io.WriteCloser
	once  sync.Once
	done  chan struct{}
}

// guardScript gives the group ten seconds between asking and killing.
const guardScript = `read -r dismissed && exit 0
kill -s TERM -- "-$1" 2>/dev/null || exit 0
for second in 1 2 3 4 5 6 7 8 9 10; do
	sleep 1
	kill -s 0 -- "-$1" 2>/dev/null || exit 0
done
kill -s KILL -- "-$1" 2>/dev/null`

func startGuard(group int) (*guard, error) {
	cmd := exec.Command("/bin/sh", "-c", guardScript, "sweep-guard", strconv.Itoa(group))
	// In a group of its own, the terminal's signals do not reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g := &guard{input: input, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(g.done)
	}()
	return g, nil
}

// dismiss has the guard end without doing anything.
func (g *guard) dismiss() {
	g.once.Do(func() {
		_, _ = io.WriteString(g.input, "\n")
		<-g.done
	})
}
