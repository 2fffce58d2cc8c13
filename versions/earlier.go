package versions

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"memtrix"
	"memtrix/versions/pyenv"
)

// earlierReleases is how many releases back one is looked for that required other
// packages.
const earlierReleases = 5

// Earlier gives the packages that the newest release before a version required
// otherwise, in the versions of then, and all others that the version requires as they
// are installed, so that nothing else changes. release is that release, changed the
// names of the packages that go back. src is where releases are looked up, "" for the
// official source.
func (p *Provider) Earlier(ctx context.Context, src string, v memtrix.Version, requirements string) (overrides map[string]string, release string, changed []string, err error) {
	if err := p.open(); err != nil {
		return nil, "", nil, err
	}
	repo, err := p.repo(ctx, src)
	if err != nil {
		return nil, "", nil, cannot(ctx, err)
	}
	names, err := repo.Names(ctx)
	if err != nil {
		return nil, "", nil, cannot(ctx, err)
	}
	i := slices.Index(names, v.Release)
	if i < 0 {
		return nil, "", nil, fmt.Errorf("%s is no release of %s", v.Release, repo.Source())
	}
	for j := i - 1; j >= max(i-earlierReleases, 0); j-- {
		c, err := repo.Resolve(ctx, names[j])
		if err != nil {
			return nil, "", nil, cannot(ctx, err)
		}
		step, err := repo.Describe(ctx, c)
		if err != nil {
			return nil, "", nil, cannot(ctx, err)
		}
		if overrides, changed = goBack(requirements, step.Requirements, v.Packages); len(changed) > 0 {
			return overrides, names[j], changed, nil
		}
	}
	return nil, "", nil, fmt.Errorf("the %d releases before %s required the same packages", min(i, earlierReleases), v.Release)
}

// requiredVersion is the version in a requirement that names one: the least for >=.
var requiredVersion = regexp.MustCompile(`^[A-Za-z0-9._-]+(?:\[[^\]]*\])?\s*(==|>=|~=)\s*([0-9][0-9A-Za-z.]*)\s*(?:[,;].*)?$`)

// goBack compares what two releases require. Packages that only the browser's side
// needs are left out.
func goBack(now, before string, installed map[string]string) (overrides map[string]string, changed []string) {
	overrides = map[string]string{}
	after, earlier := requiredLines(now), requiredLines(before)
	for name, line := range after {
		have, ok := installed[name]
		if !ok || slices.Contains(pyenv.FrontEnd, name) {
			continue
		}
		// An index has no builds with a local part ("2.11.0+cu130").
		have, _, _ = strings.Cut(have, "+")
		overrides[name] = have
		old, was := earlier[name]
		m := requiredVersion.FindStringSubmatch(old)
		if !was || old == line || m == nil || m[2] == have {
			continue
		}
		overrides[name] = m[2]
		changed = append(changed, name+" "+m[2]+" instead of "+have)
	}
	slices.Sort(changed)
	return overrides, changed
}

func requiredLines(text string) map[string]string {
	lines := map[string]string{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, " #")
		line = strings.TrimSpace(line)
		if name := pyenv.RequirementName(line); name != "" {
			lines[name] = line
		}
	}
	return lines
}
