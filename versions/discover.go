package versions

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Found is a ComfyUI that Discover came across.
type Found struct {
	// Dir is the tree that holds main.py.
	Dir string
	// Python is the interpreter that runs it, "" when none was found.
	Python string
	// Why says where it was found, for people.
	Why string
	// URL is set for a server that is running. It belongs to its user: look, do
	// not touch.
	URL string
}

// places are where Discover looks; tests give others.
type places struct {
	cwd, home string
	url       string
	proc      string
	env       func(string) string
}

// Discover looks for a ComfyUI: a server that is running on port 8188, the
// current folder and its parents, the usual folders at home, the portable build
// and the desktop application. The likeliest comes first; a tree is given once.
func Discover(ctx context.Context) []Found {
	cwd, _ := os.Getwd()
	home, _ := os.UserHomeDir()
	p := places{cwd: cwd, home: home, url: "http://127.0.0.1:8188", proc: "/proc", env: os.Getenv}
	return p.discover(ctx)
}

func (p places) discover(ctx context.Context) []Found {
	var all []Found
	if f, ok := p.running(ctx); ok {
		all = append(all, f)
	}
	all = append(all, p.parents()...)
	all = append(all, p.usual()...)
	return distinct(all)
}

// parents are the current folder and all above it, each with what lies in it.
func (p places) parents() []Found {
	var found []Found
	if p.cwd == "" {
		return nil
	}
	for dir := p.cwd; ; dir = filepath.Dir(dir) {
		why := "above the current folder"
		if dir == p.cwd {
			why = "the current folder"
			found = append(found, p.at(filepath.Join(dir, "ComfyUI"), "in the current folder")...)
			found = append(found, p.at(filepath.Join(dir, "ComfyUI_windows_portable", "ComfyUI"), "the portable build in the current folder")...)
			// Archives unpack to ComfyUI-0.29.0 or ComfyUI-master.
			names, _ := filepath.Glob(filepath.Join(globLiteral(dir), "ComfyUI-*"))
			for _, name := range names {
				found = append(found, p.at(name, "in the current folder")...)
			}
		}
		found = append(found, p.at(dir, why)...)
		if dir == filepath.Dir(dir) {
			return found
		}
	}
}

// globLiteral makes a path that stands for itself in a pattern.
func globLiteral(path string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(path)
}

// usual are the folders that installers and guides use.
func (p places) usual() []Found {
	if p.home == "" {
		return nil
	}
	h := func(parts ...string) string { return filepath.Join(append([]string{p.home}, parts...)...) }
	var found []Found
	for _, c := range []struct{ dir, why string }{
		{h("ComfyUI"), "in the home folder"},
		{h("comfy", "ComfyUI"), "where comfy-cli installs it"},
		{h("ComfyUI_windows_portable", "ComfyUI"), "the portable build in the home folder"},
		{h("Downloads", "ComfyUI_windows_portable", "ComfyUI"), "the portable build in Downloads"},
		{h("Documents", "ComfyUI"), "in Documents"},
	} {
		found = append(found, p.at(c.dir, c.why)...)
	}
	return append(found, p.desktop()...)
}

// desktop finds the desktop application: its tree lies in the application's
// resources, its environment in Documents/ComfyUI.
func (p places) desktop() []Found {
	var dirs []string
	switch runtime.GOOS {
	case "darwin":
		dirs = []string{"/Applications/ComfyUI.app/Contents/Resources/ComfyUI"}
	case "windows":
		for _, name := range []string{"ComfyUI", "@comfyorgcomfyui-electron"} {
			dirs = append(dirs, filepath.Join(p.env("LOCALAPPDATA"), "Programs", name, "resources", "ComfyUI"))
		}
	}
	var found []Found
	for _, dir := range dirs {
		for _, f := range p.at(dir, "the desktop application") {
			for _, name := range interpreterNames(filepath.Join(p.home, "Documents", "ComfyUI", ".venv")) {
				if _, err := os.Stat(name); err == nil {
					f.Python = name
					break
				}
			}
			found = append(found, f)
		}
	}
	return found
}

func (p places) at(dir, why string) []Found {
	if len(missingParts(dir)) > 0 {
		return nil
	}
	return []Found{{Dir: dir, Python: findPython(dir, p.env), Why: why}}
}

// running asks a server for its public figures; its first argument is main.py.
func (p places) running(ctx context.Context) (Found, bool) {
	argv, err := serverArgv(ctx, p.url)
	if err != nil || len(argv) == 0 {
		return Found{}, false
	}
	f := Found{Why: "a server is running at " + p.url, URL: p.url}
	main := argv[0]
	cwd, python := p.processOf(argv)
	if !filepath.IsAbs(main) {
		if cwd == "" {
			return Found{}, false
		}
		main = filepath.Join(cwd, main)
	}
	f.Dir = filepath.Dir(filepath.Clean(main))
	if len(missingParts(f.Dir)) > 0 {
		return Found{}, false
	}
	if f.Python = python; python == "" {
		f.Python = findPython(f.Dir, p.env)
	}
	return f, true
}

func serverArgv(ctx context.Context, url string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/system_stats", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, resp.Status)
	}
	var stats struct {
		System struct {
			Argv []string `json:"argv"`
		} `json:"system"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&stats)
	return stats.System.Argv, err
}

// processOf finds the process with those arguments, where /proc shows it: the
// current folder of a relative main.py, and its interpreter as it was started
// (not as the links of a virtual environment end).
func (p places) processOf(argv []string) (cwd, python string) {
	entries, err := os.ReadDir(p.proc)
	if err != nil {
		return "", ""
	}
	want := "\x00" + strings.Join(argv, "\x00") + "\x00"
	for _, e := range entries {
		dir := filepath.Join(p.proc, e.Name())
		cmdline, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !strings.HasSuffix(string(cmdline), want) {
			continue
		}
		cwd, _ = os.Readlink(filepath.Join(dir, "cwd"))
		if first, _, _ := strings.Cut(string(cmdline), "\x00"); filepath.IsAbs(first) {
			python = first
		}
		return cwd, python
	}
	return "", ""
}

// distinct keeps the first of those that are the same folder.
func distinct(all []Found) []Found {
	seen := map[string]bool{}
	var kept []Found
	for _, f := range all {
		key, err := filepath.EvalSymlinks(f.Dir)
		if err != nil {
			key = f.Dir
		}
		if !seen[key] {
			seen[key] = true
			kept = append(kept, f)
		}
	}
	return kept
}
