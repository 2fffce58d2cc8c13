package versions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"memtrix"
	"memtrix/versions/cache"
	"memtrix/versions/child"
	"memtrix/versions/pyenv"
	"memtrix/versions/source"
)

// Mode says where a version's packages come from.
type Mode string

const (
	// Required installs what the requirements of the version ask for, as they
	// resolve when the environment is made.
	Required Mode = "required"
	// AsOfDate installs them as they resolved on the day of the commit.
	AsOfDate Mode = "as-of-date"
	// Keep takes the environment that Python belongs to and leaves it alone.
	Keep Mode = "keep"
)

// Modes are all of them.
var Modes = []Mode{Required, AsOfDate, Keep}

// Request names a version: what code, and what packages.
type Request struct {
	// Name is what tables call it, "" for what Version says.
	Name string
	// Version is a release, a commit, a branch, pr:N or latest~N; or Path is the
	// folder of a tree.
	Version string
	Path    string
	// Source is where Version is looked up: a git URL or a local repository, ""
	// for the official one.
	Source string
	// Packages is "" for the mode that fits: Keep where Python belongs to an
	// environment or the tree is the person's own, else Required.
	Packages Mode
	// Overrides are packages in another version than required, see
	// pyenv.Request.
	Overrides map[string]string
	// Wheels is a folder with all packages; "" asks the package index.
	Wheels string
	// Python is an interpreter, "" to find one.
	Python string
	// Requirements are further ones, of custom nodes: they become part of an
	// environment that is made, and change nothing in one that is kept.
	Requirements []string
}

// Provider makes the versions that specs name. The zero value is ready.
type Provider struct {
	// Cache is the folder for sources, trees and environments; "" is memtrix's.
	Cache string
	// Look keeps environments from being made: versions whose environment is not
	// there come without packages, and cannot run.
	Look bool
	// Say is given progress, Warn what a person should know; both may be nil.
	Say, Warn func(string)

	cache   *cache.Cache
	builder *pyenv.Builder
	repos   map[string]*source.Repo
	made    []pyenv.Env
	warned  map[string]bool
}

// CannotError means that a version could not be had: no network, no git, no
// Python, or packages that do not fit together. The request itself may be right.
type CannotError struct{ Err error }

func (e *CannotError) Error() string { return e.Err.Error() }

func (e *CannotError) Unwrap() []error { return []error{memtrix.ErrUnavailable, e.Err} }

// Close lets go of what the versions lie in: it may be pruned then.
func (p *Provider) Close() {
	for _, r := range p.repos {
		r.Close()
	}
	p.repos = nil
	if p.builder != nil {
		p.builder.Close()
	}
}

// Made are the environments that were made since the start.
func (p *Provider) Made() []pyenv.Env { return p.made }

// Get gives a version that can run. Its errors say what a person must change;
// those of type CannotError are about the machine, not the request.
func (p *Provider) Get(ctx context.Context, r Request) (memtrix.Version, error) {
	if err := p.open(); err != nil {
		return memtrix.Version{}, err
	}
	if r.Path != "" && (r.Packages == "" || r.Packages == Keep) && len(r.Overrides) == 0 && r.Wheels == "" {
		v, err := Resolve(ctx, r.Name, r.Path, r.Python)
		if err == nil {
			p.warnOfMissing(v)
			if text := LacksTorch(v); text != "" {
				p.warn(text)
			}
		}
		return v, err
	}
	v, date, err := p.tree(ctx, r)
	if err != nil {
		return v, cannot(ctx, err)
	}
	if err := p.environment(ctx, r, &v, date); err != nil {
		return v, cannot(ctx, err)
	}
	return v, nil
}

// requestError is about what a person wrote.
type requestError struct{ error }

// cannot leaves what a person wrote wrongly, and their Ctrl-C, as they are.
func cannot(ctx context.Context, err error) error {
	var unknown *source.UnknownError
	var request requestError
	if ctx.Err() != nil || errors.As(err, &unknown) || errors.As(err, &request) {
		return err
	}
	return &CannotError{err}
}

func (p *Provider) open() error {
	if p.cache != nil {
		return nil
	}
	c, err := cache.Open(p.Cache)
	if err != nil {
		return &CannotError{err}
	}
	p.cache = c
	p.builder = &pyenv.Builder{Cache: c, Say: p.Say, Warn: p.warn}
	p.repos = map[string]*source.Repo{}
	return nil
}

