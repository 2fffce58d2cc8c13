package pyenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Interpreter is a Python that runs.
type Interpreter struct {
	Path           string `json:"path"`
	Real           string `json:"real"`    // of the installation, links followed
	Version        string `json:"version"` // "3.12.1"
	Implementation string `json:"implementation"`
	// Environment says that it belongs to an environment (a virtual one, conda,
	// the portable build) that somebody filled with packages.
	Environment bool `json:"-"`

	minor int
}

// minMinor is the oldest Python 3 that today's packages are made for.
const minMinor = 10

// preferred are minor versions of Python 3, the best first: 3.12 is the one that
// ComfyUI's documentation names and for which all releases find packages.
var preferred = []int{12, 13, 11, 10, 14}

const probeScript = `import json, os, platform, sys
print(json.dumps({"version": platform.python_version(), "minor": sys.version_info[1], "major": sys.version_info[0],
 "implementation": platform.python_implementation(), "base": sys.base_prefix,
 "environment": sys.prefix != sys.base_prefix or os.path.isdir(os.path.join(sys.prefix, "conda-meta"))
 or any(n.endswith("._pth") for n in os.listdir(os.path.dirname(sys.executable) or "."))}))`

const probeTimeout = 20 * time.Second

// Probe asks an interpreter what it is. A word without a slash is looked for on
// PATH.
func Probe(ctx context.Context, python string) (Interpreter, error) {
	path := python
	if !strings.ContainsAny(python, `/\`) {
		var err error
		if path, err = exec.LookPath(python); err != nil {
			return Interpreter{}, fmt.Errorf("python %q is not on PATH", python)
		}
	}
	ctx2, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx2, path, "-I", "-S", "-c", probeScript)
	// A child that keeps the pipe open must not hold us, and what its parent said counts.
	cmd.WaitDelay = 3 * time.Second
	out, err := cmd.Output()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		if ctx.Err() != nil {
			return Interpreter{}, context.Cause(ctx)
		}
		return Interpreter{}, fmt.Errorf("%s does not work as a Python interpreter: %w", path, err)
	}
	var said struct {
		Version, Implementation, Base string
		Major, Minor                  int
		Environment                   bool
	}
	if err := json.Unmarshal(out, &said); err != nil || said.Version == "" {
		return Interpreter{}, fmt.Errorf("%s does not work as a Python interpreter: it does not answer as one", path)
	}
	if said.Major != 3 || said.Minor < minMinor {
		return Interpreter{}, fmt.Errorf("%s is Python %s; environments need 3.%d or newer", path, said.Version, minMinor)
	}
	return Interpreter{Path: path, Real: said.Base, Version: said.Version, Implementation: said.Implementation, Environment: said.Environment, minor: said.Minor}, nil
}

// Find chooses an interpreter that is on this machine: on PATH, made by pyenv or
// by uv. Its error names what was looked at.
func Find(ctx context.Context) (Interpreter, error) {
	home, _ := os.UserHomeDir()
	f := finder{home: home, env: os.Getenv}
	return f.find(ctx)
}

type finder struct {
	home string
	env  func(string) string
}

func (f finder) find(ctx context.Context) (Interpreter, error) {
	var seen []string
	best := Interpreter{}
	for _, name := range f.candidates() {
		if rank(best.minor) == 0 && best.Path != "" {
			break
		}
		p, err := Probe(ctx, name)
		if ctx.Err() != nil {
			return p, context.Cause(ctx)
		}
		if err != nil {
			seen = append(seen, err.Error())
			continue
		}
		if best.Path == "" || rank(p.minor) < rank(best.minor) {
			best = p
		}
	}
	if best.Path != "" {
		return best, nil
	}
	if len(seen) == 0 {
		return best, fmt.Errorf("no Python on PATH; install Python 3.12, or say with python: which one to take")
	}
	return best, fmt.Errorf("no Python 3.%d or newer found; install Python 3.12 or name one with python:\n  %s", minMinor, strings.Join(seen, "\n  "))
}

// rank is small for what is preferred.
func rank(minor int) int {
	if i := slices.Index(preferred, minor); i >= 0 {
		return i
	}
	return len(preferred) + minor
}

// candidates are paths that exist, the preferred versions first. Those that
// only a run tells the version of come last.
func (f finder) candidates() []string {
	var all []string
	add := func(paths ...string) {
		for _, p := range paths {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	for _, minor := range preferred {
		version := "3." + strconv.Itoa(minor)
		if p, err := exec.LookPath("python" + version); err == nil {
			add(p)
		}
		add(f.installed(version)...)
	}
	for _, name := range []string{"python3", "python"} {
		if p, err := exec.LookPath(name); err == nil || errors.Is(err, exec.ErrDot) {
			add(p)
		}
	}
	return all
}

// installed are interpreters that pyenv and uv keep, the newest first.
func (f finder) installed(version string) []string {
	if f.home == "" {
		return nil
	}
	pyenv := f.env("PYENV_ROOT")
	if pyenv == "" {
		pyenv = filepath.Join(f.home, ".pyenv")
	}
	uv := f.env("UV_PYTHON_INSTALL_DIR")
	if uv == "" {
		uv = filepath.Join(f.home, ".local", "share", "uv", "python")
	}
	name := filepath.Join("bin", "python"+version)
	if runtime.GOOS == "windows" {
		name = "python.exe"
	}
	var found []string
	for _, pattern := range []string{
		filepath.Join(pyenv, "versions", version+".*", name),
		filepath.Join(uv, "cpython-"+version+".*", name),
	} {
		paths, _ := filepath.Glob(pattern) // only a malformed pattern fails
		slices.Sort(paths)
		slices.Reverse(paths)
		found = append(found, paths...)
	}
	return found
}
