package versions

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"memtrix"
	"memtrix/versions/packs"
	"memtrix/versions/pyenv"
	"memtrix/versions/source"
)

// Interpreter gives the Python that runs a version or, while its environment is to
// be made, the one that it will be based on: both read the same language.
func (p *Provider) Interpreter(ctx context.Context, r Request, tree string) (string, error) {
	if err := p.open(); err != nil {
		return "", err
	}
	if r.Python != "" {
		python, err := resolvePython(r.Python)
		if err != nil && r.Path == "" {
			err = cannot(ctx, err)
		}
		return python, err
	}
	if r.Path != "" {
		if python := findPython(tree, os.Getenv); python != "" {
			return python, nil
		}
	}
	_, _, python, err := p.builder.Key(ctx, pyenv.Request{Requirements: "pip"})
	if err != nil {
		return "", cannot(ctx, err)
	}
	return python, nil
}

// Repo opens a git repository of custom nodes in the cache, once.
func (p *Provider) Repo(ctx context.Context, url string) (*source.Repo, error) {
	if err := p.open(); err != nil {
		return nil, err
	}
	key := "custom node " + url
	if r, ok := p.repos[key]; ok {
		return r, nil
	}
	r, err := source.Open(ctx, p.cache, url, source.Options{Say: p.Say, Warn: p.warn, Offline: packs.Offline})
	if err != nil {
		return nil, cannot(ctx, err)
	}
	p.repos[key] = r
	return r, nil
}

// GitPack gives a pack of a git repository; its errors tell what a person wrote
// wrongly from what this machine cannot do.
func (p *Provider) GitPack(ctx context.Context, url, ref, name string) (memtrix.Pack, []string, error) {
	repo, err := p.Repo(ctx, url)
	if err != nil {
		return memtrix.Pack{}, nil, err
	}
	pack, missing, err := packs.FromGit(ctx, repo, ref, name)
	if err != nil {
		return pack, nil, cannot(ctx, err)
	}
	return pack, missing, nil
}

// Tell warns of one thing once.
func (p *Provider) Tell(text string) { p.warn(text) }

// Kept reports whether a request leaves the environment alone, so that nothing can
// be added to it.
func (p *Provider) Kept(ctx context.Context, r Request) (bool, error) {
	if r.Path != "" && (r.Packages == "" || r.Packages == Keep) && len(r.Overrides) == 0 && r.Wheels == "" {
		return true, nil
	}
	mode, err := p.mode(ctx, r)
	if err != nil {
		return false, cannot(ctx, err)
	}
	return mode == Keep, nil
}

// Unbuilt reports whether the environment of a version is still to be made (see
// Provider.Look): its Packages and Python are not those that will run it.
func Unbuilt(v memtrix.Version) bool {
	_, unbuilt := v.Packages[unbuilt]
	return unbuilt
}

// SitePackages gives the folders of Python packages of the environment of an
// interpreter, as far as they lie where they usually do.
func SitePackages(python string) []string {
	root := filepath.Dir(filepath.Dir(python))
	found, err := filepath.Glob(filepath.Join(globLiteral(root), "lib", "python3*", "site-packages"))
	if errors.Is(err, filepath.ErrBadPattern) {
		return nil
	}
	return append(found, filepath.Join(root, "Lib", "site-packages"))
}
