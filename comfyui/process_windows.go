package comfyui

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/windows"
)

// isolate gives the server a process group of its own, so that a Ctrl-C for memtrix is
// none for it. Nothing ends it should memtrix be killed.
//
// Not run on Windows so far: `memtrix why`, `classify` and `convert`, which start
// nothing, are what this file is compiled for.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// member is a process and all that it started.
type member struct{ pid int }

// kill ends them through taskkill, which follows parents
// (https://learn.microsoft.com/windows-server/administration/windows-commands/taskkill).
func (m member) kill() {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(m.pid)).Run()
}

func (p *process) family() []member { return nil }

func (p *process) survivors([]member) []member { return nil }

// signalGroup sends a Ctrl-Break, the one event that can be sent to a group
// (https://learn.microsoft.com/windows/console/generateconsolectrlevent), or ends it.
func signalGroup(pid int, name string) {
	if name == "KILL" {
		member{pid}.kill()
		return
	}
	// An error means that nobody is left, or that there is no console.
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(pid))
}

// exitOf gives the exit status; Windows has no signals.
func exitOf(state *os.ProcessState) (status int, signal string) { return state.ExitCode(), "" }
