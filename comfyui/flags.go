package comfyui

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"memtrix"
)

// translator turns the settings of one cell into flags of one version. Which
// flags a version knows was read from the version itself; which release changed a
// default is in its history (https://github.com/comfyanonymous/ComfyUI).
type translator struct {
	version  memtrix.Version
	release  release
	known    map[string]bool
	settings memtrix.Settings
	// fast are features of --fast. They go into one flag: of two, the launcher
	// would forget the first.
	fast []string
}

// intent gives the flags for one value of one setting, or why the version cannot
// do it. No flags and no reason: the version does so by itself.
type intent func(t *translator, value string) (argv []string, reason string)

func intents() map[string]intent {
	return map[string]intent{
		"device":             device,
		"dynamic-vram":       dynamicVRAM,
		"vram-mode":          vramMode,
		"pinned-memory":      pinnedMemory,
		"async-offload":      asyncOffload,
		"smart-memory":       offSwitch("--disable-smart-memory"),
		"cache":              nodeCache,
		"cache-lru":          cacheLRU,
		"cache-ram":          cacheRAM,
		"reserve-vram":       reserveVRAM,
		"vram-headroom":      vramHeadroom,
		"cuda-malloc":        cudaMalloc,
		"mmap":               offSwitch("--disable-mmap"),
		"fast-disk":          fastDisk,
		"cpu-vae":            onSwitch("--cpu-vae"),
		"attention":          attention,
		"unet-dtype":         dtype("-unet"),
		"vae-dtype":          dtype("-vae"),
		"text-encoder-dtype": dtype("-text-enc"),
		"force-fp":           forceFP,
		"intermediates":      intermediates,
		"upcast-attention":   upcastAttention,
		"deterministic":      onSwitch("--deterministic"),
		"fp16-accumulation":  fastFeature("fp16-accumulation", "fp16_accumulation"),
		"fp8-matrix-mult":    fastFeature("fp8-matrix-mult", "fp8_matrix_mult"),
		"cublas-ops":         fastFeature("cublas-ops", "cublas_ops"),
		"autotune":           fastFeature("autotune", "autotune"),
	}
}

// Argv turns a cell's settings into launch flags of its version, in a fixed
// order. A reason says that the version cannot do what was asked; a flag that it
// accepts and ignores is no reason, since that is a finding.
func (*Target) Argv(c memtrix.Cell) (argv []string, reason string) {
	t := newTranslator(c.Version, c.Settings)
	if reason := t.clash(); reason != "" {
		return nil, reason
	}
	if reason := PacksOff(c.Version); reason != "" {
		return nil, reason
	}
	table := intents()
	for _, def := range memtrix.SettingDefs {
		value, asked := c.Settings[def.Name]
		if !asked {
			continue
		}
		flags, reason := table[def.Name](t, value)
		if reason != "" {
			return nil, reason
		}
		argv = append(argv, flags...)
	}
	return append(argv, t.fastFlag()...), ""
}

func newTranslator(v memtrix.Version, s memtrix.Settings) *translator {
	return &translator{version: v, release: parseRelease(v.Release), known: knownFlags(v), settings: s}
}

// clash finds values that no version takes, and settings of which the launcher
// accepts only one (its exclusive groups).
func (t *translator) clash() string {
	for _, name := range slices.Sorted(maps.Keys(t.settings)) {
		def, ok := memtrix.Setting(name)
		if !ok {
			return fmt.Sprintf("unknown setting %q", name)
		}
		if err := def.Check(t.settings[name]); err != nil {
			return err.Error()
		}
	}
	var caches []string
	for _, name := range []string{"cache", "cache-lru", "cache-ram"} {
		if value, ok := t.settings[name]; ok {
			caches = append(caches, name+"="+value)
		}
	}
	if len(caches) > 1 && !t.oneCache() {
		return fmt.Sprintf("%s exclude one another: the node cache is of one kind", strings.Join(caches, " and "))
	}
	return ""
}

// oneCache: of the three settings about the node cache, two agree when one gives
// the size of the other's kind, or only says which kind it is not.
func (t *translator) oneCache() bool {
	kind, kinded := t.settings["cache"]
	size, sized := t.settings["cache-ram"]
	_, listed := t.settings["cache-lru"]
	switch {
	case size == "off":
		return kind != "ram" && !(kinded && listed)
	case sized:
		return kind == "ram" && !listed
	}
	return false
}

