package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"memtrix/reports"
	"memtrix/workflows"
)

// standinCmd is about stand-in models: files with a family's real tensor names,
// shapes and dtypes, and zeros for weights.
type standinCmd struct {
	List  standinListCmd  `cmd:"" help:"The model families that can be written."`
	Write standinWriteCmd `cmd:"" help:"Write a stand-in model. It takes hardly any disk, and loads as the real one does."`
}

type standinListCmd struct {
	JSON bool `name:"json" help:"One JSON document on standard output."`
}

// standinFamily is a row of the list.
type standinFamily struct {
	Family  string           `json:"family"`
	Tensors int              `json:"tensors"`
	Bytes   map[string]int64 `json:"bytes"` // by dtype
}

func (c *standinListCmd) Run(a *app) error {
	var list []standinFamily
	for _, name := range workflows.Families() {
		tensors, err := workflows.StandIn(name)
		if err != nil {
			return err
		}
		f := standinFamily{Family: name, Tensors: len(tensors), Bytes: map[string]int64{}}
		for _, dtype := range workflows.DTypes() {
			if f.Bytes[dtype], err = workflows.StandInSize(name, dtype); err != nil {
				return err
			}
		}
		list = append(list, f)
	}
	if c.JSON {
		return json.NewEncoder(a.stdout).Encode(map[string]any{"families": list})
	}
	for _, f := range list {
		fmt.Fprintf(a.stdout, "%-6s %5d tensors  fp16 %s\n", f.Family, f.Tensors, reports.Bytes(f.Bytes["fp16"]))
	}
	return nil
}

type standinWriteCmd struct {
	Family string `arg:"" help:"A family of 'memtrix standin list'."`
	Output string `short:"o" required:"" help:"The file to write; it must not exist." type:"path"`
	DType  string `name:"dtype" help:"fp16, bf16, fp8 or fp32." enum:"fp16,bf16,fp8,fp32" default:"fp16"`
}

func (c *standinWriteCmd) Run(a *app) error {
	if err := os.MkdirAll(filepath.Dir(c.Output), 0o755); err != nil {
		return usage{err}
	}
	if err := workflows.WriteStandIn(c.Output, c.Family, c.DType); err != nil {
		return usage{err}
	}
	size, err := workflows.StandInSize(c.Family, c.DType)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "wrote %s: %s of zeros\n", c.Output, reports.Bytes(size))
	return nil
}
