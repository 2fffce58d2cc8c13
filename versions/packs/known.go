package packs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"memtrix"
)

// Known is the list of packs by node type that ComfyUI-Manager carries: for each git
// URL the types that its authors saw. It also holds types that a pack makes by code.
type Known struct {
	// File is where it was read, "" where there is none.
	File  string
	packs []knownPack
}

type knownPack struct {
	url     string
	types   map[string]bool
	pattern *regexp.Regexp // of types, nil for none
}

// knownFile is the list's name in the Manager's folder, and in its package.
const knownFile = "extension-node-map.json"

// ReadKnown reads the Manager's list from the first of some folders that has one:
// custom_nodes folders, or a folder of Python packages. Without one it is empty.
func ReadKnown(folders []string) (Known, error) {
	for _, folder := range folders {
		for _, manager := range []string{"ComfyUI-Manager", "comfyui-manager", "comfyui_manager"} {
			file := filepath.Join(folder, manager, knownFile)
			data, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			k, err := parseKnown(data)
			if err != nil {
				return Known{}, fmt.Errorf("%s: %w", file, err)
			}
			k.File = file
			return k, nil
		}
	}
	return Known{}, nil
}

// parseKnown reads {url: [[type, ...], {"nodename_pattern": ...}]}.
func parseKnown(data []byte) (Known, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return Known{}, err
	}
	var k Known
	for url, raw := range all {
		p := knownPack{url: url, types: map[string]bool{}}
		var entry []json.RawMessage
		var types []string
		if json.Unmarshal(raw, &entry) != nil || len(entry) == 0 || json.Unmarshal(entry[0], &types) != nil {
			continue // an entry of another form tells nothing
		}
		for _, t := range types {
			p.types[t] = true
		}
		var more struct {
			Pattern string `json:"nodename_pattern"`
		}
		if len(entry) > 1 && json.Unmarshal(entry[1], &more) == nil && more.Pattern != "" {
			p.pattern, _ = regexp.Compile(more.Pattern) // one that is Python's alone tells nothing
		}
		k.packs = append(k.packs, p)
	}
	slices.SortFunc(k.packs, func(a, b knownPack) int { return strings.Compare(a.url, b.url) })
	return k, nil
}

// URLs gives the repositories of the packs that have a type.
func (k Known) URLs(class string) []string {
	var urls []string
	for _, p := range k.packs {
		if p.types[class] {
			urls = append(urls, p.url)
		}
	}
	if urls != nil {
		return urls
	}
	for _, p := range k.packs {
		if p.pattern != nil && p.pattern.MatchString(class) {
			urls = append(urls, p.url)
		}
	}
	return urls
}

// Has reports whether the list has a type for a pack.
func (k Known) Has(p Candidate, class string) bool {
	return slices.ContainsFunc(k.URLs(class), func(url string) bool { return p.is(repository(url)) })
}

// repository is the "owner/name" of a URL, in lower case, as properties of nodes
// write it (aux_id).
func repository(url string) string {
	url = strings.TrimSuffix(strings.TrimRight(strings.ToLower(url), "/"), ".git")
	parts := strings.FieldsFunc(url, func(r rune) bool { return r == '/' || r == ':' })
	if len(parts) < 2 {
		return url
	}
	return strings.Join(parts[len(parts)-2:], "/")
}

// Candidate is a pack that could be loaded.
type Candidate struct {
	memtrix.Pack
	Types
	// Registry is what the registry calls it (the name in its pyproject.toml).
	Registry string
	// Repository is its "owner/name", "" where that is not known.
	Repository string
}

// NewCandidate adds to a pack what is needed to choose it.
func NewCandidate(p memtrix.Pack, t Types) Candidate {
	c := Candidate{Pack: p, Types: t}
	// One that cannot be read names nothing; what it requires is told elsewhere.
	if project, err := readPyproject(filepath.Join(p.Dir, "pyproject.toml")); err == nil {
		c.Registry = strings.ToLower(project.Project.Name)
		if url := project.Project.URLs.Repository; url != "" {
			c.Repository = repository(url)
		}
	}
	if p.Source != "" {
		c.Repository = repository(p.Source)
	}
	return c
}

// is reports whether the pack is that of a repository "owner/name"; where its own is
// not known, its folder's name must do.
func (c Candidate) is(repo string) bool {
	if c.Repository != "" && strings.Contains(c.Repository, "/") {
		return c.Repository == repo
	}
	return strings.EqualFold(c.Name, repo[strings.LastIndex(repo, "/")+1:])
}
