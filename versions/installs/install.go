package installs

import (
	"fmt"
	"strings"
)

// Kind is how a ComfyUI was installed: it decides where flags are written and how
// one goes back.
type Kind string

const (
	// Checkout is a git clone, Archive the code without its history.
	Checkout Kind = "git"
	Archive  Kind = "archive"
	// Portable is the build for Windows: ComfyUI_windows_portable with its own
	// Python (https://github.com/comfyanonymous/ComfyUI, .ci/windows_nvidia_base_files).
	Portable Kind = "portable"
	// Desktop is the desktop program of 2024 to 2026
	// (https://github.com/Comfy-Org/desktop).
	Desktop Kind = "desktop"
	// Desktop2 is its successor, which keeps several installations
	// (https://github.com/Comfy-Org/Comfy-Desktop).
	Desktop2 Kind = "desktop-2"
	// CLI is one that comfy-cli made (https://github.com/Comfy-Org/comfy-cli).
	CLI Kind = "comfy-cli"
	// StabilityMatrix (https://github.com/LykosAI/StabilityMatrix) and Pinokio
	// (https://github.com/pinokiofactory/comfy) are launchers for many programs.
	StabilityMatrix Kind = "stability-matrix"
	Pinokio         Kind = "pinokio"
)

// words name the kinds for people.
var words = map[Kind]string{
	Checkout: "git checkout", Archive: "unpacked archive", Portable: "portable build", Desktop: "Desktop",
	Desktop2: "Comfy Desktop 2", CLI: "comfy-cli", StabilityMatrix: "Stability Matrix", Pinokio: "Pinokio",
}

// Install is one installation. Paths are as the machine writes them, "" where
// there is none.
type Install struct {
	Kind Kind
	// Dir is the folder that a person would call the installation.
	Dir string
	// Tree holds main.py. Of Desktop it lies in the program's own folder.
	Tree string
	// Base holds user, custom_nodes and models: the tree, if nothing else was set.
	Base string
	// Env is the root of the Python environment, Python its interpreter.
	Env, Python string
	// Config is the folder of a launcher's own settings.
	Config string
	// Name is what a launcher calls it, "" where it has no name.
	Name string
	// Why says where it was found, for people.
	Why string
	// Args are the launch flags that a launcher keeps for it.
	Args []string
	// Missing are files that every ComfyUI has and this one has not (Remains).
	Missing []string

	// On is the machine that it is on.
	On Machine
}

// String names an installation for people.
func (in Install) String() string {
	if in.Name != "" {
		return fmt.Sprintf("%s %q, %s", words[in.Kind], in.Name, in.Dir)
	}
	return fmt.Sprintf("%s, %s", words[in.Kind], in.Dir)
}

// User is the folder of settings, logs and snapshots.
func (in Install) User() string {
	if in.Base == "" {
		return ""
	}
	return in.On.Join(in.Base, "user")
}

// treeParts are what every ComfyUI since 2023 has at its top.
var treeParts = []string{"main.py", "nodes.py", "comfy"}

// isTree reports whether a folder holds ComfyUI's code.
func (m Machine) isTree(dir string) bool {
	return dir != "" && len(m.missing(dir)) == 0
}

// At recognises the installation that a folder is, or belongs to: the folder of
// the code, one above or below it, or a folder of user data.
func (m Machine) At(dir string) (Install, bool) {
	dir = m.Abs(m.Cwd, dir)
	for up := dir; ; up = m.Parent(up) {
		if in, ok := m.exactly(up); ok {
			if up == dir {
				in.Why = "the folder that was named"
				return in, true
			}
			if m.inside(dir, in.Dir) { // not one that lies beside it
				in.Why = "above the folder that was named"
				return in, true
			}
		}
		if up == m.Parent(up) {
			break
		}
	}
	for _, sub := range []string{"ComfyUI_windows_portable", "app", "comfy/ComfyUI"} {
		if in, ok := m.exactly(m.Join(dir, sub)); ok {
			in.Why = "in the folder that was named"
			return in, true
		}
	}
	return Install{}, false
}

// inside reports whether a path is a folder or below it.
func (m Machine) inside(p, dir string) bool {
	p, dir = m.name(p), m.name(dir)
	if m.Windows() {
		p, dir = strings.ToLower(p), strings.ToLower(dir)
	}
	return dir == "." || p == dir || strings.HasPrefix(p, dir+"/")
}

