package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"memtrix"
	"memtrix/comfyui"
	"memtrix/internal/comfysim"
	"memtrix/matrix"
	"memtrix/versions"
	"memtrix/versions/packs"
)

// loadout is which custom node packs a version may load, and what is known of them.
type loadout struct {
	mode matrix.PacksMode
	// listed load in every cell; candidates are those that were found, in the order
	// of preference.
	listed     []memtrix.Pack
	candidates []packs.Candidate
	known      packs.Known
	// core are the node types, of those that the spec's workflows have, that the
	// version has by itself.
	core   []string
	ignore map[string]bool // packs whose requirements are not installed
	lacks  map[string][]string
}

// packError is about one pack, or one installation, of a version.
type packError struct {
	error
	list, from int // index in the entry, -1 for none
}

func (e packError) PackIndex() (list, from int) { return e.list, e.from }

func (e packError) Unwrap() error { return e.error }

// classes are the node types of all workflows of the spec. Workflows that cannot be
// read are told elsewhere.
func (w *world) classes() []string {
	var all []string
	for _, e := range w.flows {
		if f, err := w.workflow(e); err == nil {
			all = append(all, packs.Classes(f.Graph)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// loadout finds the packs of a version, whose tree is at dir ("" for a simulated
// one) and whose sources python reads. It identifies only what may be loaded.
func (w *world) loadout(e matrix.VersionEntry, dir, python string) (*loadout, error) {
	l := &loadout{mode: e.Packs.Mode, ignore: map[string]bool{}, lacks: map[string][]string{}}
	if l.mode == "" {
		l.mode = matrix.PacksAuto
	}
	folders, err := packFolders(e, dir)
	if err != nil {
		return nil, err
	}
	for i, p := range e.Packs.List {
		pack, err := w.pack(p, folders)
		if err != nil {
			return nil, packError{err, i, -1}
		}
		if slices.ContainsFunc(l.listed, func(q memtrix.Pack) bool { return q.Name == pack.Name }) {
			return nil, packError{fmt.Errorf("two custom nodes are called %q; give one another with 'name:' beside it", pack.Name), i, -1}
		}
		l.listed, l.ignore[pack.Name] = append(l.listed, pack), p.Ignore
	}
	slices.SortFunc(l.listed, func(a, b memtrix.Pack) int { return strings.Compare(a.Name, b.Name) })
	scanner := packs.Scanner{Python: python}
	// What is simulated is what every ComfyUI has: nothing must be read for it.
	l.core = comfysim.NodeTypes()
	other := l.others(w.classes())
	if len(other) > 0 && dir != "" {
		more, err := scanner.Core(w.ctx, dir, other)
		if err != nil {
			w.provider.Tell(fmt.Sprintf("which custom nodes the workflows need is not known: %v", err))
			more = other
		}
		l.core = append(l.core, more...)
	}
	if len(l.others(other)) == 0 {
		return l, nil // nobody needs a pack
	}
	return l, w.candidates(l, folders, scanner)
}

// others are the node types that the version does not have by itself.
func (l *loadout) others(classes []string) []string {
	return slices.DeleteFunc(slices.Clone(classes), func(c string) bool { return slices.Contains(l.core, c) })
}

// packFolders are the custom_nodes folders of a version: its own tree's, and those
// of the installations that the spec names.
func packFolders(e matrix.VersionEntry, dir string) ([]string, error) {
	var all []string
	for i, from := range e.Packs.From {
		folders, err := packs.Folders(from)
		if err != nil {
			return nil, packError{err, -1, i}
		}
		all = append(all, folders...)
	}
	if dir != "" {
		// A tree without custom_nodes has none; that is no mistake.
		if folders, err := packs.Folders(dir); err == nil {
			all = append(folders, all...)
		}
	}
	return all, nil
}

// pack is one that the spec names.
func (w *world) pack(e matrix.PackEntry, folders []string) (memtrix.Pack, error) {
	if e.Git != "" {
		pack, missing, err := w.provider.GitPack(w.ctx, e.Git, e.Commit, e.Name)
		if len(missing) > 0 {
			w.provider.Tell(fmt.Sprintf("custom node %s runs without %s: its repository lacks them", pack.Name, strings.Join(missing, ", ")))
		}
		if err != nil {
			err = fmt.Errorf("custom node %s: %w", cmp.Or(e.Name, packs.RepoName(e.Git)), err)
		}
		return pack, err
	}
	place, err := packs.Named(e.Name, folders)
	if e.Path != "" {
		place, err = packs.At(e.Path)
	}
	if err != nil {
		return memtrix.Pack{}, err
	}
	if e.Path != "" && e.Name != "" {
		place.Name = e.Name
	}
	return packs.Identify(w.ctx, place)
}

// candidates reads the node types of the packs that are here: the listed ones, and
// those of the installations, which either are loaded or are said to have a type.
func (w *world) candidates(l *loadout, folders []string, scanner packs.Scanner) error {
	found := slices.Clone(l.listed)
	places, err := packs.All(folders)
	if err != nil {
		return err
	}
	for _, p := range places {
		if slices.ContainsFunc(found, func(q memtrix.Pack) bool { return q.Name == p.Name }) {
			continue
		}
		found = append(found, memtrix.Pack{Name: p.Name, Dir: p.Path})
	}
	types, err := scanner.Packs(w.ctx, found)
	if err != nil {
		return err
	}
	for i, p := range found {
		if p.Hash == "" {
			if found[i], err = packs.Identify(w.ctx, packs.Place{Name: p.Name, Path: p.Dir}); err != nil {
				return err
			}
		}
		l.candidates = append(l.candidates, packs.NewCandidate(found[i], types[p.Name]))
	}
	where := slices.Clone(folders)
	if scanner.Python != "" {
		where = append(where, versions.SitePackages(scanner.Python)...)
	}
	l.known, err = packs.ReadKnown(where)
	return err
}

// requirements are what the packs need that any of the spec's workflows loads.
func (w *world) requirements(l *loadout) []string {
	needed := slices.Clone(l.listed)
	if l.mode == matrix.PacksAuto {
		for _, e := range w.flows {
			if f, err := w.workflow(e); err == nil {
				needed = append(needed, packs.Choose(packs.Needs(f.Graph, l.core), l.candidates, l.known).Packs...)
			}
		}
	}
	var lines []string
	for _, p := range needed {
		if l.ignore[p.Name] {
			continue
		}
		install, left := packs.Installable(p.Requirements)
		for _, line := range left {
			w.provider.Tell(fmt.Sprintf("custom node %s: its requirement %q means its own folder and is not installed", p.Name, line))
		}
		lines = append(lines, install...)
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// withPacks gives a version with what its packs need, and remembers them for load.
func (w *world) withPacks(e matrix.VersionEntry, r versions.Request) (memtrix.Version, error) {
	tree, err := w.provider.Tree(w.ctx, r)
	if err != nil {
		return tree, err
	}
	python, err := w.provider.Interpreter(w.ctx, r, tree.Dir)
	if err != nil {
		return tree, err
	}
	l, err := w.loadout(e, tree.Dir, python)
	if err != nil {
		return tree, err
	}
	if kept, err := w.provider.Kept(w.ctx, r); err != nil {
		return tree, err
	} else if !kept {
		r.Requirements = w.requirements(l)
	}
	v, err := w.get(r)
	if err != nil {
		return v, err
	}
	if v.OtherPacks, err = otherPacks(v); err != nil {
		return v, err
	}
	if e.Packs.Own && e.Name == "" {
		v.Name += packNames(l.listed)
	}
	w.loadouts[loadKey(e)] = l
	return v, nil
}

// packNames tell versions apart that differ in their packs only.
func packNames(list []memtrix.Pack) string {
	text := ""
	for _, p := range list {
		text += " " + p.Short()
	}
	return text
}

func loadKey(e matrix.VersionEntry) string { return fmt.Sprintf("%+v", e) }

// otherPacks are those that a server of the version sees by itself.
func otherPacks(v memtrix.Version) ([]memtrix.Pack, error) {
	places, err := packs.Others(v.Dir, !comfyui.Knows(v, "--base-directory"))
	if err != nil {
		return nil, err
	}
	var list []memtrix.Pack
	for _, p := range places {
		list = append(list, memtrix.Pack{Name: p.Name, Dir: p.Path})
	}
	return list, nil
}

// load says which packs a version loads for a workflow, and which node types nobody
// has.
func (w *world) load(e matrix.VersionEntry, v memtrix.Version, f memtrix.Workflow) (memtrix.Version, matrix.Loading) {
	l := w.loadouts[loadKey(e)]
	if l == nil {
		return v, matrix.Loading{}
	}
	needs := packs.Needs(f.Graph, l.core)
	from := l.candidates
	if l.mode != matrix.PacksAuto {
		from = from[:min(len(l.listed), len(from))] // the listed come first
	}
	choice := packs.Choose(needs, from, l.known)
	v.Packs = l.listed
	if l.mode == matrix.PacksAuto {
		v.Packs = choice.Packs
	}
	said := matrix.Loading{Warnings: choice.Warnings}
	for _, m := range choice.Missing {
		text := m.String()
		if here := packs.Choose([]packs.Need{m.Need}, l.candidates[len(from):], l.known).Packs; len(here) > 0 {
			text = fmt.Sprintf("node type %q (node %s) is in the custom node %s in %s, which custom-nodes: keeps off",
				m.Class, strings.Join(m.Nodes, ", "), here[0].Name, filepath.Dir(here[0].Dir))
		}
		if l.mode == matrix.PacksListed && len(m.Unclear)+len(m.Unread) > 0 {
			// They are loaded, and only their import tells.
			said.Warnings = append(said.Warnings, text)
			continue
		}
		said.Missing = append(said.Missing, text)
	}
	said.Notes = w.packNotes(l, v)
	return v, said
}

// packNotes are what a person should know before the packs are loaded.
func (w *world) packNotes(l *loadout, v memtrix.Version) []string {
	var notes []string
	for _, p := range v.Packs {
		notes = append(notes, packs.Remarks(packs.Place{Name: p.Name, Path: p.Dir})...)
		if v.Python == "" || versions.Unbuilt(v) {
			continue
		}
		lacking, asked := l.lacks[v.Python+p.Dir]
		if !asked {
			var err error
			if lacking, err = packs.Lacks(w.ctx, v.Python, p); err != nil {
				lacking = []string{err.Error()}
			}
			l.lacks[v.Python+p.Dir] = lacking
		}
		for _, text := range lacking {
			notes = append(notes, fmt.Sprintf("custom node %s: %s", p.Name, text))
		}
	}
	return notes
}

// simPacks are those of a simulated version: what lies at paths, in repositories and
// installations; nothing of them is run.
func (w *world) simPacks(e matrix.VersionEntry, v memtrix.Version) (memtrix.Version, error) {
	l, err := w.loadout(e, "", "")
	if err != nil {
		return v, err
	}
	if e.Packs.Own && e.Name == "" && len(l.listed) > 0 {
		v.Name = v.Release + packNames(l.listed)
	}
	w.loadouts[loadKey(e)] = l
	return v, nil
}
