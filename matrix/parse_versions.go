package matrix

import (
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

var versionKeys = []string{"version", "path", "sim", "name", "python", "source", "packages", "overrides", "wheels",
	"custom-nodes", "custom-nodes-from", "url", "pid", "interrupt", "free"}

// asVersion are keys that people write where version: is meant.
var asVersion = map[string]string{
	"release": "", "commit": "", "branch": "", "tag": "", "pr": "pr:", "latest": "latest",
}

// versionDefaults are keys at the top of a spec that count for all versions
// named by version: which do not have their own.
var versionDefaults = []string{"source", "packages", "overrides", "wheels", "python"}

func (r *specReader) versions(n ast.Node) {
	seen := map[string]pos{}
	for _, item := range r.sequence(n, "versions") {
		v, ok := r.version(item)
		if !ok {
			continue
		}
		if v.Name != "" {
			if first, again := seen[v.Name]; again {
				r.fail(v.pos, "two versions are called %q; the first is in line %d", v.Name, first.line)
			}
			seen[v.Name] = v.pos
		}
		r.spec.Versions = append(r.spec.Versions, v)
	}
}

func (r *specReader) version(n ast.Node) (VersionEntry, bool) {
	v := VersionEntry{pos: position(n)}
	if text, ok := scalarText(n); ok {
		if address.MatchString(text) {
			r.url(n, &v)
			return v, v.URL != ""
		}
		r.versionText(n, &v)
		return v, v.Version != ""
	}
	before := len(r.errs)
	var keys []field
	fields, ok := r.mapping(n, "a version")
	for _, f := range fields {
		r.versionField(f, &v)
		keys = append(keys, f)
	}
	if !ok || len(r.errs) > before || !r.oneVersion(v) {
		return v, false
	}
	return v, r.versionMeanings(v, keys)
}

// oneVersion reports an entry that names no version, or several.
func (r *specReader) oneVersion(v VersionEntry) bool {
	var has []string
	for _, way := range []struct{ key, value string }{{"version:", v.Version}, {"path:", v.Path}, {"sim:", v.Sim}, {"url:", v.URL}} {
		if way.value != "" {
			has = append(has, way.key)
		}
	}
	switch len(has) {
	case 1:
		return true
	case 0:
		r.fail(v.pos, "a version needs version: (a release, commit, branch, pr:N or latest), path: (a ComfyUI folder), url: (a server that runs) or sim: (a release to simulate)")
	default:
		r.fail(v.pos, "a version has %s, not both", strings.Join(has, " or "))
	}
	return false
}

// versionMeanings reports keys that mean nothing for the version that they are
// beside.
func (r *specReader) versionMeanings(v VersionEntry, keys []field) bool {
	before := len(r.errs)
	for _, f := range keys {
		switch {
		case slices.Contains(serverKeys, f.key) && v.URL == "":
			r.fail(f.at, "%s: goes with url:, a server that runs", f.key)
		case v.URL != "" && slices.Contains(startKeys, f.key):
			r.fail(f.at, "%s: has no meaning beside url:, a server that runs as it is", f.key)
		case !slices.Contains(versionDefaults, f.key):
		case v.Sim != "":
			r.fail(f.at, "%s: has no meaning for a simulated version", f.key)
		case v.Path != "" && f.key == "source":
			r.fail(f.at, "source: has no meaning beside path:, which names the folder itself")
		}
	}
	return len(r.errs) == before
}

var pathLike = regexp.MustCompile(`^([./~\\]|[A-Za-z]:[\\/])`)

// versionText reads a release, commit, branch, pr:N or latest. Whether there is
// such a version is told when it is looked up.
func (r *specReader) versionText(n ast.Node, v *VersionEntry) {
	text, ok := r.word(n, "version")
	switch {
	case !ok:
	case address.MatchString(text):
		r.fail(position(n), "version %q is a server; write \"url: %s\"", shorten(text), shorten(text))
	case pathLike.MatchString(text):
		r.fail(position(n), "version %q is a path; write \"path: %s\"", shorten(text), shorten(text))
	case strings.ContainsAny(text, " \t"):
		r.fail(position(n), "version %q: a version is one word: a release (0.29.0), commit, branch, pr:N or latest", shorten(text))
	default:
		v.Version = text
	}
}

func (r *specReader) versionField(f field, v *VersionEntry) {
	switch f.key {
	case "version":
		r.versionText(f.value, v)
	case "path":
		if text, ok := r.word(f.value, "path"); ok {
			v.Path = r.path(text)
		}
	case "sim":
		if text, ok := r.word(f.value, "sim"); ok {
			v.Sim = text
		}
	case "name":
		r.name(f.value, &v.Name)
	case "custom-nodes":
		r.customNodes(f, &v.Packs)
		v.Packs.Own = true
	case "custom-nodes-from":
		r.customNodesFrom(f, &v.Packs)
	case "url":
		r.url(f.value, v)
	case "pid":
		r.count(f.value, "pid", 1<<22, &v.PID)
	case "interrupt":
		r.interrupt(f.value, v)
	case "free":
		r.onOff(f.value, "free", &v.Free)
	default:
		if slices.Contains(versionDefaults, f.key) {
			r.versionDefault(f, v)
			return
		}
		if prefix, meant := asVersion[f.key]; meant {
			text, _ := scalarText(f.value)
			if prefix != "latest" {
				prefix += shorten(text)
			}
			r.fail(f.at, "unknown key %q in a version; write \"version: %s\"", f.key, prefix)
			return
		}
		r.fail(f.at, "unknown key %q in a version%s", f.key, suggest(f.key, versionKeys))
	}
}

// versionDefault reads what may stand beside a version and at the top of a spec.
func (r *specReader) versionDefault(f field, v *VersionEntry) {
	switch f.key {
	case "source":
		if text, ok := r.word(f.value, "source"); ok {
			v.Source = r.location(text)
		}
	case "packages":
		r.packages(f.value, v)
	case "overrides":
		r.overrides(f.value, v)
	case "wheels":
		if text, ok := r.word(f.value, "wheels"); ok {
			v.Wheels = r.path(text)
		}
	case "python":
		if text, ok := r.word(f.value, "python"); ok {
			v.Python = r.command(text)
		}
	}
}

var packageModes = []string{"required", "as-of-date", "keep"}

// packages reads "packages: required", or a mapping of mode: and overrides.
func (r *specReader) packages(n ast.Node, v *VersionEntry) {
	if _, scalar := scalarText(n); scalar {
		r.packageMode(n, v)
		return
	}
	fields, _ := r.mapping(n, "packages")
	for _, f := range fields {
		if f.key == "mode" {
			r.packageMode(f.value, v)
		} else {
			r.override(f, v)
		}
	}
}

func (r *specReader) packageMode(n ast.Node, v *VersionEntry) {
	text, ok := r.word(n, "packages")
	switch {
	case !ok:
	case slices.Contains(packageModes, text):
		v.Packages = text
	default:
		r.fail(position(n), "unknown packages %q%s", shorten(text), suggest(text, packageModes))
	}
}

func (r *specReader) overrides(n ast.Node, v *VersionEntry) {
	fields, ok := r.mapping(n, "overrides")
	if ok && len(fields) == 0 {
		r.fail(position(n), "overrides is empty; leave it out or put something in")
	}
	for _, f := range fields {
		r.override(f, v)
	}
}

var packageName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// override reads one package with the version that it must have.
func (r *specReader) override(f field, v *VersionEntry) {
	if !packageName.MatchString(f.key) {
		r.fail(f.at, "%q is no name of a package", shorten(f.key))
		return
	}
	text, ok := r.word(f.value, "package "+f.key)
	if !ok {
		return
	}
	if _, again := v.Overrides[f.key]; again {
		r.fail(f.at, "package %s is there twice", f.key)
		return
	}
	if v.Overrides == nil {
		v.Overrides = map[string]string{}
	}
	if pathLike.MatchString(text) {
		text = r.path(text)
	}
	v.Overrides[f.key] = text
}

var remote = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9+.-]*://|[^/\\ ]+@[^/\\ ]+:)`)

// location resolves a source: URLs, also git's user@host:path, stay as they are.
func (r *reader) location(text string) string {
	if remote.MatchString(text) {
		return text
	}
	return r.path(text)
}

// applyDefaults gives versions what the top of the spec says and they do not.
// Where a version has its own packages: or overrides:, those of the top do not
// count; nor do they for a folder of the person's, whose environment is its own.
func (s *Spec) applyDefaults(d VersionEntry) {
	for i := range s.Versions {
		v := &s.Versions[i]
		v.packsDefault(d.Packs)
		if v.Version == "" {
			continue
		}
		for _, f := range []struct{ have, def *string }{
			{&v.Source, &d.Source}, {&v.Packages, &d.Packages}, {&v.Wheels, &d.Wheels}, {&v.Python, &d.Python},
		} {
			if *f.have == "" {
				*f.have = *f.def
			}
		}
		if v.Overrides == nil {
			v.Overrides = d.Overrides
		}
	}
}
