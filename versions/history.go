package versions

import (
	"context"
	"errors"

	"memtrix/versions/pyenv"
	"memtrix/versions/source"
)

// History gives two commits of a source ("" for the official one), by their names, and
// the commits after the first one up to the second, along first parents.
func (p *Provider) History(ctx context.Context, src, good, bad string) (from source.Step, steps []source.Step, err error) {
	if err := p.open(); err != nil {
		return from, nil, err
	}
	repo, err := p.repo(ctx, src)
	if err != nil {
		return from, nil, cannot(ctx, err)
	}
	return between(ctx, repo, repo.Resolve, good, bad)
}

// between is the history of a repository between two commits, named as resolve knows them.
func between(ctx context.Context, repo *source.Repo, resolve func(context.Context, string) (source.Commit, error), good, bad string) (from source.Step, steps []source.Step, err error) {
	g, err := resolve(ctx, good)
	if err != nil {
		return from, nil, cannot(ctx, err)
	}
	b, err := resolve(ctx, bad)
	if err != nil {
		return from, nil, cannot(ctx, err)
	}
	if from, err = repo.Describe(ctx, g); err != nil {
		return from, nil, cannot(ctx, err)
	}
	steps, err = repo.Between(ctx, g, b)
	return from, steps, cannotOrNil(ctx, err)
}

// cannotOrNil leaves a wrong order, which a person wrote, as it is.
func cannotOrNil(ctx context.Context, err error) error {
	if order := (*source.OrderError)(nil); err == nil || errors.As(err, &order) {
		return err
	}
	return cannot(ctx, err)
}

// PackHistory is History of a repository of custom nodes; its names are those of
// ResolveRef.
func (p *Provider) PackHistory(ctx context.Context, url, good, bad string) (from source.Step, steps []source.Step, err error) {
	repo, err := p.Repo(ctx, url)
	if err != nil {
		return from, nil, err
	}
	return between(ctx, repo, repo.ResolveRef, good, bad)
}

// PackageVersions lists the versions of a package between two, both left out, in the
// order from the first to the second, as the tool would install them for a request.
func (p *Provider) PackageVersions(ctx context.Context, r Request, name, from, to string) ([]string, error) {
	if err := p.open(); err != nil {
		return nil, err
	}
	list, err := p.builder.Versions(ctx, pyenv.Request{Python: r.Python, Wheels: r.Wheels}, name, from, to)
	if err != nil {
		return nil, cannot(ctx, err)
	}
	return list, nil
}
