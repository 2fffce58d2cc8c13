package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"memtrix"
	"memtrix/bisect/axes"
	"memtrix/internal/comfysim"
	"memtrix/matrix"
	"memtrix/reports"
	"memtrix/versions"
	"memtrix/versions/child"
	"memtrix/versions/installs"
	"memtrix/versions/past"
	"memtrix/versions/source"
)

// bisectEnds are the two states that are compared, as the spec and the command name
// them.
type bisectEnds struct {
	good, bad axes.State
	// listed are all versions of the spec, where they are the path.
	listed []axes.State
	// proposed says where a good end comes from that nobody named.
	proposed string
	// dir and python are those of an installation that is bisected.
	dir, python string
}

// simulated reports whether both ends are: a simulated ComfyUI has a card of its own.
func (e *bisectEnds) simulated() bool { return e.good.Entry.Sim != "" && e.bad.Entry.Sim != "" }

// onCPU reports whether an end uses no card.
func (e *bisectEnds) onCPU() bool {
	return e.good.Settings["device"] == "cpu" || e.bad.Settings["device"] == "cpu"
}

// ends finds the two states.
func (c *bisectCmd) ends(a *app, s *matrix.Spec) (*bisectEnds, error) {
	if len(s.Versions) == 0 {
		return nil, errors.New("the spec has no version")
	}
	for _, e := range s.Versions {
		if e.URL != "" {
			return nil, errors.New("a server that runs already (url:) is what it is: there is nothing to bisect; name its folder (path:) instead")
		}
	}
	settings, err := c.endSettings(s)
	if err != nil {
		return nil, err
	}
	e := &bisectEnds{}
	template := s.Versions[len(s.Versions)-1]
	bad := template
	if c.Bad != "" && !isSettings(c.Bad) {
		if bad, err = namedVersion(s, template, c.Bad); err != nil {
			return nil, err
		}
	}
	e.bad = axes.State{Entry: bad, Settings: settings[1]}
	if bad.Path != "" {
		e.dir = bad.Path
	}
	switch {
	case c.Good != "" && !isSettings(c.Good):
		good, err := namedVersion(s, template, c.Good)
		if err != nil {
			return nil, err
		}
		e.good = axes.State{Entry: good, Settings: settings[0]}
	case isSettings(c.Good) || !maps.Equal(settings[0], settings[1]):
		e.good = axes.State{Entry: bad, Settings: settings[0]}
	case len(s.Versions) > 1:
		e.good = axes.State{Entry: s.Versions[0], Settings: settings[0]}
	case bad.Path != "":
		return e, c.proposed(a, e, settings[0])
	default:
		return nil, errors.New("one end is missing: name the last good version with --good VERSION (a release, a commit), or list both in the spec, the good one first. Of an installation of yours (path:) memtrix looks for it by itself")
	}
	return e, c.listed(s, e)
}

// listed are the versions of the spec between the ends, for --axis versions.
func (c *bisectCmd) listed(s *matrix.Spec, e *bisectEnds) error {
	simulated := e.simulated() && e.good.Entry.Sim != e.bad.Entry.Sim
	if c.Axis != "versions" && (c.Axis != "" || !simulated) {
		return nil
	}
	from := slices.IndexFunc(s.Versions, func(v matrix.VersionEntry) bool { return sameVersion(v, e.good.Entry) })
	to := slices.IndexFunc(s.Versions, func(v matrix.VersionEntry) bool { return sameVersion(v, e.bad.Entry) })
	if from < 0 || to < 0 || from >= to {
		return errors.New("--axis versions goes through the versions of the spec as they stand there: good and bad must be among them, the good one first")
	}
	for _, v := range s.Versions[from : to+1] {
		e.listed = append(e.listed, axes.State{Entry: v, Settings: e.bad.Settings})
	}
	return nil
}

func sameVersion(a, b matrix.VersionEntry) bool {
	return a.Name == b.Name && a.Version == b.Version && a.Path == b.Path && a.Sim == b.Sim
}

// namedVersion is a version of the spec by its name, else one like the template.
func namedVersion(s *matrix.Spec, template matrix.VersionEntry, name string) (matrix.VersionEntry, error) {
	for _, v := range s.Versions {
		if name == v.Name || name == v.Version || name == v.Sim || name == v.Path {
			return v, nil
		}
	}
	if template.Sim != "" {
		if !slices.Contains(comfysim.Versions(), name) {
			return template, fmt.Errorf("no release %q can be simulated; those that can are %s", name, strings.Join(comfysim.Versions(), ", "))
		}
		template.Sim, template.Name = name, ""
		return template, nil
	}
	if _, err := source.ParseName(name); err != nil {
		return template, err
	}
	template.Version, template.Name = name, ""
	if template.Path != "" { // a commit of the installation, in its environment
		template.Source, template.Path = template.Path, ""
		if template.Packages == "" {
			template.Packages = string(versions.Keep)
		}
	}
	return template, nil
}

// isSettings tells settings ("cache=none vram-mode=low") from a version.
func isSettings(text string) bool { return strings.Contains(text, "=") }

