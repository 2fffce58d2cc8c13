// Package why answers a person whose ComfyUI died: which of its starts it was, what
// ran out, what to change and where it is written, what changed since it last
// worked, and how one goes back. It puts together what packages installs, past and
// diagnosis know; Decide is pure.
//
// It only reads files. It does not guess which change did it: it says what is
// different, and memtrix bisect finds out.
package why
