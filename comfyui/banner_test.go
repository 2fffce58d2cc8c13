package comfyui

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"memtrix"
)

// recorded gives the banner of a recorded server.
func recorded(t testing.TB, name string) Banner {
	t.Helper()
	var lines []memtrix.LogLine
	for line := range strings.Lines(string(gunzip(t, filepath.Join("testdata", "logs", name+".txt.gz")))) {
		lines = append(lines, memtrix.LogLine{Text: strings.TrimSuffix(line, "\n")})
	}
	return ParseBanner(lines)
}

func card029() Banner {
	return Banner{
		ComfyUI: "0.29.0", Python: "3.12.3", Torch: "2.11.0+cu130", Aimdo: "0.4.10", Kitchen: "0.2.22",
		Device: "cuda:0 NVIDIA H200", Allocator: "cudaMallocAsync", TotalVRAM: 143156 << 20, TotalRAM: 128888 << 20,
		VRAMState: "NORMAL_VRAM", DynamicVRAM: true, AsyncStreams: 2, PinnedMiB: 115998, Attention: "pytorch", Cache: "ram",
		Listening: true, UnetDtypes: []string{"float16"}, VAEDtypes: []string{"bfloat16"}, TextDtypes: []string{"float16"}, VAEDevices: []string{"cuda:0"},
	}
}

func cpu029() Banner {
	return Banner{
		ComfyUI: "0.29.0", Python: "3.12.1", Torch: "2.15.0+cu132", Aimdo: "0.4.10", Kitchen: "0.2.24",
		Device: "cpu", TotalVRAM: 24106 << 20, TotalRAM: 24106 << 20, VRAMState: "DISABLED", Attention: "quad", Cache: "ram",
		Listening: true, UnetDtypes: []string{"float32"}, VAEDtypes: []string{"float32"}, TextDtypes: []string{"float16"}, VAEDevices: []string{"cpu"},
	}
}

func TestBannerRecordings(t *testing.T) {
	denied := "Dynamic vram disabled with argument. If you have any issues with dynamic vram enabled please give us a detailed reports as this argument will be removed soon. If you use gguf we recommend keeping dynamic vram enabled and using native ComfyUI model formats instead. ComfyUI native formats like fp8 will be faster even if they are larger than your memory."
	change := func(b Banner, f func(*Banner)) Banner { f(&b); return b }
	off := func(b *Banner) { b.DynamicVRAM, b.Denied = false, denied }
	unloaded := func(b *Banner) { b.UnetDtypes, b.VAEDtypes, b.TextDtypes, b.VAEDevices = nil, nil, nil, nil }
	want := map[string]Banner{
		"029-8gib-default":                         card029(),
		"029-3gib-default-batch8":                  card029(),
		"029-8gib-reserve-vram-2":                  card029(),
		"029-8gib-verbose-debug":                   card029(),
		"029-8gib-disable-dynamic-vram":            change(card029(), off),
		"029-8gib-disable-dynamic-vram-lowvram":    change(card029(), func(b *Banner) { off(b); b.VRAMState = "LOW_VRAM" }),
		"029-8gib-disable-pinned-memory":           change(card029(), func(b *Banner) { b.PinnedMiB = 0 }),
		"029-3gib-dynamic-oom-in-compute":          card029(),
		"029-3gib-native-allocator-oom-in-compute": change(card029(), func(b *Banner) { off(b); b.Allocator = "native" }),
		"029-3gib-highvram-oom-in-load":            change(card029(), func(b *Banner) { unloaded(b); off(b); b.VRAMState = "HIGH_VRAM" }),
		"018-8gib-default": change(card029(), func(b *Banner) {
			b.ComfyUI, b.Aimdo, b.PinnedMiB, b.Cache = "0.18.1", "0.2.12", 122443, ""
		}),
		"0364-8gib-default": change(card029(), func(b *Banner) {
			b.ComfyUI, b.Aimdo, b.Kitchen, b.PinnedMiB, b.AsyncStreams, b.DynamicVRAM, b.Cache = "0.3.64", "", "", 0, 0, false, ""
		}),
		"029-cpu-sd15":                 cpu029(),
		"029-cpu-interrupted":          cpu029(),
		"029-cpu-killed-in-sample":     cpu029(),
		"029-cpu-second-prompt-cached": change(cpu029(), unloaded),
		"029-cpu-one-output-invalid":   change(cpu029(), unloaded),
		"029-ram-capped-5gib-thrash":   change(card029(), func(b *Banner) { unloaded(b); off(b); b.UnetDtypes = []string{"float16"} }),
		"029-cpu-ram-allocator-oom":    change(cpu029(), unloaded),
		"029-cpu-image-only":           change(cpu029(), unloaded),
		"029-cpu-missing-model":        change(cpu029(), unloaded),
		"029-cpu-missing-node-type":    change(cpu029(), unloaded),
		"029-startup-port-in-use":      change(cpu029(), unloaded),
		"029-startup-unknown-flag":     {},
	}
	files, err := filepath.Glob("testdata/logs/*.txt.gz")
	if err != nil || len(files) != len(want) {
		t.Fatalf("%d logs, want %d; %v", len(files), len(want), err)
	}
	for name, b := range want {
		if got := recorded(t, name); !reflect.DeepEqual(got, b) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, b)
		}
	}
}

