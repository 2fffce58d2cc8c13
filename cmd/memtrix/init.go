package main

import (
	"errors"
	"fmt"
	"os"

	"memtrix/matrix"
	"memtrix/versions"
)

type initCmd struct {
	Output  string `short:"o" help:"The spec to write." default:"memtrix.yaml" type:"path"`
	ComfyUI string `name:"comfyui" help:"Do not look for a ComfyUI: take this one." placeholder:"DIR" type:"path"`
	Python  string `help:"The Python that runs it." placeholder:"PYTHON"`
}

func (c *initCmd) Run(a *app) error {
	found := []versions.Found{{Dir: c.ComfyUI, Python: c.Python, Why: "given"}}
	if c.ComfyUI == "" {
		found = versions.Discover(a.ctx)
	}
	for _, f := range found {
		fmt.Fprintf(a.stderr, "found %s (%s)\n", f.Dir, f.Why)
	}
	if len(found) == 0 {
		return cannot{errors.New("no ComfyUI found here, in the home folder, in a portable layout, or running; say where with --comfyui DIR")}
	}
	first := found[0]
	v, err := versions.Resolve(a.ctx, "", first.Dir, first.Python)
	if err != nil {
		return cannot{err}
	}
	device := (&specFlags{}).device()
	data := matrix.Template(matrix.Found{
		Versions: []matrix.FoundVersion{{Path: v.Dir, Python: v.Python, Release: v.Release}},
		Device:   device,
	})
	f, err := os.OpenFile(c.Output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return usage{fmt.Errorf("%s is there already; name another file with -o", c.Output)}
	}
	if err != nil {
		return cannot{fmt.Errorf("write spec: %w", err)}
	}
	if _, err := f.Write(data); err != nil {
		f.Close()
		return cannot{fmt.Errorf("write spec: %w", err)}
	}
	if err := f.Close(); err != nil {
		return cannot{fmt.Errorf("write spec: %w", err)}
	}
	if text := versions.LacksTorch(v); text != "" {
		fmt.Fprintln(a.stderr, "warning:", text)
	}
	fmt.Fprintf(a.stderr, "Python: %s\n", v.Python)
	fmt.Fprintf(a.stdout, "wrote %s for ComfyUI %s in %s\nnext: memtrix plan %s, then memtrix run %s\n", c.Output, v.Release, v.Dir, c.Output, c.Output)
	return nil
}
