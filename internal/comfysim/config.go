package comfysim

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
)

const (
	kib int64 = 1 << 10
	mib int64 = 1 << 20
	gib int64 = 1 << 30
)

// vramState is ComfyUI's word for how models use the card.
type vramState string

const (
	stateDisabled vramState = "DISABLED"
	stateNo       vramState = "NO_VRAM"
	stateLow      vramState = "LOW_VRAM"
	stateNormal   vramState = "NORMAL_VRAM"
	stateHigh     vramState = "HIGH_VRAM"
)

type cacheMode int

const (
	cacheClassic cacheMode = iota
	cacheRAM
	cacheLRU
	cacheNone
)

// config is what the launch flags become on one version and one card.
type config struct {
	sim  simArgs
	ver  simVersion
	opts options
	argv []string // ComfyUI's own flags as they were given

	cuda       bool // a card is there and is used
	dynamic    bool // dynamic VRAM is in force
	aimdoAsked bool // by the flags it should be
	state      vramState
	native     bool // torch's own allocator instead of cudaMallocAsync
	streams    int  // of async weight offloading
	pinned     bool
	smart      bool
	gpuOnly    bool
	reserve    int64 // bytes left to other programs, in estimates
	capacity   int64 // bytes of the capacity not to be used under dynamic VRAM
	headroom   int64 // bytes to be kept really free under dynamic VRAM
	cache      cacheMode
	lru        int // entries
	ram        int64
	folders    folders

	unet, vae, text dtype
}

// dtype is a torch dtype with its size.
type dtype struct {
	name string
	size int64 // bytes
}

var (
	fp32 = dtype{"torch.float32", 4}
	fp16 = dtype{"torch.float16", 2}
	bf16 = dtype{"torch.bfloat16", 2}
)

// newConfig decides what is in force. It does not touch anything but folders.
func newConfig(sim simArgs, ver simVersion, opts options, argv []string) (*config, error) {
	c := &config{sim: sim, ver: ver, opts: opts, argv: argv, smart: !opts.has("--disable-smart-memory")}
	c.cuda = sim.card > 0 && !opts.has("--cpu")
	c.gpuOnly = c.cuda && opts.has("--gpu-only")
	c.state = c.pickState()
	c.aimdoAsked = c.cuda && ver.dynamic && (opts.has("--enable-dynamic-vram") ||
		!opts.has("--disable-dynamic-vram") && c.state != stateHigh && c.state != stateNo)
	c.dynamic = c.aimdoAsked && sim.fault != faultNoAimdo
	c.native = opts.has("--disable-cuda-malloc") || slices.Contains(opts["--fast"], "autotune")
	c.streams = c.pickStreams()
	c.pinned = c.cuda && ver.pinShare > 0 && !opts.has("--disable-pinned-memory")
	c.reserve = 400 * mib
	if opts.has("--reserve-vram") {
		c.reserve = int64(opts.float("--reserve-vram", 0) * float64(gib))
		if ver.pins { // given to aimdo since 0.25.0
			c.capacity = c.reserve
		}
	}
	c.headroom = int64(opts.float("--vram-headroom", 0) * float64(gib))
	c.pickCache()
	c.pickDtypes()
	if c.ram = sim.ram; c.ram == 0 {
		c.ram = hostRAM()
	}
	var err error
	c.folders, err = newFolders(opts)
	return c, err
}

func (c *config) pickState() vramState {
	switch {
	case !c.cuda:
		return stateDisabled
	case c.opts.has("--novram"):
		return stateNo
	case c.opts.has("--lowvram"):
		return stateLow
	case c.opts.has("--highvram"), c.opts.has("--gpu-only"):
		return stateHigh
	}
	return stateNormal
}

// pickStreams: 0.3.64 has a switch that is off, later versions have two streams
// on NVIDIA unless told otherwise.
func (c *config) pickStreams() int {
	if !c.cuda || c.opts.has("--disable-async-offload") {
		return 0
	}
	if !c.ver.dynamic && !c.opts.has("--async-offload") {
		return 0
	}
	if n, err := strconv.Atoi(c.opts.str("--async-offload", "2")); err == nil {
		return n
	}
	return 2
}

func (c *config) pickCache() {
	c.lru, _ = strconv.Atoi(c.opts.str("--cache-lru", "0")) // checked by the parser
	_, ramAsked := c.opts["--cache-ram"]
	switch {
	case c.opts.has("--cache-none"):
		c.cache = cacheNone
	case c.lru > 0:
		c.cache = cacheLRU
	case c.opts.has("--cache-classic"), c.opts.has("--high-ram"):
		c.cache = cacheClassic
	case c.ver.ramCache, ramAsked && c.opts.float("--cache-ram", 4) > 0:
		c.cache = cacheRAM
	}
}

// cacheLine is what the worker prints when it makes a node cache, "" for none.
func (c *config) cacheLine() string {
	return map[cacheMode]string{
		cacheRAM:  "Using RAM pressure cache.",
		cacheLRU:  "Using LRU cache",
		cacheNone: "Disabling intermediate node cache.",
	}[c.cache]
}

