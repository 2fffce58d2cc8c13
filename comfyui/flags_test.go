package comfyui

import (
	"slices"
	"strings"
	"testing"

	"memtrix"
)

// version gives a release with the flags that its own parser has.
func version(t testing.TB, name string) memtrix.Version {
	t.Helper()
	defs, nearest := ReleaseFlags(name)
	if nearest != name {
		t.Fatalf("no flags of %s", name)
	}
	return memtrix.Version{Name: name, Release: name, Flags: flagNames(defs, parseRelease(name))}
}

func set(words string) memtrix.Settings {
	s := memtrix.Settings{}
	for _, w := range strings.Fields(words) {
		k, v, _ := strings.Cut(w, "=")
		s[k] = v
	}
	return s
}

func TestArgv(t *testing.T) {
	packages := map[string]string{"torch": "2.11.0", "sageattention": "2.0", "flash_attn": "2.5"}
	for _, c := range []struct{ release, settings, argv, reason string }{
		{"0.29.0", "", "", ""},
		{"0.29.0", "dynamic-vram=on vram-mode=normal pinned-memory=on async-offload=on smart-memory=on mmap=on fast-disk=off cpu-vae=off device=gpu cache=ram", "", ""},
		{"0.29.0", "dynamic-vram=off", "--disable-dynamic-vram", ""},
		{"0.29.0", "dynamic-vram=off vram-mode=low", "--disable-dynamic-vram --lowvram", ""},
		{"0.29.0", "vram-mode=no", "--novram", ""},
		{"0.29.0", "vram-mode=gpu-only", "--gpu-only", ""},
		{"0.29.0", "dynamic-vram=on vram-mode=high", "--enable-dynamic-vram --highvram", ""},
		{"0.16.1", "dynamic-vram=on vram-mode=high", "", "vram-mode=high turns dynamic VRAM off"},
		{"0.16.1", "dynamic-vram=on vram-mode=low", "--lowvram", ""},
		{"0.15.0", "dynamic-vram=on", "--fast=dynamic_vram", ""},
		{"0.15.0", "dynamic-vram=off", "", ""},
		{"0.12.0", "dynamic-vram=on", "--fast=dynamic_vram", ""},
		{"0.11.0", "dynamic-vram=on", "", "has no dynamic VRAM"},
		{"0.3.66", "dynamic-vram=off", "", ""},
		{"0.3.66", "dynamic-vram=on", "", "has no dynamic VRAM (it came with 0.12.0 and is the default since 0.16.0)"},
		{"0.29.0", "pinned-memory=off", "--disable-pinned-memory", ""},
		{"0.3.69", "pinned-memory=off", "--disable-pinned-memory", ""},
		{"0.3.69", "pinned-memory=on", "", ""},
		{"0.3.68", "pinned-memory=on", "--fast=pinned_memory", ""},
		{"0.3.68", "pinned-memory=off", "", ""},
		{"0.3.67", "pinned-memory=on", "", "has no pinned memory"},
		{"0.3.67", "pinned-memory=off", "", ""},
		{"0.29.0", "async-offload=off", "--disable-async-offload", ""},
		{"0.29.0", "async-offload=4", "--async-offload=4", ""},
		{"0.29.0", "async-offload=0", "--disable-async-offload", ""},
		{"0.29.0", "async-offload=1.5", "", "whole number"},
		{"0.3.75", "async-offload=on", "--async-offload", ""},
		{"0.3.75", "async-offload=2", "--async-offload", ""},
		{"0.3.75", "async-offload=4", "", "always uses 2 streams"},
		{"0.3.75", "async-offload=off", "", ""},
		{"0.3.30", "async-offload=on", "", "has no asynchronous offloading"},
		{"0.3.30", "async-offload=3", "", "has no asynchronous offloading"},
		{"0.29.0", "smart-memory=off mmap=off cpu-vae=on", "--disable-smart-memory --disable-mmap --cpu-vae", ""},
		{"0.3.44", "mmap=off", "", "0.3.44 does not know --disable-mmap"},
		{"0.3.44", "mmap=on", "", ""},
		{"0.29.0", "cache=classic", "--cache-classic", ""},
		{"0.29.0", "cache=none", "--cache-none", ""},
		{"0.29.0", "cache=high-ram", "--high-ram", ""},
		{"0.24.0", "cache=high-ram", "", "does not know --high-ram"},
		{"0.22.0", "cache=ram", "--cache-ram", ""},
		{"0.23.0", "cache=ram", "", ""},
		{"0.3.67", "cache=ram", "", "does not know --cache-ram"},
		{"0.3.27", "cache=none", "", "does not know --cache-none"},
		{"0.29.0", "cache-lru=10", "--cache-lru 10", ""},
		{"0.29.0", "cache-lru=0", "", "means no such cache"},
		{"0.29.0", "cache-ram=4", "--cache-ram=4", ""},
		{"0.29.0", "cache-ram=0", "--cache-ram=0", ""},
		{"0.22.0", "cache-ram=0", "", "turns that cache off"},
		{"0.29.0", "cache-ram=4 cache=ram", "--cache-ram=4", ""},
		{"0.29.0", "cache-ram=4 cache=none", "", "cache=none and cache-ram=4 exclude one another"},
		{"0.29.0", "cache-lru=4 cache=classic", "", "exclude one another"},
		{"0.29.0", "cache-lru=4 cache-ram=4 cache=ram", "", "exclude one another"},
		{"0.29.0", "reserve-vram=2 vram-headroom=1.5", "--reserve-vram 2 --vram-headroom 1.5", ""},
		{"0.24.0", "vram-headroom=1", "", "does not know --vram-headroom"},
		{"0.24.0", "vram-headroom=0", "", ""},
		{"0.29.0", "cuda-malloc=on", "--cuda-malloc", ""},
		{"0.29.0", "cuda-malloc=off", "--disable-cuda-malloc", ""},
		{"0.29.0", "fast-disk=on", "--fast-disk", ""},
		{"0.22.0", "fast-disk=on", "", "does not know --fast-disk"},
		{"0.29.0", "attention=pytorch", "--use-pytorch-cross-attention", ""},
		{"0.29.0", "attention=split", "--use-split-cross-attention", ""},
		{"0.29.0", "attention=sage", "--use-sage-attention", ""},
		{"0.29.0", "attention=flash", "--use-flash-attention", ""},
		{"0.29.0", "attention=xformers", "", "xformers is not installed"},
		{"0.3.26", "attention=flash", "", "does not know --use-flash-attention"},
		{"0.29.0", "unet-dtype=fp8_e4m3fn vae-dtype=bf16 text-encoder-dtype=fp16", "--fp8_e4m3fn-unet --bf16-vae --fp16-text-enc", ""},
		{"0.3.28", "unet-dtype=fp8_e8m0fnu", "", "does not know --fp8_e8m0fnu-unet"},
		{"0.29.0", "device=cpu", "--cpu", ""},
		{"0.29.0", "device=cpu cache=none dynamic-vram=off pinned-memory=off async-offload=off cuda-malloc=off", "--cpu --disable-dynamic-vram --disable-pinned-memory --disable-async-offload --cache-none --disable-cuda-malloc", ""},
		{"0.29.0", "device=cpu vram-mode=normal", "--cpu", ""},
		{"0.29.0", "device=cpu vram-mode=low", "", "vram-mode=low needs a GPU, but device=cpu"},
		{"0.29.0", "device=cpu dynamic-vram=on", "", "needs a GPU"},
		{"0.29.0", "device=cpu pinned-memory=on", "", "needs a GPU"},
		{"0.29.0", "device=cpu async-offload=on", "", "needs a GPU"},
		{"0.29.0", "device=cpu async-offload=3", "", "needs a GPU"},
		{"0.29.0", "device=cpu reserve-vram=1", "", "needs a GPU"},
		{"0.29.0", "device=cpu vram-headroom=1", "", "needs a GPU"},
		{"0.29.0", "device=cpu cuda-malloc=on", "", "needs a GPU"},
		{"0.29.0", "device=cpu fast-disk=on", "", "needs a GPU"},
		{"0.29.0", "device=cpu attention=sage", "", "needs a GPU"},
		{"0.29.0", "device=cpu attention=quad", "--cpu --use-quad-cross-attention", ""},
		// Each change of meaning, on both sides of it.
		{"0.15.1", "dynamic-vram=on", "--fast=dynamic_vram", ""},
		{"0.15.0", "dynamic-vram=on vram-mode=high", "", "turns dynamic VRAM off in 0.15.0"},
		{"0.15.0", "dynamic-vram=on vram-mode=no", "--novram --fast=dynamic_vram", ""},
		{"0.16.1", "dynamic-vram=on", "", ""},
		{"0.16.1", "dynamic-vram=off", "--disable-dynamic-vram", ""},
		{"0.16.1", "dynamic-vram=on vram-mode=no", "", "vram-mode=no turns dynamic VRAM off"},
		{"0.17.0", "dynamic-vram=on vram-mode=no", "", "cannot be forced"},
		{"0.18.0", "dynamic-vram=on vram-mode=no", "--enable-dynamic-vram --novram", ""},
		{"0.18.0", "dynamic-vram=on", "", ""},
		{"0.11.0", "dynamic-vram=off", "", ""},
		{"0.3.31", "async-offload=on", "--async-offload", ""},
		{"0.3.31", "async-offload=3", "", "always uses 2 streams (their number can be chosen since 0.3.76)"},
		{"0.3.30", "async-offload=off", "", ""},
		{"0.3.76", "async-offload=on", "", ""},
		{"0.3.76", "async-offload=3", "--async-offload=3", ""},
		{"0.3.76", "async-offload=off", "--disable-async-offload", ""},
		{"0.3.67", "cache-ram=4", "", "does not know --cache-ram"},
		{"0.3.67", "cache-ram=off", "", ""},
		{"0.3.68", "cache-ram=4", "--cache-ram=4", ""},
		{"0.3.68", "cache-ram=0", "", "turns that cache off in 0.3.68"},
		{"0.3.68", "cache=ram", "--cache-ram", ""},
		{"0.19.1", "cache=ram", "--cache-ram", ""},
		{"0.19.1", "cache-ram=off", "", ""},
		{"0.19.1", "cache-ram=off cache=none", "--cache-none", ""},
		{"0.22.0", "cache-ram=0.5", "--cache-ram=0.5", ""},
		{"0.23.0", "cache-ram=0", "--cache-ram=0", ""},
		{"0.23.0", "cache-ram=off", "--cache-classic", ""},
		{"0.23.0", "cache-ram=off cache=classic", "--cache-classic", ""},
		{"0.23.0", "cache-ram=off cache-lru=3", "--cache-lru 3", ""},
		{"0.23.0", "cache-ram=off cache=ram", "", "exclude one another"},
		{"0.23.0", "cache-ram=off cache=none cache-lru=3", "", "exclude one another"},
		{"0.26.0", "cache-ram=off", "--cache-classic", ""},
		{"0.26.0", "cache=high-ram", "--high-ram", ""},
		{"0.21.0", "vram-mode=normal", "", ""},
		{"0.22.0", "vram-mode=normal", "", ""},
		{"0.3.45", "mmap=off", "--disable-mmap", ""},
		{"0.3.10", "smart-memory=off", "--disable-smart-memory", ""},
		{"0.3.10", "smart-memory=on", "", ""},
		{"0.22.0", "fast-disk=off", "", ""},
		{"0.23.0", "fast-disk=on", "--fast-disk", ""},
		{"0.24.0", "vram-headroom=2", "", "does not know --vram-headroom"},
		{"0.26.0", "vram-headroom=2", "--vram-headroom 2", ""},
		{"0.17.0", "intermediates=fp16", "", "does not know --fp16-intermediates"},
		{"0.17.0", "intermediates=fp32", "", ""},
		{"0.18.0", "intermediates=fp16", "--fp16-intermediates", ""},
		{"0.3.10", "force-fp=fp16 upcast-attention=on deterministic=on", "--force-fp16 --force-upcast-attention --deterministic", ""},
		{"0.29.0", "force-fp=fp32 upcast-attention=off deterministic=off", "--force-fp32 --dont-upcast-attention", ""},
		// Features of --fast share one flag, at the end.
		{"0.3.13", "fp16-accumulation=on", "", "for everything at once only"},
		{"0.3.13", "fp16-accumulation=off", "", ""},
		{"0.3.20", "fp16-accumulation=on", "--fast=fp16_accumulation", ""},
		{"0.3.27", "cublas-ops=on", "", "does not know --fast cublas_ops"},
		{"0.3.28", "cublas-ops=on", "--fast=cublas_ops", ""},
		{"0.3.55", "autotune=on", "", "does not know --fast autotune"},
		{"0.3.57", "autotune=on fp8-matrix-mult=on cpu-vae=on", "--cpu-vae --fast fp8_matrix_mult autotune", ""},
		{"0.3.68", "pinned-memory=on autotune=on", "--fast pinned_memory autotune", ""},
		{"0.12.0", "dynamic-vram=on fp16-accumulation=on reserve-vram=1", "--reserve-vram 1 --fast dynamic_vram fp16_accumulation", ""},
		{"0.29.0", "device=cpu autotune=on", "", "needs a GPU"},
		{"0.29.0", "attention=ck", "", "does not know --use-ck-attention"},
		{"0.29.0", "reserve-vram=inf", "", "takes a number"},
		{"0.29.0", "reserve-vram=0x1p2", "", "takes a number"},
		{"0.29.0", "pined-memory=off", "", `unknown setting "pined-memory"`},
		{"0.29.0", "pinned-memory=maybe", "", `takes on, off, not "maybe"`},
	} {
		v := version(t, c.release)
		v.Packages = packages
		argv, reason := (&Target{}).Argv(memtrix.Cell{Version: v, Settings: set(c.settings)})
		if got := strings.Join(argv, " "); got != c.argv {
			t.Errorf("%s %s: argv %q, want %q", c.release, c.settings, got, c.argv)
		}
		if (reason == "") != (c.reason == "") || !strings.Contains(reason, c.reason) {
			t.Errorf("%s %s: reason %q, want %q", c.release, c.settings, reason, c.reason)
		}
	}
}

