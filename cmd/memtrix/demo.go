package main

import (
	_ "embed"
	"errors"

	"memtrix/matrix"
	"memtrix/results"
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
	db, err := results.Open(a.ctx, c.Results)
	if err != nil {
		return cannot{err}
	}
	defer db.Close()
	s, err := runSpec(a, spec, db, "new", c.Quiet, false)
	if s == nil {
		return err
	}
	if err := finishRun(a, s, c.Results, err); err != nil {
		return err
	}
	return verdict(s)
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
