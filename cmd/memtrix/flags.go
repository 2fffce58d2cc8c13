package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/olekukonko/tablewriter"

	"memtrix/comfyui"
	"memtrix/internal/files"
	"memtrix/versions"
	"memtrix/versions/source"
)

type flagsCmd struct {
	ComfyUI string `name:"comfyui" required:"" help:"A ComfyUI folder (holds comfy/cli_args.py), or a version: a release (0.29.0), commit, branch, pr:N, latest or latest~N." placeholder:"DIR|VERSION"`
	Source  string `help:"Where a version is looked up: a git URL or a local repository. Default: the official one." placeholder:"REPO"`
	Python  string `help:"The Python that is asked; any since 3.9 will do. By default the one on PATH, else the folder's own." placeholder:"PYTHON"`
	JSON    bool   `name:"json" help:"One JSON document on standard output."`
}

func (c *flagsCmd) Run(a *app) error {
	provider := newProvider(a, true, false)
	defer provider.Close()
	dir, err := c.tree(a, provider)
	if err != nil {
		return err
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

// tree finds the folder that a person means by a folder or a version. A folder
// that is there is meant before a version of that name.
func (c *flagsCmd) tree(a *app, provider *versions.Provider) (string, error) {
	dir, err := filepath.Abs(c.ComfyUI)
	if err != nil {
		return "", usage{fmt.Errorf("ComfyUI folder %s: %w", c.ComfyUI, err)}
	}
	if files.Exist(filepath.Join(dir, "comfy", "cli_args.py")) {
		return dir, nil
	}
	if files.Exist(dir) || filepath.IsAbs(c.ComfyUI) {
		return "", usage{fmt.Errorf("%s is not a ComfyUI folder: it has no comfy/cli_args.py", c.ComfyUI)}
	}
	if _, err := source.ParseName(c.ComfyUI); err != nil {
		return "", usage{fmt.Errorf("%s is neither a ComfyUI folder nor a version: %w", c.ComfyUI, err)}
	}
	v, err := provider.Tree(a.ctx, versions.Request{Version: c.ComfyUI, Source: c.Source})
	var cannotGet *versions.CannotError
	switch {
	case err == nil:
		return v.Dir, nil
	case a.ctx.Err() != nil:
		return "", a.ctx.Err()
	case errors.As(err, &cannotGet):
		return "", cannot{err}
	}
	return "", usage{err}
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
