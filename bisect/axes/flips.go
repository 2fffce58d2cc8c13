package axes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"memtrix"
	"memtrix/matrix"
)

// OfSettings is a path from the settings of good to those of bad, one at a time, with
// all else as bad has it.
func OfSettings(good, bad State) List {
	l := List{Axis: Settings}
	now := good.Settings
	l.Candidates = append(l.Candidates, settled(bad, now, "the good settings", ""))
	for _, name := range differingSettings(good.Settings, bad.Settings) {
		now = maps.Clone(now)
		if now == nil {
			now = memtrix.Settings{}
		}
		before := word(good.Settings, name)
		if v, ok := bad.Settings[name]; ok {
			now[name] = v
		} else {
			delete(now, name)
		}
		l.Candidates = append(l.Candidates, settled(bad, now, fmt.Sprintf("%s %s -> %s", name, before, word(bad.Settings, name)), name))
	}
	return l
}

func word(s memtrix.Settings, name string) string {
	if v, ok := s[name]; ok {
		return v
	}
	return "(default)"
}

func settled(s State, now memtrix.Settings, name, thing string) Candidate {
	s = s.clone()
	s.Settings = maps.Clone(now)
	return Candidate{State: s, Name: name, Thing: thing, Prior: 1}
}

func differingSettings(a, b memtrix.Settings) []string {
	return differing(a, b, func(v, w string) bool { return v == w })
}

// differing names, in order, what one of two maps lacks or has otherwise.
func differing[M ~map[string]V, V any](a, b M, same func(V, V) bool) []string {
	var out []string
	for name, v := range a {
		if w, ok := b[name]; !ok || !same(v, w) {
			out = append(out, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// OfNodes is a path from the listed node packs of good to those of bad, one at a time,
// with all else as bad has it.
func OfNodes(good, bad State) List {
	l := List{Axis: Nodes}
	before, after := packsByName(good.Entry.Packs.List), packsByName(bad.Entry.Packs.List)
	now := slices.Clone(good.Entry.Packs.List)
	l.Candidates = append(l.Candidates, loaded(bad, now, "the good packs", ""))
	for _, name := range differingPacks(before, after) {
		now = slices.DeleteFunc(slices.Clone(now), func(p matrix.PackEntry) bool { return packName(p) == name })
		if p, ok := after[name]; ok {
			now = append(now, p)
		}
		text := fmt.Sprintf("%s %s -> %s", name, packWord(before, name), packWord(after, name))
		l.Candidates = append(l.Candidates, loaded(bad, now, text, name))
	}
	return l
}

func loaded(s State, packs []matrix.PackEntry, name, thing string) Candidate {
	s = s.clone()
	s.Entry.Packs.List, s.Entry.Packs.Mode, s.Entry.Name = packs, matrix.PacksListed, ""
	if len(packs) == 0 {
		s.Entry.Packs.Mode = matrix.PacksOff
	}
	return Candidate{State: s, Name: name, Thing: thing, Prior: 1, Group: fmt.Sprint(packs)}
}

// packName is what a pack is told apart by.
func packName(p matrix.PackEntry) string {
	text := p.Name
	if text == "" {
		text = p.Git
	}
	if text == "" {
		text = p.Path
	}
	text = strings.TrimSuffix(strings.TrimRight(text, "/\\"), ".git")
	return text[strings.LastIndexAny(text, "/\\")+1:]
}

func packsByName(list []matrix.PackEntry) map[string]matrix.PackEntry {
	out := map[string]matrix.PackEntry{}
	for _, p := range list {
		out[packName(p)] = p
	}
	return out
}

func packWord(packs map[string]matrix.PackEntry, name string) string {
	p, ok := packs[name]
	switch {
	case !ok:
		return "(not loaded)"
	case p.Git != "" && p.Commit == "":
		return "(newest)"
	case p.Git != "":
		return short(p.Commit)
	}
	return "as it is here"
}

func differingPacks(a, b map[string]matrix.PackEntry) []string {
	return differing(a, b, func(p, q matrix.PackEntry) bool {
		return p.Git == q.Git && p.Commit == q.Commit && p.Path == q.Path && p.Ignore == q.Ignore
	})
}

// SinglePack is the git pack whose commit a step changes, and its two commits; ok is
// false where it came, went, or is no git pack.
func SinglePack(before, with Candidate) (pack matrix.PackEntry, from, to string, ok bool) {
	if with.Thing == "" {
		return pack, "", "", false
	}
	a, b := packsByName(before.Entry.Packs.List)[with.Thing], packsByName(with.Entry.Packs.List)[with.Thing]
	return b, a.Commit, b.Commit, a.Git != "" && a.Git == b.Git && a.Commit != b.Commit
}

// OfPack is a path through the commits of one node pack. commits are those from the
// state before its step (the first one) to the state with it (the last one).
func OfPack(before, with Candidate, commits []Commit) *List {
	name := with.Thing
	if len(commits) < 3 {
		return nil
	}
	l := &List{Axis: Pack, Why: fmt.Sprintf("%s has %d commits between the two", name, len(commits)-2)}
	for i, c := range commits {
		s := with.clone()
		for j := range s.Entry.Packs.List {
			if packName(s.Entry.Packs.List[j]) == name {
				s.Entry.Packs.List[j].Commit = c.Hash
			}
		}
		candidate := Candidate{State: s, Name: name + " " + short(c.Hash), Subject: c.Subject, Commit: c.Hash, Date: c.Date, Merge: c.Merge, Prior: 1, Thing: name, Group: environmentGroup(c.Requirements)}
		if i > 0 {
			candidate.Asks = c.asks(commits[i-1])
			if slices.Contains(c.Files, "requirements.txt") {
				candidate.Prior = requires
			}
		}
		l.Candidates = append(l.Candidates, candidate)
	}
	return l
}