// exactly recognises a folder by what is in it.
func (m Machine) exactly(dir string) (Install, bool) {
	if in, ok := m.portable(dir); ok {
		return in, true
	}
	if in, ok := m.standalone(dir); ok {
		return in, true
	}
	if m.isTree(dir) {
		if in, ok := m.portable(m.Parent(dir)); ok && in.Tree == dir {
			return in, true
		}
		if in, ok := m.standalone(m.Parent(dir)); ok && in.Tree == dir {
			return in, true
		}
		return m.tree(dir), true
	}
	if tree := m.Join(dir, "ComfyUI"); m.isTree(tree) {
		return m.tree(tree), true
	}
	return m.userData(dir)
}

// tree is the code alone, with or without its history.
func (m Machine) tree(dir string) Install {
	in := Install{Kind: Archive, Dir: dir, Tree: dir, Base: dir, On: m}
	if _, err := m.Stat(m.Join(dir, ".git")); err == nil {
		in.Kind = Checkout
	}
	for _, env := range []string{m.Join(dir, "venv"), m.Join(dir, ".venv"), m.Join(m.Parent(dir), "venv"), m.Join(m.Parent(dir), ".venv"), m.env("VIRTUAL_ENV")} {
		if python := m.interpreter(env); python != "" {
			in.Env, in.Python = env, python
			break
		}
	}
	return in
}

// portable is ComfyUI_windows_portable: ComfyUI beside its Python. The folder's
// name has its typing error ("embeded") since the first build.
func (m Machine) portable(dir string) (Install, bool) {
	env, tree := m.Join(dir, "python_embeded"), m.Join(dir, "ComfyUI")
	if !m.IsDir(env) || !m.isTree(tree) {
		return Install{}, false
	}
	return Install{Kind: Portable, Dir: dir, Tree: tree, Base: tree, Env: env, Python: m.Join(env, "python.exe"), On: m}, true
}

// standalone is an installation of Comfy Desktop 2: ComfyUI beside standalone-env
// and .launcher.
func (m Machine) standalone(dir string) (Install, bool) {
	tree := m.Join(dir, "ComfyUI")
	if !m.isTree(tree) || !m.IsDir(m.Join(dir, ".launcher")) && !m.IsDir(m.Join(dir, "standalone-env")) {
		return Install{}, false
	}
	in := Install{Kind: Desktop2, Dir: dir, Tree: tree, Base: tree, On: m}
	for _, env := range []string{m.Join(dir, "ComfyUI", ".venv"), m.Join(dir, "envs", "default"), m.Join(dir, "standalone-env")} {
		if python := m.interpreter(env); python != "" {
			in.Env, in.Python = env, python
			break
		}
	}
	return in, true
}

// userData is a folder of a ComfyUI whose code lies elsewhere: what Desktop was told to
// work in, or a --base-directory.
func (m Machine) userData(dir string) (Install, bool) {
	if !m.IsDir(m.Join(dir, "user")) || !m.IsDir(m.Join(dir, "models")) || !m.IsDir(m.Join(dir, "custom_nodes")) {
		return Install{}, false
	}
	in := Install{Kind: Archive, Dir: dir, Base: dir, On: m}
	if m.desktopBase(m.appData("ComfyUI")) == dir {
		in.Kind, in.Args = Desktop, m.desktopArgs(dir)
	}
	if python := m.interpreter(m.Join(dir, ".venv")); python != "" {
		in.Env, in.Python = m.Join(dir, ".venv"), python
	}
	return in, true
}

// interpreter is the Python of an environment, "" where there is none.
func (m Machine) interpreter(env string) string {
	if env == "" {
		return ""
	}
	for _, name := range []string{"Scripts/python.exe", "python.exe", "bin/python", "bin/python3"} {
		if p := m.Join(env, name); m.IsFile(p) {
			return p
		}
	}
	return ""
}

// Packages are the folders in which the environment's packages lie.
func (in Install) Packages() []string {
	if in.Env == "" {
		return nil
	}
	var sites []string
	if site := in.On.Join(in.Env, "Lib", "site-packages"); in.On.IsDir(site) {
		sites = append(sites, site)
	}
	for _, e := range in.On.List(in.On.Join(in.Env, "lib")) {
		if site := in.On.Join(in.Env, "lib", e.Name(), "site-packages"); strings.HasPrefix(e.Name(), "python3") && in.On.IsDir(site) {
			sites = append(sites, site)
		}
	}
	return sites
}