func (c *config) pickDtypes() {
	c.unet, c.vae, c.text = fp16, bf16, fp16
	if !c.cuda {
		c.unet, c.vae = fp32, fp32
	}
	if c.opts.has("--cpu-vae") {
		c.vae = fp32
	}
	if c.opts.has("--force-fp32") {
		c.unet, c.vae, c.text = fp32, fp32, fp32
	}
	if c.opts.has("--force-fp16") {
		c.unet, c.vae = fp16, fp16
	}
	for _, d := range []dtype{fp32, fp16, bf16, {"torch.float64", 8}, {"torch.float8_e4m3fn", 1},
		{"torch.float8_e5m2", 1}, {"torch.float8_e8m0fnu", 1}} {
		word := "--" + shortDtype[d.name]
		if c.opts.has(word + "-unet") {
			c.unet = d
		}
		if c.opts.has(word + "-vae") {
			c.vae = d
		}
		if c.opts.has(word + "-text-enc") {
			c.text = d
		}
	}
}

var shortDtype = map[string]string{
	"torch.float32": "fp32", "torch.float64": "fp64", "torch.float16": "fp16", "torch.bfloat16": "bf16",
	"torch.float8_e4m3fn": "fp8_e4m3fn", "torch.float8_e5m2": "fp8_e5m2", "torch.float8_e8m0fnu": "fp8_e8m0fnu",
}

// manualCast is the dtype that weights are cast to for computing.
func (c *config) manualCast() string {
	if c.unet.size == 1 {
		return fp16.name
	}
	return "None"
}

const gpuName = "Simulated GPU (comfysim)"

// deviceName is what the log and /system_stats call the device.
func (c *config) deviceName() string {
	if !c.cuda {
		return "cpu : simulated (comfysim)"
	}
	allocator := "cudaMallocAsync"
	if c.native {
		allocator = "native"
	}
	return "cuda:0 " + gpuName + " : " + allocator
}

// textOnCPU reports whether the text encoder stays in RAM.
func (c *config) textOnCPU() bool {
	return !c.cuda || !c.dynamic && (c.state == stateLow || c.state == stateNo)
}

func (c *config) attentionLine() string {
	switch {
	case c.opts.has("--use-sage-attention"):
		return "Using sage attention"
	case c.opts.has("--use-flash-attention"):
		return "Using Flash Attention"
	case c.opts.has("--use-split-cross-attention"):
		return "Using split optimization for attention"
	case !c.cuda && !c.opts.has("--use-pytorch-cross-attention"), c.opts.has("--use-quad-cross-attention"):
		return "Using sub quadratic optimization for attention, if you have memory or speed issues try using: --use-split-cross-attention"
	}
	return "Using pytorch attention"
}

func (c *config) vaeAttention() string {
	if c.attentionLine() == "Using pytorch attention" || c.opts.has("--use-sage-attention") ||
		c.opts.has("--use-flash-attention") {
		return "Using pytorch attention in VAE"
	}
	return "Using split attention in VAE"
}

// torch, python and kitchen are those of the recordings.
func (c *config) torchVersion() string {
	if c.cuda {
		return "2.11.0+cu130"
	}
	return "2.15.0+cu132"
}

func (c *config) pythonVersion() string {
	if c.cuda {
		return "3.12.3 (main, Aug 31 2026, 10:18:26) [GCC 13.3.0]"
	}
	return "3.12.1 (main, May  9 2026, 07:36:11) [GCC 12.2.0]"
}

func (c *config) kitchenVersion() string {
	if c.cuda {
		return "0.2.22"
	}
	return "0.2.24"
}

// bareEnv: with --front-end-root the server is taken to run where the recordings
// on a card were made, without the packages that only the front end needs.
func (c *config) bareEnv() bool { return c.opts.has("--front-end-root") }

func (c *config) webRoot() string {
	return c.opts.str("--front-end-root", "/opt/venv/lib/python3.12/site-packages/comfyui_frontend_package/static")
}

// databasePath is the file of an sqlite URL, "" where there is none.
func (c *config) databasePath() string {
	url := c.databaseURL()
	const prefix = "sqlite:///"
	if len(url) <= len(prefix) || url[:len(prefix)] != prefix || url[len(prefix):] == ":memory:" {
		return ""
	}
	return url[len(prefix):]
}

func (c *config) databaseURL() string {
	return c.opts.str("--database-url", "sqlite:///"+filepath.Join(c.folders.user, "comfyui.db"))
}

// listen is the first address of --listen with the port.
func (c *config) listen() (host string, port int) {
	host = c.opts.str("--listen", "127.0.0.1")
	if i := slices.Index([]byte(host), ','); i >= 0 {
		host = host[:i]
	}
	port, _ = strconv.Atoi(c.opts.str("--port", "8188")) // checked by the parser
	return host, port
}

func (c *config) mbOf(n int64) string { return fmt.Sprintf("%.0f", float64(n)/float64(mib)) }
