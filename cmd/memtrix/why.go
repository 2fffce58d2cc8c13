package main

import (
	"fmt"
	"time"

	"memtrix/reports"
	"memtrix/versions/installs"
	"memtrix/why"
)

type whyCmd struct {
	What string `arg:"" optional:"" name:"log|folder" help:"A log, a ComfyUI folder or a folder of logs; - is standard input. Without it the installations of this machine are looked through."`
	JSON bool   `name:"json" help:"One JSON document on standard output and nothing else there."`
}

// Help is shown under --help.
func (whyCmd) Help() string {
	return `Finds the newest log of the ComfyUI installations here (git, portable, Desktop, comfy-cli, Stability Matrix, Pinokio) in which something failed, and says what ran out and why, what to change and in which line or setting, what changed since it last worked, and the commands that go back. Nothing is run or written; git is not needed.

Exit status: 0 with an answer, 1 when nothing failed in what was read or there is no log, 2 for wrong usage or a file that cannot be read.`
}

func (c *whyCmd) Run(a *app) error {
	answer, err := why.Question{On: installs.Here(), What: c.What, Stdin: a.stdin, Now: time.Now()}.Ask()
	if err != nil {
		return usage{err}
	}
	write := reports.WhyText
	if c.JSON {
		write = reports.WhyJSON
	}
	if err := write(a.stdout, answer); err != nil {
		return cannot{fmt.Errorf("write the answer: %w", err)}
	}
	if !answer.Found {
		return status(exitFound)
	}
	return nil
}
