package packs

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"memtrix"
	"memtrix/versions/source"
)

// Offline is the advice for a pack whose repository cannot be reached.
const Offline = "Without a network, name a clone on this machine with git:, or the pack's folder with path:"

// FromGit gives a pack of a git repository at a commit, branch or tag ("" is the tip
// of its default branch). Its files lie in the cache, one tree a commit. name is what
// ComfyUI is to see, "" for the repository's own name. missing are files that the
// commit has and the repository lacks.
func FromGit(ctx context.Context, repo *source.Repo, ref, name string) (p memtrix.Pack, missing []string, err error) {
	c, err := repo.ResolveRef(ctx, ref)
	if err != nil {
		return p, nil, err
	}
	tree, err := repo.Tree(ctx, c)
	if err != nil {
		return p, nil, err
	}
	if name == "" {
		name = RepoName(repo.Source())
	}
	p = memtrix.Pack{Name: name, Dir: tree.Dir, Source: withoutSecret(repo.Source()), Commit: c.Hash}
	// A pack may write into its own folder: only what is the commit's counts.
	if p.Hash, err = hashFiles(tree.Dir, counted(tree.Files)); err != nil {
		return p, nil, fmt.Errorf("custom node %s: %w", name, err)
	}
	if p.Requirements, err = requirements(tree.Dir); err != nil {
		return p, nil, fmt.Errorf("custom node %s: %w", name, err)
	}
	if len(tree.Missing) > 0 {
		p.Dirty = true
	}
	return p, tree.Missing, nil
}

func counted(files []string) []string {
	var list []string
	for _, f := range files {
		if counts(f) {
			list = append(list, f)
		}
	}
	return list
}

// RepoName is what a clone of a repository is called: the last part of its URL or
// path without ".git".
func RepoName(url string) string {
	url = strings.TrimRight(filepath.ToSlash(url), "/")
	if path.Base(url) == ".git" {
		url = path.Dir(url)
	}
	if i := strings.LastIndexAny(url, "/:"); i >= 0 {
		url = url[i+1:]
	}
	return strings.TrimSuffix(url, ".git")
}
