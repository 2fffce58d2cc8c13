// Package oomdetail lets torch tell what was allocated, and by which line of Python,
// when a server runs out of VRAM. It carries a Python module that is put before a
// server's own modules, and reads what that leaves behind.
//
// It needs torch's native allocator (--disable-cuda-malloc): cudaMallocAsync keeps no
// record. Weights that aimdo pages (dynamic VRAM) are not torch's and are not in it.
// Noting a stack for each allocation takes time, so that such a trial is no measurement
// of time.
package oomdetail

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed python/sitecustomize.py
var module []byte

// Snapshot is the file of torch's own snapshot in a trial's folder, to be looked at with
// https://pytorch.org/memory_viz.
const Snapshot = "oom_snapshot.pickle"

// Env writes the module into dir and gives the environment with which a server loads it:
// env with dir in front of its PYTHONPATH, or of the one that memtrix itself has, which
// a server would have inherited.
func Env(dir string, env map[string]string) (map[string]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("write the module for --oom-detail: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sitecustomize.py"), module, 0o644); err != nil {
		return nil, fmt.Errorf("write the module for --oom-detail: %w", err)
	}
	with := map[string]string{}
	for k, v := range env {
		with[k] = v
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("write the module for --oom-detail: %w", err)
	}
	had, set := env["PYTHONPATH"]
	if !set {
		had = os.Getenv("PYTHONPATH")
	}
	if had != "" {
		path += string(os.PathListSeparator) + had
	}
	with["PYTHONPATH"] = path
	return with, nil
}

// Detail is one allocation that failed, and what was held then; bytes.
type Detail struct {
	Number      int     `json:"number"` // 1 for the first of the server
	Asked       int64   `json:"asked"`
	DeviceTotal int64   `json:"device_total"`
	DeviceFree  int64   `json:"device_free"`
	Held        int64   `json:"held"`     // in live blocks of torch
	Blocks      int     `json:"blocks"`   // how many
	Reserved    int64   `json:"reserved"` // by torch, of the driver
	Frames      []Frame `json:"frames"`   // of what asked, the innermost first
	Top         []Stack `json:"top"`      // the largest first
}

// Stack is live memory that was allocated from one place.
type Stack struct {
	Bytes  int64   `json:"bytes"`
	Count  int     `json:"count"`
	Frames []Frame `json:"frames"` // the innermost first
}

// Frame is a line of Python.
type Frame struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Name string `json:"name"` // of the function
}

// Read gives what the module left in a trial's folder, the first failed allocation
// first; the last is the one that ended the work. Without any the error says why, as far
// as the module told.
func Read(dir string) ([]Detail, error) {
	files, err := filepath.Glob(filepath.Join(dir, "oom-*.json"))
	if err != nil {
		return nil, err
	}
	var all []Detail
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read what was allocated: %w", err)
		}
		var d Detail
		if err := json.Unmarshal(data, &d); err != nil {
			return nil, fmt.Errorf("read what was allocated: %s: %w", file, err)
		}
		all = append(all, d)
	}
	if len(all) == 0 {
		return nil, whyNone(dir)
	}
	slices.SortFunc(all, func(a, b Detail) int { return a.Number - b.Number })
	return all, nil
}

func whyNone(dir string) error {
	told, err := os.ReadFile(filepath.Join(dir, "oom-detail.txt"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("torch did not come to use a card: nothing was recorded")
	case err != nil:
		return fmt.Errorf("read what was allocated: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(told)), "\n")
	if last := lines[len(lines)-1]; last != "recording" {
		return fmt.Errorf("torch's allocations were not recorded: %s", last)
	}
	return errors.New("torch's allocator refused nothing")
}

// Lines say a detail for people: what was asked for, and the n largest holders with
// the innermost frames that are not torch's own.
func (d Detail) Lines(n int) []string {
	lines := []string{fmt.Sprintf("asked for %s with %s free on the card; torch held %s in %d blocks (%s of the driver), asked by %s",
		mib(d.Asked), mib(d.DeviceFree), mib(d.Held), d.Blocks, mib(d.Reserved), where(d.Frames))}
	for i, s := range d.Top {
		if i == n {
			break
		}
		lines = append(lines, fmt.Sprintf("%s in %d blocks: %s", mib(s.Bytes), s.Count, where(s.Frames)))
	}
	return lines
}

func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

// where is a stack in short.
func where(frames []Frame) string {
	const most = 3
	var words []string
	for _, f := range frames {
		if len(words) == most {
			break
		}
		if !strings.Contains(f.File, "/site-packages/torch/") {
			words = append(words, fmt.Sprintf("%s (%s:%d)", f.Name, short(f.File), f.Line))
		}
	}
	if len(words) == 0 {
		return "no Python frame known"
	}
	return strings.Join(words, " < ")
}

// short keeps the last parts of a path.
func short(path string) string {
	parts := strings.Split(filepath.ToSlash(path), "/")
	return strings.Join(parts[max(0, len(parts)-3):], "/")
}
