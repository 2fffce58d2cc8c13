package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"memtrix"
	"memtrix/internal/files"
	"memtrix/matrix"
	"memtrix/versions"
	"memtrix/versions/packs"
)

// versionFlags name a version that memtrix gets by itself.
type versionFlags struct {
	Version  string   `help:"A version to get instead of a folder: a release (0.29.0), commit, branch, pr:N, latest or latest~N." placeholder:"VERSION"`
	Source   string   `help:"Where that version is looked up: a git URL or a local repository. Default: the official one." placeholder:"REPO"`
	Packages string   `help:"Its packages: required (as its requirements say) or as-of-date (as they resolved on its day)." enum:",required,as-of-date,keep" default:""`
	Wheels   string   `help:"Install packages from this folder only, not from the package index." placeholder:"DIR" type:"path"`
	Models   []string `help:"Folders with models. By default those of a ComfyUI that is found on this machine." placeholder:"DIR" type:"path"`

	CustomNodesFrom []string `help:"Installations with custom nodes (ComfyUI folders or custom_nodes); those that the workflow needs are loaded. By default a ComfyUI that is found on this machine." placeholder:"DIR" type:"path"`
}

// apply puts the version into a spec that is made of flags.
func (f *versionFlags) apply(s *matrix.Spec, python string) {
	s.Models = append(s.Models, f.Models...)
	if f.Version == "" {
		return
	}
	s.Versions = []matrix.VersionEntry{{
		Version: f.Version, Source: f.Source, Packages: f.Packages, Wheels: f.Wheels, Python: python,
	}}
}

// applyPacks says where a spec that is made of flags finds custom nodes.
func (f *versionFlags) applyPacks(ctx context.Context, s *matrix.Spec) {
	from := f.CustomNodesFrom
	if len(from) == 0 && f.Version != "" {
		from = ownPacks(ctx)
	}
	s.Versions[0].Packs.From = from
}

// ownPacks is the first ComfyUI of the person that has custom nodes, for a version
// that comes without any: what a workflow needs of them is loaded, nothing else.
func ownPacks(ctx context.Context) []string {
	for _, found := range versions.Discover(ctx) {
		folders, err := packs.Folders(found.Dir)
		if err != nil {
			continue
		}
		if all, err := packs.All(folders); err == nil && len(all) > 0 {
			return []string{found.Dir}
		}
	}
	return nil
}

// ownModels are those of the ComfyUI that the person has, for a version that
// comes without any.
func (f *versionFlags) ownModels(a *app, s *matrix.Spec) {
	if f.Version == "" || len(s.Models) > 0 {
		return
	}
	for _, found := range versions.Discover(a.ctx) {
		models := filepath.Join(found.Dir, "models")
		if files.Exist(models) {
			fmt.Fprintf(a.stderr, "models: those in %s (--models names others)\n", models)
			s.Models = []string{models}
			return
		}
	}
}

func request(e matrix.VersionEntry) versions.Request {
	return versions.Request{
		Name: e.Name, Version: e.Version, Path: e.Path, Source: e.Source, Packages: versions.Mode(e.Packages),
		Overrides: e.Overrides, Wheels: e.Wheels, Python: e.Python,
	}
}

// newProvider gets versions and tells people about it. With look it makes no
// environments.
func newProvider(a *app, look, quiet bool) *versions.Provider {
	p := &versions.Provider{Look: look, Warn: func(text string) { fmt.Fprintln(a.stderr, "warning:", text) }}
	if !quiet {
		p.Say = func(text string) { fmt.Fprintln(a.stderr, text) }
	}
	return p
}

// sayMade tells what was made and how to be rid of it.
func sayMade(a *app, p *versions.Provider) {
	made := p.Made()
	if len(made) == 0 {
		return
	}
	for _, env := range made {
		fmt.Fprintf(a.stderr, "made %s in %.1f s\n", env.Dir, env.Took.Seconds())
	}
	fmt.Fprintln(a.stderr, "It is kept for the next time: memtrix cache list shows it, memtrix cache prune removes it.")
}

// machineOnly reports whether nothing is wrong with the spec itself: versions
// could not be had on this machine.
func machineOnly(errs matrix.Errors) bool {
	for _, err := range errs {
		if !errors.Is(err, memtrix.ErrUnavailable) {
			return false
		}
	}
	return len(errs) > 0
}
