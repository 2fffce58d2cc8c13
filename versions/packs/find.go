package packs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Place is where a pack lies.
type Place struct {
	// Name is that of its folder or file: what ComfyUI sees.
	Name string
	// Path is absolute.
	Path string
}

// OwnFile is the pack that every ComfyUI carries in its own custom_nodes; it loads
// nothing that takes memory.
const OwnFile = "websocket_image_save.py"

// Folders gives the custom_nodes folders of an installation: a ComfyUI tree or a
// base directory (with custom_nodes in it, and with those that its
// extra_model_paths.yaml names), or a custom_nodes folder itself.
func Folders(dir string) ([]string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("folder of custom nodes %s: %w", dir, err)
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("folder of custom nodes %s does not exist", abs)
	case err != nil:
		return nil, fmt.Errorf("folder of custom nodes: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("%s is a file; name the folder of a ComfyUI, or its custom_nodes", abs)
	}
	folders, err := ExtraFolders(abs)
	if err != nil {
		return nil, err
	}
	if own := filepath.Join(abs, "custom_nodes"); isDir(own) {
		folders = append([]string{own}, folders...)
	}
	if len(folders) == 0 && filepath.Base(abs) == "custom_nodes" {
		folders = []string{abs}
	}
	if len(folders) == 0 {
		return nil, fmt.Errorf("%s has no custom_nodes", abs)
	}
	return folders, nil
}

// ExtraFolders gives the custom_nodes folders that a tree's own
// extra_model_paths.yaml names: ComfyUI reads that file wherever its base directory
// is.
func ExtraFolders(tree string) ([]string, error) {
	file := filepath.Join(tree, "extra_model_paths.yaml")
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("extra model paths: %w", err)
	}
	var sections map[string]map[string]any
	if err := yaml.Unmarshal(data, &sections); err != nil {
		return nil, fmt.Errorf("extra model paths %s: %w", file, err)
	}
	var folders []string
	for _, section := range sections {
		text, _ := section["custom_nodes"].(string)
		base, _ := section["base_path"].(string)
		base = os.ExpandEnv(home(base)) // as utils/extra_config.py does
		if !filepath.IsAbs(base) {
			base = filepath.Join(tree, base)
		}
		for _, line := range strings.Split(text, "\n") {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			if !filepath.IsAbs(line) {
				line = filepath.Join(base, line)
			}
			if isDir(line) {
				folders = append(folders, line)
			}
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders), nil
}

func home(path string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		if dir, err := os.UserHomeDir(); err == nil {
			return filepath.Join(dir, path[1:])
		}
	}
	return path
}

// List gives the packs that ComfyUI would import from a custom_nodes folder, by
// name: its folders and Python files, but those that are disabled by their name.
func List(folder string) ([]Place, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("list custom nodes: %w", err)
	}
	var found []Place
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		if !loadable(e.Name(), path) {
			continue
		}
		found = append(found, Place{Name: e.Name(), Path: path})
	}
	return found, nil
}

// loadable follows init_external_custom_nodes in ComfyUI's nodes.py. Folders that
// begin with a dot are tried there, too; they are never packs.
func loadable(name, path string) bool {
	if name == "__pycache__" || strings.HasSuffix(name, disabledEnd) || strings.HasPrefix(name, ".") {
		return false
	}
	return isDir(path) || filepath.Ext(name) == ".py"
}

// disabledEnd ends the name of what ComfyUI does not load.
const disabledEnd = ".disabled"

// All lists the packs of several custom_nodes folders without ComfyUI's own file;
// of two with one name the first counts, as a later one would only replace it.
func All(folders []string) ([]Place, error) {
	var all []Place
	for _, folder := range folders {
		found, err := List(folder)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			if p.Name != OwnFile && !slices.ContainsFunc(all, func(q Place) bool { return q.Name == p.Name }) {
				all = append(all, p)
			}
		}
	}
	return all, nil
}

// Named finds a pack by its name in custom_nodes, case and a missing ".py" aside.
func Named(name string, folders []string) (Place, error) {
	all, err := All(folders)
	if err != nil {
		return Place{}, err
	}
	for _, same := range []func(Place) bool{
		func(p Place) bool { return p.Name == name || p.Name == name+".py" },
		func(p Place) bool { return strings.EqualFold(p.Name, name) },
	} {
		if i := slices.IndexFunc(all, same); i >= 0 {
			return all[i], nil
		}
	}
	for _, folder := range folders {
		for _, n := range []string{name, name + disabledEnd} {
			if path := filepath.Join(folder, n); strings.HasSuffix(n, disabledEnd) && isDir(path) {
				return Place{}, fmt.Errorf("custom node %s is disabled by its name", path)
			}
		}
	}
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
	}
	where := strings.Join(folders, ", ")
	switch {
	case len(folders) == 0:
		return Place{}, fmt.Errorf("custom node %q is not there: this version has no custom_nodes folder; name an installation with custom-nodes-from:, or say {path: DIR} or {git: URL}", name)
	case len(names) == 0:
		return Place{}, fmt.Errorf("custom node %q is not there (%s has: nothing)", name, where)
	}
	return Place{}, fmt.Errorf("custom node %q is not there (%s has: %s)", name, where, strings.Join(names, ", "))
}

// At gives the pack of a path.
func At(path string) (Place, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Place{}, fmt.Errorf("custom node %s: %w", path, err)
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Place{}, fmt.Errorf("custom node %s does not exist", abs)
	case err != nil:
		return Place{}, fmt.Errorf("custom node: %w", err)
	case strings.HasSuffix(abs, disabledEnd):
		return Place{}, fmt.Errorf("custom node %s is disabled by its name", abs)
	case info.IsDir() && filepath.Base(abs) == "custom_nodes":
		return Place{}, fmt.Errorf("%s holds custom nodes and is none; name one of the folders in it, or say custom-nodes-from: %s", abs, abs)
	case !info.IsDir() && filepath.Ext(abs) != ".py":
		return Place{}, fmt.Errorf("custom node %s is neither a folder nor a Python file", abs)
	}
	return Place{Name: filepath.Base(abs), Path: abs}, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Others lists the packs that a server of a tree sees besides those that it is shown:
// in the folders of its extra_model_paths.yaml and, where own is set (a version
// without --base-directory), in the tree's custom_nodes.
func Others(tree string, own bool) ([]Place, error) {
	folders, err := ExtraFolders(tree)
	if err != nil {
		return nil, err
	}
	if dir := filepath.Join(tree, "custom_nodes"); own && isDir(dir) {
		folders = append(folders, dir)
	}
	return All(folders)
}

// Remarks are what a person should know of a pack before it is loaded.
func Remarks(p Place) []string {
	var remarks []string
	if _, err := os.Stat(filepath.Join(p.Path, "install.py")); err == nil {
		remarks = append(remarks, fmt.Sprintf("custom node %s has an install.py; memtrix does not run it", p.Name))
	}
	return remarks
}
