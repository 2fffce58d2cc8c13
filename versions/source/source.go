// Package source finds versions of ComfyUI in a git repository, and writes the
// files of a commit into the cache.
//
// A repository is cloned once, bare, into the cache; it is asked again only when
// a name is not known or may have moved (branch, pull request, latest). Trees
// are written from the clone, one a commit, and are only read from then on.
//
// The package never writes into a repository that it was given, never runs hooks
// or filters of one, and says which files a repository lacks instead of fetching
// them from elsewhere.
package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"memtrix/internal/files"
	"memtrix/versions/cache"
)

// Official is ComfyUI's own repository. It moved there from the account of its
// author (comfyanonymous), from where the host leads on.
const Official = "https://github.com/Comfy-Org/ComfyUI"

// Repo is a clone in the cache of a repository elsewhere.
type Repo struct {
	cache  *cache.Cache
	source string // a URL, or an absolute path
	local  bool
	name   string // of the clone in the cache
	dir    string
	use    *cache.Lock
	say    func(string)
	warn   func(string)
	// fetched says that the source was asked in this run.
	fetched  bool
	releases []release
	temp     []*cache.Lock
	offline  string
}

// Options are how a repository is opened.
type Options struct {
	// Say is given progress, Warn what a person should know; both may be nil.
	Say, Warn func(string)
	// Offline is what a person can do instead without a network, "" for the advice
	// about ComfyUI itself.
	Offline string
}

var urlSource = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9+.-]*://|[^/\\ ]+@[^/\\ ]+:)`)

// IsURL tells a URL (also git's own user@host:path) from a path.
func IsURL(source string) bool { return urlSource.MatchString(source) }