func (t *translator) cpu() bool { return t.settings["device"] == "cpu" }

// name is what people call the version.
func (t *translator) name() string {
	if t.version.Name != "" {
		return t.version.Name
	}
	return "ComfyUI " + t.version.Release
}

// flag gives the words if the version knows the first of them ("--x" or "--x=1").
func (t *translator) flag(words ...string) ([]string, string) {
	name, _, _ := strings.Cut(words[0], "=")
	if !t.known[name] {
		return nil, fmt.Sprintf("%s does not know %s", t.name(), name)
	}
	return words, ""
}

func (t *translator) lacks(what, since string) string {
	return fmt.Sprintf("%s has no %s (it came with %s)", t.name(), what, since)
}

// needsGPU is the reason for a setting that means nothing with device=cpu.
func needsGPU(setting, value string) string {
	return fmt.Sprintf("%s=%s needs a GPU, but device=cpu", setting, value)
}

func offSwitch(flag string) intent {
	return func(t *translator, value string) ([]string, string) {
		if value == "on" {
			return nil, ""
		}
		return t.flag(flag)
	}
}

func onSwitch(flag string) intent {
	return func(t *translator, value string) ([]string, string) {
		if value == "off" {
			return nil, ""
		}
		return t.flag(flag)
	}
}

func dtype(suffix string) intent {
	return func(t *translator, value string) ([]string, string) {
		return t.flag("--" + value + suffix)
	}
}

func device(t *translator, value string) ([]string, string) {
	if value == "gpu" {
		return nil, ""
	}
	return t.flag("--cpu")
}

func wholeNumber(setting, value string) (int, string) {
	n, err := strconv.Atoi(value)
	if err != nil {
		return 0, fmt.Sprintf("%s takes a whole number, not %q", setting, value)
	}
	return n, ""
}

func forceFP(t *translator, value string) ([]string, string) {
	return t.flag("--force-" + value)
}

func intermediates(t *translator, value string) ([]string, string) {
	if value == "fp32" {
		return nil, ""
	}
	return t.flag("--fp16-intermediates")
}

func upcastAttention(t *translator, value string) ([]string, string) {
	if value == "off" {
		return t.flag("--dont-upcast-attention")
	}
	return t.flag("--force-upcast-attention")
}

// cudaMalloc is asked for in words both ways: whether the driver's allocator is
// the default depends on the card and on torch.
func cudaMalloc(t *translator, value string) ([]string, string) {
	if value == "off" {
		return t.flag("--disable-cuda-malloc")
	}
	if t.cpu() {
		return nil, needsGPU("cuda-malloc", value)
	}
	return t.flag("--cuda-malloc")
}

func attention(t *translator, value string) ([]string, string) {
	if t.cpu() && slices.Contains([]string{"sage", "flash", "ck", "xformers"}, value) {
		return nil, needsGPU("attention", value)
	}
	switch value {
	case "sage":
		return t.packaged("sageattention", "--use-sage-attention")
	case "flash":
		return t.packaged("flash-attn", "--use-flash-attention")
	case "xformers":
		// There is no flag: what is installed is used.
		return t.packaged("xformers", "")
	case "ck":
		return t.flag("--use-ck-attention")
	case "pytorch":
		return t.flag("--use-pytorch-cross-attention")
	}
	argv, reason := t.flag("--use-" + value + "-cross-attention")
	if reason == "" && t.installed("xformers") {
		// Installed, xformers would win over the flag without a word.
		argv = append(argv, "--disable-xformers")
	}
	return argv, reason
}

// packaged needs a Python package beside the flag: without it the server would
// refuse to start.
func (t *translator) packaged(pkg, flag string) ([]string, string) {
	if t.version.Packages != nil && !t.installed(pkg) {
		return nil, fmt.Sprintf("%s: the package %s is not installed in %s", t.name(), pkg, t.version.Python)
	}
	if flag == "" {
		return nil, ""
	}
	return t.flag(flag)
}

func (t *translator) installed(pkg string) bool {
	return installed(t.version, pkg)
}

// installed finds a package by either spelling of its name.
func installed(v memtrix.Version, pkg string) bool {
	_, dash := v.Packages[pkg]
	_, under := v.Packages[strings.ReplaceAll(pkg, "-", "_")]
	return dash || under
}
