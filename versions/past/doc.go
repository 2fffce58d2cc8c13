// Package past finds what a ComfyUI installation was before: from the reflog and
// the branches of its git folder, from the portable updater's files, from the
// snapshots of ComfyUI-Manager and of the desktop program, and from the dates of
// the installed packages. It says how one goes back to each.
//
// It reads files and runs nothing: no git, no Python. What a state does not tell
// (which packages went with a commit) stays empty; nothing is guessed. Times are
// those that files name, or when they were written.
package past

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"memtrix/versions/installs"
)

// State is what an installation was at some time.
type State struct {
	// When is the last moment at which it is known to have been so.
	When time.Time
	// Source says who tells, for people: "reflog: before pull on 2026-11-02".
	Source string
	// Commit is ComfyUI's, 40 hexadecimal digits, "" where it is not told.
	Commit string
	// Release is ComfyUI's version, "" where it is not told.
	Release string
	// Packages are versions by name as PEP 503 writes it, nil where none are told.
	// Complete says that they are all of the environment, not only some.
	Packages map[string]string
	Complete bool
	// Pins are exact versions that the requirements of its commit ask for, nil where
	// they are not known: what was installed most likely.
	Pins map[string]string
	// Nodes are commits or versions of custom node packs by name in lower case, nil
	// where none are told.
	Nodes map[string]string
	// Back are the commands, or the steps, that go back to it.
	Back []string
}

// Find gives what an installation was before, newest first, without what it is
// now. Warnings are what could not be read and what does not fit together; an error
// means that nothing could be looked at.
func Find(in installs.Install) ([]State, []string, error) {
	if in.Dir == "" {
		return nil, nil, fmt.Errorf("past of an installation: no folder is known")
	}
	now, warnings := Now(in)
	f := &finder{in: in, now: now, warnings: warnings, releases: gitOf(in.On, in.Tree).releases()}
	f.reflog()
	f.branches()
	f.updater()
	f.managerSnapshots()
	f.desktopSnapshots()
	return f.sorted(), f.warnings, nil
}

type finder struct {
	in       installs.Install
	now      State
	found    []State
	warnings []string
	releases map[string]string // by commit
}

func (f *finder) warn(format string, args ...any) {
	f.warnings = append(f.warnings, fmt.Sprintf(format, args...))
}

// add keeps a state that differs from now in something that it tells.
func (f *finder) add(s State) {
	if k, ok := knownReleases()[s.Commit]; ok && s.Commit != f.now.Commit {
		s.Release, s.Pins = k.release, k.pins
	}
	if s.Release == "" && s.Commit != "" {
		s.Release = f.releases[s.Commit]
	}
	if len(Diff(s, f.now)) == 0 {
		return
	}
	if s.Back == nil {
		s.Back = back(f.in, s, f.now)
	}
	f.found = append(f.found, s)
}

// sorted gives the newest first, and what several sources tell of one commit at one
// time as one state.
func (f *finder) sorted() []State {
	const together = 10 * time.Minute
	slices.SortStableFunc(f.found, func(a, b State) int { return b.When.Compare(a.When) })
	var kept []State
	for _, s := range f.found {
		i := slices.IndexFunc(kept, func(k State) bool {
			return k.Commit != "" && k.Commit == s.Commit && k.Packages == nil && s.Packages == nil && k.When.Sub(s.When) < together
		})
		if i < 0 {
			kept = append(kept, s)
			continue
		}
		kept[i].Source += "; " + s.Source
		if len(s.Back) <= len(kept[i].Back) { // a branch has a name
			kept[i].Back = s.Back
		}
	}
	return kept
}

// Change is one thing in which two states differ. Old or New is "" where it was not
// there.
type Change struct {
	// What is "comfyui", the name of a package or that of a custom node pack.
	What string `json:"what"`
	// Kind is "comfyui", "package" or "custom node".
	Kind string `json:"kind"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
}

// String says the change in one line.
func (c Change) String() string {
	name := c.What
	switch c.Kind {
	case "comfyui":
		name = "ComfyUI"
	case "custom node":
		name = c.Kind + " " + c.What
	}
	switch {
	case c.Old == "":
		return name + " " + short(c.New) + " is new"
	case c.New == "":
		return name + " " + short(c.Old) + " is gone"
	}
	return fmt.Sprintf("%s %s -> %s", name, short(c.Old), short(c.New))
}

// short cuts a commit to what people write.
func short(s string) string {
	if len(s) == 40 && strings.Trim(s, "0123456789abcdef") == "" {
		return s[:8]
	}
	return s
}

// Diff is what differs between two states, of what both tell: ComfyUI first, then
// packages in the order of how much they have to do with memory, then custom nodes.
func Diff(old, new State) []Change {
	var all []Change
	switch {
	case old.Commit != "" && new.Commit != "" && old.Commit != new.Commit:
		c := Change{What: "comfyui", Kind: "comfyui", Old: old.Commit, New: new.Commit}
		if old.Release != "" && new.Release != "" && old.Release != new.Release {
			c.Old, c.New = old.Release, new.Release
		}
		all = append(all, c)
	case (old.Commit == "" || new.Commit == "") && old.Release != "" && new.Release != "" && old.Release != new.Release:
		all = append(all, Change{What: "comfyui", Kind: "comfyui", Old: old.Release, New: new.Release})
	}
	switch {
	case new.Packages == nil:
	case old.Packages == nil:
		for _, c := range differ("package", old.Pins, new.Packages, false, false) {
			if c.New != "" {
				all = append(all, c)
			}
		}
	default:
		all = append(all, differ("package", old.Packages, new.Packages, old.Complete, new.Complete)...)
	}
	if old.Nodes != nil && new.Nodes != nil {
		all = append(all, differ("custom node", old.Nodes, new.Nodes, true, true)...)
	}
	return all
}

func differ(kind string, old, new map[string]string, allOld, allNew bool) []Change {
	var found []Change
	for _, name := range slices.Sorted(maps.Keys(old)) {
		now, ok := new[name]
		if ok && now != old[name] || !ok && allNew {
			found = append(found, Change{What: name, Kind: kind, Old: old[name], New: now})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(new)) {
		if _, ok := old[name]; !ok && allOld {
			found = append(found, Change{What: name, Kind: kind, New: new[name]})
		}
	}
	slices.SortStableFunc(found, func(a, b Change) int { return cmp.Compare(weight(a.What), weight(b.What)) })
	return found
}

// weight puts the packages first that decide about memory.
func weight(name string) int {
	switch {
	case name == "torch", name == "comfy-aimdo", name == "comfy-kitchen":
		return 0
	case name == "xformers", name == "sageattention", name == "flash-attn", name == "torchvision", name == "torchaudio", strings.HasPrefix(name, "triton"), strings.HasPrefix(name, "nvidia-"):
		return 1
	case name == "transformers", name == "safetensors", name == "accelerate", name == "numpy", name == "comfyui-frontend-package":
		return 2
	}
	return 3
}
