//go:build unix

package child

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps the terminal's Ctrl-C from the program, so that it is ended
// once and by us, and lets the kernel end it should memtrix die, where it can.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithUs(cmd.SysProcAttr)
	cmd.Cancel = func() error {
		// SIGTERM lets git remove its half-made clone.
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	}
}

// endGroup ends what a stopped program left running.
func endGroup(cmd *exec.Cmd) {
	if cmd.Process != nil && cmd.ProcessState != nil && !cmd.ProcessState.Success() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
