package comfyui

import "fmt"

// Which behaviour a version has by itself is told by the flags that switch it
// off, and by the release where those flags are gone.

func (t *translator) dynamicByDefault() bool {
	return t.known["--disable-dynamic-vram"] || t.known["--enable-dynamic-vram"] || t.release.atLeast(0, 16, 0)
}

func (t *translator) pinnedByDefault() bool {
	return t.known["--disable-pinned-memory"] || t.release.atLeast(0, 3, 69)
}

func (t *translator) asyncByDefault() bool {
	return t.known["--disable-async-offload"] || t.release.atLeast(0, 3, 76)
}

// ramCacheByDefault: 0.23.0 made the cache under RAM pressure the default and gave
// its flag up to two values instead of an optional one.
func (t *translator) ramCacheByDefault() bool {
	return t.known["--fast-disk"] || t.release.atLeast(0, 23, 0)
}

func dynamicVRAM(t *translator, value string) ([]string, string) {
	if value == "off" {
		if t.dynamicByDefault() {
			return t.flag("--disable-dynamic-vram")
		}
		return nil, ""
	}
	switch {
	case t.cpu():
		return nil, needsGPU("dynamic-vram", value)
	case t.dynamicByDefault():
		return t.dynamicDespiteMode()
	case t.hasFeature("dynamic_vram"):
		if mode := t.settings["vram-mode"]; mode == "high" || mode == "gpu-only" {
			return nil, fmt.Sprintf("vram-mode=%s turns dynamic VRAM off in %s, and it cannot be forced", mode, t.name())
		}
		return t.feature("dynamic_vram")
	}
	return nil, t.lacks("dynamic VRAM", "0.12.0 and is the default since 0.16.0")
}

// dynamicDespiteMode forces dynamic VRAM where a vram-mode would turn it off.
func (t *translator) dynamicDespiteMode() ([]string, string) {
	switch mode := t.settings["vram-mode"]; mode {
	case "high", "gpu-only", "no":
		if t.known["--enable-dynamic-vram"] {
			return []string{"--enable-dynamic-vram"}, ""
		}
		return nil, fmt.Sprintf("vram-mode=%s turns dynamic VRAM off in %s, and it cannot be forced", mode, t.name())
	}
	return nil, ""
}

func vramMode(t *translator, value string) ([]string, string) {
	if value == "normal" {
		return nil, ""
	}
	if t.cpu() {
		// The launcher refuses two flags of this group.
		return nil, needsGPU("vram-mode", value)
	}
	return t.flag(map[string]string{"low": "--lowvram", "no": "--novram", "high": "--highvram", "gpu-only": "--gpu-only"}[value])
}

func pinnedMemory(t *translator, value string) ([]string, string) {
	if value == "off" {
		if t.pinnedByDefault() {
			return t.flag("--disable-pinned-memory")
		}
		return nil, ""
	}
	switch {
	case t.cpu():
		return nil, needsGPU("pinned-memory", value)
	case t.pinnedByDefault():
		return nil, ""
	case t.hasFeature("pinned_memory"):
		return t.feature("pinned_memory")
	}
	return nil, t.lacks("pinned memory", "0.3.68")
}

func asyncOffload(t *translator, value string) ([]string, string) {
	if value == "off" || value == "0" {
		if t.asyncByDefault() {
			return t.flag("--disable-async-offload")
		}
		return nil, ""
	}
	if t.cpu() {
		return nil, needsGPU("async-offload", value)
	}
	if value == "on" {
		if t.asyncByDefault() {
			return nil, ""
		}
		return t.oldAsyncOffload()
	}
	n, reason := wholeNumber("async-offload", value)
	switch {
	case reason != "":
		return nil, reason
	case t.asyncByDefault():
		return t.flag(fmt.Sprintf("--async-offload=%d", n))
	case n == 2: // the only number that the switch of old has
		return t.oldAsyncOffload()
	case t.known["--async-offload"]:
		return nil, fmt.Sprintf("%s always uses 2 streams (their number can be chosen since 0.3.76)", t.name())
	}
	return t.oldAsyncOffload()
}

func (t *translator) oldAsyncOffload() ([]string, string) {
	if !t.known["--async-offload"] {
		return nil, t.lacks("asynchronous offloading", "0.3.31")
	}
	return []string{"--async-offload"}, ""
}

func nodeCache(t *translator, value string) ([]string, string) {
	switch value {
	case "classic":
		return t.flag("--cache-classic")
	case "none":
		return t.flag("--cache-none")
	case "high-ram":
		return t.flag("--high-ram")
	}
	if _, sized := t.settings["cache-ram"]; sized || t.ramCacheByDefault() {
		return nil, ""
	}
	return t.flag("--cache-ram")
}

func cacheLRU(t *translator, value string) ([]string, string) {
	n, reason := wholeNumber("cache-lru", value)
	if reason == "" && n < 1 {
		reason = "cache-lru=0 means no such cache to ComfyUI; use cache=none or cache=classic"
	}
	if reason != "" {
		return nil, reason
	}
	return t.flag("--cache-lru", value)
}

func cacheRAM(t *translator, value string) ([]string, string) {
	if value == "off" {
		_, listed := t.settings["cache-lru"]
		if t.settings["cache"] != "" || listed || !t.ramCacheByDefault() {
			return nil, ""
		}
		return t.flag("--cache-classic")
	}
	if isZero(value) && !t.ramCacheByDefault() {
		return nil, fmt.Sprintf("cache-ram=0 turns that cache off in %s; use cache=classic", t.name())
	}
	// With "=" the flag cannot swallow a word that follows.
	return t.flag("--cache-ram=" + value)
}

func reserveVRAM(t *translator, value string) ([]string, string) {
	if t.cpu() {
		return nil, needsGPU("reserve-vram", value)
	}
	return t.flag("--reserve-vram", value)
}

func vramHeadroom(t *translator, value string) ([]string, string) {
	if isZero(value) {
		return nil, ""
	}
	if t.cpu() {
		return nil, needsGPU("vram-headroom", value)
	}
	return t.flag("--vram-headroom", value)
}

func fastDisk(t *translator, value string) ([]string, string) {
	if value == "off" {
		if t.known["--disable-fast-disk"] {
			return []string{"--disable-fast-disk"}, ""
		}
		return nil, ""
	}
	if t.cpu() {
		return nil, needsGPU("fast-disk", value)
	}
	return t.flag("--fast-disk")
}

func isZero(value string) bool {
	for _, c := range value {
		if c != '0' && c != '.' {
			return false
		}
	}
	return value != ""
}
