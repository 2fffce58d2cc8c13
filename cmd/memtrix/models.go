package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"memtrix"
	"memtrix/internal/files"
	"memtrix/matrix"
	"memtrix/reports"
	"memtrix/versions"
	"memtrix/workflows"
	"memtrix/workflows/standin"
)

// standInSeed is the seed of the random numbers in models that a run stands in
// for: the same in all runs.
const standInSeed = 1

// addStandIns writes a stand-in for each model that a workflow of the spec names
// and no models folder has, below dir, and adds that folder to the spec's: for
// built-in workflows always, for others where the spec says so. Nothing of the
// user's is written. What cannot be recognised is an error, with all of it.
func addStandIns(a *app, s *matrix.Spec, dir string) error {
	models, err := filepath.Abs(filepath.Join(dir, "models"))
	if err != nil {
		return cannot{err}
	}
	fill := standin.Fill{Random: s.StandIns.Random, Seed: standInSeed}
	plans, stale, err := planStandIns(s, models)
	if err != nil {
		return usage{err}
	}
	for _, path := range stale {
		if err := os.Remove(path); err != nil {
			return cannot{fmt.Errorf("remove a stand-in whose real model is here: %w", err)}
		}
	}
	for _, p := range plans {
		plan := standin.Plan{Family: p.choice.Family, DType: p.choice.DType, Fill: fill, FullSize: s.StandIns.FullSize}
		if err := addStandIn(a, p, plan); err != nil {
			return err
		}
	}
	if len(plans) > 0 && !slices.Contains(s.Models, models) {
		s.Models = append(s.Models, models)
	}
	return nil
}

// plannedStandIn is a file that must be stood in for.
type plannedStandIn struct {
	file   workflows.ModelFile
	choice standin.Choice
	path   string
}

// planStandIns recognises all missing models. Stale are stand-ins of an earlier run
// whose real model is here now: they must go, so that they are never taken for it.
func planStandIns(s *matrix.Spec, models string) (plans []plannedStandIn, stale []string, err error) {
	var errs []error
	for _, e := range s.Workflows {
		if e.BuiltIn == "" && !s.StandIns.Missing {
			continue
		}
		w, err := workflows.Build(requestOf(e))
		if err != nil {
			return nil, nil, nil // the plan says it, with its place
		}
		for _, f := range workflows.Needed(w) {
			path := filepath.Join(models, f.Folder, filepath.FromSlash(f.Name))
			known := func(p plannedStandIn) bool { return p.path == path }
			if slices.ContainsFunc(plans, known) || !s.StandIns.Missing && named(e, f.Input) {
				continue
			}
			if everywhere(s, f) {
				if _, ours := standin.Inspect(path); ours && !slices.Contains(s.Models, models) {
					stale = append(stale, path)
				}
				continue
			}
			choice, err := standin.Recognise(asFile(w, f), s.StandIns.Families[f.Name])
			if err != nil {
				errs = append(errs, err)
				continue
			}
			plans = append(plans, plannedStandIn{f, choice, path})
		}
	}
	return plans, stale, errors.Join(errs...)
}

// sayStandIns says which models a run would stand in for, and which it cannot.
func sayStandIns(a *app, s *matrix.Spec, dir string) {
	plans, _, err := planStandIns(s, filepath.Join(dir, "models"))
	for _, p := range plans {
		size, sizeErr := p.choice.Family.Size(p.choice.DType)
		if sizeErr == nil && !files.Exist(p.path) {
			fmt.Fprintf(a.stderr, "no %s here: a run would write a stand-in (%s %s, by %s; %s)\n",
				p.file.Name, p.choice.Family.Name, p.choice.DType, p.choice.Why, reports.Bytes(size))
		}
	}
	if err != nil {
		fmt.Fprintln(a.stderr, "warning: a run would stop here:", err)
	}
}

