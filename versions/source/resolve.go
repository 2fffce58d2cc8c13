package source

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"memtrix/versions/child"
)

// Commit is what a name means.
type Commit struct {
	Hash string
	// Date is the committer's.
	Date time.Time
	// Name is what tables call it: a release, a branch, pr:N, or a short hash.
	Name string
}

// UnknownError means that the source has no such version.
type UnknownError struct {
	Name, Source string
	// Near are names that exist and may have been meant.
	Near []string
	// Why is more to know, "" for nothing.
	Why string
}

func (e *UnknownError) Error() string {
	msg := fmt.Sprintf("no version %q in %s", e.Name, e.Source)
	if e.Why != "" {
		msg += ": " + e.Why
	}
	if len(e.Near) > 0 {
		msg += "; near it: " + strings.Join(e.Near, ", ")
	}
	return msg
}

// Resolve finds the commit of a name. A name that may have moved is looked up in
// the source, once a run; where that cannot be reached, the last answer counts
// and a warning says so.
func (r *Repo) Resolve(ctx context.Context, text string) (Commit, error) {
	n, err := ParseName(text)
	if err != nil {
		return Commit{}, err
	}
	return r.resolve(ctx, text, n.Moves(), func() (Commit, error) { return r.find(ctx, n) })
}

func (r *Repo) find(ctx context.Context, n Name) (Commit, error) {
	switch n.Kind {
	case KindRelease:
		return r.findRelease(ctx, n)
	case KindLatest:
		return r.findLatest(ctx, n)
	case KindPull:
		return r.findPull(ctx, n)
	case KindCommit:
		c, err := r.findCommit(ctx, n.Text)
		if unknown := (*UnknownError)(nil); errors.As(err, &unknown) {
			if b, berr := r.findBranch(ctx, n); berr == nil {
				return b, nil
			}
		}
		return c, err
	}
	return r.findBranch(ctx, n)
}

// look gives the commit of a full name of a ref or of a hash.
func (r *Repo) look(ctx context.Context, rev, name string) (Commit, bool, error) {
	out, err := r.git(ctx, "log", "-1", "--format=%H %ct", rev, "--")
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, ErrNoGit) {
			return Commit{}, false, err
		}
		return Commit{}, false, nil
	}
	hash, at, _ := strings.Cut(strings.TrimSpace(out), " ")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return Commit{}, false, fmt.Errorf("commit %s: git gave no date: %q", rev, out)
	}
	return Commit{Hash: hash, Date: time.Unix(seconds, 0).UTC(), Name: name}, true, nil
}

func (r *Repo) findCommit(ctx context.Context, hash string) (Commit, error) {
	_, err := r.git(ctx, "rev-parse", "--verify", "--quiet", hash+"^{commit}")
	if failed := (*child.Error)(nil); errors.As(err, &failed) {
		unknown := &UnknownError{Name: hash, Source: r.source}
		if strings.Contains(failed.Text(), "ambiguous") {
			unknown.Why = "several commits begin so; write more digits"
		}
		return Commit{}, unknown
	}
	if err != nil {
		return Commit{}, err
	}
	c, ok, err := r.look(ctx, hash, "")
	if err == nil && !ok {
		err = &UnknownError{Name: hash, Source: r.source}
	}
	if err == nil {
		c.Name = c.Hash[:10]
	}
	return c, err
}

func (r *Repo) findBranch(ctx context.Context, n Name) (Commit, error) {
	for _, ref := range []string{"refs/heads/", "refs/remotes/", "refs/remotes/origin/", "refs/tags/"} {
		c, ok, err := r.look(ctx, ref+n.Text, n.Text)
		if ok || err != nil {
			return c, err
		}
	}
	near, err := r.nearBranches(ctx, n.Text)
	if err != nil {
		return Commit{}, err
	}
	return Commit{}, &UnknownError{Name: n.Text, Source: r.source, Near: near}
}

func (r *Repo) findPull(ctx context.Context, n Name) (Commit, error) {
	ref := "refs/pull/" + strconv.Itoa(n.Number) + "/head"
	lock, err := r.writeLock(ctx)
	if err != nil {
		return Commit{}, err
	}
	_, fetchErr := r.git(ctx, "fetch", "--quiet", "--force", "--no-tags", "--", r.source, "+"+ref+":"+ref)
	lock.Unlock()
	if ctx.Err() != nil || errors.Is(fetchErr, ErrNoGit) {
		return Commit{}, fetchErr
	}
	c, ok, err := r.look(ctx, ref, n.Text)
	switch {
	case err != nil:
		return c, err
	case !ok:
		why := fmt.Sprintf("it has no %s (%v)", ref, whyGit(fetchErr))
		return c, &UnknownError{Name: n.Text, Source: r.source, Why: why}
	case fetchErr != nil:
		r.warn(fmt.Sprintf("%s is what it was when the source was last asked: %v", n.Text, whyGit(fetchErr)))
	}
	return c, nil
}

