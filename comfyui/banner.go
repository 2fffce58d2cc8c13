package comfyui

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"memtrix"
)

// Banner is what a server says about itself while it starts and, of dtypes, when
// it loads its first models. What it did not say is the zero value. The lines are
// those of comfy/model_management.py, main.py, execution.py and
// comfy/ldm/modules/attention.py.
type Banner struct {
	ComfyUI, Python, Torch, Aimdo, Kitchen string

	// Device is "cpu" or "cuda:0 NVIDIA H200", Allocator what follows it:
	// "cudaMallocAsync" or "native".
	Device, Allocator   string
	TotalVRAM, TotalRAM int64  // bytes; without a card VRAM is RAM
	VRAMState           string // "NORMAL_VRAM"; "DISABLED" on the CPU, "SHARED" on Apple's
	// DynamicVRAM is set by the line that says so; Denied is the line that says
	// why not, where there is one.
	DynamicVRAM   bool
	Denied        string
	AsyncStreams  int
	PinnedMiB     float64 // how much may be pinned, 0: nothing
	Attention     string  // "pytorch", "split", "quad", "sage", "flash", "xformers"
	Cache         string  // "ram", "lru", "none"; the classic cache prints nothing
	SmartOff      bool
	ForceFP32     bool
	Deterministic bool
	FP16Accum     bool
	// Listening is set once the server said that it starts to listen.
	Listening bool

	// UnetDtypes, VAEDtypes and TextDtypes are those of loaded models, each once,
	// without "torch."; VAEDevices are where VAEs run.
	UnetDtypes, VAEDtypes, TextDtypes, VAEDevices []string
}

// bannerRule reads one kind of line: its groups are given to set.
type bannerRule struct {
	line *regexp.Regexp
	set  func(b *Banner, groups []string)
}

var bannerRules = []bannerRule{
	{regexp.MustCompile(`^Total VRAM (\d+) MB, total RAM (\d+) MB$`), func(b *Banner, g []string) {
		b.TotalVRAM, b.TotalRAM = mebibytes(g[1]), mebibytes(g[2])
	}},
	{regexp.MustCompile(`^pytorch version: (.+)$`), func(b *Banner, g []string) { b.Torch = g[1] }},
	{regexp.MustCompile(`^Python version: (\S+)`), func(b *Banner, g []string) { b.Python = g[1] }},
	{regexp.MustCompile(`^(?:\*\* )?ComfyUI version: (\S+)$`), func(b *Banner, g []string) { b.ComfyUI = g[1] }},
	{regexp.MustCompile(`^comfy-aimdo version: (\S+)$`), func(b *Banner, g []string) { b.Aimdo = g[1] }},
	{regexp.MustCompile(`^comfy-kitchen version: (\S+)$`), func(b *Banner, g []string) { b.Kitchen = g[1] }},
	{regexp.MustCompile(`^Set vram state to: ([A-Z_]+)$`), func(b *Banner, g []string) { b.VRAMState = g[1] }},
	{regexp.MustCompile(`^Device: (.+)$`), func(b *Banner, g []string) {
		if b.Device == "" { // newer ones name every card; the first is used
			b.Device, b.Allocator = splitDevice(g[1])
		}
	}},
	{regexp.MustCompile(`^Using async weight offloading with (\d+) streams$`), func(b *Banner, g []string) { b.AsyncStreams, _ = strconv.Atoi(g[1]) }},
	{regexp.MustCompile(`^Enabled pinned memory ([0-9.]+)$`), func(b *Banner, g []string) { b.PinnedMiB, _ = strconv.ParseFloat(g[1], 64) }},
	{regexp.MustCompile(`^Using (sage|xformers|[Ff]lash|pytorch) [Aa]ttention$`), func(b *Banner, g []string) { b.Attention = strings.ToLower(g[1]) }},
	{regexp.MustCompile(`^Using split optimization for attention$`), func(b *Banner, _ []string) { b.Attention = "split" }},
	{regexp.MustCompile(`^Using sub quadratic optimization for attention`), func(b *Banner, _ []string) { b.Attention = "quad" }},
	{regexp.MustCompile(`^Using RAM pressure cache\.?$`), func(b *Banner, _ []string) { b.Cache = "ram" }},
	{regexp.MustCompile(`^Using LRU cache$`), func(b *Banner, _ []string) { b.Cache = "lru" }},
	{regexp.MustCompile(`^Disabling intermediate node cache\.?$`), func(b *Banner, _ []string) { b.Cache = "none" }},
	{regexp.MustCompile(`^DynamicVRAM support detected and enabled`), func(b *Banner, _ []string) { b.DynamicVRAM = true }},
	{regexp.MustCompile(`^(?:No working comfy-aimdo install detected|Unsupported Pytorch detected\. DynamicVRAM|comfy-aimdo failed to load|Dynamic vram disabled with argument).*`), func(b *Banner, g []string) {
		if b.Denied == "" {
			b.Denied = g[0]
		}
	}},
	{regexp.MustCompile(`^Disabling smart memory management$`), func(b *Banner, _ []string) { b.SmartOff = true }},
	{regexp.MustCompile(`^Forcing FP32`), func(b *Banner, _ []string) { b.ForceFP32 = true }},
	{regexp.MustCompile(`^Using deterministic algorithms for pytorch$`), func(b *Banner, _ []string) { b.Deterministic = true }},
	{regexp.MustCompile(`^Enabled fp16 accumulation\.$`), func(b *Banner, _ []string) { b.FP16Accum = true }},
	{regexp.MustCompile(`^Starting server$`), func(b *Banner, _ []string) { b.Listening = true }},
	{regexp.MustCompile(`^model weight dtype (?:torch\.)?(\w+), manual cast`), func(b *Banner, g []string) { b.UnetDtypes = once(b.UnetDtypes, g[1]) }},
	{regexp.MustCompile(`^VAE load device: ([^,]+), .*dtype: (?:torch\.)?(\w+)$`), func(b *Banner, g []string) {
		b.VAEDevices, b.VAEDtypes = once(b.VAEDevices, g[1]), once(b.VAEDtypes, g[2])
	}},
	{regexp.MustCompile(`^CLIP/text encoder model load device: .*, dtype: (?:torch\.)?(\w+)$`), func(b *Banner, g []string) { b.TextDtypes = once(b.TextDtypes, g[1]) }},
}

