// Package packs finds custom node packs, tells exactly what each of them is, and
// which of them a workflow needs.
//
// A pack is what ComfyUI imports from a custom_nodes folder: a folder, or a single
// Python file. It lies in an installation (List) or in a git repository at a commit
// (FromGit), which is kept in the same cache as ComfyUI's own sources. Which node
// types it has is read from its source with Python's ast (Scan): nothing of a pack
// is ever imported, run or written here. Which packs a workflow needs is decided by
// Choose, a pure function of what was read.
//
// The package never installs anything (package pyenv does, with the requirements
// that are read here), does not run a pack's install.py, and fetches nothing but
// what a person named. It refuses to guess: where the node types of a pack are made
// by code, it says so.
package packs
