package comfyui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"memtrix"
)

// NotInForce says which settings the server's own words deny, one reason each.
// Settings that the banner is silent about (reserve-vram, mmap and others) are
// taken to be in force; so is everything where there is no banner at all (its
// lines are of level INFO). stats may be empty: they only stand in for the line
// that names the device. release is the version's, "" where it has none.
func NotInForce(s memtrix.Settings, release string, b Banner, stats Stats) []string {
	if b.Device == "" && len(stats.Devices) > 0 {
		b.Device, b.Allocator = splitDevice(stats.Devices[0].Name)
	}
	c := checker{release: parseRelease(release), settings: s, Banner: b}
	var reasons []string
	for _, def := range memtrix.SettingDefs {
		check, value := checks[def.Name], s[def.Name]
		if check == nil || value == "" {
			continue
		}
		if reason := check(c, value); reason != "" {
			reasons = append(reasons, fmt.Sprintf("%s=%s is not in force: %s", def.Name, value, reason))
		}
	}
	return reasons
}

type checker struct {
	release  release
	settings memtrix.Settings
	Banner
}

// prints reports whether the version prints a line that came with a release, and
// printed its banner at all.
func (c checker) prints(a, b, d int) bool {
	return c.VRAMState != "" && (!c.release.known || c.release.atLeast(a, b, d))
}

// checks give the reason why a value is not in force, "" where it is or where
// that cannot be told.
var checks = map[string]func(c checker, value string) string{
	"device":             checker.checkDevice,
	"dynamic-vram":       checker.checkDynamic,
	"vram-mode":          checker.checkMode,
	"pinned-memory":      checker.checkPinned,
	"async-offload":      checker.checkAsync,
	"smart-memory":       checker.checkSmart,
	"cache":              checker.checkCache,
	"cache-lru":          func(c checker, _ string) string { return c.cacheIs("lru") },
	"cache-ram":          checker.checkCacheRAM,
	"cuda-malloc":        checker.checkAllocator,
	"attention":          checker.checkAttention,
	"cpu-vae":            checker.checkVAEDevice,
	"unet-dtype":         func(c checker, v string) string { return dtypeIs(v, c.UnetDtypes) },
	"vae-dtype":          func(c checker, v string) string { return dtypeIs(v, c.VAEDtypes) },
	"text-encoder-dtype": func(c checker, v string) string { return dtypeIs(v, c.TextDtypes) },
	"force-fp":           checker.checkForce,
	"deterministic": func(c checker, v string) string {
		return c.line(v, c.Deterministic, "Using deterministic algorithms for pytorch")
	},
	"fp16-accumulation": func(c checker, v string) string {
		if !c.prints(0, 3, 19) {
			return ""
		}
		return c.line(v, c.FP16Accum, "Enabled fp16 accumulation.")
	},
}

// line checks a line that is printed if and only if the setting is on.
func (c checker) line(value string, printed bool, text string) string {
	switch {
	case c.VRAMState == "" || printed == (value == "on"):
		return ""
	case printed:
		return fmt.Sprintf("the server says %q", text)
	}
	return fmt.Sprintf("the server does not say %q", text)
}

func (c checker) onCPU() bool {
	return c.VRAMState == "DISABLED" || c.Device == "cpu" || strings.HasPrefix(c.Device, "cpu ")
}

func (c checker) checkDevice(value string) string {
	known := c.Device != "" || c.VRAMState != ""
	if !known || c.onCPU() == (value == "cpu") {
		return ""
	}
	return fmt.Sprintf("the server runs on %q", c.Device)
}

func (c checker) checkDynamic(value string) string {
	if !c.prints(0, 12, 0) {
		return ""
	}
	if value == "on" && !c.DynamicVRAM && c.Denied != "" {
		return fmt.Sprintf("the server says %q", c.Denied)
	}
	return c.line(value, c.DynamicVRAM, "DynamicVRAM support detected and enabled")
}

