//go:build unix

package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	var said []string
	say := func(s string) { said = append(said, s) }
	out, err := Run(context.Background(), Command{Argv: []string{"/bin/sh", "-c", `printf 'out'; printf 'a\rb\n\nlast' >&2`}, Say: say})
	if err != nil || out != "out" || !slices.Equal(said, []string{"a", "b", "last"}) {
		t.Errorf("got %q, %v, said %q", out, err, said)
	}
	_, err = Run(context.Background(), Command{Argv: []string{"/bin/sh", "-c", `printf 'redrawn\rwhy\n' >&2; exit 3`}})
	var failed *Error
	if !errors.As(err, &failed) || !slices.Equal(failed.Lines, []string{"why"}) || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v", err)
	}
	if _, err = Run(context.Background(), Command{Argv: []string{"/no/such/program"}}); err == nil {
		t.Error("no error for a program that is not there")
	}
}

func TestLastLines(t *testing.T) {
	_, err := Run(context.Background(), Command{Argv: []string{"/bin/sh", "-c", `i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo $i; done; exit 1`}, Progress: true})
	var failed *Error
	if !errors.As(err, &failed) || len(failed.Lines) != keptLines || failed.Lines[keptLines-1] != "100" {
		t.Errorf("got %v", err)
	}
}

// What a stopped program started ends with it.
func TestStop(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	pid := 0
	say := func(s string) {
		if n, err := strconv.Atoi(s); err == nil {
			pid = n
			cancel()
		}
	}
	_, err := Run(ctx, Command{Argv: []string{"/bin/sh", "-c", `trap '' TERM; sleep 60 & echo $! >&2; wait`}, Say: say, StopTime: 50 * time.Millisecond})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	for deadline := time.Now().Add(10 * time.Second); !gone(pid) && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	if pid == 0 || !gone(pid) {
		t.Errorf("process %d is still there", pid)
	}
}

// gone reports whether a process has ended, also where nobody asks how: in a container
// the first process may be one that leaves zombies alone.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || err == nil && strings.Contains(string(stat), ") Z ")
}
