package installs

import "strings"

// Remains recognises what is left of an installation: a folder of ComfyUI whose code is
// not whole (an update that broke off, a file in quarantine), by a log that lies where
// servers of it write one; or the user data alone. The folder may be the one of the code, one above or below it. An
// installation that is whole is At's, and none here. Nothing can be started there.
func (m Machine) Remains(dir string) (Install, bool) {
	dir = m.Abs(m.Cwd, dir)
	for _, sub := range []string{"", "ComfyUI", "ComfyUI_windows_portable/ComfyUI", "app", "comfy/ComfyUI", "app/ComfyUI"} {
		if in, ok := m.remains(m.Join(dir, sub)); ok {
			return in, true
		}
	}
	for up := dir; up != m.Parent(up); up = m.Parent(up) {
		if in, ok := m.remains(m.Parent(up)); ok && in.Tree != "" && m.inside(dir, in.Tree) {
			return in, true
		}
	}
	return Install{}, false
}

// remains looks at the folder of the code alone.
func (m Machine) remains(tree string) (Install, bool) {
	missing := m.missing(tree)
	if len(missing) == 0 {
		return Install{}, false
	}
	in := m.tree(tree)
	if len(missing) == len(treeParts) {
		// The user data of one whose code lies elsewhere.
		in.Kind, in.Tree, missing = Archive, "", nil
		if len(m.LogsIn(in.User())) == 0 {
			return Install{}, false
		}
	}
	in.Missing, in.Why = missing, "what is left in the folder that was named"
	if above := m.Parent(tree); m.Base(tree) == "ComfyUI" && m.IsDir(m.Join(above, "python_embeded")) {
		in.Kind, in.Dir, in.Env = Portable, above, m.Join(above, "python_embeded")
		in.Python = m.Join(in.Env, "python.exe")
	}
	return in, len(in.Logs()) > 0
}

// missing are the parts of ComfyUI's code that a folder lacks.
func (m Machine) missing(tree string) []string {
	var all []string
	for _, part := range treeParts {
		if info, err := m.Stat(m.Join(tree, part)); err != nil || info.IsDir() == strings.Contains(part, ".") {
			all = append(all, part)
		}
	}
	return all
}