// Open gives the clone of a source, a git URL or a local repository, "" being
// the official one; it is made when it is not there yet.
func Open(ctx context.Context, c *cache.Cache, source string, o Options) (*Repo, error) {
	r := &Repo{cache: c, source: source, say: o.Say, warn: o.Warn, offline: o.Offline}
	if r.source == "" {
		r.source = Official
	}
	if r.say == nil {
		r.say = func(string) {}
	}
	if r.warn == nil {
		r.warn = func(string) {}
	}
	if err := r.locate(ctx); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(r.source))
	r.name = hex.EncodeToString(sum[:8])
	r.dir = c.Path(cache.Source, r.name)
	var err error
	if r.use, err = c.Use(ctx, cache.Source, r.name); err != nil {
		return nil, err
	}
	if err := r.ensure(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Source is what was opened: a URL or an absolute path.
func (r *Repo) Source() string { return r.source }

// Close lets the clone and the trees that it gave be removed again.
func (r *Repo) Close() {
	r.use.Unlock()
	for _, l := range r.temp {
		l.Unlock()
	}
	r.temp = nil
}

// locate finds the repository of a path.
func (r *Repo) locate(ctx context.Context) error {
	if path, ok := strings.CutPrefix(r.source, "file://"); ok {
		r.source = path
	}
	if IsURL(r.source) {
		return nil
	}
	r.local = true
	abs, err := filepath.Abs(r.source)
	if err != nil {
		return fmt.Errorf("source %s: %w", r.source, err)
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return fmt.Errorf("source %s is no folder and no URL; it must be a git repository", r.source)
	}
	// The common folder, so that all worktrees of one repository are one source.
	out, err := runGit(ctx, "", nil, nil, nil, "-C", abs, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if errors.Is(err, ErrNoGit) || ctx.Err() != nil {
		return err
	}
	if err != nil {
		return fmt.Errorf("source %s is no git repository (%w)", abs, whyGit(err))
	}
	r.source = strings.TrimRight(out, "\r\n")
	return nil
}

// ensure makes the clone unless there is a whole one.
func (r *Repo) ensure(ctx context.Context) error {
	if r.whole(ctx) {
		return nil
	}
	lock, err := r.cache.Write(ctx, cache.Source, r.name, func() { r.say("waiting for another memtrix that fetches " + r.source) })
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if r.whole(ctx) {
		return nil
	}
	return r.clone(ctx)
}

// whole reports whether there is a clone that git can read. Its last file is
// written when all else is there.
func (r *Repo) whole(ctx context.Context) bool {
	if _, err := os.Stat(filepath.Join(r.dir, cache.AboutFile)); err != nil {
		return false
	}
	_, err := r.git(ctx, "rev-list", "--max-count=1", "--all")
	return err == nil || errors.Is(err, ErrNoGit) || ctx.Err() != nil
}

// clone makes the clone beside its place and renames it. The caller holds the
// lock.
func (r *Repo) clone(ctx context.Context) error {
	temp, err := r.cache.Temp(cache.Source)
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	r.say("fetching " + r.source + " (once)")
	dir := filepath.Join(temp, "clone.git")
	// Of a local repository git links the files: no time, no disk, and it works
	// where objects are missing.
	args := []string{"clone", "--bare", "--progress", "--template=", "--", r.source, dir}
	if _, err := runGit(ctx, "", nil, nil, throttled(r.say, "fetching "+r.source+": "), args...); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("fetch %s: %w%s", r.source, whyGit(err), r.adviceOffline())
	}
	if r.local {
		// Branches that a local repository follows are worth naming, too.
		_, err := runGit(ctx, dir, nil, nil, nil, "fetch", "--quiet", "--", r.source, "+refs/remotes/*:refs/remotes/*")
		if err != nil && ctx.Err() != nil {
			return err
		}
	}
	about := r.source + "\n"
	if err := os.WriteFile(filepath.Join(dir, cache.AboutFile), []byte(about), 0o644); err != nil {
		return fmt.Errorf("fetch %s: %w", r.source, err)
	}
	if err := r.cache.Replace(dir, cache.Source, r.name); err != nil {
		return err
	}
	r.fetched = true
	return nil
}

func (r *Repo) adviceOffline() string {
	switch {
	case r.local:
		return ""
	case r.offline != "":
		return "\n" + r.offline
	}
	return "\nWithout a network, name a clone on this machine (source: in a spec, --source where a command has it) or a ComfyUI folder (path: in a spec, --comfyui DIR)"
}

// fetch asks the source for what is new, at most once a run. offline is why that
// did not work; what is known is still there then.
func (r *Repo) fetch(ctx context.Context) (offline, err error) {
	if r.fetched {
		return nil, nil
	}
	lock, err := r.cache.Write(ctx, cache.Source, r.name, nil)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	r.fetched, r.releases = true, nil
	args := []string{"fetch", "--progress", "--prune", "--force", "--no-tags", "--", r.source,
		"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"}
	if r.local {
		args = append(args, "+refs/remotes/*:refs/remotes/*")
	}
	_, err = runGit(ctx, r.dir, nil, nil, throttled(r.say, "fetching "+r.source+": "), args...)
	switch {
	case ctx.Err() != nil, errors.Is(err, ErrNoGit):
		return nil, err
	case err != nil && r.local && files.Exist(r.source):
		// What is new needs objects that the source lacks: link all again.
		return nil, r.clone(ctx)
	case err != nil:
		return fmt.Errorf("fetch %s: %w", r.source, whyGit(err)), nil
	}
	return nil, r.followHead(ctx)
}

// followHead keeps the clone's default branch that of its source.
func (r *Repo) followHead(ctx context.Context) error {
	out, err := runGit(ctx, "", nil, nil, nil, "ls-remote", "--symref", "--", r.source, "HEAD")
	if err != nil {
		return ctx.Err() // not asked twice: the old one will do
	}
	if ref, ok := strings.CutPrefix(strings.SplitN(out, "\t", 2)[0], "ref: "); ok {
		if _, err := r.git(ctx, "symbolic-ref", "HEAD", ref); err != nil {
			return fmt.Errorf("default branch of %s: %w", r.source, whyGit(err))
		}
	}
	return nil
}
