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
	Args []string `arg:"" passthrough:"" help:"The group's folder, and the command."`
}

func (c *enterGroupCmd) Run(a *app) error {
	if len(c.Args) < 2 {
		return usage{errors.New("enter-group takes a group and a command")}
	}
	command := c.Args[1:]
	if err := (&hardware.Group{Path: c.Args[0]}).Enter(); err != nil {
		return cannot{err}
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return cannot{err}
	}
	return cannot{fmt.Errorf("start %s: %w", path, syscall.Exec(path, command, os.Environ()))}
}