// release is a release with the commit that is it.
type release struct {
	name, hash string
}

func (r *Repo) findRelease(ctx context.Context, n Name) (Commit, error) {
	all, err := r.known(ctx)
	if err != nil {
		return Commit{}, err
	}
	i := slices.IndexFunc(all, func(x release) bool { return compareReleases(x.name, n.Release) == 0 })
	if i < 0 {
		return Commit{}, &UnknownError{Name: n.Text, Source: r.source, Near: nearReleases(all, n.Release)}
	}
	return r.released(ctx, all[i])
}

func (r *Repo) released(ctx context.Context, x release) (Commit, error) {
	c, ok, err := r.look(ctx, x.hash, x.name)
	if err == nil && !ok {
		err = &UnknownError{Name: x.name, Source: r.source, Why: "its commit " + x.hash + " is missing there"}
	}
	return c, err
}

// findLatest counts releases down from the highest.
func (r *Repo) findLatest(ctx context.Context, n Name) (Commit, error) {
	all, err := r.known(ctx)
	if err != nil {
		return Commit{}, err
	}
	i := len(all) - 1 - n.Number
	if i < 0 {
		why := fmt.Sprintf("it has %d releases", len(all))
		return Commit{}, &UnknownError{Name: n.Text, Source: r.source, Why: why}
	}
	return r.released(ctx, all[i])
}

// versionFile names the release since early 2025 (0.3.10).
const versionFile = "comfyui_version.py"

var versionLine = regexp.MustCompile(`(?m)^__version__\s*=\s*["']([0-9]+(?:\.[0-9]+){2,3})["']`)

// known lists the releases that the source has, the oldest first. A tag
// vX.Y.Z says which commit is a release; without one it is the commit of the
// default branch, along first parents, that set the version file to it. On that
// line the order of the numbers is the order of ancestry; dates are not in order
// there. Releases made on branches of their own (tags only) go where their
// numbers put them.
func (r *Repo) known(ctx context.Context) ([]release, error) {
	if r.releases != nil {
		return r.releases, nil
	}
	found := map[string]string{}
	for _, read := range []func(context.Context, map[string]string) error{r.releasesOfHistory, r.releasesOfTags} {
		if err := read(ctx, found); err != nil {
			return nil, fmt.Errorf("releases of %s: %w", r.source, whyGit(err))
		}
	}
	for name, hash := range found {
		r.releases = append(r.releases, release{name, hash})
	}
	slices.SortFunc(r.releases, func(a, b release) int { return compareReleases(a.name, b.name) })
	return r.releases, nil
}

// releasesOfHistory reads the version file at each commit that changed it. Where
// a version was set more than once, the last time counts.
func (r *Repo) releasesOfHistory(ctx context.Context, into map[string]string) error {
	out, err := r.git(ctx, "rev-list", "--first-parent", "--reverse", "HEAD", "--", versionFile)
	if failed := (*child.Error)(nil); errors.As(err, &failed) && strings.Contains(failed.Text(), "HEAD") {
		return nil // no default branch: an empty repository
	}
	if err != nil {
		return err
	}
	commits := strings.Fields(out)
	var ask strings.Builder
	for _, c := range commits {
		ask.WriteString(c + ":" + versionFile + "\n")
	}
	var texts bytes.Buffer
	if _, err := runGit(ctx, r.dir, strings.NewReader(ask.String()), &texts, nil, "cat-file", "--batch"); err != nil {
		return err
	}
	in := bufio.NewReader(&texts)
	last := ""
	for _, c := range commits {
		text, ok, err := nextObject(in)
		if err != nil {
			return err
		}
		m := versionLine.FindSubmatch(text)
		if !ok || m == nil {
			continue
		}
		// Other changes to the file are not a release.
		if name := string(m[1]); name != last {
			last = name
			into[name] = c
		}
	}
	return nil
}

func (r *Repo) releasesOfTags(ctx context.Context, into map[string]string) error {
	out, err := r.git(ctx, "for-each-ref", "--format=%(objectname) %(*objectname) %(refname:strip=2)", "refs/tags")
	if err != nil {
		return err
	}
	for _, line := range strings.Split(out, "\n") {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		m := releaseName.FindStringSubmatch(words[len(words)-1])
		if m == nil {
			continue
		}
		// An annotated tag names its commit second.
		into[m[1]] = words[len(words)-2]
	}
	return nil
}

// Names lists the releases' names, the oldest first.
func (r *Repo) Names(ctx context.Context) ([]string, error) {
	all, err := r.known(ctx)
	names := make([]string, len(all))
	for i, x := range all {
		names[i] = x.name
	}
	return names, err
}
