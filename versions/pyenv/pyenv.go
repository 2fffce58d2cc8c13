// Package pyenv makes the Python environments in which versions of ComfyUI run:
// one for each set of requirements, in the cache, shared by all versions that
// ask for the same.
//
// With uv on PATH, packages are linked from uv's own cache: a further environment
// costs seconds and some MB. Without it, Python's venv and pip make a full copy
// each time. An environment is marked complete by a file that is written last;
// one without it, or with packages missing since, is made again.
//
// The package never changes an environment that it did not make, and never
// downloads a Python.
package pyenv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"memtrix/internal/files"
	"memtrix/versions/cache"
)

// Request is what an environment must hold.
type Request struct {
	// Requirements is the text of a requirements.txt.
	Requirements string
	// Drop are packages that are left out of it.
	Drop []string
	// Overrides are packages with the version that counts instead of what
	// requirements say, also those of other packages: "0.4.10", ">=0.4", a URL,
	// a path of a wheel, or "none" to leave it out.
	Overrides map[string]string
	// Before leaves out what was published later; zero leaves out nothing.
	Before time.Time
	// Wheels is a folder from which alone packages are installed; "" asks the
	// package index.
	Wheels string
	// Python is the interpreter to base it on; "" is chosen by Find.
	Python string
	// About says in a few words whom it is for.
	About string
}

// Env is an environment that is ready.
type Env struct {
	Key string
	Dir string
	// Python is its interpreter.
	Python string
	// Built says that it was made now, in Took.
	Built bool
	Took  time.Duration
}

// Builder makes environments. Cache is needed; Say and Warn may be nil.
type Builder struct {
	Cache     *cache.Cache
	Say, Warn func(string)
	// LookPath finds uv; nil looks on PATH.
	LookPath func(string) (string, error)

	used    []*cache.Lock
	pythons map[string]Interpreter // that were asked, by what they were asked for
}

// Close lets the environments that were given be removed again.
func (b *Builder) Close() {
	for _, l := range b.used {
		l.Unlock()
	}
	b.used = nil
}

// plan is a request with all that decides about its environment.
type plan struct {
	req    Request
	python Interpreter
	tool   tool
	lines  []string // of requirements
	key    string
}

// Key tells which environment a request means, and whether it is there, without
// making it. Python is the interpreter that it would be based on.
func (b *Builder) Key(ctx context.Context, r Request) (key string, ready bool, python string, err error) {
	p, err := b.plan(ctx, r)
	if err != nil {
		return "", false, "", err
	}
	dir := b.Cache.Path(cache.Environment, p.key)
	m, err := readManifest(dir)
	if err == nil && m.Key == p.key && files.Exist(interpreter(dir)) {
		return p.key, true, interpreter(dir), nil
	}
	return p.key, false, p.python.Path, nil
}

// Get gives the environment of a request, making it where it is not there. It
// stays in use until Close.
func (b *Builder) Get(ctx context.Context, r Request) (Env, error) {
	p, err := b.plan(ctx, r)
	if err != nil {
		return Env{}, err
	}
	use, err := b.Cache.Use(ctx, cache.Environment, p.key)
	if err != nil {
		return Env{}, err
	}
	b.used = append(b.used, use)
	lock, err := b.Cache.Write(ctx, cache.Environment, p.key, func() { b.say("waiting for another memtrix that makes the environment of " + r.About) })
	if err != nil {
		return Env{}, err
	}
	defer lock.Unlock()
	dir := b.Cache.Path(cache.Environment, p.key)
	env := Env{Key: p.key, Dir: dir, Python: interpreter(dir)}
	m, err := readManifest(dir)
	if err == nil && m.Key == p.key {
		lost := m.lost(dir)
		if len(lost) == 0 && files.Exist(env.Python) {
			return env, nil
		}
		b.warn(fmt.Sprintf("the environment %s lacks files (%s); it is made again", p.key, strings.Join(lost[:min(3, len(lost))], ", ")))
	}
	began := time.Now()
	if err := b.build(ctx, p, dir); err != nil {
		return Env{}, fmt.Errorf("environment of %s: %w", r.About, err)
	}
	env.Built, env.Took = true, time.Since(began)
	b.say(fmt.Sprintf("environment of %s is ready after %.1f s", r.About, env.Took.Seconds()))
	return env, nil
}

func (b *Builder) plan(ctx context.Context, r Request) (plan, error) {
	p := plan{req: r}
	var err error
	if p.lines, err = requirements(r); err != nil {
		return p, err
	}
	if p.python, err = b.interpreter(ctx, r.Python); err != nil {
		return p, err
	}
	if p.tool, err = b.choose(); err != nil {
		return p, err
	}
	if p.key, err = p.hash(); err != nil {
		return p, err
	}
	return p, nil
}

