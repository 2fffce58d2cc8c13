package lab

import (
	"maps"
	"slices"

	"memtrix"
)

// CheckKind says what a check of a diagnosis changes.
type CheckKind string

const (
	CheckAsGiven  CheckKind = "as-given"     // nothing
	CheckNodes    CheckKind = "custom-nodes" // none is loaded but those that it needs
	CheckOwnAll   CheckKind = "own-settings" // all settings that were asked for are left out
	CheckOwn      CheckKind = "own-setting"  // one of them is
	CheckSetting  CheckKind = "setting"      // something that the version does by itself is switched off, or on
	CheckPackages CheckKind = "packages"     // packages are those that the release before required
	CheckLess     CheckKind = "less"         // it needs less: a way out, and no cause
	CheckInside   CheckKind = "inside"       // nothing but that a probe looks on
)

// Check is one thing that a diagnosis may change, beside what was given.
type Check struct {
	ID   string    `json:"id"`
	Kind CheckKind `json:"kind"`
	// Words say it for people: "with cache=none".
	Words   string `json:"words"`
	Setting string `json:"setting,omitempty"`
	Value   string `json:"value,omitempty"`
}

var asGiven = Check{ID: string(CheckAsGiven), Kind: CheckAsGiven, Words: "as given"}

// Offers are what can be changed of what was given, beside settings of the version.
type Offers struct {
	// Own are the settings that were asked for, but the device.
	Own memtrix.Settings
	// Nodes says that custom nodes are loaded.
	Nodes bool
	// Packages is set where earlier packages may be had.
	Packages bool
	// CPU: models run there, so that what is for a card is not tried.
	CPU bool
	// Dynamic: dynamic VRAM is in force as given, which the first trial shows.
	Dynamic bool
}

// flip is a setting with the value that is tried.
type flip struct{ setting, value string }

// The order in which settings are tried, by the memory that ran out: what has most to do
// with it first. It follows what maintainers ask for in reports (dynamic VRAM, pinned
// memory, asynchronous offload, cache; docs.comfy.org/troubleshooting/overview).
var (
	flipsVRAM = []flip{
		{"dynamic-vram", ""}, {"smart-memory", "off"}, {"async-offload", "off"}, {"pinned-memory", "off"}, {"cuda-malloc", "off"}, {"cache", "none"},
	}
	flipsRAM = []flip{
		{"cache", "none"}, {"cache", "classic"}, {"pinned-memory", "off"}, {"dynamic-vram", ""}, {"smart-memory", "off"}, {"mmap", "off"}, {"async-offload", "off"},
	}
	flipsElse = []flip{
		{"dynamic-vram", ""}, {"async-offload", "off"}, {"pinned-memory", "off"}, {"cuda-malloc", "off"}, {"smart-memory", "off"}, {"cache", "none"},
	}
	// What needs less, tried when nothing that is switched off helps.
	lessVRAM = []flip{{"vram-mode", "no"}, {"unet-dtype", "fp8_e4m3fn"}}
	lessVAE  = []flip{{"vae-dtype", "bf16"}, {"cpu-vae", "on"}}
	lessRAM  = []flip{{"unet-dtype", "bf16"}, {"vae-dtype", "bf16"}, {"text-encoder-dtype", "fp8_e4m3fn"}}
	// What keeps things from one prompt to the next.
	keepers = []string{"cache", "smart-memory"}
)

// checks are those that are of use against a failure, in order. prompt is the one that
// failed, 1 for the first.
func (f Offers) checks(o memtrix.Outcome, prompt int) []Check {
	var list []Check
	if f.Nodes {
		list = append(list, Check{ID: string(CheckNodes), Kind: CheckNodes, Words: "without custom nodes that it can do without"})
	}
	own := slices.Sorted(maps.Keys(f.Own))
	if len(own) > 1 {
		list = append(list, Check{ID: string(CheckOwnAll), Kind: CheckOwnAll, Words: "without any of the given settings"})
	}
	for _, name := range own {
		list = append(list, Check{ID: "without " + name, Kind: CheckOwn, Words: "without " + name + "=" + f.Own[name], Setting: name})
	}
	flips, less := flipsFor(o)
	if prompt > 1 {
		slices.SortStableFunc(flips, func(a, b flip) int { return rankKeeper(a) - rankKeeper(b) })
	}
	list = append(list, f.settings(CheckSetting, flips)...)
	if f.Packages {
		list = append(list, Check{ID: string(CheckPackages), Kind: CheckPackages, Words: "with the packages of the release before"})
	}
	return append(list, f.settings(CheckLess, less)...)
}

func flipsFor(o memtrix.Outcome) (flips, less []flip) {
	switch o.Memory {
	case memtrix.MemoryVRAM, memtrix.MemoryGPUAddressSpace, memtrix.MemorySharedGPU, memtrix.MemoryUnified:
		flips, less = flipsVRAM, lessVRAM
		if o.Phase == memtrix.PhaseVAE {
			less = lessVAE
		}
	case memtrix.MemoryRAM, memtrix.MemoryPinned, memtrix.MemoryCommit:
		flips, less = flipsRAM, lessRAM
		if o.Phase == memtrix.PhaseVAE {
			less = append(slices.Clone(lessVAE[:1]), lessRAM...)
		}
	default:
		flips = flipsElse
	}
	return slices.Clone(flips), slices.Clone(less)
}

func rankKeeper(x flip) int {
	if slices.Contains(keepers, x.setting) {
		return 0
	}
	return 1
}

// settings are the flips that mean something beside what was given.
func (f Offers) settings(kind CheckKind, flips []flip) []Check {
	var list []Check
	for _, x := range flips {
		if x.setting == "dynamic-vram" {
			x.value = "on"
			if f.Dynamic {
				x.value = "off"
			}
		}
		if _, given := f.Own[x.setting]; given {
			continue // leaving it out is another check
		}
		if f.CPU && slices.Contains(cardSettings, x.setting) {
			continue
		}
		id := x.setting + "=" + x.value
		list = append(list, Check{ID: id, Kind: kind, Words: "with " + id, Setting: x.setting, Value: x.value})
	}
	return list
}

// cardSettings mean nothing where models run on the CPU.
var cardSettings = []string{"dynamic-vram", "async-offload", "pinned-memory", "cuda-malloc", "vram-mode", "cpu-vae"}
