package workflows

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
)

// The numbers are those of the real models: parameters from the golden shapes,
// sizes as measured (1.99 and 6.46 GiB).
func TestStandInFiles(t *testing.T) {
	check := func(family, dtype, stored string, tensors int, dataBytes int64, gib float64) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "models", family+".safetensors")
		if err := WriteStandIn(path, family, dtype); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var length uint64
		if err := binary.Read(f, binary.LittleEndian, &length); err != nil {
			t.Fatal(err)
		}
		if got, want := info.Size(), 8+int64(length)+dataBytes; got != want {
			t.Errorf("%s %s: %d bytes, want %d", family, dtype, got, want)
		}
		if size, err := StandInSize(family, dtype); err != nil || size != info.Size() {
			t.Errorf("StandInSize: got %d, %v, want %d", size, err, info.Size())
		}
		if got := float64(info.Size()) / (1 << 30); got < gib-0.01 || got > gib+0.01 {
			t.Errorf("%s %s: %.3f GiB, want %.2f", family, dtype, got, gib)
		}
		if length%8 != 0 {
			t.Errorf("data begin at %d, which is no multiple of 8", 8+length)
		}
		if used, ok := allocated(f); ok && used > 16<<20 {
			t.Logf("%s takes %d MiB on disk: no sparse files here", family, used>>20)
		}
		checkHeader(t, path, family, stored, tensors, dataBytes)
	}
	check("sd15", "fp16", "F16", 686+248+197, 2*(859520964+83653863+123650304), 1.99)
	check("sdxl", "fp16", "F16", 1680+248+586, 2*(2567463684+83653863+817720321), 6.46)
	check("sd15", "fp8", "F8_E4M3", 686+248+197, 859520964+83653863+123650304, 0.99)
	check("sd15", "bf16", "BF16", 686+248+197, 2*(859520964+83653863+123650304), 1.99)
	check("sd15", "fp32", "F32", 686+248+197, 4*(859520964+83653863+123650304), 3.97)
}

// checkHeader reads a file as a loader does: every tensor has its shape's
// bytes, and they lie one behind the other without gaps, to the end.
func checkHeader(t *testing.T, path, family, dtype string, tensors int, dataBytes int64) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	header, err := readHeader(f)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(header) - 1; got != tensors {
		t.Errorf("%s: %d tensors, want %d", family, got, tensors)
	}
	want, err := StandIn(family)
	if err != nil {
		t.Fatal(err)
	}
	at := int64(0)
	for _, tensor := range want {
		var got struct {
			DType   string   `json:"dtype"`
			Shape   []int64  `json:"shape"`
			Offsets [2]int64 `json:"data_offsets"`
		}
		if err := json.Unmarshal(header[tensor.Name], &got); err != nil {
			t.Fatalf("%s: %v", tensor.Name, err)
		}
		size := map[string]int64{"F16": 2, "BF16": 2, "F8_E4M3": 1, "F32": 4}[dtype]
		if got.DType != dtype || got.Shape == nil || !reflect.DeepEqual(got.Shape, append([]int64{}, tensor.Shape...)) ||
			got.Offsets != [2]int64{at, at + size*tensor.Elements()} {
			t.Fatalf("%s: got %+v at %d", tensor.Name, got, at)
		}
		at = got.Offsets[1]
	}
	if at != dataBytes {
		t.Errorf("%s: tensors end at %d, want %d", family, at, dataBytes)
	}
	if what, ok := IsStandIn(path); !ok || what == "" {
		t.Errorf("%s is not recognised as a stand-in", path)
	}
}

func TestStandInShapes(t *testing.T) {
	tensors, err := StandIn("sdxl")
	if err != nil {
		t.Fatal(err)
	}
	shapes := map[string][]int64{}
	for _, tensor := range tensors {
		shapes[tensor.Name] = tensor.Shape
	}
	// What ComfyUI tells SDXL by (comfy/model_detection.py).
	for name, want := range map[string][]int64{
		"model.diffusion_model.input_blocks.0.0.weight":                                       {320, 4, 3, 3},
		"model.diffusion_model.label_emb.0.0.weight":                                          {1280, 2816},
		"model.diffusion_model.input_blocks.4.1.transformer_blocks.0.attn2.to_k.weight":       {640, 2048},
		"first_stage_model.decoder.conv_in.weight":                                            {512, 4, 3, 3},
		"conditioner.embedders.0.transformer.text_model.embeddings.position_embedding.weight": {77, 768},
	} {
		if !reflect.DeepEqual(shapes[name], want) {
			t.Errorf("%s: got %v, want %v", name, shapes[name], want)
		}
	}
	if _, err := StandIn("flux"); err == nil {
		t.Error("no error for a family that has no stand-in")
	}
	if _, err := StandInSize("sd15", "int8"); err == nil {
		t.Error("no error for a dtype that is not there")
	}
}

