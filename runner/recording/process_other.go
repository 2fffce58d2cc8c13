//go:build !unix

package recording

import (
	"os"
	"time"

	"memtrix"
)

// Signals are those that are passed on to a command.
var Signals = []os.Signal{os.Interrupt}

// heardAlready is true: Ctrl-C goes to all processes of a console.
func heardAlready(os.Signal) bool { return true }

// Status is the command's own.
func Status(e memtrix.Exit) int { return e.Status }

func exitOf(p *os.ProcessState) *memtrix.Exit { return &memtrix.Exit{Status: p.ExitCode()} }

func largest(*os.ProcessState) int64 { return 0 }

func ownCPU() time.Duration { return 0 }

func exists(pid int) error {
	p, err := os.FindProcess(pid)
	if err == nil {
		p.Release()
	}
	return err
}
