package axes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"memtrix/versions/pyenv"
)

// absent is the override that leaves a package out.
const absent = "none"

// families are packages that only work together in matching versions: they change as
// one. The first is the name, the others are what their names begin with.
var families = [][]string{
	{"torch", "torchvision", "torchaudio", "triton", "pytorch-", "nvidia-", "cuda-"},
	{"transformers", "tokenizers", "huggingface-hub", "hf-xet"},
	{"pydantic", "pydantic-core", "pydantic-settings"},
	{"kornia", "kornia-rs"},
	{"httpx2", "httpcore2"},
}

// family is the package that another one belongs to; most belong to themselves.
func family(name string) string {
	for _, f := range families {
		for i, member := range f {
			if name == member || i > 0 && strings.HasSuffix(member, "-") && strings.HasPrefix(name, member) {
				return f[0]
			}
		}
	}
	return name
}

// tools are installed with every environment and do not run in it.
var tools = map[string]bool{"pip": true, "setuptools": true, "wheel": true, "uv": true}

// normal writes names as an index compares them, and leaves tools out.
func normal(packages map[string]string) map[string]string {
	out := map[string]string{}
	for name, version := range packages {
		if name = pyenv.PackageName(name); name != "" && !tools[name] && !strings.HasPrefix(name, "(") {
			out[name] = version
		}
	}
	return out
}

// packageWeight is how likely a package is to have changed memory.
func packageWeight(family string) float64 {
	switch {
	case family == "torch", family == "comfy-aimdo":
		return 4
	case strings.HasPrefix(family, "comfy-"), family == "transformers", family == "safetensors", family == "numpy",
		family == "xformers", family == "sageattention", family == "flash-attn", family == "kornia":
		return 2
	case slices.Contains(pyenv.FrontEnd, family):
		return 0.25
	}
	return 1
}

// Differing are the families of packages in which two sets differ, each with its
// packages.
func Differing(good, bad map[string]string) map[string][]string {
	good, bad = normal(good), normal(bad)
	out := map[string][]string{}
	for name := range union(good, bad) {
		if good[name] != bad[name] {
			out[family(name)] = append(out[family(name)], name)
		}
	}
	for _, names := range out {
		slices.Sort(names)
	}
	return out
}

func union(a, b map[string]string) map[string]bool {
	all := map[string]bool{}
	for name := range a {
		all[name] = true
	}
	for name := range b {
		all[name] = true
	}
	return all
}

// OfPackages is a path from the packages of good to those of bad with the code of one
// of them: each state has one more package, or family of them, as the bad one has it.
// All packages are pinned, so that nothing else moves.
func OfPackages(code State, good, bad map[string]string) List {
	differ := Differing(good, bad)
	good, bad = normal(good), normal(bad)
	now := map[string]string{}
	for name := range union(good, bad) {
		now[name] = pin(good[name])
	}
	l := List{Axis: Packages}
	l.Candidates = append(l.Candidates, pinned(code, now, "the good packages", ""))
	for _, f := range slices.Sorted(maps.Keys(differ)) {
		for _, name := range differ[f] {
			now[name] = pin(bad[name])
		}
		c := pinned(code, now, stepOf(f, differ[f], good, bad), f)
		c.Prior = packageWeight(f)
		l.Candidates = append(l.Candidates, c)
	}
	return l
}

func pin(version string) string {
	if version == "" {
		return absent
	}
	return version
}

// pinned is a candidate in an environment of exactly these packages.
func pinned(code State, packages map[string]string, name, thing string) Candidate {
	s := code.clone()
	s.Entry.Packages, s.Entry.Overrides, s.Entry.Name = "required", maps.Clone(packages), name
	s.Version.Packages = map[string]string{}
	for p, v := range packages {
		if v != absent {
			s.Version.Packages[p] = v
		}
	}
	return Candidate{State: s, Name: name, Thing: thing, Prior: 1, Group: fmt.Sprint(packages)}
}

// stepOf names what a step changes: "comfy-aimdo 0.4.9 -> 0.4.10".
func stepOf(family string, names []string, good, bad map[string]string) string {
	lead := names[0]
	if slices.Contains(names, family) {
		lead = family
	}
	before, after := good[lead], bad[lead]
	switch {
	case before == "":
		before = "(not there)"
	case after == "":
		after = "(gone)"
	}
	text := fmt.Sprintf("%s %s -> %s", lead, before, after)
	if len(names) > 1 {
		text += fmt.Sprintf(" with %d that go with it", len(names)-1)
	}
	return text
}

// OfReleases is a path through the versions of one package, from the state before its
// step to the state with it. versions lie between the two, the oldest first. Nil where
// there is nothing between, or the step is not of one package.
func OfReleases(before, with Candidate, versions []string) *List {
	name := SinglePackage(before, with)
	if name == "" || len(versions) == 0 {
		return nil
	}
	from, to := before.Entry.Overrides[name], with.Entry.Overrides[name]
	l := &List{Axis: Releases, Why: fmt.Sprintf("%s has %d versions between %s and %s", name, len(versions), from, to)}
	add := func(version string, c Candidate) {
		c.Name, c.Prior, c.Thing = name+" "+version, 1, name
		c.Entry.Name = c.Name
		l.Candidates = append(l.Candidates, c)
	}
	add(from, before)
	for _, v := range versions {
		now := maps.Clone(before.Entry.Overrides)
		now[name] = v
		add(v, pinned(before.State, now, "", name))
	}
	add(to, with)
	return l
}

// SinglePackage is the one package whose version a step changes, "" where there are
// several, or it came or went.
func SinglePackage(before, with Candidate) string {
	name := ""
	for p := range union(before.Entry.Overrides, with.Entry.Overrides) {
		a, b := before.Entry.Overrides[p], with.Entry.Overrides[p]
		if a == b {
			continue
		}
		if name != "" || a == absent || b == absent || a == "" || b == "" {
			return ""
		}
		name = p
	}
	return name
}
