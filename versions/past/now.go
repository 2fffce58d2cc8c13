package past

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"memtrix/versions/installs"
)

// Now is what an installation is, as its files tell.
func Now(in installs.Install) (State, []string) {
	var warnings []string
	s := State{Source: "now"}
	if in.Tree != "" {
		s.Release = release(in)
		g := gitOf(in.On, in.Tree)
		commit, err := g.head()
		if err == nil {
			s.Commit = commit
		} else if g.dir != "" {
			warnings = append(warnings, "the commit of "+in.Tree+" cannot be read: "+err.Error())
		}
	}
	if installed := packages(in); len(installed) > 0 {
		s.Packages, s.Complete = map[string]string{}, true
		for _, p := range installed {
			s.Packages[p.name] = p.version
		}
	}
	s.Nodes = nodes(in)
	return s, warnings
}

var versionLine = regexp.MustCompile(`(?m)^__version__\s*=\s*["']([^"']+)["']`)

// release reads comfyui_version.py, which is there since early 2025.
func release(in installs.Install) string {
	data, err := in.On.Read(in.On.Join(in.Tree, "comfyui_version.py"))
	if err != nil {
		return ""
	}
	if m := versionLine.FindSubmatch(data); m != nil {
		return string(m[1])
	}
	return ""
}

// installed is a package of an environment, and when it was put there.
type installed struct {
	name, version string
	when          time.Time
}

var distInfo = regexp.MustCompile(`^(.+?)-([^-]+)\.dist-info$`)

// packages reads the names of the *.dist-info folders, which hold name and version
// (https://packaging.python.org/specifications/recording-installed-packages/).
func packages(in installs.Install) []installed {
	var found []installed
	for _, site := range in.Packages() {
		for _, e := range in.On.List(site) {
			m := distInfo.FindStringSubmatch(e.Name())
			if m == nil || !e.IsDir() {
				continue
			}
			found = append(found, installed{name: Name(m[1]), version: m[2], when: written(in.On, in.On.Join(site, e.Name()), e)})
		}
	}
	return found
}

// written is when an installer finished a package: it writes RECORD last. The
// folder's own time changes when Python or a person puts something into it.
func written(m installs.Machine, dir string, e fs.DirEntry) time.Time {
	for _, name := range []string{"RECORD", "INSTALLER", "METADATA"} {
		if info, err := m.Stat(m.Join(dir, name)); err == nil {
			return info.ModTime()
		}
	}
	if info, err := e.Info(); err == nil {
		return info.ModTime()
	}
	return time.Time{}
}

var separators = regexp.MustCompile(`[-_.]+`)

// Name writes a package's name as PEP 503 has it.
func Name(name string) string {
	return strings.ToLower(separators.ReplaceAllString(strings.TrimSpace(name), "-"))
}

// nodes are the custom node packs with commit or version, nil where the folder
// cannot be read.
func nodes(in installs.Install) map[string]string {
	dir := in.On.Join(in.Base, "custom_nodes")
	if in.Base == "" || !in.On.IsDir(dir) {
		return nil
	}
	found := map[string]string{}
	for _, e := range in.On.List(dir) {
		pack := in.On.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), ".disabled") || e.Name() == "__pycache__" || !in.On.IsDir(pack) {
			continue
		}
		if commit, err := gitOf(in.On, pack).head(); err == nil {
			found[strings.ToLower(e.Name())] = commit
			continue
		}
		if name, version := project(in.On, pack); version != "" {
			found[strings.ToLower(name)] = version
		}
	}
	return found
}

// project reads name and version of a pack that came from the registry.
func project(m installs.Machine, dir string) (name, version string) {
	data, err := m.Read(m.Join(dir, "pyproject.toml"))
	if err != nil {
		return "", ""
	}
	var file struct {
		Project struct {
			Name    string `toml:"name"`
			Version string `toml:"version"`
		} `toml:"project"`
	}
	if toml.Unmarshal(data, &file) != nil {
		return "", ""
	}
	if file.Project.Name == "" {
		file.Project.Name = path.Base(m.Base(dir))
	}
	return file.Project.Name, file.Project.Version
}