// An installed xformers would win over other attention without a word.
func TestArgvXformers(t *testing.T) {
	v := memtrix.Version{Name: "x", Packages: map[string]string{"xformers": "0.0.30"}}
	argv, _ := (&Target{}).Argv(memtrix.Cell{Version: v, Settings: set("attention=split")})
	if want := []string{"--use-split-cross-attention", "--disable-xformers"}; !slices.Equal(argv, want) {
		t.Errorf("got %q, want %q", argv, want)
	}
	if argv, reason := (&Target{}).Argv(memtrix.Cell{Version: v, Settings: set("attention=xformers")}); len(argv) != 0 || reason != "" {
		t.Errorf("got %q, %q, want nothing", argv, reason)
	}
}

// A version whose flags could not be read, and a simulated one, are taken to be
// today's.
func TestArgvUnknownFlags(t *testing.T) {
	v := memtrix.Version{Name: "A", Target: memtrix.TargetSim}
	argv, reason := (&Target{}).Argv(memtrix.Cell{Version: v, Settings: set("dynamic-vram=off cache=none")})
	if want := []string{"--disable-dynamic-vram", "--cache-none"}; !slices.Equal(argv, want) || reason != "" {
		t.Errorf("got %q, %q, want %q", argv, reason, want)
	}
}

