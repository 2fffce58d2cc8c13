package installs

import (
	"slices"
	"strings"
)

// Find looks for installations where guides, installers and launchers put them:
// the current folder and those above it first, then launchers, then usual folders.
// Each is given once.
func (m Machine) Find() []Install {
	var all []Install
	all = append(all, m.aroundCwd()...)
	all = append(all, m.desktop()...)
	all = append(all, m.desktop2()...)
	all = append(all, m.comfyCLI()...)
	all = append(all, m.stabilityMatrix()...)
	all = append(all, m.pinokio()...)
	all = append(all, m.usual()...)
	return m.distinct(all)
}

// found recognises a folder, with the word where it was found.
func (m Machine) found(dir, why string) []Install {
	in, ok := m.exactly(dir)
	if !ok {
		return nil
	}
	in.Why = why
	return []Install{in}
}

func (m Machine) aroundCwd() []Install {
	if m.Cwd == "" {
		return nil
	}
	var all []Install
	for dir, why := m.Cwd, "the current folder"; ; dir, why = m.Parent(dir), "above the current folder" {
		all = append(all, m.found(dir, why)...)
		if dir == m.Parent(dir) {
			break
		}
	}
	// Archives unpack to ComfyUI-0.29.0, the portable build to its own name, with or
	// without that of the card.
	for _, e := range m.List(m.Cwd) {
		if strings.HasPrefix(strings.ToLower(e.Name()), "comfyui") {
			all = append(all, m.found(m.Join(m.Cwd, e.Name()), "in the current folder")...)
		}
	}
	return all
}

// usual are the folders that guides name.
func (m Machine) usual() []Install {
	var all []Install
	if m.Home != "" {
		for _, sub := range []string{"", "ComfyUI", "comfy/ComfyUI", "ComfyUI_windows_portable", "Desktop", "Desktop/ComfyUI_windows_portable", "Downloads", "Downloads/ComfyUI_windows_portable",
			"Documents", "Documents/ComfyUI", "Documents/comfy/ComfyUI", "Documents/ComfyUI_windows_portable", "Programs/ComfyUI"} {
			all = append(all, m.found(m.Join(m.Home, sub), "in the home folder")...)
		}
	}
	if m.Windows() {
		return append(all, m.onDrives()...)
	}
	// Where images for rented machines have it.
	for _, parent := range []string{"opt", "workspace", "app", "data", "content"} {
		all = append(all, m.found(m.Join("/", parent, "ComfyUI"), "in /"+parent)...)
	}
	return all
}

// onDrives looks at the top of each drive and one folder deeper: the portable build
// is unpacked where there is space.
func (m Machine) onDrives() []Install {
	var all []Install
	for _, letter := range m.Drives {
		top := letter + `:\`
		for _, e := range m.List(top) {
			if strings.HasPrefix(e.Name(), "$") || strings.EqualFold(e.Name(), "Windows") {
				continue
			}
			dir := m.Join(top, e.Name())
			all = append(all, m.found(dir, "on drive "+letter)...)
			all = append(all, m.found(m.Join(dir, "ComfyUI_windows_portable"), "on drive "+letter)...)
		}
	}
	return all
}

// distinct keeps the first of those that are the same folder. What a launcher knows
// of a folder is worth more than the folder alone.
func (m Machine) distinct(all []Install) []Install {
	key := func(in Install) string {
		dir := in.Base
		if dir == "" {
			dir = in.Tree
		}
		dir = m.name(dir)
		if m.Windows() {
			dir = strings.ToLower(dir)
		}
		return dir
	}
	launched := func(in Install) bool { return in.Config != "" || in.Name != "" }
	var kept []Install
	for _, in := range all {
		i := slices.IndexFunc(kept, func(k Install) bool { return key(k) == key(in) })
		switch {
		case i < 0:
			kept = append(kept, in)
		case launched(in) && !launched(kept[i]):
			in.Why = kept[i].Why
			kept[i] = in
		}
	}
	return kept
}
