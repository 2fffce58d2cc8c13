package pyenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"memtrix/versions/child"
)

// ErrUnreachable is wrapped by errors of a package index that cannot be asked: another
// time it may.
var ErrUnreachable = errors.New("the package index cannot be reached")

// mostVersions bounds how many versions of a package are asked for.
const mostVersions = 200

// Versions lists the versions of a package between two, both left out, in the order
// from the first to the second: those that the tool would install for the request's
// interpreter, without pre-releases and yanked ones.
func (b *Builder) Versions(ctx context.Context, r Request, name, from, to string) ([]string, error) {
	r.Requirements = name
	p, err := b.plan(ctx, r)
	if err != nil {
		return nil, err
	}
	from, to = public(from), public(to)
	if u, ok := p.tool.(uv); ok {
		up, err := u.between(ctx, p, name, from, to)
		if err != nil || len(up) > 0 {
			return up, err
		}
		down, err := u.between(ctx, p, name, to, from)
		slices.Reverse(down)
		return down, err
	}
	return pipBetween(ctx, p, name, from, to)
}

// public is a version without its local part ("2.9.0+cpu"), which cannot be compared.
func public(version string) string {
	version, _, _ = strings.Cut(version, "+")
	return version
}

// between asks for the newest version below another one until there is none: uv lists
// no versions, but resolves in a quarter of a second.
func (u uv) between(ctx context.Context, p plan, name, low, high string) ([]string, error) {
	var out []string
	for below := high; len(out) < mostVersions; {
		argv := []string{u.path, "pip", "compile", "-", "--no-deps", "--no-header", "--no-annotate", "--quiet", "--python", p.python.Path}
		if p.req.Wheels != "" {
			argv = append(argv, "--no-index", "--find-links", p.req.Wheels)
		}
		text, err := child.Run(ctx, child.Command{Argv: argv, Env: environ(os.Environ()), Stdin: strings.NewReader(fmt.Sprintf("%s>%s,<%s\n", name, low, below))})
		var failed *child.Error
		if errors.As(err, &failed) && strings.Contains(strings.ToLower(failed.Text()), "no solution found") {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("versions of %s: %w", name, explain(err, p.req))
		}
		_, version, ok := strings.Cut(strings.TrimSpace(text), "==")
		if !ok {
			break
		}
		version, _, _ = strings.Cut(version, " ")
		out = append(out, version)
		below = public(version)
	}
	slices.Reverse(out)
	return out, nil
}

// pipBetween reads `pip index versions`, whose list is the newest first.
func pipBetween(ctx context.Context, p plan, name, from, to string) ([]string, error) {
	argv := []string{p.python.Path, "-m", "pip", "index", "versions", name, "--no-input", "--disable-pip-version-check"}
	if p.req.Wheels != "" {
		argv = append(argv, "--no-index", "--find-links", p.req.Wheels)
	}
	text, err := child.Run(ctx, child.Command{Argv: argv, Env: environ(os.Environ())})
	if err != nil {
		return nil, fmt.Errorf("versions of %s: %w", name, explain(err, p.req))
	}
	return cutVersions(text, name, from, to)
}

func cutVersions(text, name, from, to string) ([]string, error) {
	const sign = "Available versions: "
	for _, line := range strings.Split(text, "\n") {
		list, ok := strings.CutPrefix(strings.TrimSpace(line), sign)
		if !ok {
			continue
		}
		all := strings.Split(list, ", ")
		slices.Reverse(all)
		i, j := slices.Index(all, from), slices.Index(all, to)
		switch {
		case i < 0 || j < 0:
			return nil, fmt.Errorf("versions of %s: the index does not list %s and %s", name, from, to)
		case i < j:
			return all[i+1 : j], nil
		}
		all = all[j+1 : max(i, j+1)]
		slices.Reverse(all)
		return all, nil
	}
	return nil, fmt.Errorf("versions of %s: pip listed none", name)
}
