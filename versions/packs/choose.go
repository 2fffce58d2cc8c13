package packs

import (
	"fmt"
	"slices"
	"strings"

	"memtrix"
)

// Need is a node type that a workflow has and ComfyUI itself does not.
type Need struct {
	Class string
	// Nodes are the ids of the workflow's nodes of that type.
	Nodes []string
	// Meta is what the workflow itself says of where the type comes from.
	Meta memtrix.GraphMeta
}

// Needs lists the node types of a graph that are not core ones, by name.
func Needs(graph map[string]memtrix.GraphNode, core []string) []Need {
	var list []Need
	for _, class := range Classes(graph) {
		if slices.Contains(core, class) {
			continue
		}
		n := Need{Class: class}
		for id, node := range graph {
			if node.ClassType != class {
				continue
			}
			n.Nodes = append(n.Nodes, id)
			if node.Meta != nil && (n.Meta.Registry == "" && n.Meta.Repository == "") {
				n.Meta = *node.Meta
			}
		}
		slices.Sort(n.Nodes)
		list = append(list, n)
	}
	return list
}

// Choice is which packs a workflow needs.
type Choice struct {
	// Packs to load, by name.
	Packs []memtrix.Pack
	// Missing are types that nobody provides, each with what can be said about it.
	Missing []Missing
	// Warnings are what was decided between several.
	Warnings []string
}

// Missing is a node type that no pack provides.
type Missing struct {
	Need
	// From are the packs that have it, as far as that is known: names in the registry
	// or git URLs.
	From []string
	// Without are packs that are here and that the workflow or the list names, but
	// whose source has no such type.
	Without []string
	// Unclear are packs that make node types by code and may have it.
	Unclear []string
	// Unread are packs with sources that cannot be parsed, each with the first reason.
	Unread []string
}

// String says what is missing and, where that is known, who has it.
func (m Missing) String() string {
	text := fmt.Sprintf("node type %q (node %s) is in no pack that is here", m.Class, strings.Join(m.Nodes, ", "))
	if len(m.From) > 0 {
		text += "; it is in " + strings.Join(m.From, " or ")
	}
	if len(m.Without) > 0 {
		text += "; " + few(m.Without) + " is here, but not in a version that has it"
	}
	if len(m.Unclear) > 0 {
		text += "; " + few(m.Unclear) + " makes node types by code and may have it: name it in custom-nodes:"
	}
	if len(m.Unread) > 0 {
		text += "; what else there is cannot be told of " + few(m.Unread)
	}
	return text
}

// Choose decides which packs provide what is needed: the ones that the workflow's
// own properties name, else those whose source has the type, else those for which
// the Manager's list has it. Candidates come in the order of preference.
func Choose(needs []Need, candidates []Candidate, known Known) Choice {
	var c Choice
	add := func(p memtrix.Pack) {
		if !slices.ContainsFunc(c.Packs, func(q memtrix.Pack) bool { return q.Name == p.Name }) {
			c.Packs = append(c.Packs, p)
		}
	}
	for _, n := range needs {
		have := providers(n, candidates, known)
		if len(have) == 0 {
			c.Missing = append(c.Missing, missing(n, candidates, known))
			continue
		}
		chosen := prefer(n, have)
		if len(have) > 1 && !chosen.named(n.Meta) && !loaded(c.Packs, have) {
			c.Warnings = append(c.Warnings, fmt.Sprintf("node type %q is in several packs (%s); %s is loaded. custom-nodes: can name another", n.Class, strings.Join(namesOf(have), ", "), chosen.Name))
		}
		if !loaded(c.Packs, have) {
			add(chosen.Pack)
		}
	}
	slices.SortFunc(c.Packs, func(a, b memtrix.Pack) int { return strings.Compare(a.Name, b.Name) })
	return c
}

// providers are the candidates that have a type: those whose source says so; where
// there are none, those of which the source does not tell all and that the list or
// the workflow itself names.
func providers(n Need, candidates []Candidate, known Known) []Candidate {
	for _, has := range []func(Candidate) bool{
		func(c Candidate) bool { return slices.Contains(c.Types.Types, n.Class) },
		func(c Candidate) bool { return len(c.Unclear) > 0 && known.Has(c, n.Class) },
		func(c Candidate) bool { return len(c.Unclear) > 0 && c.named(n.Meta) },
	} {
		var have []Candidate
		for _, c := range candidates {
			if has(c) {
				have = append(have, c)
			}
		}
		if len(have) > 0 {
			return have
		}
	}
	return nil
}

// named reports whether a node's properties name the pack.
func (c Candidate) named(m memtrix.GraphMeta) bool {
	switch {
	case m.Repository != "":
		return c.is(strings.ToLower(m.Repository))
	case m.Registry != "" && c.Registry != "":
		return c.Registry == strings.ToLower(m.Registry)
	}
	return m.Registry != "" && strings.EqualFold(c.Name, m.Registry)
}

// prefer takes the pack that the workflow names, else the first.
func prefer(n Need, have []Candidate) Candidate {
	if i := slices.IndexFunc(have, func(c Candidate) bool { return c.named(n.Meta) }); i >= 0 {
		return have[i]
	}
	return have[0]
}

func loaded(packs []memtrix.Pack, have []Candidate) bool {
	return slices.ContainsFunc(have, func(c Candidate) bool {
		return slices.ContainsFunc(packs, func(p memtrix.Pack) bool { return p.Name == c.Name })
	})
}

// unreadable is what scan.py says of a file that it cannot parse.
const unreadable = " cannot be read: "

// missing collects who might have a type.
func missing(n Need, candidates []Candidate, known Known) Missing {
	m := Missing{Need: n}
	if n.Meta.Repository != "" {
		m.From = append(m.From, "https://github.com/"+n.Meta.Repository+released(n.Meta))
	} else if n.Meta.Registry != "" && n.Meta.Registry != "comfy-core" {
		m.From = append(m.From, fmt.Sprintf("the registry's pack %q", n.Meta.Registry)+released(n.Meta))
	}
	for _, url := range known.URLs(n.Class) {
		if !slices.ContainsFunc(m.From, func(f string) bool { return strings.HasPrefix(f, url) }) {
			m.From = append(m.From, url)
		}
	}
	for _, c := range candidates {
		bad := slices.IndexFunc(c.Unclear, func(u string) bool { return strings.Contains(u, unreadable) })
		switch {
		case bad >= 0:
			m.Unread = append(m.Unread, fmt.Sprintf("%s (%s)", c.Name, c.Unclear[bad]))
		case len(c.Unclear) > 0:
			m.Unclear = append(m.Unclear, c.Name)
		case c.named(n.Meta) || known.Has(c, n.Class):
			m.Without = append(m.Without, c.Short())
		}
	}
	return m
}

func released(m memtrix.GraphMeta) string {
	if m.Release == "" {
		return ""
	}
	return " (" + m.Release + ")"
}

func namesOf(list []Candidate) []string {
	var names []string
	for _, c := range list {
		names = append(names, c.Name)
	}
	return names
}