// endSettings are the settings of good and of bad. Of a spec with one cell they are its;
// of two, the first one's and the second one's.
func (c *bisectCmd) endSettings(s *matrix.Spec) ([2]memtrix.Settings, error) {
	cells := s.Settings.Cells()
	var out [2]memtrix.Settings
	if c.Settings != "" {
		at := slices.IndexFunc(cells, func(x memtrix.Settings) bool { return x.String() == c.Settings })
		if at < 0 {
			return out, fmt.Errorf("--settings %q: the spec has %s", c.Settings, settingsList(cells))
		}
		cells = cells[at : at+1]
	}
	named := isSettings(c.Good) || isSettings(c.Bad)
	versions := len(s.Versions) > 1 || c.Good != "" && !isSettings(c.Good) || c.Bad != "" && !isSettings(c.Bad)
	switch {
	case len(cells) == 1 || named:
		out = [2]memtrix.Settings{cells[0], cells[0]}
	case len(cells) == 2 && (!versions || c.Axis == "settings"):
		out = [2]memtrix.Settings{cells[0], cells[1]}
	default:
		return out, fmt.Errorf("the spec has %d settings: say with --settings which of them is bisected: %s", len(cells), settingsList(cells))
	}
	for i, text := range []string{c.Good, c.Bad} {
		if !isSettings(text) {
			continue
		}
		extra, err := parseSettings(text)
		if err != nil {
			return out, err
		}
		out[i] = maps.Clone(out[i])
		if out[i] == nil {
			out[i] = memtrix.Settings{}
		}
		maps.Copy(out[i], extra)
	}
	return out, nil
}

func settingsList(cells []memtrix.Settings) string {
	var list []string
	for i, x := range cells {
		if i == 8 {
			list = append(list, fmt.Sprintf("and %d more", len(cells)-i))
			break
		}
		list = append(list, fmt.Sprintf("%q", x.String()))
	}
	return strings.Join(list, ", ")
}

func parseSettings(text string) (memtrix.Settings, error) {
	out := memtrix.Settings{}
	for _, word := range strings.Fields(text) {
		name, value, ok := strings.Cut(word, "=")
		def, known := memtrix.Setting(name)
		if !ok || !known {
			return nil, fmt.Errorf("%q in %q is no setting: name=value, as 'memtrix flags' and docs/spec.md have them", word, text)
		}
		if err := def.Check(value); err != nil {
			return nil, err
		}
		out[name] = value
	}
	return out, nil
}

// one narrows the spec to one workflow and one hardware.
func (c *bisectCmd) one(s *matrix.Spec) error {
	if c.Workflow != "" {
		s.Workflows = slices.DeleteFunc(slices.Clone(s.Workflows), func(w matrix.WorkflowEntry) bool {
			return c.Workflow != w.Name && c.Workflow != w.BuiltIn && c.Workflow != filepath.Base(w.File)
		})
	}
	if len(s.Workflows) != 1 {
		return fmt.Errorf("%d workflows: a bisection looks at one cell; --workflow NAME says which", len(s.Workflows))
	}
	if c.Hardware != "" {
		s.Hardware = slices.DeleteFunc(slices.Clone(s.Hardware), func(h memtrix.Hardware) bool { return c.Hardware != h.Name })
	}
	if len(s.Hardware) != 1 {
		return fmt.Errorf("%d sizes of hardware: a bisection looks at one cell; --hardware NAME says which", len(s.Hardware))
	}
	return nil
}

// proposed looks for what an installation was before.
func (c *bisectCmd) proposed(a *app, e *bisectEnds, settings memtrix.Settings) error {
	in, ok := installs.Here().At(e.dir)
	if !ok {
		return fmt.Errorf("what %s was before is not known: it is no installation that memtrix knows; name the last good version with --good", e.dir)
	}
	states, warnings, err := past.Find(in)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(a.stderr, "warning:", reports.OneLine(w))
	}
	for _, s := range states {
		good := e.bad.Entry
		switch {
		case s.Packages != nil && s.Complete:
			good.Packages, good.Overrides, good.Path, good.Source = string(versions.Required), s.Packages, "", e.dir
			good.Version = cmp.Or(s.Commit, headOf(a.ctx, e.dir))
		case s.Commit != "":
			good.Version, good.Path, good.Source, good.Packages = s.Commit, "", e.dir, string(versions.Keep)
		default:
			continue // not enough to make it again
		}
		if good.Version == "" {
			continue
		}
		good.Name = ""
		e.good = axes.State{Entry: good, Settings: settings}
		e.proposed = fmt.Sprintf("no --good was given; %s was at %s before (%s): that is taken for good, and the runs of the ends will show whether it is", e.dir, short10(good.Version), s.Source)
		return nil
	}
	return fmt.Errorf("nothing tells what %s was before (no reflog, backup branch, snapshot or saved requirements): name the last good version with --good", e.dir)
}

func short10(hash string) string {
	if len(hash) == 40 {
		return hash[:10]
	}
	return hash
}

func headOf(ctx context.Context, dir string) string {
	out, err := child.Git(ctx, dir, "rev-parse", "HEAD")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}
