package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/olekukonko/tablewriter"

	"memtrix/comfyui"
	"memtrix/versions"
)

type flagsCmd struct {
	ComfyUI string `name:"comfyui" required:"" help:"A ComfyUI folder (holds comfy/cli_args.py)." placeholder:"DIR"`
	Python  string `help:"The Python that is asked; any since 3.9 will do. By default the one on PATH, else the folder's own." placeholder:"PYTHON"`
	JSON    bool   `name:"json" help:"One JSON document on standard output."`
}

func (c *flagsCmd) Run(a *app) error {
	dir, err := treeOf(c.ComfyUI)
	if err != nil {
		return usage{err}
	}
	python := c.Python
	if python == "" {
		if python, err = anyPython(a, dir); err != nil {
			return cannot{err}
		}
	}
	flags, err := comfyui.ReadFlags(a.ctx, python, dir)
	if err != nil {
		if a.ctx.Err() != nil {
			return a.ctx.Err()
		}
		return cannot{err}
	}
	if c.JSON {
		enc := json.NewEncoder(a.stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(flags)
	}
	return writeFlags(a.stdout, flags)
}

// treeOf finds the folder that a person means by a folder or a version.
func treeOf(name string) (string, error) {
	dir, err := filepath.Abs(name)
	if err != nil {
		return "", fmt.Errorf("ComfyUI folder %s: %w", name, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "comfy", "cli_args.py")); err != nil {
		return "", fmt.Errorf("%s is not a ComfyUI folder: %w", name, err)
	}
	return dir, nil
}

// anyPython needs no package: the module that is asked has the standard library
// only.
func anyPython(a *app, dir string) (string, error) {
	for _, name := range []string{"python3", "python"} {
		if p, err := exec.LookPath(name); err == nil {
			return p, nil
		}
	}
	v, err := versions.Resolve(a.ctx, "", dir, "")
	if err != nil {
		return "", errors.Join(errors.New("no python3 on PATH; name one with --python"), err)
	}
	return v.Python, nil
}

// writeFlags shows flags to people; members of an exclusive group carry its
// number.
func writeFlags(out io.Writer, flags []comfyui.FlagDef) error {
	rows := make([][]string, 0, len(flags))
	for _, f := range flags {
		group := ""
		if f.Group != nil {
			group = fmt.Sprint(*f.Group)
		}
		rows = append(rows, []string{f.Name(), f.Values(), defaultOf(f), group})
	}
	table := tablewriter.NewWriter(out)
	table.Header("Flag", "Takes", "Default", "One of group")
	if err := table.Bulk(rows); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return table.Render()
}

// defaultOf leaves out what says nothing: no value, and a switch that is off.
func defaultOf(f comfyui.FlagDef) string {
	switch text := string(f.Default); text {
	case "null", "false":
		return ""
	default:
		return strings.Trim(text, `"`)
	}
}
