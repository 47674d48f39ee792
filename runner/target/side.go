package target

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// sideLimit is the most that is kept of what a command prints, in bytes.
const sideLimit = 4 << 20

// sideGrace is how long a command's output is waited for once it has ended or been killed: what it left behind may hold it.
const sideGrace = time.Second

var errSideLimit = errors.New("it prints without end")

// output runs a command and gives what it printed. Once ctx is over it is killed with all that it has started, and whether
// or not it ends by that, output returns.
func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	printed := &bounded{full: make(chan struct{})}
	cmd.Stdout, cmd.WaitDelay = printed, sideGrace
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	kill := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	select {
	case err := <-ended:
		if errors.Is(err, exec.ErrWaitDelay) { // it has ended well, and left something behind
			kill()
			err = nil
		}
		if err != nil {
			return nil, err
		}
		return printed.text.Bytes(), nil
	case <-printed.full:
		kill()
		return nil, errSideLimit
	case <-ctx.Done():
		kill()
		return nil, context.Cause(ctx)
	}
}

// bounded keeps what is written up to a limit, and says when there is more.
type bounded struct {
	text bytes.Buffer
	full chan struct{}
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > sideLimit {
		select {
		case <-b.full:
		default:
			close(b.full)
		}
		return 0, errSideLimit
	}
	return b.text.Write(p)
}