// interpreter asks each Python once.
func (b *Builder) interpreter(ctx context.Context, name string) (Interpreter, error) {
	if i, known := b.pythons[name]; known {
		return i, nil
	}
	i, err := Interpreter{}, error(nil)
	if name == "" {
		i, err = Find(ctx)
	} else {
		i, err = Probe(ctx, name)
	}
	if err != nil {
		return i, err
	}
	if b.pythons == nil {
		b.pythons = map[string]Interpreter{}
	}
	b.pythons[name] = i
	return i, nil
}

// hash names the environment by all that decides what is in it.
func (p plan) hash() (string, error) {
	wheels, err := listWheels(p.req.Wheels)
	if err != nil {
		return "", err
	}
	before := ""
	if !p.req.Before.IsZero() {
		before = p.req.Before.UTC().Format(time.RFC3339)
	}
	lines := slices.Sorted(slices.Values(p.lines))
	data, err := json.Marshal([]any{
		lines, p.req.Overrides, before, wheels, p.tool.name(), choices(p.tool.name(), os.Environ()),
		p.python.Implementation, p.python.Version, p.python.Real, runtime.GOOS, runtime.GOARCH,
	})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}

// listWheels makes other wheels another environment.
func listWheels(dir string) ([]string, error) {
	if dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("wheels: %w", err)
	}
	list := []string{dir}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, fmt.Errorf("wheels: %w", err)
		}
		list = append(list, fmt.Sprint(e.Name(), " ", info.Size()))
	}
	if len(list) == 1 {
		return nil, fmt.Errorf("wheels: %s is empty", dir)
	}
	return list, nil
}

// manifest marks an environment as complete.
type manifest struct {
	Key          string            `json:"key"`
	Made         time.Time         `json:"made"`
	About        string            `json:"about"`
	Tool         string            `json:"tool"`
	Python       Interpreter       `json:"python"`
	Requirements []string          `json:"requirements"`
	Overrides    map[string]string `json:"overrides,omitempty"`
	Before       *time.Time        `json:"before,omitempty"`
	Wheels       string            `json:"wheels,omitempty"`
	// Files are the top folders and files of its packages, with how many files
	// each folder had: enough to see that one was removed half-way.
	Files map[string]int `json:"files"`
}

const manifestName = "memtrix-environment.json"

func readManifest(dir string) (manifest, error) {
	var m manifest
	data, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(data, &m)
}

// lost names what was there when the environment was made and is not now.
func (m manifest) lost(dir string) []string {
	now, err := inventory(dir)
	if err != nil {
		return []string{err.Error()}
	}
	var lost []string
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		if now[name] < m.Files[name] {
			lost = append(lost, name)
		}
	}
	return lost
}

// build makes an environment in its place. The caller holds the lock.
func (b *Builder) build(ctx context.Context, p plan, dir string) error {
	if err := cache.Remove(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("make its folder: %w", err)
	}
	b.say(fmt.Sprintf("making the environment of %s: Python %s, %d requirements, with %s", p.req.About, p.python.Version, len(p.lines), p.tool.name()))
	err := p.tool.install(ctx, p, dir, b.say)
	if err == nil {
		shareCompiled(b.Cache, dir)
		err = p.complete(dir)
	}
	if err != nil {
		// What was fetched is in the tool's own cache: the next try goes on.
		return errors.Join(err, cache.Remove(dir))
	}
	return nil
}

func (p plan) complete(dir string) error {
	files, err := inventory(dir)
	if err != nil {
		return err
	}
	m := manifest{
		Key: p.key, Made: time.Now().UTC(), About: p.req.About, Tool: p.tool.name(), Python: p.python,
		Requirements: p.lines, Overrides: p.req.Overrides, Wheels: p.req.Wheels, Files: files,
	}
	if !p.req.Before.IsZero() {
		m.Before = &p.req.Before
	}
	about := fmt.Sprintf("%s, Python %s, %s", p.req.About, p.python.Version, p.tool.name())
	if err := os.WriteFile(filepath.Join(dir, cache.AboutFile), []byte(about+"\n"), 0o644); err != nil {
		return err
	}
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, manifestName)
	if err := os.WriteFile(path+".new", data, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// interpreter is where an environment keeps its Python.
func interpreter(dir string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(dir, "Scripts", "python.exe")
	}
	return filepath.Join(dir, "bin", "python")
}

func (b *Builder) say(text string) {
	if b.Say != nil {
		b.Say(text)
	}
}

func (b *Builder) warn(text string) {
	if b.Warn != nil {
		b.Warn(text)
	}
}
