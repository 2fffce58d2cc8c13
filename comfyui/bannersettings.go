package comfyui

import (
	"memtrix"
)

// Settings are those that a banner shows to be in force. What it is silent about is
// not in them.
func (b Banner) Settings() memtrix.Settings {
	s := memtrix.Settings{}
	if b.VRAMState == "" {
		return s // no banner
	}
	if b.VRAMState == "DISABLED" || b.Device == "cpu" {
		s["device"] = "cpu"
	}
	if mode := map[string]string{"LOW_VRAM": "low", "NO_VRAM": "no", "HIGH_VRAM": "high"}[b.VRAMState]; mode != "" {
		s["vram-mode"] = mode
	}
	if b.DynamicVRAM {
		s["dynamic-vram"] = "on"
	}
	if b.PinnedMiB > 0 {
		s["pinned-memory"] = "on"
	}
	if b.AsyncStreams > 0 {
		s["async-offload"] = "on"
	}
	if b.SmartOff {
		s["smart-memory"] = "off"
	}
	if b.Cache == "none" || b.Cache == "ram" {
		s["cache"] = b.Cache
	}
	switch b.Allocator {
	case "cudaMallocAsync":
		s["cuda-malloc"] = "on"
	case "native":
		s["cuda-malloc"] = "off"
	}
	return s
}

// FlagsOf gives the launch flags that a single setting is on a version (see
// Target.Argv), beside what else is in force: device=cpu rules out what needs a
// card. The second result is false where the version cannot do it.
func FlagsOf(v memtrix.Version, inForce memtrix.Settings) func(setting, value string) ([]string, bool) {
	return func(setting, value string) ([]string, bool) {
		s := memtrix.Settings{setting: value}
		if d := inForce["device"]; d != "" && setting != "device" {
			s["device"] = d
		}
		argv, reason := (*Target)(nil).Argv(memtrix.Cell{Version: v, Settings: s})
		if reason != "" {
			return nil, false
		}
		if s["device"] == "cpu" && setting != "device" && len(argv) > 0 && argv[0] == "--cpu" {
			argv = argv[1:]
		}
		return argv, true
	}
}
