package past

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"memtrix/internal/shell"
	"memtrix/versions/installs"
)

// managerFolders are where ComfyUI-Manager keeps snapshots: in the folder of
// ComfyUI's system users since 2025 (folder_paths.get_system_user_directory), in
// the user's folder since version 3, beside its own code before
// (https://github.com/Comfy-Org/ComfyUI-Manager, glob/manager_core.py).
func managerFolders(in installs.Install) []string {
	m := in.On
	return []string{
		m.Join(in.Base, "user", "__manager", "snapshots"),
		m.Join(in.Base, "user", "default", "ComfyUI-Manager", "snapshots"),
		m.Join(in.Base, "custom_nodes", "ComfyUI-Manager", "snapshots"),
		m.Join(in.Base, "custom_nodes", "comfyui-manager", "snapshots"),
	}
}

// managerFile is what Manager writes: ComfyUI's commit, packs with git by URL, packs
// of the registry by id, and the lines of pip freeze as keys.
type managerFile struct {
	ComfyUI string `json:"comfyui"`
	Git     map[string]struct {
		Hash     string `json:"hash"`
		Disabled bool   `json:"disabled"`
	} `json:"git_custom_nodes"`
	Registry map[string]string `json:"cnr_custom_nodes"`
	Pips     map[string]string `json:"pips"`
}

var stamp = regexp.MustCompile(`^(\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d)_`)

func (f *finder) managerSnapshots() {
	if f.in.Base == "" {
		return
	}
	for _, dir := range managerFolders(f.in) {
		for _, e := range f.in.On.List(dir) {
			if !strings.HasSuffix(e.Name(), ".json") {
				continue
			}
			file := f.in.On.Join(dir, e.Name())
			s, err := managerState(f.in, file)
			if err != nil {
				f.warn("snapshot %s: %v", file, err)
				continue
			}
			f.add(s)
		}
	}
}

func managerState(in installs.Install, file string) (State, error) {
	data, err := in.On.Read(file)
	if err != nil {
		return State{}, err
	}
	var snap managerFile
	if err := json.Unmarshal(data, &snap); err != nil {
		return State{}, err
	}
	name := in.On.Base(file)
	s := State{Commit: snap.ComfyUI, When: fileTime(in, file, name, stamp, "2006-01-02_15-04-05")}
	s.Source = fmt.Sprintf("snapshot of ComfyUI-Manager %s of %s", name, s.When.Format(time.DateOnly))
	if len(snap.Pips) > 0 {
		s.Packages, s.Complete = map[string]string{}, true
		for line := range snap.Pips {
			if name, version, ok := pin(line); ok {
				s.Packages[name] = version
			}
		}
	}
	s.Nodes = map[string]string{}
	for url, n := range snap.Git {
		if !n.Disabled {
			s.Nodes[strings.ToLower(strings.TrimSuffix(path.Base(url), ".git"))] = n.Hash
		}
	}
	for id, version := range snap.Registry {
		s.Nodes[strings.ToLower(id)] = version
	}
	if tool := in.On.Join(in.Base, "custom_nodes", "ComfyUI-Manager", "cm-cli.py"); in.On.IsFile(tool) {
		s.Back = []string{python(in) + " " + shell.Path(tool) + " restore-snapshot " + shell.Path(file)}
	} else {
		s.Back = []string{fmt.Sprintf("in ComfyUI: Manager, Snapshot Manager, Restore %s, and restart", strings.TrimSuffix(name, ".json"))}
	}
	return s, nil
}

// python is how the installation's interpreter is called.
func python(in installs.Install) string {
	if in.Python == "" {
		return "python"
	}
	return shell.Path(in.Python)
}

// fileTime is the local time in a file's name, or when it was written.
func fileTime(in installs.Install, file, name string, form *regexp.Regexp, layout string) time.Time {
	if m := form.FindStringSubmatch(name); m != nil {
		if t, err := time.ParseInLocation(layout, m[1], time.Local); err == nil {
			return t
		}
	}
	if info, err := in.On.Stat(file); err == nil {
		return info.ModTime()
	}
	return time.Time{}
}

// desktopFile is a snapshot of Comfy Desktop 2, which writes one when something
// changed at a start and around updates
// (https://github.com/Comfy-Org/Comfy-Desktop, src/main/lib/snapshots).
type desktopFile struct {
	CreatedAt time.Time `json:"createdAt"`
	Trigger   string    `json:"trigger"`
	Label     *string   `json:"label"`
	ComfyUI   struct {
		Ref     string  `json:"ref"`
		Commit  *string `json:"commit"`
		BaseTag string  `json:"baseTag"`
		Release string  `json:"releaseTag"`
	} `json:"comfyui"`
	Nodes []struct {
		ID      string `json:"id"`
		Dir     string `json:"dirName"`
		Type    string `json:"type"`
		Enabled bool   `json:"enabled"`
		Version string `json:"version"`
		Commit  string `json:"commit"`
	} `json:"customNodes"`
	Pips map[string]string `json:"pipPackages"`
}

func (f *finder) desktopSnapshots() {
	dir := f.in.On.Join(f.in.Dir, ".launcher", "snapshots")
	for _, e := range f.in.On.List(dir) {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		file := f.in.On.Join(dir, e.Name())
		s, err := desktopState(f.in, file)
		if err != nil {
			f.warn("snapshot %s: %v", file, err)
			continue
		}
		f.add(s)
	}
}

func desktopState(in installs.Install, file string) (State, error) {
	data, err := in.On.Read(file)
	if err != nil {
		return State{}, err
	}
	var snap desktopFile
	if err := json.Unmarshal(data, &snap); err != nil {
		return State{}, err
	}
	s := State{When: snap.CreatedAt.Local(), Nodes: map[string]string{}}
	s.Source = fmt.Sprintf("snapshot of Comfy Desktop (%s) of %s", snap.Trigger, s.When.Format(time.DateOnly))
	if snap.ComfyUI.Commit != nil {
		s.Commit = *snap.ComfyUI.Commit
	}
	s.Release = strings.TrimPrefix(snap.ComfyUI.BaseTag, "v")
	if len(snap.Pips) > 0 {
		s.Packages, s.Complete = map[string]string{}, true
		for name, version := range snap.Pips {
			s.Packages[Name(name)] = version
		}
	}
	for _, n := range snap.Nodes {
		switch {
		case !n.Enabled:
		case n.Type == "git" && n.Commit != "":
			s.Nodes[strings.ToLower(n.Dir)] = n.Commit
		case n.Version != "":
			s.Nodes[strings.ToLower(n.ID)] = n.Version
		}
	}
	s.Back = []string{fmt.Sprintf("in Comfy Desktop: the installation's page, Snapshots, the one of %s, Restore", s.When.Format("2006-01-02 15:04"))}
	return s, nil
}
