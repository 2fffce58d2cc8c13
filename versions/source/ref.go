package source

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ResolveRef finds the commit of a name in a repository that is not ComfyUI's: a
// commit, a branch, a tag (exactly as it is called) or pr:N; "" is the tip of the
// default branch. Names that may have moved are looked up as Resolve does.
func (r *Repo) ResolveRef(ctx context.Context, text string) (Commit, error) {
	find := func() (Commit, error) { return r.findRef(ctx, text) }
	return r.resolve(ctx, named(text)+" of "+r.source, !commitName.MatchString(text), find)
}

func (r *Repo) findRef(ctx context.Context, text string) (Commit, error) {
	n := Name{Text: text, Kind: KindBranch}
	switch {
	case text == "":
		c, ok, err := r.look(ctx, "HEAD", "")
		if err == nil && !ok {
			err = &UnknownError{Name: "HEAD", Source: r.source, Why: "it has no default branch"}
		}
		if err == nil {
			c.Name = c.Hash[:10]
		}
		return c, err
	case pullName.MatchString(text):
		n, err := ParseName(text)
		if err != nil {
			return Commit{}, err
		}
		return r.findPull(ctx, n)
	case noBranch.MatchString(text):
		return Commit{}, &UnknownError{Name: text, Source: r.source, Why: "that is no commit, branch, tag or pr:N"}
	}
	// A branch or tag may look like the beginning of a hash.
	c, err := r.findBranch(ctx, n)
	var unknown *UnknownError
	if errors.As(err, &unknown) && commitName.MatchString(text) {
		return r.findCommit(ctx, strings.ToLower(text))
	}
	if errors.As(err, &unknown) {
		tags, listErr := r.git(ctx, "for-each-ref", "--count=5", "--sort=-creatordate", "--format=%(refname:strip=2)", "refs/tags")
		if listErr == nil {
			unknown.Near = append(unknown.Near, strings.Fields(tags)...)
		}
	}
	return c, err
}

// resolve finds a commit with the help of the source where that is needed: a name
// that moves is asked for once a run, one that is not known once, too. Where the
// source cannot be reached, the last answer counts and a warning says so.
func (r *Repo) resolve(ctx context.Context, text string, moves bool, find func() (Commit, error)) (Commit, error) {
	var offline, err error
	if moves {
		if offline, err = r.fetch(ctx); err != nil {
			return Commit{}, err
		}
	}
	c, err := find()
	if unknown := (*UnknownError)(nil); errors.As(err, &unknown) && !r.fetched {
		if offline, err = r.fetch(ctx); err != nil {
			return Commit{}, err
		}
		c, err = find()
	}
	switch {
	case err != nil && offline != nil:
		return Commit{}, fmt.Errorf("%w (and the source cannot be asked: %w%s)", err, offline, r.adviceOffline())
	case err != nil:
		return Commit{}, err
	case offline != nil:
		r.warn(fmt.Sprintf("%s is what it was when the source was last asked: %v", text, offline))
	}
	return c, nil
}

func named(text string) string {
	if text == "" {
		return "the default branch"
	}
	return text
}