func (c checker) checkMode(value string) string {
	want := map[string]string{"low": "LOW_VRAM", "no": "NO_VRAM", "high": "HIGH_VRAM", "gpu-only": "HIGH_VRAM", "normal": "NORMAL_VRAM"}[value]
	// The CPU and cards that share the RAM have states of their own.
	if c.VRAMState == "" || c.VRAMState == want || value == "normal" && (c.VRAMState == "DISABLED" || c.VRAMState == "SHARED") {
		return ""
	}
	return fmt.Sprintf("the server says %q", "Set vram state to: "+c.VRAMState)
}

func (c checker) checkPinned(value string) string {
	if !c.prints(0, 3, 69) {
		return ""
	}
	return c.line(value, c.PinnedMiB > 0, "Enabled pinned memory")
}

func (c checker) checkAsync(value string) string {
	if !c.prints(0, 3, 31) {
		return ""
	}
	want := 0
	switch value {
	case "off":
	case "on":
		if c.AsyncStreams > 0 {
			return ""
		}
		want = 2
	default:
		want, _ = strconv.Atoi(value) // Argv refused what is no number
	}
	if c.AsyncStreams == want {
		return ""
	}
	if c.AsyncStreams == 0 {
		return `the server does not say "Using async weight offloading"`
	}
	return fmt.Sprintf("the server says %q", fmt.Sprintf("Using async weight offloading with %d streams", c.AsyncStreams))
}

func (c checker) checkSmart(value string) string {
	off := map[string]string{"on": "off", "off": "on"}[value]
	return c.line(off, c.SmartOff, "Disabling smart memory management")
}

func (c checker) checkCache(value string) string {
	switch value {
	case "ram", "none":
		return c.cacheIs(value)
	}
	return c.cacheIs("") // classic says nothing; high-ram uses it
}

func (c checker) checkCacheRAM(value string) string {
	switch {
	case value != "off":
		return c.cacheIs("ram")
	case c.Cache == "ram":
		return `the server says "Using RAM pressure cache."`
	}
	return ""
}

func (c checker) cacheIs(want string) string {
	if !c.prints(0, 3, 28) || c.Cache == want {
		return ""
	}
	text := map[string]string{"ram": "Using RAM pressure cache.", "lru": "Using LRU cache", "none": "Disabling intermediate node cache."}
	if c.Cache == "" {
		return fmt.Sprintf("the server does not say %q", text[want])
	}
	return fmt.Sprintf("the server says %q", text[c.Cache])
}

func (c checker) checkAllocator(value string) string {
	want := map[string]string{"on": "cudaMallocAsync", "off": "native"}[value]
	if c.Allocator == "" || c.Allocator == want || c.onCPU() {
		return ""
	}
	return fmt.Sprintf("the server says %q", "Device: "+c.Device+" : "+c.Allocator)
}

func (c checker) checkAttention(value string) string {
	if c.Attention == "" || c.Attention == value {
		return ""
	}
	return fmt.Sprintf("the server uses %s attention", c.Attention)
}

func (c checker) checkVAEDevice(value string) string {
	for _, d := range c.VAEDevices {
		if value == "on" && d != "cpu" || value == "off" && d == "cpu" && !c.onCPU() {
			return fmt.Sprintf("a VAE was loaded on %s", d)
		}
	}
	return ""
}

func (c checker) checkForce(value string) string {
	if value == "fp32" {
		return c.line("on", c.ForceFP32, "Forcing FP32")
	}
	// Since 0.3.15 it sets the dtype of diffusion models, too.
	if c.settings["unet-dtype"] == "" && c.prints(0, 3, 15) {
		return dtypeIs("fp16", c.UnetDtypes)
	}
	return ""
}

// torchDtypes are the words of flags in torch's words.
var torchDtypes = map[string]string{
	"fp64": "float64", "fp32": "float32", "fp16": "float16", "bf16": "bfloat16",
	"fp8_e4m3fn": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2", "fp8_e8m0fnu": "float8_e8m0fnu",
}

// dtypeIs checks the models that have been loaded so far.
func dtypeIs(want string, loaded []string) string {
	i := slices.IndexFunc(loaded, func(d string) bool { return d != torchDtypes[want] })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("a model was loaded as %s", loaded[i])
}