func TestStandInNeverOverwrites(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sd15.safetensors")
	if err := os.WriteFile(path, []byte("the user's own"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteStandIn(path, "sd15", "fp16"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want ErrExist", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "the user's own" {
		t.Errorf("the file is now %q, %v", data, err)
	}
	// A dangling link is somebody's file, too.
	link := filepath.Join(dir, "link.safetensors")
	if err := os.Symlink(filepath.Join(dir, "away"), link); err == nil {
		if err := WriteStandIn(link, "sd15", "fp16"); !errors.Is(err, fs.ErrExist) {
			t.Errorf("link: got %v, want ErrExist", err)
		}
	}
	if _, ok := IsStandIn(path); ok {
		t.Error("the user's file is taken for a stand-in")
	}
	if err := WriteStandIn(filepath.Join(path, "x"), "sd15", "fp16"); err == nil {
		t.Error("no error below a file")
	}
	// Two at a time: one wins, and nothing else is left in the folder.
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		wg.Go(func() { errs[i] = WriteStandIn(filepath.Join(dir, "two", "sd15.safetensors"), "sd15", "fp16") })
	}
	wg.Wait()
	if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), fs.ErrExist) {
		t.Errorf("got %v and %v, want one success and one ErrExist", errs[0], errs[1])
	}
	if left, err := os.ReadDir(filepath.Join(dir, "two")); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestFits(t *testing.T) {
	if !fits(true, 0, 1<<40) || !fits(false, 10, 10) || fits(false, 9, 10) {
		t.Error("holes need no space; everything else needs all of it")
	}
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if free, err := freeBytes(filepath.Dir(f.Name())); err != nil || free <= 0 {
		t.Errorf("free: got %d, %v", free, err)
	}
	if _, err := f.Write(make([]byte, probeSize)); err != nil {
		t.Fatal(err)
	}
	// Synced, so that what was written has its blocks.
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if sparse(f) {
		t.Error("a file that is written throughout counts as sparse")
	}
}

func TestIsStandInOfOddFiles(t *testing.T) {
	for _, data := range []string{"", "short", "\xff\xff\xff\xff\xff\xff\xff\x7f{}", "\x10\x00\x00\x00\x00\x00\x00\x00{}", "\x02\x00\x00\x00\x00\x00\x00\x00{}"} {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if what, ok := IsStandIn(path); ok {
			t.Errorf("%q: got %q", data, what)
		}
	}
}

func TestNeeded(t *testing.T) {
	check := func(data string, want ...ModelFile) {
		t.Helper()
		if got := Needed(mustDecode(t, data)); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	check(`{"1": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "SD\\a.safetensors"}}, "2": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "SD/a.safetensors"}}}`,
		ModelFile{"checkpoints", "SD/a.safetensors", "1", "CheckpointLoaderSimple", "ckpt_name"})
	check(`{"1": {"class_type": "UNETLoader", "inputs": {"unet_name": "u", "weight_dtype": "default"}},
		"2": {"class_type": "DualCLIPLoader", "inputs": {"clip_name1": "l", "clip_name2": "t5", "type": "flux"}},
		"3": {"class_type": "CLIPVisionLoader", "inputs": {"clip_name": "v"}},
		"4": {"class_type": "VAELoader", "inputs": {"vae_name": "taesd"}},
		"5": {"class_type": "VAELoader", "inputs": {"vae_name": "ae"}},
		"6": {"class_type": "LoraLoader", "inputs": {"lora_name": ["7", 0], "model": ["1", 0]}},
		"7": {"class_type": "Pick", "inputs": {"lora_name": "None"}},
		"8": {"class_type": "UpscaleModelLoader", "inputs": {"model_name": "up"}},
		"9": {"class_type": "KlingNode", "inputs": {"model_name": "v1"}}}`,
		ModelFile{"clip_vision", "v", "3", "CLIPVisionLoader", "clip_name"},
		ModelFile{"diffusion_models", "u", "1", "UNETLoader", "unet_name"},
		ModelFile{"text_encoders", "l", "2", "DualCLIPLoader", "clip_name1"},
		ModelFile{"text_encoders", "t5", "2", "DualCLIPLoader", "clip_name2"},
		ModelFile{"upscale_models", "up", "8", "UpscaleModelLoader", "model_name"},
		ModelFile{"vae", "ae", "5", "VAELoader", "vae_name"})
	for _, name := range Library() {
		w, err := BuiltIn(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range Needed(w) {
			if family, ok := StandInFor(f); !ok || family != name {
				t.Errorf("%s: no stand-in for %s", name, f.Name)
			}
		}
	}
	for _, f := range []ModelFile{{Folder: "checkpoints", Name: "mine.safetensors"}, {Folder: "vae", Name: "sd15.safetensors"}, {Folder: "checkpoints", Name: "sub/sd15.safetensors"}, {Folder: "checkpoints", Name: "sd15"}} {
		if family, ok := StandInFor(f); ok {
			t.Errorf("%+v: got %s, want none", f, family)
		}
	}
}

func BenchmarkStandInHeader(b *testing.B) {
	for b.Loop() {
		if _, _, err := standInHeader("sdxl", "fp16"); err != nil {
			b.Fatal(err)
		}
	}
}
