package matrix

import (
	"path/filepath"

	"memtrix"
)

// FirstLookSettings is what a first look flips, one at a time, where a person
// names no settings: the launch settings that move memory most (measured on a
// card with 8 GiB free: up to 12 GB of RAM and 5 GB of VRAM between them). On
// device "cpu" those have no effect, so others are flipped.
func FirstLookSettings(device string) SettingsEntry {
	if device == "cpu" {
		return SettingsEntry{
			Base: memtrix.Settings{"device": "cpu"},
			Mode: OneFlip,
			Axes: []Axis{
				{"cache", []string{"none", "classic"}},
				{"smart-memory", []string{"off"}},
				{"mmap", []string{"off"}},
				{"unet-dtype", []string{"bf16"}},
				{"vae-dtype", []string{"bf16"}},
				{"attention", []string{"split"}},
			},
		}
	}
	return SettingsEntry{
		Mode: OneFlip,
		Axes: []Axis{
			{"dynamic-vram", []string{"off"}},
			{"vram-mode", []string{"low", "no", "high"}},
			{"pinned-memory", []string{"off"}},
			{"async-offload", []string{"off"}},
			{"smart-memory", []string{"off"}},
			{"cache", []string{"none"}},
			{"reserve-vram", []string{"2"}},
		},
	}
}

// FirstLook is the spec of `memtrix run --comfyui DIR --workflow FILE`: one
// version, one workflow, FirstLookSettings of the device ("gpu" or "cpu").
// workflow is a file or the name of a built-in one; python may be "".
func FirstLook(comfyuiDir, python, workflow, device string) *Spec {
	s := NewSpec()
	s.Name = "first-look"
	s.Versions = []VersionEntry{{Path: filepath.Clean(comfyuiDir), Python: python}}
	entry := WorkflowEntry{BuiltIn: workflow, Name: workflow}
	if looksLikeFile(workflow) {
		entry = WorkflowEntry{File: filepath.Clean(workflow), Name: fileName(workflow)}
	}
	s.Workflows = []WorkflowEntry{entry}
	s.Settings = FirstLookSettings(device)
	return s
}
