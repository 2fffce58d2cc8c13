package memtrix

import "errors"

// TargetKind says which implementation of Target runs a version.
type TargetKind string

const (
	TargetComfyUI TargetKind = "comfyui" // a ComfyUI tree started by us
	TargetSim     TargetKind = "sim"     // internal/comfysim: nothing it makes is a measurement
	// TargetAttached is a ComfyUI that runs already. It belongs to its user.
	TargetAttached TargetKind = "attached"
)

// Version is what a cell runs: a ComfyUI commit, its packages and its custom
// nodes. Packages and nodes leak and regress too, so they are part of it.
type Version struct {
	// Name is what the spec calls it and what tables show, e.g. "0.29.0".
	Name string `json:"name"`
	// Target says who runs it.
	Target TargetKind `json:"target"`
	// Dir is the tree that holds main.py; empty for a simulated version.
	Dir string `json:"dir,omitempty"`
	// Python is the interpreter that starts it.
	Python string `json:"python,omitempty"`
	// Release is what the tree itself says (comfyui_version.py), e.g. "0.29.0".
	Release string `json:"release,omitempty"`
	// Commit is the git commit of the tree, or "tree:HASH" (a hash of its
	// Python files) where there is no git.
	Commit string `json:"commit,omitempty"`
	// Dirty lists tracked files that differ from the commit.
	Dirty []string `json:"dirty,omitempty"`
	// Packages are the installed Python packages, name (lower case) to version.
	Packages map[string]string `json:"packages,omitempty"`
	// PackageHashes are hashes of the installed files of the packages that decide
	// what memory is taken (torch, comfy-aimdo, nvidia-* ...), by name: two
	// builds of one package version differ in them. A trial keeps them in its
	// Environment.
	PackageHashes map[string]string `json:"-"`
	// Packs are the custom node packs that are loaded, by name; all others are off.
	Packs []Pack `json:"packs,omitempty"`
	// OtherPacks are packs (name and place) that its server would see besides, in
	// folders that it reads by itself.
	OtherPacks []Pack `json:"-"`
	// Trouble is why the version cannot run here, in words for a person (packages
	// that do not fit together, a source that cannot be reached); mostly "".
	Trouble string `json:"-"`
	// Flags are the launch flags that the version knows, "--lowvram" and so on,
	// in no order, and of a flag that takes names from a list each of them
	// ("--fast=autotune"). Nil when they could not be read.
	Flags map[string]bool `json:"-"`
	// Attached is the server of an attached version, nil for all others.
	Attached *Attached `json:"attached,omitempty"`
}

// ErrUnavailable is wrapped by errors about a version that cannot be had on this
// machine now, while others may: its name may be right.
var ErrUnavailable = errors.New("this version cannot be had here")

// unavailable stands for the packages of a version in trouble, so that two of them
// are not taken for one.
const unavailable = "(could not be had)"

// Unavailable makes a version of what is known of one that cannot be had.
func (v Version) Unavailable(label string, err error) Version {
	v.Trouble = err.Error()
	if v.Packages == nil {
		v.Packages = map[string]string{unavailable: label}
	}
	return v
}

// Hardware is the size of machine a cell sees.
type Hardware struct {
	// Name as in the spec. "as-is" is the machine as it stands.
	Name string `json:"name"`
	// VRAM, RAM and Swap are bytes that a trial may use; 0 and nil leave the
	// machine as it is. On a real card VRAM is what is left free: its total stays.
	// For a simulated version VRAM is the size of its card.
	VRAM int64  `json:"vram,omitempty"`
	RAM  int64  `json:"ram,omitempty"`
	Swap *int64 `json:"swap,omitempty"`
}