// Tree gives the files of a version without an environment: Python and Packages
// stay empty.
func (p *Provider) Tree(ctx context.Context, r Request) (memtrix.Version, error) {
	if err := p.open(); err != nil {
		return memtrix.Version{}, err
	}
	v, _, err := p.tree(ctx, r)
	if err != nil {
		return v, cannot(ctx, err)
	}
	return v, nil
}

// tree finds the code of a version, and the date of its commit.
func (p *Provider) tree(ctx context.Context, r Request) (memtrix.Version, time.Time, error) {
	v := memtrix.Version{Name: r.Name, Target: memtrix.TargetComfyUI}
	if r.Path != "" {
		return p.ownTree(ctx, r, v)
	}
	if _, err := source.ParseName(r.Version); err != nil {
		return v, time.Time{}, requestError{err}
	}
	repo, err := p.repo(ctx, r.Source)
	if err != nil {
		return v, time.Time{}, err
	}
	c, err := repo.Resolve(ctx, r.Version)
	if err != nil {
		return v, time.Time{}, err
	}
	t, err := repo.Tree(ctx, c)
	if err != nil {
		return v, time.Time{}, err
	}
	if err := checkTree(t.Dir); err != nil {
		return v, time.Time{}, fmt.Errorf("commit %s of %s: %w", c.Hash[:10], repo.Source(), err)
	}
	v.Dir, v.Commit, v.Release = t.Dir, c.Hash, releaseOf(t.Dir)
	for _, f := range t.Missing {
		v.Dirty = append(v.Dirty, missingMark+f)
	}
	if len(t.Missing) > 0 {
		what := "these files"
		if len(t.Missing) == 1 {
			what = "this file"
		}
		p.warn(fmt.Sprintf("%s runs without %s: the source %s lacks %s. Workflows that need them fail; most do not",
			c.Name, strings.Join(t.Missing, ", "), repo.Source(), what))
	}
	if v.Name == "" {
		v.Name = c.Name + overridden(r.Overrides)
	}
	return v, c.Date, nil
}

// overridden tells versions apart that differ in packages only.
func overridden(o map[string]string) string {
	text := ""
	for _, name := range slices.Sorted(maps.Keys(o)) {
		text += " " + name + " " + o[name]
	}
	return text
}

