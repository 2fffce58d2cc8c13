// Package axes turns two states of a ComfyUI, a good one and a bad one, into ordered
// lists of states between them, for a search for the first bad one.
//
// A list is a path: each state differs from the one before it by one thing, so that the
// first bad one names what did it. Commits are a path by themselves. Of packages, node
// packs and settings each state has one more of the bad end's: what is found is the one
// that turned the result, with those before it turned already.
//
//   - decide.go: which axis to look along first, and why
//   - commits.go: commits, with hints from what they touch and what changes packages
//   - packages.go: packages, and the versions of one
//   - flips.go: settings, node packs, and all axes at once where several differ
//
// The package is pure: it asks no index, no git and no server. It refuses two ends
// between which nothing differs.
package axes

import (
	"maps"
	"slices"
	"time"

	"memtrix"
	"memtrix/matrix"
)

// Kind is an axis.
type Kind string

// The axes.
const (
	Commits  Kind = "commits"
	Packages Kind = "packages"
	Nodes    Kind = "nodes"
	Settings Kind = "settings"
	// Versions are those that a spec lists, as they stand there.
	Versions Kind = "versions"
	// Which tells axes apart where several differ.
	Which Kind = "which"
	// Releases of one package, and Pack for the commits of one node pack.
	Releases Kind = "releases"
	Pack     Kind = "pack"
)

// State is what a cell is made of, but for its workflow and hardware.
type State struct {
	Entry    matrix.VersionEntry
	Settings memtrix.Settings
	// Version is what is known of the entry, with its packages, where it was looked at.
	Version memtrix.Version
}

// Candidate is a state on the way.
type Candidate struct {
	State
	// Name is what tables call it: a commit, "comfy-aimdo 0.4.9 -> 0.4.10".
	Name string
	// Subject, Commit and Date are of a commit.
	Subject string
	Commit  string
	Date    time.Time
	// Merge says that it brings a branch in, whose commits can be searched too.
	Merge bool
	// Asks are the packages that a commit requires otherwise than the one before it, those
	// of the browser's side left out.
	Asks []string
	// Prior is how likely it is to be the first bad one, up to a factor: a weak hint.
	Prior float64
	// Group are candidates that share an environment; "" is one of its own that costs
	// nothing to make.
	Group string
	// Thing is what the step to it changes: the package, pack or setting, or the axis.
	Thing string
}

// List is a path from good to bad.
type List struct {
	Axis Kind
	// Why is a sentence for people: why this axis.
	Why        string
	Candidates []Candidate
	// Merge is the merge whose branch this list goes through: the first candidate is its
	// first parent, the last one the merge itself. "" for none.
	Merge string
}

// Prior is that of all candidates, as the search takes it.
func (l List) Prior() []float64 {
	p := make([]float64, len(l.Candidates))
	for i, c := range l.Candidates {
		if p[i] = c.Prior; c.Prior == 0 {
			p[i] = 1
		}
	}
	return p
}

// newEnvironment is what making an environment costs, in runs. A trial takes about a
// minute, an environment from some seconds to several.
const newEnvironment = 2

// Cost gives the costs of candidates in runs. made are the groups whose environments
// are there: the caller adds to it.
func (l List) Cost(made map[string]bool) func(int) float64 {
	return func(i int) float64 {
		if g := l.Candidates[i].Group; g != "" && !made[g] {
			return 1 + newEnvironment
		}
		return 1
	}
}

// with is a copy of a state whose maps can be changed.
func (s State) clone() State {
	s.Entry.Overrides = maps.Clone(s.Entry.Overrides)
	s.Entry.Packs.List = slices.Clone(s.Entry.Packs.List)
	s.Settings = maps.Clone(s.Settings)
	return s
}

// Singular is what one candidate is called.
func (k Kind) Singular() string {
	switch k {
	case Commits, Pack:
		return "commit"
	case Packages:
		return "package"
	case Nodes:
		return "custom node"
	case Settings:
		return "setting"
	case Which:
		return "difference"
	}
	return "version"
}

// Plural is what several are called.
func (k Kind) Plural() string { return k.Singular() + "s" }
