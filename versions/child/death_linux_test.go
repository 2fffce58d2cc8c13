package child

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const parentOf = "MEMTRIX_TEST_PARENT" // set: run a program, and say its process id

// A program ends with the memtrix that started it, also when that is killed.
func TestEndsWithUs(t *testing.T) {
	if os.Getenv(parentOf) != "" {
		_, _ = Run(context.Background(), Command{Argv: []string{"/bin/sh", "-c", "echo $$ >&2; exec sleep 60"}, Say: func(s string) { fmt.Println("child", s) }})
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=TestEndsWithUs")
	cmd.Env = append(os.Environ(), parentOf+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	pid, convErr := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "child ")))
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err != nil || convErr != nil {
		t.Fatalf("the child said %q (%v, %v)", line, err, convErr)
	}
	for range 250 {
		if gone(pid) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	t.Errorf("process %d lives on", pid)
}
