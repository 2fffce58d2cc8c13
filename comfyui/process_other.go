//go:build unix && !linux

package comfyui

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// isolate gives the server a session of its own. Without Linux nothing ends it
// should memtrix be killed.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

// member is a process group; without /proc its members are not known one by one.
type member struct{ group int }

func (m member) kill() { _ = syscall.Kill(-m.group, unix.SIGKILL) }

func (p *process) family() []member { return nil }

func (p *process) survivors([]member) []member {
	if syscall.Kill(-p.pid(), 0) != nil {
		return nil
	}
	return []member{{p.pid()}}
}