func TestRelease(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool // at least 0.12.0
	}{
		{"0.3.77", false}, {"0.4.0", false}, {"0.12.0", true}, {"0.29.0-dev", true}, {"v1.0", true}, {"0.12", true},
		{"", false}, {"nightly", false},
	} {
		if got := parseRelease(c.text).atLeast(0, 12, 0); got != c.want {
			t.Errorf("%q: got %v, want %v", c.text, got, c.want)
		}
	}
}

// A version that was asked for its features of --fast is believed; its release is
// not.
func TestArgvOwnFeatures(t *testing.T) {
	v := memtrix.Version{Name: "x", Release: "0.3.10", Flags: map[string]bool{"--fast": true, "--fast=new_thing": true, "--fast=dynamic_vram": true}}
	argv, reason := (&Target{}).Argv(memtrix.Cell{Version: v, Settings: set("dynamic-vram=on")})
	if want := []string{"--fast=dynamic_vram"}; !slices.Equal(argv, want) {
		t.Errorf("got %q, %q, want %q", argv, reason, want)
	}
	if _, reason := (&Target{}).Argv(memtrix.Cell{Version: v, Settings: set("pinned-memory=on")}); reason == "" {
		t.Error("pinned_memory is not in its list")
	}
}

// A simulated version has the flags of its release.
func TestArgvSimulated(t *testing.T) {
	for _, c := range [][2]string{
		{"0.3.64", ""}, {"0.18.1", "--disable-dynamic-vram"}, {"0.29.1-demo", "--disable-dynamic-vram"},
	} {
		v := memtrix.Version{Name: "A", Target: memtrix.TargetSim, Release: c[0]}
		argv, reason := (&Target{}).Argv(memtrix.Cell{Version: v, Settings: set("dynamic-vram=off")})
		if got := strings.Join(argv, " "); got != c[1] || reason != "" {
			t.Errorf("%s: got %q, %q, want %q", c[0], got, reason, c[1])
		}
	}
}

