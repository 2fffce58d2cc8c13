package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"memtrix/reports"
	"memtrix/workflows/standin"
)

// standinCmd is about stand-in models: files with a family's real tensor names,
// shapes and dtypes, and no real weights.
type standinCmd struct {
	List  standinListCmd  `cmd:"" help:"The model families that can be written."`
	Write standinWriteCmd `cmd:"" help:"Write a stand-in model. One of zeros takes hardly any disk, and loads as the real one does."`
}

type standinListCmd struct {
	JSON bool `name:"json" help:"One JSON document on standard output."`
}

// standinFamily is a row of the list.
type standinFamily struct {
	Family    string             `json:"family"`
	About     string             `json:"about"`
	Kinds     []string           `json:"kinds"`
	Folder    string             `json:"folder"`
	Model     string             `json:"model,omitempty"` // what ComfyUI takes it for
	DTypes    []string           `json:"dtypes"`          // as published, the usual one first
	Tensors   int                `json:"tensors"`         // of the usual dtype
	Bytes     map[string]int64   `json:"bytes"`           // by dtype, all that can be written
	Published []standinPublished `json:"published,omitempty"`
}

type standinPublished struct {
	File    string `json:"file"`
	DType   string `json:"dtype"`
	Bytes   int64  `json:"bytes"`
	Rounded bool   `json:"rounded,omitempty"`
}

func (c *standinListCmd) Run(a *app) error {
	var list []standinFamily
	for _, f := range standin.All() {
		row, err := standinRow(f)
		if err != nil {
			return err
		}
		list = append(list, row)
	}
	if c.JSON {
		return json.NewEncoder(a.stdout).Encode(map[string]any{"families": list})
	}
	folder := ""
	for _, f := range list {
		if f.Folder != folder {
			folder = f.Folder
			fmt.Fprintf(a.stdout, "%s\n", folder)
		}
		var sizes []string
		for _, d := range f.DTypes {
			sizes = append(sizes, d+" "+reports.Bytes(f.Bytes[d]))
		}
		fmt.Fprintf(a.stdout, "  %-20s %s\n  %20s %d tensors; %s\n", f.Family, f.About, "", f.Tensors, strings.Join(sizes, ", "))
	}
	return nil
}

func standinRow(f *standin.Family) (standinFamily, error) {
	row := standinFamily{Family: f.Name, About: f.About, Kinds: f.Kinds(), Folder: f.Folder, Model: f.Model, DTypes: f.DTypes, Bytes: map[string]int64{}}
	tensors, err := f.Tensors(f.DTypes[0])
	if err != nil {
		return row, err
	}
	row.Tensors = len(tensors)
	for _, dtype := range standin.DTypes() {
		if dtype == "fp8_scaled" && !f.Scalable() {
			continue
		}
		if row.Bytes[dtype], err = f.Size(dtype); err != nil {
			return row, err
		}
	}
	for _, p := range f.Published {
		row.Published = append(row.Published, standinPublished{p.File, p.DType, p.Bytes, p.Rounded})
	}
	return row, nil
}

type standinWriteCmd struct {
	Family string `arg:"" help:"A family of 'memtrix standin list'."`
	Output string `short:"o" required:"" help:"The file to write; it must not exist." type:"path"`
	DType  string `name:"dtype" help:"fp16, bf16, fp8, fp8_scaled or fp32; by default the one that the family is published in." enum:",fp16,bf16,fp8,fp8_scaled,fp32" default:""`
	Fill   string `help:"zero (a sparse file: no disk, and nothing is read from one) or random (the whole size)." enum:"zero,random" default:"zero"`
	Seed   uint64 `help:"Random numbers of another seed are others." default:"1"`
	Yes    bool   `short:"y" help:"Write the whole size where the file system has no sparse files, without asking."`
}

func (c *standinWriteCmd) Run(a *app) error {
	family, err := standin.Find(c.Family)
	if err != nil {
		return usage{err}
	}
	fill, err := standin.ParseFill(c.Fill, c.Seed)
	if err != nil {
		return usage{err}
	}
	p := standin.Plan{Family: family, DType: c.DType, Fill: fill, FullSize: c.Yes}
	if p.DType == "" {
		p.DType = family.DTypes[0]
	}
	size, err := family.Size(p.DType)
	if err != nil {
		return usage{err}
	}
	if err := writeStandIn(a, c.Output, p); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "wrote %s: %s %s, %s, %s\n", reports.OneLine(c.Output), family.Name, p.DType, reports.Bytes(size), fill)
	return nil
}

// writeStandIn writes a file, shows how far it is, and asks before a file of zeros
// takes its whole size.
func writeStandIn(a *app, path string, p standin.Plan) error {
	done := showWriting(a, &p)
	err := standin.Write(a.ctx, path, p)
	done()
	var full *standin.NoSparseError
	if errors.As(err, &full) {
		if !askYes(a, full.Error()+". Write it?") {
			return usage{fmt.Errorf("%w; with --yes it is written all the same", err)}
		}
		p.FullSize = true
		err = standin.Write(a.ctx, path, p)
	}
	switch {
	case err == nil || a.ctx.Err() != nil:
		return err
	case errors.As(err, new(*standin.NoRoomError)):
		return cannot{err}
	}
	return usage{err}
}

// showWriting shows on a terminal how much of a large file is written.
func showWriting(a *app, p *standin.Plan) (done func()) {
	f, ok := a.stderr.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || !p.Fill.Random {
		return func() {}
	}
	last := time.Now()
	p.Progress = func(done, total int64) {
		if time.Since(last) > 200*time.Millisecond {
			last = time.Now()
			fmt.Fprintf(a.stderr, "\r\033[K%s of %s", reports.Bytes(done), reports.Bytes(total))
		}
	}
	return func() { fmt.Fprint(a.stderr, "\r\033[K") }
}

// askYes asks a person at a terminal; nobody there means no.
func askYes(a *app, question string) bool {
	f, ok := a.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return false
	}
	fmt.Fprintf(a.stderr, "%s [y/N] ", question)
	line, err := bufio.NewReader(f).ReadString('\n')
	return err == nil && slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line)))
}