// ParseBanner reads a server's output from its start, in order, however far it
// has come.
func ParseBanner(lines []memtrix.LogLine) Banner {
	var b Banner
	for _, line := range lines {
		b.read(line.Text)
	}
	return b
}

// read takes one more line of the output.
func (b *Banner) read(line string) {
	for _, token := range Clean(line) {
		for _, rule := range bannerRules {
			if g := rule.line.FindStringSubmatch(token.Text); g != nil {
				rule.set(b, g)
				break
			}
		}
	}
}

func mebibytes(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // digits, by the pattern
	return n << 20
}

// splitDevice takes "cuda:0 NVIDIA H200 : cudaMallocAsync" apart. A card's own
// name may hold a colon.
func splitDevice(text string) (device, allocator string) {
	i := strings.LastIndex(text, " : ")
	if i < 0 || strings.Contains(text[i+3:], " ") {
		return text, ""
	}
	return text[:i], text[i+3:]
}

func once(list []string, word string) []string {
	for _, w := range list {
		if w == word {
			return list
		}
	}
	return append(list, word)
}

// Facts are the banner as facts of a trial's environment, "banner.*". What the
// server did not say is left out; sizes are bytes.
func (b Banner) Facts() memtrix.Environment {
	facts := memtrix.Environment{}
	put := func(name, value string) {
		if value != "" {
			facts["banner."+name] = value
		}
	}
	for _, f := range [][2]string{
		{"comfyui", b.ComfyUI}, {"python", b.Python}, {"torch", b.Torch}, {"comfy-aimdo", b.Aimdo}, {"comfy-kitchen", b.Kitchen},
		{"device", b.Device}, {"allocator", b.Allocator}, {"vram-state", b.VRAMState}, {"attention", b.Attention}, {"cache", b.Cache},
		{"dynamic-vram-denied", b.Denied},
		{"unet-dtype", strings.Join(b.UnetDtypes, " ")}, {"vae-dtype", strings.Join(b.VAEDtypes, " ")}, {"vae-device", strings.Join(b.VAEDevices, " ")}, {"text-encoder-dtype", strings.Join(b.TextDtypes, " ")},
	} {
		put(f[0], f[1])
	}
	for _, f := range []struct {
		name string
		n    int64
	}{
		{"total-vram", b.TotalVRAM}, {"total-ram", b.TotalRAM}, {"async-streams", int64(b.AsyncStreams)}, {"pinned-limit", int64(b.PinnedMiB * (1 << 20))},
	} {
		if f.n != 0 {
			put(f.name, fmt.Sprint(f.n))
		}
	}
	for _, f := range []struct {
		name string
		is   bool
	}{
		{"dynamic-vram", b.DynamicVRAM}, {"smart-memory-off", b.SmartOff}, {"force-fp32", b.ForceFP32},
		{"deterministic", b.Deterministic}, {"fp16-accumulation", b.FP16Accum},
	} {
		if f.is {
			put(f.name, "yes")
		}
	}
	return facts
}