func TestNotes(t *testing.T) {
	packages := func(words string) map[string]string { return set(words) }
	for _, c := range []struct {
		release, settings string
		packages          map[string]string
		want              string // of the only note
	}{
		{"0.29.0", "", nil, ""},
		{"0.29.0", "vram-mode=low", nil, "no-effect-expected: --lowvram"},
		{"0.29.0", "vram-mode=low dynamic-vram=off", nil, ""},
		{"0.29.0", "vram-mode=low", packages("torch=2.11.0"), ""}, // no comfy-aimdo: no dynamic VRAM
		{"0.29.0", "vram-mode=low", packages("torch=2.11.0 comfy-aimdo=0.4.10"), "--lowvram"},
		{"0.16.3", "vram-mode=low", nil, ""},
		{"0.16.4", "vram-mode=low", nil, "--lowvram"},
		{"0.15.0", "vram-mode=low", nil, ""},
		{"0.29.0", "vram-headroom=2", nil, ""},
		{"0.29.0", "vram-headroom=2 dynamic-vram=off", nil, "--vram-headroom without dynamic VRAM"},
		{"0.29.0", "vram-headroom=0 dynamic-vram=off", nil, ""},
		{"0.29.0", "fast-disk=on vram-mode=high", nil, "--fast-disk without dynamic VRAM"},
		{"0.29.0", "fast-disk=on vram-headroom=1 dynamic-vram=off", nil, "--vram-headroom and --fast-disk"},
		{"0.29.0", "fast-disk=on vram-mode=high dynamic-vram=on", nil, ""},
		{"0.24.0", "reserve-vram=2", nil, "only since 0.25.0"},
		{"0.24.0", "reserve-vram=2 dynamic-vram=off", nil, ""},
		{"0.26.0", "reserve-vram=2", nil, ""},
		{"0.11.0", "reserve-vram=2", nil, ""},
		{"0.29.0", "cuda-malloc=on", packages("torch=2.9.0+rocm6.4 comfy-aimdo=1"), "torch 2.9.0+rocm6.4"},
		{"0.29.0", "cuda-malloc=on", packages("torch=2.9.0+cu128 comfy-aimdo=1"), ""},
		{"0.29.0", "cuda-malloc=on", packages("torch=2.9.0 comfy-aimdo=1"), ""},
		{"0.29.0", "force-fp=fp16 unet-dtype=fp8_e5m2", nil, "--fp8_e5m2-unet beside --force-fp16"},
		{"0.29.0", "force-fp=fp16 unet-dtype=bf16", nil, ""},
		{"0.3.13", "force-fp=fp16 unet-dtype=fp8_e5m2", nil, ""},
		{"0.29.0", "cublas-ops=on", packages("torch=2.9.0"), "without the package"},
		{"0.29.0", "cublas-ops=on", packages("cublas_ops=1"), ""},
		{"0.29.0", "dynamic-vram=on", packages("torch=2.9.0"), "comfy-aimdo is not installed"},
		{"0.17.0", "dynamic-vram=on", packages("torch=2.7.1 comfy-aimdo=1"), "needs torch 2.8"},
		{"0.29.0", "device=cpu pinned-memory=off async-offload=0 cpu-vae=on", nil, "pinned-memory=off, async-offload=0, cpu-vae=on: with device=cpu"},
		{"0.29.0", "device=cpu vram-mode=low", nil, ""}, // not applicable
	} {
		v := version(t, c.release)
		v.Packages = c.packages
		notes := (&Target{}).Notes(memtrix.Cell{Version: v, Settings: set(c.settings)})
		text := strings.Join(notes, "; ")
		if (text == "") != (c.want == "") || !strings.Contains(text, c.want) || len(notes) > 1 {
			t.Errorf("%s {%s} %v: got %q, want %q", c.release, c.settings, c.packages, notes, c.want)
		}
	}
}

