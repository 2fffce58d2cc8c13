//go:build unix

package recording

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"memtrix"
)

// Signals are those that are passed on to a command.
var Signals = []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2}

// heardAlready reports whether the command was sent a signal too: Ctrl-C and
// Ctrl-\ go to all processes in the terminal's foreground.
func heardAlready(s os.Signal) bool {
	if s != unix.SIGINT && s != unix.SIGQUIT {
		return false
	}
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false // no terminal: somebody sent it to us alone
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// Status is what a shell would show: 128 and the signal's number where one ended
// the command.
func Status(e memtrix.Exit) int {
	if e.Signal == "" {
		return e.Status
	}
	return 128 + int(unix.SignalNum("SIG"+e.Signal))
}

func exitOf(p *os.ProcessState) *memtrix.Exit {
	w, ok := p.Sys().(syscall.WaitStatus)
	if !ok || !w.Signaled() {
		return &memtrix.Exit{Status: p.ExitCode()}
	}
	name := strings.TrimPrefix(unix.SignalName(unix.Signal(w.Signal())), "SIG")
	return &memtrix.Exit{Status: p.ExitCode(), Signal: name}
}

// largest is ru_maxrss in bytes.
func largest(p *os.ProcessState) int64 {
	u, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(u.Maxrss) // bytes there, KiB elsewhere
	}
	return int64(u.Maxrss) << 10
}

// ownCPU is the processor time of this process.
func ownCPU() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// exists fails where there is no such process. Signal 0 is none.
func exists(pid int) error {
	if pid < 1 {
		return errors.New("not a process number")
	}
	err := unix.Kill(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("there is none: %w", err)
	}
	return nil // also where we may not signal it
}