// asFile adds what loader nodes say of a file; where they say different things,
// nothing is known.
func asFile(w memtrix.Workflow, f workflows.ModelFile) standin.File {
	kinds := map[string]bool{}
	kind := ""
	for _, n := range w.Graph {
		var name, said string
		if n.ClassType != f.Class || json.Unmarshal(n.Inputs[f.Input], &name) != nil || strings.ReplaceAll(name, `\`, "/") != f.Name {
			continue
		}
		if json.Unmarshal(n.Inputs["type"], &said) == nil {
			kinds[said], kind = true, said
		}
	}
	if len(kinds) > 1 {
		kind = ""
	}
	return standin.File{Folder: f.Folder, Name: f.Name, Class: f.Class, Input: f.Input, Type: kind}
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
	if _, ok := inFolders(s.Models, f); ok {
		return true
	}
	for _, v := range s.Versions {
		if v.URL != "" { // has what its user gave it
			continue
		}
		if v.Path == "" {
			return false
		}
		if _, ok := versions.FindModel(v.Path, f.Folder, f.Name); !ok {
			return false
		}
	}
	return true
}

// inFolders finds a model file in models folders.
func inFolders(models []string, f workflows.ModelFile) (path string, ok bool) {
	for _, dir := range models {
		for _, place := range versions.ModelPlaces(dir, f.Folder, f.Name) {
			if files.Exist(place) {
				return place, true
			}
		}
	}
	return "", false
}

// addStandIn writes one stand-in. One of an earlier run stays if it is the same,
// and a file that is none is somebody's own.
func addStandIn(a *app, p plannedStandIn, plan standin.Plan) error {
	want := standin.Made{Family: plan.Family.Name, DType: plan.DType, Fill: plan.Fill.String()}
	if made, ours := standin.Inspect(p.path); ours {
		made.Bytes = 0
		if made == want {
			return nil
		}
		if err := os.Remove(p.path); err != nil {
			return cannot{fmt.Errorf("remove an earlier stand-in: %w", err)}
		}
	}
	err := writeStandIn(a, p.path, plan)
	if errors.Is(err, fs.ErrExist) {
		if _, err := os.Stat(p.path); err != nil {
			return usage{fmt.Errorf("no %s here, and a stand-in cannot take its place: %w (a link that leads nowhere? remove it)", p.file.Name, err)}
		}
		return nil
	}
	if err != nil {
		return err
	}
	weights := "zeros for weights"
	if plan.Fill.Random {
		weights = "random numbers for weights"
	}
	fmt.Fprintf(a.stderr, "no %s here: wrote a stand-in (%s %s, by %s; real shapes, %s) to %s\n",
		p.file.Name, want.Family, want.DType, p.choice.Why, weights, reports.OneLine(p.path))
	return nil
}

// markStandIns names the models of a workflow that are stand-ins, so that reports
// can say so. A tree's own model goes before those of other folders.
func markStandIns(w *memtrix.Workflow, s *matrix.Spec) {
	for _, f := range workflows.Needed(*w) {
		var paths []string
		shared, inShared := inFolders(s.Models, f)
		for _, v := range s.Versions {
			own, ok := "", false
			if v.Path != "" {
				own, ok = versions.FindModel(v.Path, f.Folder, f.Name)
			}
			switch {
			case ok:
				paths = append(paths, own)
			case inShared:
				paths = append(paths, shared)
			}
		}
		for _, path := range paths {
			if made, ok := standin.Inspect(path); ok {
				w.StandIns = append(w.StandIns, memtrix.StandIn{Name: f.Name, Family: made.Family, DType: made.DType, Fill: made.Fill, Bytes: made.Bytes})
				break
			}
		}
	}
}

// standInFlags say the same as the spec's keys about stand-ins.
type standInFlags struct {
	Standin string            `help:"missing: write a stand-in (real shapes, no weights) for each model that is not here." enum:",missing" default:""`
	Family  map[string]string `help:"What a missing model is: FILE=FAMILY or FILE='FAMILY DTYPE'; see 'memtrix standin list'." placeholder:"FILE=FAMILY"`
	Yes     bool              `short:"y" help:"Write stand-in models at their whole size where the file system has no sparse files, without asking."`
}

func (f *standInFlags) say(s *matrix.Spec) {
	s.StandIns.FullSize = f.Yes
	if f.Standin == "missing" || len(f.Family) > 0 {
		s.StandIns.Missing = true
	}
	for name, family := range f.Family {
		if s.StandIns.Families == nil {
			s.StandIns.Families = map[string]string{}
		}
		s.StandIns.Families[strings.ReplaceAll(name, `\`, "/")] = family
	}
}
