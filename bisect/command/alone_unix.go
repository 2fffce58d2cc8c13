//go:build unix

package command

import (
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// grace is how long a command has to end after it was asked to.
const grace = 5 * time.Second

// alone gives the command a process group of its own. A Ctrl-C in the terminal then
// reaches memtrix alone, and what is stopped is stopped with everything that it started.
func alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = grace
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGTERM) }
}

// endRest ends what a stopped command left behind in its group.
func endRest(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	}
}