func TestCheckArgs(t *testing.T) {
	for _, c := range []struct{ release, args, want string }{
		{"0.29.0", "--verbose DEBUG --cuda-device 1", ""},
		{"0.22.0", "--normalvram", "0.22.0 does not know --normalvram and will not start with it"},
		{"0.21.0", "--normalvram", ""},
		{"0.29.0", "--disable-pinned", "0.29.0 takes --disable-pinned for --disable-pinned-memory"},
		{"0.29.0", "--cache-r=1", "takes --cache-r for --cache-ram"},
		{"0.29.0", "--cache", "it could be --cache-classic or --cache-lru or --cache-none or --cache-ram"},
		{"0.29.0", "--port 8188", "memtrix sets --port itself"},
		{"0.29.0", "lowvram", "is no flag"},
		{"0.29.0", "--sim-fault no-aimdo", "does not know --sim-fault"},
		{"0.29.0", "", ""},
	} {
		got := strings.Join((&Target{}).CheckArgs(version(t, c.release), strings.Fields(c.args)), "; ")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s %q: got %q, want %q", c.release, c.args, got, c.want)
		}
	}
	sim := memtrix.Version{Name: "A", Target: memtrix.TargetSim, Release: "0.29.0"}
	if got := (&Target{}).CheckArgs(sim, []string{"--sim-fault=no-aimdo", "--lowvram"}); got != nil {
		t.Errorf("simulated: %q", got)
	}
}