func TestBannerOther(t *testing.T) {
	for _, c := range []struct {
		line string
		want Banner
	}{
		{"\x1b[32m[INFO]\x1b[0m Using sage attention", Banner{Attention: "sage"}},
		{"Using Flash Attention", Banner{Attention: "flash"}},
		{"Using xformers attention", Banner{Attention: "xformers"}},
		{"Using split optimization for attention", Banner{Attention: "split"}},
		{"Using pytorch attention in VAE", Banner{}},
		{"Using xformers attention in VAE", Banner{}},
		{"Using LRU cache", Banner{Cache: "lru"}},
		{"Disabling intermediate node cache.", Banner{Cache: "none"}},
		{"Disabling smart memory management", Banner{SmartOff: true}},
		{"Using deterministic algorithms for pytorch", Banner{Deterministic: true}},
		{"Enabled fp16 accumulation.", Banner{FP16Accum: true}},
		{"Forcing FP32, if this improves things please report it.", Banner{ForceFP32: true}},
		{"Device: cuda:0 NVIDIA GeForce RTX 3060 : native\nDevice: cuda:1 NVIDIA B : native", Banner{Device: "cuda:0 NVIDIA GeForce RTX 3060", Allocator: "native"}},
		{"Device: cpu : simulated (comfysim)", Banner{Device: "cpu : simulated (comfysim)"}},
		{"Device: mps", Banner{Device: "mps"}},
		{"[2026-02-20 08:30:23.426] ** ComfyUI version: 0.3.64", Banner{ComfyUI: "0.3.64"}},
		{"Total VRAM x MB, total RAM 1 MB", Banner{}},
		{"Using async weight offloading with many streams", Banner{}},
		{"my node says: Device: gpu", Banner{}},
		{"No working comfy-aimdo install detected. DynamicVRAM support disabled. Falling back to legacy ModelPatcher. VRAM estimates may be unreliable especially on Windows",
			Banner{Denied: "No working comfy-aimdo install detected. DynamicVRAM support disabled. Falling back to legacy ModelPatcher. VRAM estimates may be unreliable especially on Windows"}},
	} {
		if got := ParseBanner([]memtrix.LogLine{{Text: c.line}}); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: got %+v", c.line, got)
		}
	}
}

