package pyenv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"memtrix/versions/child"
)

// tool installs packages.
type tool interface {
	name() string
	install(ctx context.Context, p plan, dir string, say func(string)) error
}

// choose takes uv where there is one.
func (b *Builder) choose() (tool, error) {
	look := b.LookPath
	if look == nil {
		look = exec.LookPath
	}
	if path, err := look("uv"); err == nil {
		return uv{path}, nil
	}
	return pip{}, nil
}

type uv struct{ path string }

func (uv) name() string { return "uv" }

func (u uv) install(ctx context.Context, p plan, dir string, say func(string)) error {
	env := environ(os.Environ())
	venv := []string{u.path, "venv", "--quiet", "--no-project", "--no-python-downloads", "--python", p.python.Path, dir}
	if _, err := child.Run(ctx, child.Command{Argv: venv, Dir: filepath.Dir(dir), Env: env}); err != nil {
		return fmt.Errorf("make it: %w", err)
	}
	files, err := writeFiles(p, dir)
	if err != nil {
		return err
	}
	argv := []string{u.path, "pip", "install", "--python", interpreter(dir), "-r", files.requirements}
	if files.overrides != "" {
		argv = append(argv, "--override", files.overrides)
	}
	if !p.req.Before.IsZero() {
		argv = append(argv, "--exclude-newer", p.req.Before.UTC().Format(time.RFC3339))
	}
	if p.req.Wheels != "" {
		argv = append(argv, "--no-index", "--find-links", p.req.Wheels)
	}
	_, err = child.Run(ctx, child.Command{Argv: argv, Dir: dir, Env: env, Say: told(say), Progress: true})
	return explain(err, p.req)
}

type pip struct{}

func (pip) name() string { return "pip" }

func (pip) install(ctx context.Context, p plan, dir string, say func(string)) error {
	env := environ(os.Environ())
	say("without uv an environment is a full copy of all packages (about 6 GB with CUDA)")
	venv := []string{p.python.Path, "-m", "venv", dir}
	if _, err := child.Run(ctx, child.Command{Argv: venv, Dir: filepath.Dir(dir), Env: env, Progress: true}); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("make it: %w\nInstall uv, or what this Python lacks (on Debian: python3-venv)", err)
	}
	files, err := writeFiles(p, dir)
	if err != nil {
		return err
	}
	argv := []string{interpreter(dir), "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar", "off", "-r", files.requirements}
	if !p.req.Before.IsZero() {
		if err := newPip(ctx, p, dir, env); err != nil {
			return err
		}
		argv = append(argv, "--uploaded-prior-to", p.req.Before.UTC().Format(time.RFC3339))
	}
	if p.req.Wheels != "" {
		argv = append(argv, "--no-index", "--find-links", p.req.Wheels)
	}
	_, err = child.Run(ctx, child.Command{Argv: argv, Dir: dir, Env: env, Say: told(say), Progress: true})
	return explain(err, p.req)
}

// newPip puts a pip into a new environment that knows dates: it does since 26.0.
func newPip(ctx context.Context, p plan, dir string, env []string) error {
	argv := []string{interpreter(dir), "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "pip>=26"}
	if p.req.Wheels != "" {
		argv = append(argv, "--no-index", "--find-links", p.req.Wheels)
	}
	if _, err := child.Run(ctx, child.Command{Argv: argv, Dir: dir, Env: env, Progress: true}); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("packages: as-of-date needs uv or pip 26: %w", explain(err, p.req))
	}
	return nil
}

type inputs struct{ requirements, overrides string }

// writeFiles leaves in the environment what it was made of.
func writeFiles(p plan, dir string) (inputs, error) {
	f := inputs{requirements: filepath.Join(dir, "memtrix-requirements.txt")}
	if err := os.WriteFile(f.requirements, []byte(strings.Join(p.lines, "\n")+"\n"), 0o644); err != nil {
		return f, err
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(p.req.Overrides)) {
		line := Override(name, p.req.Overrides[name])
		if line == "" {
			// Never true, so that no other package brings it in either.
			line = name + "; sys_platform == 'none'"
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return f, nil
	}
	f.overrides = filepath.Join(dir, "memtrix-overrides.txt")
	return f, os.WriteFile(f.overrides, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

// environ drops what would lead the tools to another environment.
func environ(base []string) []string {
	var env []string
	for _, kv := range base {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONHOME", "UV_PYTHON", "UV_SYSTEM_PYTHON",
			"UV_PROJECT_ENVIRONMENT", "UV_EXCLUDE_NEWER", "UV_OVERRIDE", "UV_CONSTRAINT",
			"PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PIP_REQUIRE_VIRTUALENV", "PIP_CONSTRAINT":
		default:
			env = append(env, kv)
		}
	}
	return env
}

// choosing are variables, without the tool's prefix, that decide which packages
// a tool takes, and from where.
var choosing = []string{
	"INDEX_URL", "EXTRA_INDEX_URL", "INDEX", "DEFAULT_INDEX", "FIND_LINKS", "NO_INDEX", "INDEX_STRATEGY",
	"TORCH_BACKEND", "PRERELEASE", "PRE", "RESOLUTION", "ONLY_BINARY", "NO_BINARY", "PREFER_BINARY",
}

// choices are those that are set: with others, an environment is another one.
func choices(tool string, environ []string) []string {
	var set []string
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		short, ok := strings.CutPrefix(name, strings.ToUpper(tool)+"_")
		if ok && value != "" && slices.Contains(choosing, short) {
			set = append(set, kv)
		}
	}
	slices.Sort(set)
	return set
}

// told passes on what people want to see of a tool's lines.
func told(say func(string)) func(string) {
	last := ""
	return func(line string) {
		line = strings.TrimSpace(line)
		for _, sign := range []string{"+ ", "Requirement already", "Using cached", "Collecting ", "Installing collected", "Using Python", "warning: ", "[notice]",
			// What is wrong comes with the error.
			"error: ", "ERROR: ", "cause: ", "Caused by", "hint: ", "×", "╰─", "╎", "│"} {
			if strings.HasPrefix(line, sign) {
				return
			}
		}
		if line == last || strings.HasPrefix(line, "Looking in") {
			return
		}
		last = line
		say(line)
	}
}

// explain adds to a tool's failure what a person can do.
func explain(err error, r Request) error {
	var failed *child.Error
	if !errors.As(err, &failed) {
		return err
	}
	text := strings.ToLower(failed.Text())
	for _, sign := range []string{"failed to fetch", "dns error", "connection", "network", "temporarily", "timed out", "offline", "name resolution"} {
		if strings.Contains(text, sign) {
			return fmt.Errorf("%w\n%w. Packages can also come from a folder (wheels: DIR), or from an environment that is there (python: and packages: keep)", err, ErrUnreachable)
		}
	}
	if strings.Contains(text, "no solution found") || strings.Contains(text, "resolutionimpossible") || strings.Contains(text, "no matching distribution") {
		where := "the package index"
		if r.Wheels != "" {
			where = r.Wheels
		}
		return fmt.Errorf("%w\nThe requirements cannot be met together from %s: change what overrides:, packages: or python: say", err, where)
	}
	return err
}
