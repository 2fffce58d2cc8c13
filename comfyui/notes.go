package comfyui

import (
	"fmt"
	"strings"

	"memtrix"
)

// NoEffect begins the notes about settings that a version accepts and ignores.
const NoEffect = "no-effect-expected: "

// Notes says what a person should know about a cell before it runs: settings that
// its version takes without a word and ignores, given the others (these notes
// begin with NoEffect), and settings that the packages that are installed will
// not let come into force. A cell that cannot run has none.
func (*Target) Notes(c memtrix.Cell) []string {
	if _, reason := (*Target)(nil).Argv(c); reason != "" {
		return nil
	}
	t := newTranslator(c.Version, c.Settings)
	var notes []string
	for _, rule := range []func(*translator) string{
		noteLowVRAM, noteDynamicOnly, noteReserve, noteAllocator, noteUnetDtype, notePackages, noteTorch, noteCPU,
	} {
		if note := rule(t); note != "" {
			notes = append(notes, note)
		}
	}
	return notes
}

// since is atLeast, but takes a version without a release for today's.
func (t *translator) since(a, b, c int) bool {
	return !t.release.known || t.release.atLeast(a, b, c)
}

// dynamicExpected reports whether dynamic VRAM should be in force: on an NVIDIA
// card, under Linux or Windows.
func (t *translator) dynamicExpected() bool {
	asked := t.settings["dynamic-vram"]
	if t.cpu() || asked == "off" || t.lacksPackage("comfy-aimdo") {
		return false
	}
	if asked == "on" {
		return true // Argv refuses what turns it off
	}
	switch t.settings["vram-mode"] {
	case "high", "gpu-only", "no":
		return false
	}
	return t.dynamicByDefault()
}

// lacksPackage is false where the packages are not known.
func (t *translator) lacksPackage(name string) bool {
	return t.version.Packages != nil && !t.installed(name)
}

// noteLowVRAM: since 0.16.4 the text encoder, the last thing that --lowvram still
// moved, goes to the GPU under dynamic VRAM.
func noteLowVRAM(t *translator) string {
	if t.settings["vram-mode"] == "low" && t.dynamicExpected() && t.since(0, 16, 4) {
		return NoEffect + "--lowvram does nothing under dynamic VRAM"
	}
	return ""
}

func noteDynamicOnly(t *translator) string {
	if t.dynamicExpected() {
		return ""
	}
	var words []string
	if v, ok := t.settings["vram-headroom"]; ok && !isZero(v) {
		words = append(words, "--vram-headroom")
	}
	if t.settings["fast-disk"] == "on" {
		words = append(words, "--fast-disk")
	}
	if len(words) == 0 {
		return ""
	}
	return NoEffect + strings.Join(words, " and ") + " without dynamic VRAM"
}

func noteReserve(t *translator) string {
	if _, ok := t.settings["reserve-vram"]; ok && t.dynamicExpected() && !t.since(0, 25, 0) {
		return NoEffect + "--reserve-vram counts under dynamic VRAM only since 0.25.0"
	}
	return ""
}

// noteAllocator: cuda_malloc.py looks for "+cu" in torch's version. Where the
// package's version has no such part, torch's own may have one.
func noteAllocator(t *translator) string {
	_, build, found := strings.Cut(t.version.Packages["torch"], "+")
	if t.settings["cuda-malloc"] == "on" && found && !strings.HasPrefix(build, "cu") {
		return NoEffect + fmt.Sprintf("--cuda-malloc with torch %s", t.version.Packages["torch"])
	}
	return ""
}

// noteUnetDtype: --force-fp16 sets --fp16-unet, too, which is looked at before the
// flags of fp8.
func noteUnetDtype(t *translator) string {
	if dtype := t.settings["unet-dtype"]; t.settings["force-fp"] == "fp16" && strings.HasPrefix(dtype, "fp8") && t.since(0, 3, 15) {
		return NoEffect + fmt.Sprintf("--%s-unet beside --force-fp16", dtype)
	}
	return ""
}

func notePackages(t *translator) string {
	if t.settings["cublas-ops"] == "on" && t.lacksPackage("cublas-ops") {
		return NoEffect + "--fast cublas_ops without the package cublas_ops"
	}
	return ""
}

func noteTorch(t *translator) string {
	if t.settings["dynamic-vram"] != "on" {
		return ""
	}
	if t.lacksPackage("comfy-aimdo") {
		return "dynamic-vram=on will not be in force: the package comfy-aimdo is not installed"
	}
	torch := t.version.Packages["torch"]
	if r := parseRelease(torch); r.known && !r.atLeast(2, 8, 0) && t.dynamicByDefault() && !t.known["--enable-dynamic-vram"] {
		return fmt.Sprintf("dynamic-vram=on will not be in force: it needs torch 2.8, and %s is installed", torch)
	}
	return ""
}

// noteCPU names what is so on the CPU whatever is asked.
func noteCPU(t *translator) string {
	if !t.cpu() {
		return ""
	}
	var words []string
	for _, name := range []string{"dynamic-vram", "pinned-memory", "async-offload", "cuda-malloc"} {
		if v := t.settings[name]; v == "off" || name == "async-offload" && v == "0" {
			words = append(words, name+"="+v)
		}
	}
	if t.settings["cpu-vae"] == "on" {
		words = append(words, "cpu-vae=on")
	}
	if len(words) == 0 {
		return ""
	}
	return NoEffect + strings.Join(words, ", ") + ": with device=cpu it is so anyway"
}
