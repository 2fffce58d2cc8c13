package past

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"memtrix/internal/shell"
	"memtrix/versions/installs"
)

// back are the commands that go back to a state, as far as it tells.
func back(in installs.Install, s, now State) []string {
	var all []string
	if s.Commit != "" && s.Commit != now.Commit {
		all = append(all, checkout(in, s.Commit)...)
	}
	if pins := older(s, now); len(pins) > 0 {
		all = append(all, install(in, pins)...)
	}
	for _, c := range Diff(State{Nodes: s.Nodes}, State{Nodes: now.Nodes}) {
		if hexHash.MatchString(c.Old) && in.Base != "" && c.New != "" {
			all = append(all, fmt.Sprintf("git -C %s checkout %s", shell.Path(in.On.Join(in.Base, "custom_nodes", c.What)), c.Old))
		}
	}
	return all
}

// BackTo are the commands that go back to a release and to versions of packages that
// an earlier start told, "" and nil for none.
func BackTo(in installs.Install, release string, packages map[string]string) []string {
	var all []string
	switch {
	case release == "" || strings.Trim(release, "0123456789.") != "":
	case in.Kind == installs.Desktop:
		all = append(all, fmt.Sprintf("install the release of ComfyUI Desktop that had ComfyUI %s (https://github.com/Comfy-Org/desktop/releases), and turn off its automatic updates", release))
	case in.Tree != "" && gitOf(in.On, in.Tree).dir != "":
		all = append(all, checkout(in, "refs/tags/v"+release)...)
	}
	var pins []string
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		pins = append(pins, name+"=="+packages[name])
	}
	if len(pins) > 0 {
		all = append(all, install(in, pins)...)
	}
	return all
}

// older are the packages whose version was another one, as pip takes them.
func older(s, now State) []string {
	var pins []string
	for _, c := range Diff(State{Packages: s.Packages}, State{Packages: now.Packages}) {
		if c.Old != "" && strings.Trim(c.Old, "0123456789abcdefghijklmnopqrstuvwxyz.+!-_") == "" {
			pins = append(pins, c.What+"=="+c.Old)
		}
	}
	return pins
}

// checkout goes to a commit, or to a reference with its full name, and installs the
// packages that it asks for. The portable build has no git, but it has pygit2, with
// which its own updater works.
func checkout(in installs.Install, to string) []string {
	if in.Tree == "" {
		return nil
	}
	if in.Kind == installs.Portable {
		code := fmt.Sprintf("r.checkout('%s')", to)
		if hexHash.MatchString(to) {
			code = fmt.Sprintf("c=r['%s'];r.checkout_tree(c);r.set_head(c.id)", to)
		}
		return []string{
			"cd /d " + shell.Path(in.Dir),
			fmt.Sprintf(`.\python_embeded\python.exe -s -c "import pygit2;pygit2.option(pygit2.GIT_OPT_SET_OWNER_VALIDATION,0);r=pygit2.Repository('ComfyUI');%s"`, code),
			`.\python_embeded\python.exe -s -m pip install -r ComfyUI\requirements.txt`,
		}
	}
	to = strings.TrimPrefix(strings.TrimPrefix(to, "refs/heads/"), "refs/tags/")
	return append([]string{fmt.Sprintf("git -C %s checkout %s", shell.Path(in.Tree), to)},
		pip(in, "install -r "+shell.Path(in.On.Join(in.Tree, "requirements.txt")))...)
}

// install puts packages back. Builds of torch for a CUDA version lie in an index of
// their own (https://pytorch.org/get-started/previous-versions/).
func install(in installs.Install, pins []string) []string {
	var torch, other []string
	index := ""
	for _, p := range pins {
		if _, build, ok := strings.Cut(p, "+"); ok && strings.HasPrefix(p, "torch") {
			index = "https://download.pytorch.org/whl/" + build
			torch = append(torch, p)
			continue
		}
		other = append(other, p)
	}
	var all []string
	if len(torch) > 0 {
		all = append(all, pip(in, "install "+strings.Join(torch, " ")+" --index-url "+index)...)
	}
	if len(other) > 0 {
		all = append(all, pip(in, "install "+strings.Join(other, " "))...)
	}
	return all
}

// pip is a command of the installation's own pip, or of uv where it has none.
func pip(in installs.Install, args string) []string {
	if in.Kind == installs.Portable {
		return []string{"cd /d " + shell.Path(in.Dir), `.\python_embeded\python.exe -s -m pip ` + args}
	}
	if in.Python == "" {
		return []string{"python -m pip " + args}
	}
	hasPip := false
	for _, site := range in.Packages() {
		hasPip = hasPip || in.On.IsDir(in.On.Join(site, "pip"))
	}
	if !hasPip && len(in.Packages()) > 0 {
		verb, rest, _ := strings.Cut(args, " ")
		return []string{fmt.Sprintf("uv pip %s --python %s %s", verb, shell.Path(in.Python), rest)}
	}
	return []string{fmt.Sprintf("%s -m pip %s", shell.Path(in.Python), args)}
}
