package account

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"memtrix/bisect/axes"
)

// Back are the commands that go back to the last good state, as a shell takes them.
// Where a place is not known it stands in angle brackets.
func (a Account) Back() []string {
	s := a.Answer()
	if !s.Found() {
		return nil
	}
	before, first := s.Before(), s.List.Candidates[s.Report.To]
	python := a.Python
	if python == "" {
		python = "<python of your ComfyUI>"
	} else {
		python = quoted(python)
	}
	dir := a.Dir
	if dir == "" {
		dir = "<folder of your ComfyUI>"
	} else {
		dir = quoted(dir)
	}
	switch s.List.Axis {
	case axes.Commits, axes.Versions:
		what := before.Commit
		if what == "" {
			what = before.Name
		}
		return []string{
			fmt.Sprintf("git -C %s checkout %s", dir, what),
			fmt.Sprintf("%s -m pip install -r %s/requirements.txt", python, dir),
		}
	case axes.Packages, axes.Releases:
		return []string{fmt.Sprintf("%s -m pip install %s", python, strings.Join(pins(before, first), " "))}
	case axes.Settings:
		return []string{fmt.Sprintf("leave %s as it was: %s", first.Thing, before.Settings)}
	case axes.Nodes:
		return []string{"load the custom node as before: " + first.Name}
	case axes.Pack:
		return []string{fmt.Sprintf("git -C %s/custom_nodes/%s checkout %s", dir, first.Thing, before.Commit)}
	}
	return []string{"as before: " + before.Name}
}

// pins are the packages that a step changes, as they were.
func pins(before, first axes.Candidate) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(before.Entry.Overrides)) {
		was := before.Entry.Overrides[name]
		if was == first.Entry.Overrides[name] {
			continue
		}
		if was == "none" {
			continue // to be without it is seldom needed
		}
		out = append(out, name+"=="+was)
	}
	return out
}

func quoted(path string) string {
	if strings.ContainsAny(path, " '\"$`\\&;()<>|*?") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
