package memtrix

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Settings are launch settings as intents, e.g. "dynamic-vram" = "off". The same
// words mean the same on every version; each version turns them into its own
// flags. A setting that is not in the map is the version's own default.
type Settings map[string]string

// String writes settings in a fixed order: "dynamic-vram=off vram-mode=low",
// or "default" for none.
func (s Settings) String() string {
	if len(s) == 0 {
		return "default"
	}
	words := make([]string, 0, len(s))
	for _, k := range slices.Sorted(maps.Keys(s)) {
		words = append(words, k+"="+s[k])
	}
	return strings.Join(words, " ")
}

// SettingDef is one intent that a spec can ask for.
type SettingDef struct {
	Name string
	// Words are the values that it takes besides numbers, the first being the
	// one that today's versions do by themselves where that is certain.
	Words []string
	// Default is the word for what today's versions do by themselves on the
	// usual machine when the setting is not named, "" where that is not certain.
	Default string
	// Number says what a number means, "" where none is taken.
	Number string
	Doc    string
}

// SettingDefs are all intents, in the order in which help shows them.
var SettingDefs = []SettingDef{
	{Name: "device", Words: []string{"gpu", "cpu"}, Default: "gpu", Doc: "where models run"},
	{Name: "dynamic-vram", Words: []string{"on", "off"}, Default: "on", Doc: "weights are paged into VRAM as they are needed"},
	{Name: "vram-mode", Words: []string{"normal", "low", "no", "high", "gpu-only"}, Default: "normal", Doc: "how much of the models may stay in VRAM"},
	{Name: "pinned-memory", Words: []string{"on", "off"}, Default: "on", Doc: "page-locked host memory for offloaded weights"},
	{Name: "async-offload", Words: []string{"on", "off"}, Default: "on", Number: "streams", Doc: "copy weights while computing"},
	{Name: "smart-memory", Words: []string{"on", "off"}, Default: "on", Doc: "keep models loaded between prompts"},
	{Name: "cache", Words: []string{"classic", "none", "ram", "high-ram"}, Doc: "what the node cache keeps"},
	{Name: "cache-lru", Number: "entries", Doc: "node cache of that many entries"},
	{Name: "cache-ram", Words: []string{"off"}, Number: "GB of RAM kept free", Doc: "node cache under RAM pressure"},
	{Name: "reserve-vram", Number: "GB", Doc: "VRAM left to other programs"},
	{Name: "vram-headroom", Number: "GB", Doc: "VRAM kept really free under dynamic VRAM"},
	{Name: "cuda-malloc", Words: []string{"on", "off"}, Doc: "the driver's asynchronous allocator instead of torch's own"},
	{Name: "mmap", Words: []string{"on", "off"}, Default: "on", Doc: "map model files instead of reading them"},
	{Name: "fast-disk", Words: []string{"on", "off"}, Doc: "stream offloaded weights from disk"},
	{Name: "cpu-vae", Words: []string{"on", "off"}, Default: "off", Doc: "run the VAE on the CPU"},
	{Name: "attention", Words: []string{"pytorch", "split", "quad", "sage", "flash", "xformers", "ck"}, Doc: "the attention implementation"},
	{Name: "unet-dtype", Words: []string{"fp32", "fp64", "bf16", "fp16", "fp8_e4m3fn", "fp8_e5m2", "fp8_e8m0fnu"}, Doc: "dtype of the diffusion model's weights"},
	{Name: "vae-dtype", Words: []string{"fp16", "fp32", "bf16"}, Doc: "dtype of the VAE"},
	{Name: "text-encoder-dtype", Words: []string{"fp8_e4m3fn", "fp8_e5m2", "fp16", "fp32", "bf16"}, Doc: "dtype of the text encoder"},
	{Name: "force-fp", Words: []string{"fp16", "fp32"}, Doc: "one dtype for all that does not ask for another"},
	{Name: "intermediates", Words: []string{"fp32", "fp16"}, Default: "fp32", Doc: "dtype of what nodes hand to one another"},
	{Name: "upcast-attention", Words: []string{"on", "off"}, Doc: "attention in fp32 whatever the model asks for; off: never"},
	{Name: "deterministic", Words: []string{"on", "off"}, Default: "off", Doc: "slower, repeatable algorithms of torch"},
	{Name: "fp16-accumulation", Words: []string{"on", "off"}, Default: "off", Doc: "matrices of fp16 are summed up in fp16"},
	{Name: "fp8-matrix-mult", Words: []string{"on", "off"}, Default: "off", Doc: "matrices of fp8 are multiplied in fp8"},
	{Name: "cublas-ops", Words: []string{"on", "off"}, Default: "off", Doc: "the package cublas_ops for linear layers"},
	{Name: "autotune", Words: []string{"on", "off"}, Default: "off", Doc: "cuDNN tries algorithms out before it chooses"},
}

// Setting finds an intent by name.
func Setting(name string) (SettingDef, bool) {
	i := slices.IndexFunc(SettingDefs, func(d SettingDef) bool { return d.Name == name })
	if i < 0 {
		return SettingDef{}, false
	}
	return SettingDefs[i], true
}

// Check says why a value is not one that the setting takes, or nil.
func (d SettingDef) Check(value string) error {
	if slices.Contains(d.Words, value) {
		return nil
	}
	if d.Number != "" {
		// Python knows neither 0x1p2 nor what to do with inf.
		n, err := strconv.ParseFloat(value, 64)
		if err == nil && n >= 0 && !math.IsInf(n, 0) && !strings.ContainsAny(value, "xX") {
			return nil
		}
	}
	allowed := slices.Clone(d.Words)
	if d.Number != "" {
		allowed = append(allowed, "a number ("+d.Number+")")
	}
	return fmt.Errorf("setting %q takes %s, not %q", d.Name, strings.Join(allowed, ", "), value)
}