func TestBannerFacts(t *testing.T) {
	want := memtrix.Environment{
		"banner.comfyui": "0.29.0", "banner.python": "3.12.3", "banner.torch": "2.11.0+cu130", "banner.comfy-aimdo": "0.4.10", "banner.comfy-kitchen": "0.2.22",
		"banner.device": "cuda:0 NVIDIA H200", "banner.allocator": "cudaMallocAsync", "banner.total-vram": "150109945856", "banner.total-ram": "135148863488",
		"banner.vram-state": "NORMAL_VRAM", "banner.dynamic-vram": "yes", "banner.async-streams": "2", "banner.pinned-limit": "121632718848",
		"banner.attention": "pytorch", "banner.cache": "ram", "banner.unet-dtype": "float16", "banner.vae-dtype": "bfloat16", "banner.text-encoder-dtype": "float16", "banner.vae-device": "cuda:0",
	}
	if got := card029().Facts(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := (Banner{}).Facts(); len(got) != 0 {
		t.Errorf("of no banner: %v", got)
	}
}

func TestNotInForce(t *testing.T) {
	b018, b064 := recorded(t, "018-8gib-default"), recorded(t, "0364-8gib-default")
	noDynamic := recorded(t, "029-8gib-disable-dynamic-vram-lowvram")
	noAimdo := card029()
	noAimdo.DynamicVRAM, noAimdo.Denied = false, "No working comfy-aimdo install detected. DynamicVRAM support disabled."
	for _, c := range []struct {
		name, release string
		banner        Banner
		settings      string
		want          string // in the reason; "" for in force
	}{
		{"default", "0.29.0", card029(), "", ""},
		{"as it is", "0.29.0", card029(), "device=gpu dynamic-vram=on pinned-memory=on async-offload=on smart-memory=on vram-mode=normal cache=ram attention=pytorch cuda-malloc=on unet-dtype=fp16 vae-dtype=bf16 text-encoder-dtype=fp16 cpu-vae=off deterministic=off fp16-accumulation=off", ""},
		{"number", "0.29.0", card029(), "async-offload=2 cache-ram=4", ""},
		{"cpu", "0.29.0", cpu029(), "device=cpu vram-mode=normal dynamic-vram=off pinned-memory=off async-offload=off attention=quad cpu-vae=off cuda-malloc=off", ""},
		{"sim cpu", "0.29.0", Banner{Device: "cpu : simulated (comfysim)", VRAMState: "DISABLED"}, "device=cpu", ""},
		{"no aimdo", "0.29.0", noAimdo, "dynamic-vram=on", `dynamic-vram=on is not in force: the server says "No working comfy-aimdo`},
		{"no aimdo, off", "0.29.0", noAimdo, "dynamic-vram=off", ""},
		{"dynamic off", "0.29.0", card029(), "dynamic-vram=off", `the server says "DynamicVRAM support detected`},
		{"dynamic silent", "0.29.0", cpu029(), "dynamic-vram=on", `does not say "DynamicVRAM support`},
		{"low", "0.29.0", noDynamic, "vram-mode=low dynamic-vram=off", ""},
		{"high", "0.29.0", noDynamic, "vram-mode=high", `Set vram state to: LOW_VRAM`},
		{"pinned", "0.29.0", recorded(t, "029-8gib-disable-pinned-memory"), "pinned-memory=on", "Enabled pinned memory"},
		{"not pinned", "0.29.0", recorded(t, "029-8gib-disable-pinned-memory"), "pinned-memory=off", ""},
		{"pinned, off", "0.29.0", card029(), "pinned-memory=off", `the server says "Enabled pinned memory"`},
		{"0.3.68 prints no pinned line", "0.3.68", b064, "pinned-memory=on", ""},
		{"streams", "0.29.0", card029(), "async-offload=4", "with 2 streams"},
		{"streams off", "0.29.0", card029(), "async-offload=off", "with 2 streams"},
		{"no streams", "0.3.64", b064, "async-offload=on", "does not say"},
		{"no streams, off", "0.3.64", b064, "async-offload=off", ""},
		{"smart", "0.29.0", card029(), "smart-memory=off", `does not say "Disabling smart memory management"`},
		{"classic", "0.29.0", card029(), "cache=classic", "Using RAM pressure cache."},
		{"classic of old", "0.18.1", b018, "cache=classic", ""},
		{"lru", "0.29.0", card029(), "cache-lru=3", "Using RAM pressure cache."},
		{"ram of old", "0.18.1", b018, "cache=ram", `does not say "Using RAM pressure cache."`},
		{"none", "0.29.0", Banner{VRAMState: "DISABLED", Cache: "none"}, "cache=none", ""},
		{"lru before it said so", "0.3.20", b064, "cache-lru=3", ""},
		{"ram off", "0.29.0", card029(), "cache-ram=off", "Using RAM pressure cache."},
		{"native", "0.29.0", recorded(t, "029-3gib-native-allocator-oom-in-compute"), "cuda-malloc=off", ""},
		{"native asked", "0.29.0", card029(), "cuda-malloc=off", "cudaMallocAsync"},
		{"attention", "0.29.0", card029(), "attention=split", "uses pytorch attention"},
		{"dtype", "0.29.0", card029(), "unet-dtype=fp8_e4m3fn", "a model was loaded as float16"},
		{"dtype of two", "0.29.0", Banner{UnetDtypes: []string{"float16", "float32"}}, "unet-dtype=fp16", "loaded as float32"},
		{"dtype before a model", "0.29.0", recorded(t, "029-cpu-image-only"), "unet-dtype=fp8_e4m3fn vae-dtype=fp16", ""},
		{"force", "0.29.0", cpu029(), "force-fp=fp16", "loaded as float32"},
		{"force and unet", "0.29.0", cpu029(), "force-fp=fp16 unet-dtype=fp32", ""},
		{"force fp32", "0.29.0", cpu029(), "force-fp=fp32", "Forcing FP32"},
		{"vae on the card", "0.29.0", card029(), "cpu-vae=on", "loaded on cuda:0"},
		{"deterministic", "0.29.0", card029(), "deterministic=on", "Using deterministic"},
		{"device", "0.29.0", cpu029(), "device=gpu", `runs on "cpu"`},
		{"device cpu", "0.29.0", card029(), "device=cpu", "cuda:0"},
		{"no banner", "0.29.0", Banner{}, "device=gpu dynamic-vram=on pinned-memory=on cache=ram async-offload=3 deterministic=on attention=split", ""},
		{"no release", "", card029(), "pinned-memory=off", "Enabled pinned"},
	} {
		got := NotInForce(set(c.settings), c.release, c.banner, Stats{})
		if text := strings.Join(got, "; "); (text == "") != (c.want == "") || !strings.Contains(text, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, text, c.want)
		}
	}
	// All that is wrong is told.
	if got := NotInForce(set("pinned-memory=off dynamic-vram=off cache=none"), "0.29.0", card029(), Stats{}); len(got) != 3 {
		t.Errorf("got %q, want three reasons", got)
	}
}

func TestNotInForceByStats(t *testing.T) {
	var stats Stats
	if err := json.Unmarshal([]byte(`{"devices":[{"name":"cuda:0 NVIDIA H200 : cudaMallocAsync","type":"cuda","index":0}]}`), &stats); err != nil {
		t.Fatal(err)
	}
	got := NotInForce(set("device=cpu cuda-malloc=off"), "0.29.0", Banner{}, stats)
	if len(got) != 2 || !strings.Contains(got[1], "cudaMallocAsync") {
		t.Errorf("got %q, want two reasons", got)
	}
}
