package main

import (
	"os/signal"

	"memtrix/hardware"
	"memtrix/internal/comfysim"
	"memtrix/matrix"
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

// ballastCmd makes a big card act as a small one: it takes all memory of the
// card but for a rest, and holds it until its standard input is closed. Other
// programs then see that rest as free; the card's total stays what it is.
type ballastCmd struct {
	Leave string `arg:"" help:"How much to leave free, e.g. 8GiB."`
}

func (c *ballastCmd) Run(a *app) error {
	leave, err := matrix.Size(c.Leave)
	if err != nil {
		return usage{err}
	}
	if err := hardware.Hold(a.ctx, leave, a.stdin, a.stdout); err != nil {
		return cannot{err}
	}
	return nil
}
