package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"memtrix/matrix"
	"memtrix/reports"
)

//go:embed demo.yaml
var demoSpec []byte

type demoCmd struct {
	ComfyUI string `name:"comfyui" help:"Run the demonstration's settings on this real ComfyUI instead." placeholder:"DIR" type:"path"`
	Python  string `help:"The Python that runs that ComfyUI." placeholder:"PYTHON"`
	Real    bool   `help:"Run them on a real ComfyUI that memtrix gets by itself: its source, its packages, a stand-in model."`
	Version string `help:"Which one." default:"latest" placeholder:"VERSION"`
	Source  string `help:"Where it comes from: a git URL or a local repository. Default: the official one." placeholder:"REPO"`
	Wheels  string `help:"Install packages from this folder only, not from the package index." placeholder:"DIR" type:"path"`
	Results string `help:"Results folder." default:"demo-results" type:"path"`
	Quiet   bool   `short:"q" help:"No progress."`
}

func (c *demoCmd) Run(a *app) error {
	spec, err := c.spec()
	if err != nil {
		return err
	}
	db, done, err := openToWrite(a, c.Results)
	if err != nil {
		return err
	}
	defer done()
	s, _, err := runSpec(a, spec, db, "new", c.Quiet, false)
	if s == nil {
		return err
	}
	if err := finishRun(a, s, c.Results, err); err != nil {
		return err
	}
	fmt.Fprint(a.stdout, reports.Lines(lookAgain(os.Args[0], c.Results)))
	return verdict(s)
}

// demoResults is the demonstration's own results folder, so that it stays away from what
// a person measured.
const demoResults = "demo-results"

// lookAgain are the commands that show results of another folder than the usual one.
func lookAgain(program, dir string) string {
	if cwd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(cwd, dir); err == nil && filepath.IsLocal(rel) {
			dir = rel
		}
	}
	report := repeatCommand([]string{program, "report", "--results", dir})
	return fmt.Sprintf("\nto look again:       %s\nas one page to read: %s --format html -o demo.html\n", report, report)
}

func (c *demoCmd) spec() (*matrix.Spec, error) {
	spec, err := matrix.Parse("demo.yaml", demoSpec)
	if err != nil {
		return nil, err
	}
	if c.ComfyUI != "" && (c.Real || c.Source != "") {
		return nil, usage{errors.New("give --comfyui, or --real and --source, not both")}
	}
	if c.ComfyUI != "" || c.Real || c.Source != "" {
		return c.real(spec)
	}
	return spec, nil
}
