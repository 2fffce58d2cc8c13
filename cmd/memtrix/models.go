package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"memtrix"
	"memtrix/matrix"
	"memtrix/reports"
	"memtrix/workflows"
)

// addStandIns writes a stand-in for each model that a built-in workflow of the
// spec names and no models folder has, below dir, and adds that folder to the
// spec's. Nothing of the user's is written, and no model of the user's own
// workflows is replaced.
func addStandIns(a *app, s *matrix.Spec, dir string) error {
	for _, e := range s.Workflows {
		if e.BuiltIn == "" {
			continue
		}
		w, err := workflows.BuiltIn(e.BuiltIn)
		if err != nil {
			return nil // the plan says it, with its place
		}
		for _, f := range workflows.Needed(w) {
			family, ok := workflows.StandInFor(f)
			if !ok || named(e, f.Input) || everywhere(s, f) {
				continue
			}
			if err := addStandIn(a, s, dir, f, family); err != nil {
				return cannot{err}
			}
		}
	}
	return nil
}

// named reports whether the spec gives an input another value.
func named(e matrix.WorkflowEntry, input string) bool {
	for _, v := range e.Set {
		if filepath.Ext(v.Path) == "."+input {
			return true
		}
	}
	return false
}

// everywhere reports whether each version of the spec sees a model file.
func everywhere(s *matrix.Spec, f workflows.ModelFile) bool {
	for _, dir := range s.Models {
		if exists(filepath.Join(dir, f.Folder, filepath.FromSlash(f.Name))) {
			return true
		}
	}
	for _, v := range s.Versions {
		if v.Path == "" || !exists(filepath.Join(v.Path, "models", f.Folder, filepath.FromSlash(f.Name))) {
			return false
		}
	}
	return true
}

func addStandIn(a *app, s *matrix.Spec, dir string, f workflows.ModelFile, family string) error {
	models, err := filepath.Abs(filepath.Join(dir, "models"))
	if err != nil {
		return err
	}
	path := filepath.Join(models, f.Folder, filepath.FromSlash(f.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make a folder for a stand-in model: %w", err)
	}
	err = workflows.WriteStandIn(path, family, "fp16")
	switch {
	case errors.Is(err, fs.ErrExist): // of an earlier run
	case err != nil:
		return fmt.Errorf("write a stand-in for %s: %w", f.Name, err)
	default:
		fmt.Fprintf(a.stderr, "no %s here: wrote a stand-in (real shapes, zeros for weights) to %s\n", f.Name, reports.OneLine(path))
	}
	s.Models = append(s.Models, models)
	return nil
}

// markStandIns names the models of a workflow that are stand-ins, so that reports
// can say so.
func markStandIns(w *memtrix.Workflow, s *matrix.Spec) {
	var roots []string
	for _, v := range s.Versions {
		if v.Path != "" {
			roots = append(roots, filepath.Join(v.Path, "models"))
		}
	}
	for _, f := range workflows.Needed(*w) {
		for _, root := range append(roots, s.Models...) {
			path := filepath.Join(root, f.Folder, filepath.FromSlash(f.Name))
			if _, ok := workflows.IsStandIn(path); ok {
				w.StandIns = append(w.StandIns, f.Name)
				break
			}
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
