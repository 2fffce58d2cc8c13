package comfyui

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"memtrix"
	"memtrix/internal/files"
)

// layout is where one trial's server reads and writes. Everything that is written
// lies below dir; the person's own folders are only read.
type layout struct {
	dir   string // the trial's folder, absolute
	port  int
	known map[string]bool

	modelPaths string   // an extra_model_paths file, "" for none
	nodeNames  []string // packs that may load
	frontEnd   bool     // an empty front end is needed
}

func (l layout) path(name string) string { return filepath.Join(l.dir, name) }

// folders exist before the server starts. A version without --base-directory
// refuses a user folder that is not there, one with it a custom_nodes folder.
var folders = []string{"user", "temp", "output", "input", "custom_nodes", "models", WorkFolder}

// WorkFolder is the folder within a trial's that its server is started in.
const WorkFolder = "work"

// argv are the flags that make the layout. Flags that take any number of words
// come first, so that none swallows a word of what follows.
func (l layout) argv() []string {
	argv := []string{"--disable-all-custom-nodes"}
	switch {
	case len(l.nodeNames) > 0 && l.known["--whitelist-custom-nodes"]:
		argv = append(append(argv, "--whitelist-custom-nodes"), l.nodeNames...)
	case len(l.nodeNames) > 0:
		argv = nil // only those that the layout shows are there to load
	}
	if l.modelPaths != "" {
		argv = append(argv, "--extra-model-paths-config", l.modelPaths)
	}
	if l.known["--base-directory"] {
		argv = append(argv, "--base-directory", l.dir)
	} else {
		argv = append(argv, "--user-directory", l.path("user"), "--output-directory", l.path("output"),
			"--temp-directory", l.dir, "--input-directory", l.path("input"))
	}
	if l.known["--database-url"] {
		argv = append(argv, "--database-url", "sqlite:///"+filepath.ToSlash(l.path(filepath.Join("user", "comfyui.db"))))
	}
	if l.frontEnd {
		argv = append(argv, "--front-end-root", l.path("frontend"))
	}
	if l.known["--disable-auto-launch"] {
		argv = append(argv, "--disable-auto-launch")
	}
	return append(argv, "--listen", "127.0.0.1", "--port", strconv.Itoa(l.port))
}

// lay makes a trial's folders and says how the server is told about them.
func (t *Target) lay(job memtrix.Job, port int) (layout, error) {
	dir, err := filepath.Abs(job.Dir)
	if err != nil {
		return layout{}, fmt.Errorf("trial folder %s: %w", job.Dir, err)
	}
	v := job.Cell.Version
	l := layout{dir: dir, port: port, known: knownFlags(v)}
	if err := l.sweep(); err != nil {
		return layout{}, err
	}
	for _, name := range folders {
		if err := os.MkdirAll(l.path(name), 0o755); err != nil {
			return layout{}, fmt.Errorf("trial folder: %w", err)
		}
	}
	if v.Target == memtrix.TargetSim {
		return l, t.showPaths(&l, job)
	}
	if l.frontEnd = lacksFrontEnd(v, l.known); l.frontEnd {
		if err := os.MkdirAll(l.path("frontend"), 0o755); err != nil {
			return layout{}, fmt.Errorf("trial folder: %w", err)
		}
	}
	if err := showInputs(filepath.Join(v.Dir, "input"), l.path("input"), t.CacheDir, job.Cell.Workflow); err != nil {
		return layout{}, err
	}
	return l, t.showPaths(&l, job)
}

// lacksFrontEnd: without the front end's package a server refuses to start, but
// any folder will do in its place. Trees until 0.3.18 carry their own.
func lacksFrontEnd(v memtrix.Version, known map[string]bool) bool {
	if v.Packages == nil || installed(v, "comfyui-frontend-package") || !known["--front-end-root"] {
		return false
	}
	_, err := os.Stat(filepath.Join(v.Dir, "web", "index.html"))
	return err != nil
}

// showPaths writes the file through which a server sees the person's models and
// the packs that may load.
func (t *Target) showPaths(l *layout, job memtrix.Job) error {
	paths := map[string]map[string]string{}
	roots := slices.Clone(job.Models)
	if v := job.Cell.Version; v.Dir != "" && l.known["--base-directory"] {
		if own := filepath.Join(v.Dir, "models"); files.Exist(own) {
			roots = append([]string{own}, roots...)
		}
	}
	for i, root := range roots {
		found, err := modelFolders(root)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			paths["models_"+strconv.Itoa(i)] = found
		}
	}
	nodes, names, err := t.showNodes(l.known, job)
	if err != nil {
		return err
	}
	if nodes != "" {
		l.nodeNames = names
		paths["nodes"] = map[string]string{"custom_nodes": nodes}
	}
	if len(paths) == 0 {
		return nil
	}
	l.modelPaths = l.path("extra_model_paths.yaml")
	return writePaths(l.modelPaths, paths)
}

// writePaths writes JSON, which is YAML in which no path can be misread. There is
// no base_path in it: ComfyUI would expand "$" and "~" in that.
func writePaths(file string, paths map[string]map[string]string) error {
	data, err := json.MarshalIndent(paths, "", "  ")
	if err == nil {
		err = os.WriteFile(file, append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write extra model paths: %w", err)
	}
	return nil
}

// modelFolders lists the folders of a models folder by the kind of model that
// they hold: their name, for all but one.
func modelFolders(root string) (map[string]string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("models folder: %w", err)
	}
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("models folder %s does not exist", root)
	}
	if err != nil {
		return nil, fmt.Errorf("models folder: %w", err)
	}
	kinds := map[string]string{}
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		info, err := os.Stat(dir)
		if err != nil || !info.IsDir() || strings.ContainsAny(dir, "\n\r") {
			continue
		}
		kind := e.Name()
		switch kind {
		case "t2i_adapter":
			kind = "controlnet"
		case "custom_nodes", "base_path", "is_default":
			continue // words with another meaning in that file
		}
		if kinds[kind] != "" {
			dir = kinds[kind] + "\n" + dir
		}
		kinds[kind] = dir
	}
	return kinds, nil
}

// sweep clears what a killed trial left, and refuses a folder that is something
// else: its input and temp would be removed later.
func (l layout) sweep() error {
	_, err := os.Stat(l.path(LogFile))
	ours := err == nil
	for _, name := range []string{"input", "temp"} {
		entries, err := os.ReadDir(l.path(name))
		if err != nil || len(entries) == 0 {
			continue
		}
		if !ours {
			return fmt.Errorf("trial folder %s is in use: it holds %s with files of somebody else", l.dir, name)
		}
		if err := os.RemoveAll(l.path(name)); err != nil {
			return fmt.Errorf("trial folder: %w", err)
		}
	}
	return nil
}

// tidy removes what a trial's server needed only while it ran.
func (l layout) tidy() {
	os.RemoveAll(l.path("input"))
	os.RemoveAll(l.path("temp"))
	for _, name := range []string{"custom_nodes", "models", "frontend", WorkFolder} {
		os.Remove(l.path(name)) // only when nothing was written there
	}
}
