package axes

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Differences says in which ways two states differ.
type Differences struct {
	Commit   bool
	Packages []string // families
	// Given is set when the packages differ by what was asked for (another Python,
	// overrides), not by what each commit requires.
	Given    bool
	Packs    []string
	Settings []string
}

// Compare looks how two states differ. Packages that are not known of both do not
// count as another.
func Compare(good, bad State) Differences {
	var d Differences
	d.Commit = good.Version.Commit != bad.Version.Commit
	if good.Version.Packages != nil && bad.Version.Packages != nil {
		d.Packages = slices.Sorted(maps.Keys(Differing(good.Version.Packages, bad.Version.Packages)))
	}
	g, b := good.Entry, bad.Entry
	d.Given = g.Python != b.Python || g.Packages != b.Packages || g.Wheels != b.Wheels || !maps.Equal(g.Overrides, b.Overrides) || g.Path != b.Path
	d.Packs = differingPacks(packsByName(g.Packs.List), packsByName(b.Packs.List))
	d.Settings = differingSettings(good.Settings, bad.Settings)
	return d
}

// ErrNothing means that two states do not differ.
var ErrNothing = errors.New("good and bad are the same: the same commit, packages, custom nodes and settings")

// Decide says along which axis to look first, and why.
func Decide(d Differences) (Kind, string, error) {
	var kinds []string
	own := d.Commit && len(d.Packages) > 0 && !d.Given // each commit brings its packages
	if d.Commit {
		kinds = append(kinds, "commits")
	}
	if len(d.Packages) > 0 && !own {
		kinds = append(kinds, "packages")
	}
	if len(d.Packs) > 0 {
		kinds = append(kinds, "custom nodes")
	}
	if len(d.Settings) > 0 {
		kinds = append(kinds, "settings")
	}
	switch {
	case len(kinds) == 0:
		return "", "", ErrNothing
	case len(kinds) > 1:
		return Which, fmt.Sprintf("several things differ (%s): first, which of them it is", strings.Join(kinds, ", ")), nil
	case own:
		return Commits, fmt.Sprintf("the commits differ, and each brings the packages that it requires (%s differ)", some(d.Packages)), nil
	case d.Commit:
		return Commits, "the commits differ, the packages are the same", nil
	case len(d.Packages) > 0:
		return Packages, fmt.Sprintf("the commit is the same, %d packages differ (%s)", len(d.Packages), some(d.Packages)), nil
	case len(d.Packs) > 0:
		return Nodes, fmt.Sprintf("commit and packages are the same, custom nodes differ (%s)", some(d.Packs)), nil
	}
	return Settings, fmt.Sprintf("only settings differ (%s)", some(d.Settings)), nil
}

// some names a few of many.
func some(names []string) string {
	const few = 5
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// OfAll is a path on which one axis after the other becomes that of bad: settings,
// custom nodes, packages, and the code last.
func OfAll(good, bad State, d Differences) List {
	l := List{Axis: Which}
	now := good.clone()
	add := func(name, thing string) {
		l.Candidates = append(l.Candidates, Candidate{State: now.clone(), Name: name, Thing: thing, Prior: 1})
	}
	add("all as good", "")
	if len(d.Settings) > 0 {
		now.Settings = bad.Settings
		add("settings as bad", "settings")
	}
	if len(d.Packs) > 0 {
		now.Entry.Packs = bad.Entry.Packs
		add("custom nodes as bad", "nodes")
	}
	if len(d.Packages) > 0 && d.Commit {
		// The code of good in exactly the packages of bad.
		c := pinned(now, pins(good, bad), "packages as bad", "packages")
		c.Group = "packages of bad"
		l.Candidates = append(l.Candidates, c)
		now = c.State
	}
	now = bad.clone()
	add("all as bad", map[bool]string{true: "commits", false: "packages"}[d.Commit])
	return l
}

// pins are the packages of bad, with those that only good has left out.
func pins(good, bad State) map[string]string {
	g, b := normal(good.Version.Packages), normal(bad.Version.Packages)
	out := map[string]string{}
	for name := range union(g, b) {
		out[name] = pin(b[name])
	}
	return out
}
