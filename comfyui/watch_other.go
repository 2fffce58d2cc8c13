//go:build !linux

package comfyui

import (
	"errors"

	"memtrix"
)

func startOf(string) (string, error) {
	return "", errors.New("processes are found on Linux only")
}

// watched is a process that is not ours; here nobody tells of its end.
type watched struct{ exited chan struct{} }

func watchProcess(int, string) *watched { return &watched{exited: make(chan struct{})} }

func (w *watched) close() {}

func (w *watched) exit() (memtrix.Exit, bool) { return memtrix.Exit{}, false }

func (w *watched) kernelWords() []string { return nil }