// ownTree is a folder of the person's, whose packages are to be installed anew.
func (p *Provider) ownTree(ctx context.Context, r Request, v memtrix.Version) (memtrix.Version, time.Time, error) {
	dir, err := filepath.Abs(r.Path)
	if err != nil {
		return v, time.Time{}, fmt.Errorf("ComfyUI folder %s: %w", r.Path, err)
	}
	if err := checkTree(dir); err != nil {
		return v, time.Time{}, err
	}
	v.Dir, v.Release = dir, releaseOf(dir)
	if v.Name == "" {
		v.Name = nameOf(v) + overridden(r.Overrides)
	}
	if v.Commit, v.Dirty, err = commitOf(ctx, dir); err != nil {
		return v, time.Time{}, err
	}
	if r.Packages != AsOfDate {
		return v, time.Time{}, nil
	}
	out, err := child.Git(ctx, dir, "log", "-1", "--format=%ct", "HEAD")
	if err != nil || strings.HasPrefix(v.Commit, "tree:") {
		return v, time.Time{}, fmt.Errorf("packages: as-of-date needs the date of a commit, and %s is no git checkout", dir)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
	if err != nil {
		return v, time.Time{}, fmt.Errorf("date of the commit in %s: %w", dir, err)
	}
	return v, time.Unix(seconds, 0).UTC(), nil
}

// repo opens each source once.
func (p *Provider) repo(ctx context.Context, name string) (*source.Repo, error) {
	if r, ok := p.repos[name]; ok {
		return r, nil
	}
	r, err := source.Open(ctx, p.cache, name, source.Options{Say: p.Say, Warn: p.warn})
	if err != nil {
		return nil, err
	}
	p.repos[name] = r
	return r, nil
}

// environment gives a version its interpreter and packages.
func (p *Provider) environment(ctx context.Context, r Request, v *memtrix.Version, date time.Time) error {
	mode, err := p.mode(ctx, r)
	if err != nil {
		return err
	}
	for name, spec := range r.Overrides {
		if err := pyenv.CheckOverride(name, spec); err != nil {
			return requestError{err}
		}
	}
	if mode == Keep {
		return p.keep(ctx, r, v)
	}
	want, err := p.wanted(r, v, mode, date)
	if err != nil {
		return err
	}
	if p.Look {
		return p.look(ctx, want, v)
	}
	env, err := p.builder.Get(ctx, want)
	if err != nil {
		return err
	}
	if env.Built {
		p.made = append(p.made, env)
	}
	v.Python = env.Python
	return fill(ctx, v)
}

// mode decides what a request without one means.
func (p *Provider) mode(ctx context.Context, r Request) (Mode, error) {
	if r.Packages != "" || r.Python == "" {
		if r.Packages == "" {
			return Required, nil
		}
		return r.Packages, nil
	}
	python, err := resolvePython(r.Python)
	if err != nil {
		return "", err
	}
	i, err := pyenv.Probe(ctx, python)
	if err != nil {
		return "", err
	}
	if i.Environment && len(r.Overrides) == 0 && r.Wheels == "" {
		return Keep, nil
	}
	return Required, nil
}

func (p *Provider) keep(ctx context.Context, r Request, v *memtrix.Version) error {
	if len(r.Overrides) > 0 || r.Wheels != "" {
		return requestError{errors.New("packages: keep leaves the environment alone, so overrides: and wheels: have no meaning with it")}
	}
	if r.Python == "" {
		return requestError{errors.New("packages: keep needs python:, the interpreter of the environment to keep")}
	}
	python, err := resolvePython(r.Python)
	if err != nil {
		return err
	}
	v.Python = python
	return fill(ctx, v)
}

// wanted is the environment that a tree asks for.
func (p *Provider) wanted(r Request, v *memtrix.Version, mode Mode, date time.Time) (pyenv.Request, error) {
	text, err := os.ReadFile(filepath.Join(v.Dir, "requirements.txt"))
	if err != nil {
		return pyenv.Request{}, fmt.Errorf("requirements of %s: %w", v.Name, err)
	}
	want := pyenv.Request{
		Requirements: string(text), Overrides: r.Overrides, Wheels: r.Wheels, Python: r.Python, About: v.Name,
	}
	if len(r.Requirements) > 0 {
		want.Requirements += "\n" + strings.Join(r.Requirements, "\n") + "\n"
	}
	if add := undeclaredOf(v.Dir, string(text)); len(add) > 0 {
		want.Requirements += "\n" + strings.Join(add, "\n") + "\n"
	}
	switch flags, err := scanFlags(v.Dir); {
	case err != nil || !flags["--front-end-root"]:
	case frontEndAtImport(v.Dir):
		want.Requirements = anyFrontEnd(want.Requirements)
	default: // a server that can be told of an empty front end starts without these
		want.Drop = pyenv.FrontEnd
	}
	if mode == AsOfDate {
		want.Before = endOfDay(date)
	}
	return want, nil
}

// endOfDay lets in what was published for a commit on its day.
func endOfDay(t time.Time) time.Time {
	return t.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
}

// unbuilt stands for the packages of an environment that is not there, so that
// two different ones do not look alike.
const unbuilt = "(environment to be made)"

// look fills in what can be told without making an environment.
func (p *Provider) look(ctx context.Context, want pyenv.Request, v *memtrix.Version) error {
	key, ready, python, err := p.builder.Key(ctx, want)
	if err != nil {
		return err
	}
	v.Python = python
	if ready {
		return fill(ctx, v)
	}
	p.warn(fmt.Sprintf("the environment of %s is not there yet; memtrix run makes it", v.Name))
	dirty := v.Dirty
	if err := fill(ctx, v); err != nil {
		return err
	}
	// What fill saw of packages are those of another environment.
	v.Dirty, v.Packages, v.PackageHashes = dirty, map[string]string{unbuilt: key}, nil
	return nil
}

// warnOfMissing names the files that a checkout of the person's own lacks; what a
// source lacks is said where its tree is written.
func (p *Provider) warnOfMissing(v memtrix.Version) {
	files := Missing(v)
	if len(files) == 0 {
		return
	}
	shown := strings.Join(files[:min(len(files), 5)], ", ")
	if more := len(files) - 5; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	p.warn(fmt.Sprintf("%s runs without files that its commit has: %s. 'git checkout -- FILE' in %s brings them back", v.Name, shown, v.Dir))
}

// LacksTorch says that the Python of a version cannot run it, as far as its list of
// packages tells; "" where it can, or there is no list.
func LacksTorch(v memtrix.Version) string {
	if _, ok := v.Packages["torch"]; ok || len(v.Packages) == 0 {
		return ""
	}
	return fmt.Sprintf("%s will not start: %s has no torch. Name the Python that you start ComfyUI with (--python, or python: in a spec)", v.Name, v.Python)
}

// warn warns of one thing once.
func (p *Provider) warn(text string) {
	if p.warned == nil {
		p.warned = map[string]bool{}
	}
	if p.Warn != nil && !p.warned[text] {
		p.warned[text] = true
		p.Warn(text)
	}
}
