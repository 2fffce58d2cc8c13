package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"memtrix/hardware"
	"memtrix/internal/comfysim"
)

// simCmd is the simulated ComfyUI as a child process.
type simCmd struct {
	Args []string `arg:"" optional:"" passthrough:""`
}

func (c *simCmd) Run(a *app) error {
	// It answers signals itself, as ComfyUI does.
	signal.Reset()
	if code := comfysim.Main(a.ctx, c.Args, a.stdout, a.stderr); code != 0 {
		return status(code)
	}
	return nil
}

// keeperCmd holds what makes a machine a small one, until its standard input is
// closed; memtrix starts it itself.
type keeperCmd struct {
	Ask string `arg:""`
}

func (c *keeperCmd) Run(a *app) error {
	// Ctrl-C is for memtrix; the keeper ends when its input does.
	signal.Ignore(os.Interrupt)
	if err := hardware.Keep(a.ctx, c.Ask, a.stdin, a.stdout); err != nil {
		return cannot{err}
	}
	return nil
}

// enterGroupCmd becomes a command in a memory group: its process id stays, so
// that whoever started it goes on with it.
type enterGroupCmd struct {
	Group string   `arg:""`
	Args  []string `arg:"" passthrough:""`
}

func (c *enterGroupCmd) Run(a *app) error {
	args := c.Args
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return usage{errors.New("no command")}
	}
	if err := (&hardware.Group{Path: c.Group}).Enter(); err != nil {
		return cannot{err}
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return cannot{err}
	}
	return cannot{fmt.Errorf("start %s: %w", path, syscall.Exec(path, args, os.Environ()))}
}
