package comfysim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// onCard runs one prompt on a card and gives the log with the messages of the
// history.
func onCard(t *testing.T, dir string, cardMiB int64, graph any, args ...string) string {
	t.Helper()
	got := runHere(t, dir, append([]string{"--sim-card", mibArg(cardMiB)}, args...), graph)
	return got.log + got.messages
}

const (
	oomInSampler = `'node_type': 'KSampler'`
	tiledRetry   = "Warning: Ran out of memory when regular VAE decoding, retrying with tiled VAE decoding."
	success      = "execution_success"
)

// Settings, sizes and cards that were never recorded.
func TestPlausible(t *testing.T) {
	t.Parallel()
	dir := newBase(t, false, "sdxl", "sd15")
	sdxl := func(size int) any { return textToImage("sdxl.safetensors", size, 2) }
	for _, tc := range []struct {
		name   string
		card   int64
		graph  any
		args   string
		want   []string
		reject []string
	}{
		{"SDXL fits a card of 8 GiB", 8192, sdxl(1024), "", []string{success}, []string{"Exception", "Warning"}},
		{"and without dynamic VRAM", 8192, sdxl(1024), "--disable-dynamic-vram", []string{success, "loaded completely"}, []string{"Exception"}},
		{"a big card keeps everything", 24576, sdxl(1024), "--disable-dynamic-vram", []string{success}, []string{"nloaded partially"}},
		{"a card of 6 GiB loads a part", 6144, sdxl(1024), "--disable-dynamic-vram", []string{success, "loaded partially"}, nil},
		{"SD 1.5 on a card of 4 GiB", 4096, textToImage("sd15.safetensors", 512, 2), "", []string{success}, []string{"Exception"}},
		{"4 megapixels on 4 GiB: the VAE falls back to tiles", 4096, sdxl(2048), "", []string{success, tiledRetry}, nil},
		{"highvram on 5 GiB fails while loading", 5120, sdxl(1024), "--highvram",
			[]string{`'node_type': 'CheckpointLoaderSimple'`, "torch.OutOfMemoryError", "Got an OOM"}, []string{success}},
		{"a card that is too small for the sampler", 2048, sdxl(3072), "", []string{oomInSampler}, []string{success}},
		{"smart memory off unloads", 8192, sdxl(1024), "--disable-smart-memory", []string{success, "Disabling smart memory management"}, nil},
		{"gpu-only", 12288, sdxl(1024), "--gpu-only", []string{success, "offload device: cuda:0"}, []string{"Exception"}},
		{"novram", 4096, sdxl(1024), "--novram", []string{success, "Set vram state to: NO_VRAM"}, []string{"Exception"}},
		{"the VAE on the CPU", 4096, sdxl(1024), "--cpu-vae", []string{success, "VAE load device: cpu"}, []string{"Exception"}},
		{"8 bit weights are half as large", 8192, sdxl(1024), "--fp8_e4m3fn-unet --disable-dynamic-vram",
			[]string{success, "2448.52 MB loaded, full load: True", "model weight dtype torch.float8_e4m3fn"}, []string{"Exception"}},
		{"0.3.64 writes its own lines", 8192, sdxl(1024), "--sim-version 0.3.64", []string{success, "4897.0483474731445 True"}, []string{"[INFO]"}},
		{"0.18.1 has no note on small weights", 8192, sdxl(1024), "--sim-version 0.18.1", []string{success, "patches attached.\n"}, []string{"[INFO]"}},
		{"the invented version is fine by default", 8192, sdxl(1024), "--sim-version 0.29.1-demo", []string{success}, []string{"Exception"}},
		{"and out of memory without dynamic VRAM", 8192, sdxl(1024), "--sim-version 0.29.1-demo --disable-dynamic-vram",
			[]string{oomInSampler, "torch.OutOfMemoryError"}, []string{success}},
		{"but not with lowvram", 8192, sdxl(1024), "--sim-version 0.29.1-demo --disable-dynamic-vram --lowvram", []string{success}, []string{"Exception"}},
		{"nor on a card of 12 GiB", 12288, sdxl(1024), "--sim-version 0.29.1-demo --disable-dynamic-vram", []string{success}, []string{"Exception"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			text := onCard(t, dir, tc.card, tc.graph, strings.Fields(tc.args)...)
			for _, w := range tc.want {
				if !strings.Contains(text, w) {
					t.Errorf("want %q in\n%s", w, tail(text))
				}
			}
			for _, r := range tc.reject {
				if strings.Contains(text, r) {
					t.Errorf("%q in\n%s", r, tail(text))
				}
			}
		})
	}
}

// A model file that is not one is a node's error, as it is in ComfyUI.
func TestBrokenModelFiles(t *testing.T) {
	t.Parallel()
	dir := newBase(t, false)
	models := filepath.Join(dir, "models", "checkpoints")
	if err := os.MkdirAll(models, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"empty.safetensors": "header too small", "short.safetensors": "invalid header length",
		"text.safetensors": "invalid JSON", "nothing.safetensors": "Could not detect model type",
	} {
		content := map[string]string{"short.safetensors": "\xff\x00\x00\x00\x00\x00\x00\x00{}",
			"text.safetensors": "\x02\x00\x00\x00\x00\x00\x00\x00no", "nothing.safetensors": "\x02\x00\x00\x00\x00\x00\x00\x00{}"}[name]
		if err := os.WriteFile(filepath.Join(models, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if text := onCard(t, dir, 8192, textToImage(name, 64, 2)); !strings.Contains(text, want) || !strings.Contains(text, "execution_error") {
			t.Errorf("%s: want %q in\n%s", name, want, tail(text))
		}
	}
}

// Extra model paths are searched, too, with their base_path.
func TestExtraModelPaths(t *testing.T) {
	t.Parallel()
	dir, other := newBase(t, false), newBase(t, false, "sd15")
	file := filepath.Join(dir, "extra.yaml")
	text := "mine:\n    base_path: " + other + "\n    checkpoints: models/checkpoints/\n    loras: |\n        a\n        b\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got := onCard(t, dir, 8192, textToImage("sd15.safetensors", 64, 2), "--extra-model-paths-config", file)
	if !strings.Contains(got, success) {
		t.Error(got)
	}
}
