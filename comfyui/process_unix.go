//go:build unix

package comfyui

import (
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

var signals = map[string]syscall.Signal{"INT": unix.SIGINT, "TERM": unix.SIGTERM, "KILL": unix.SIGKILL}

// signalGroup signals the process group that a server leads.
func signalGroup(pid int, name string) {
	// An error means that nobody is left.
	_ = syscall.Kill(-pid, signals[name])
}

// exitOf gives the exit status, or the name of the signal that ended the process.
func exitOf(state *os.ProcessState) (status int, signal string) {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return -1, strings.TrimPrefix(unix.SignalName(ws.Signal()), "SIG")
	}
	return state.ExitCode(), ""
}
