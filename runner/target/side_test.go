package target

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A command beside the server cannot hold a trial up, whatever it does: the time it has is what its caller gives it.
func TestOutput(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		script string
		want   string
		err    error
	}{
		"prints":                {"echo a; echo b", "a\nb\n", nil},
		"hangs":                 {"echo a; sleep 300", "", context.DeadlineExceeded},
		"hangs in another":      {"sleep 300; echo a", "", context.DeadlineExceeded},
		"does not listen":       {"trap '' TERM INT; while :; do sleep 300; done", "", context.DeadlineExceeded},
		"prints without end":    {"while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done", "", errSideLimit},
		"leaves another behind": {"echo a; sleep 300 & exit 0", "a\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte("#!/bin/sh\n"+c.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			limit := 200 * time.Millisecond
			if c.err == nil || errors.Is(c.err, errSideLimit) {
				limit = time.Minute
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			begun := time.Now()
			got, err := output(ctx, path)
			if took := time.Since(begun); took > 30*time.Second {
				t.Errorf("it took %s", took)
			}
			if !errors.Is(err, c.err) || string(got) != c.want {
				t.Errorf("%q, %v; want %q, %v", got, err, c.want, c.err)
			}
		})
	}
}
