package account

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"memtrix/bisect/axes"
	"memtrix/internal/shell"
	"memtrix/versions/source"
)

// Back are the commands that go back to the last good state, as a shell takes them.
// Where a place is not known it stands in angle brackets. Only what can work is told:
// none of simulated versions, or where the last good one is a name and no commit.
func (a Account) Back() []string {
	s := a.Answer()
	if !s.Found() {
		return nil
	}
	before, first := s.Before(), s.List.Candidates[s.Report.To]
	if s.List.Merge != "" {
		// A commit within a branch is based on an older state: back is before its merge.
		before = s.List.Candidates[0]
	}
	python := a.Python
	if python == "" {
		python = "<python of your ComfyUI>"
	} else {
		python = shell.Word(python)
	}
	dir := a.Dir
	if dir == "" {
		dir = "<folder of your ComfyUI>"
	} else {
		dir = shell.Word(dir)
	}
	switch s.List.Axis {
	case axes.Commits, axes.Versions:
		if before.Entry.Path != "" && s.List.Axis == axes.Versions {
			return []string{"start the ComfyUI in " + before.Entry.Path}
		}
		what := revision(before)
		if what == "" {
			return nil
		}
		return []string{
			fmt.Sprintf("git -C %s checkout %s", dir, shell.Word(what)),
			fmt.Sprintf("%s -m pip install -r %s/requirements.txt", python, dir),
		}
	case axes.Packages, axes.Releases:
		set, gone := pins(before, first)
		switch {
		case before.Entry.Sim != "":
			return nil
		case len(set) > 0: // to be without one of them is seldom needed
			return []string{fmt.Sprintf("%s -m pip install %s", python, strings.Join(set, " "))}
		case len(gone) > 0:
			return []string{fmt.Sprintf("%s -m pip uninstall -y %s", python, strings.Join(gone, " "))}
		}
		return nil
	case axes.Settings:
		return []string{fmt.Sprintf("leave %s as it was: %s", first.Thing, before.Settings)}
	case axes.Nodes:
		return []string{"load the custom node as before: " + first.Name}
	case axes.Pack:
		if before.Commit == "" {
			return nil
		}
		return []string{fmt.Sprintf("git -C %s/custom_nodes/%s checkout %s", dir, shell.Word(first.Thing), shell.Word(before.Commit))}
	}
	return []string{"as before: " + before.Name}
}

// revision is what git knows the last good one by, "" for nothing: a version of a spec
// may have a name of its own, "latest~2" is memtrix's word, and a simulated one has no
// code.
func revision(c axes.Candidate) string {
	if c.Entry.Sim != "" || c.Entry.URL != "" {
		return ""
	}
	if commit := cmp.Or(c.Commit, c.Version.Commit); commit != "" {
		return commit
	}
	switch n, err := source.ParseName(c.Entry.Version); {
	case err != nil:
	case n.Kind == source.KindRelease:
		return "v" + n.Release // ComfyUI's tags
	case n.Kind == source.KindCommit:
		return n.Text
	case n.Kind == source.KindBranch:
		return c.Entry.Version
	}
	return ""
}

// pins are the packages that a step changes, as they were; gone are those that were not
// there.
func pins(before, first axes.Candidate) (set, gone []string) {
	for _, name := range slices.Sorted(maps.Keys(before.Entry.Overrides)) {
		switch was := before.Entry.Overrides[name]; was {
		case first.Entry.Overrides[name]:
		case "none":
			gone = append(gone, shell.Word(name))
		default:
			set = append(set, shell.Word(name+"=="+was))
		}
	}
	return set, gone
}
