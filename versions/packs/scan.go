package packs

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"memtrix"
	"memtrix/versions/child"
)

//go:embed scan.py
var scanScript string

// Types is what the source of a pack says about its node types.
type Types struct {
	Types []string `json:"types"`
	// Unclear are places where types are made by code: there may be more.
	Unclear []string `json:"unclear"`
}

// Scanner reads sources with a Python: that of the version that is to run them, so
// that it can parse what that version can.
type Scanner struct {
	// Python is an interpreter. With "" (a simulated version) packs are read by their
	// SimFile alone.
	Python string
}

// SimFile is the file by which a pack tells a simulated ComfyUI what it would do.
const SimFile = "memtrix-sim.json"

// scanTime bounds a reading: a second for each MiB of sources, roughly.
const scanTime = 2 * time.Minute

// Packs reads the node types of packs, by name.
func (s Scanner) Packs(ctx context.Context, list []memtrix.Pack) (map[string]Types, error) {
	if s.Python == "" {
		return simTypes(list)
	}
	ask := map[string]string{}
	for _, p := range list {
		ask[p.Name] = p.Dir
	}
	if len(ask) == 0 {
		return nil, nil
	}
	said, err := s.ask(ctx, question{Packs: ask})
	return said.Packs, err
}

// Core gives those of the asked types that a ComfyUI tree has by itself.
func (s Scanner) Core(ctx context.Context, tree string, asked []string) ([]string, error) {
	if len(asked) == 0 {
		return nil, nil
	}
	tree, err := filepath.Abs(tree)
	if err != nil {
		return nil, fmt.Errorf("read node types: %w", err)
	}
	said, err := s.ask(ctx, question{Packs: map[string]string{}, Core: tree, Asked: asked})
	return said.Core, err
}

type question struct {
	Packs map[string]string `json:"packs"`
	Core  string            `json:"core"`
	Asked []string          `json:"asked"`
}

type answer struct {
	Packs map[string]Types `json:"packs"`
	Core  []string         `json:"core"`
}

func (s Scanner) ask(ctx context.Context, q question) (answer, error) {
	data, err := json.Marshal(q)
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, scanTime)
	defer cancel()
	// Isolated, without site and without compiled files: only the standard library
	// runs, and nothing is written.
	out, err := child.Run(ctx, child.Command{
		Argv: []string{s.Python, "-I", "-S", "-B", "-c", scanScript}, Env: os.Environ(), Dir: os.TempDir(),
		Stdin: bytes.NewReader(data),
	})
	if err != nil {
		return answer{}, fmt.Errorf("read node types: %w", err)
	}
	var a answer
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		return answer{}, fmt.Errorf("read node types: %s did not answer as Python does: %w", s.Python, err)
	}
	return a, nil
}

// simTypes reads what packs for simulated versions say of themselves.
func simTypes(list []memtrix.Pack) (map[string]Types, error) {
	all := map[string]Types{}
	for _, p := range list {
		data, err := os.ReadFile(filepath.Join(p.Dir, SimFile))
		if errors.Is(err, os.ErrNotExist) || err != nil && !isDir(p.Dir) {
			all[p.Name] = Types{Unclear: []string{"a simulated version reads no Python; " + SimFile + " would tell"}}
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("custom node %s: %w", p.Name, err)
		}
		var said struct {
			Nodes []string `json:"nodes"`
		}
		if err := json.Unmarshal(data, &said); err != nil {
			return nil, fmt.Errorf("custom node %s: %s: %w", p.Name, SimFile, err)
		}
		all[p.Name] = Types{Types: slices.Sorted(slices.Values(said.Nodes))}
	}
	return all, nil
}

// Classes are the node types of a workflow, sorted.
func Classes(graph map[string]memtrix.GraphNode) []string {
	var all []string
	for _, n := range graph {
		all = append(all, n.ClassType)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// few names some of many.
func few(list []string) string {
	if len(list) <= 4 {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:4], ", "), len(list)-4)
}
