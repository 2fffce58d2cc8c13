package standin

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"memtrix/workflows/safetensors"
)

// Ensure that every family can be written in every type, is as large as what is
// published, and is found by the name of what is published.
func TestFamilies(t *testing.T) {
	names := map[string]bool{}
	for _, f := range All() {
		if names[f.Name] || f.Name != plainDashed(f.Name) {
			t.Errorf("%s: a name that is there twice, or is hard to write", f.Name)
		}
		names[f.Name] = true
		if f.About == "" || f.Folder == "" || len(f.DTypes) == 0 || len(f.Kinds()) == 0 {
			t.Errorf("%s lacks something: %+v", f.Name, f)
		}
		for _, p := range f.names {
			if _, err := regexp.Compile(p); err != nil {
				t.Errorf("%s: %v", f.Name, err)
			}
		}
		for _, dtype := range f.DTypes {
			if _, err := f.Size(dtype); err != nil {
				t.Errorf("%s %s: %v", f.Name, dtype, err)
			}
		}
		for _, p := range f.Published {
			size, err := f.Size(p.DType)
			if err != nil || !p.Near(size) {
				t.Errorf("%s %s: %d bytes, %s has %d: %.2f %%, %v", f.Name, p.DType, size, p.File, p.Bytes, 100*p.Differs(size), err)
			}
			got, err := Recognise(File{Folder: f.Folder, Name: "sub/" + p.File, Class: "Loader", Input: "name"}, "")
			if err != nil || got.Family != f || got.DType != p.DType {
				t.Errorf("%s is taken for %+v, %v; want %s %s", p.File, got, err, f.Name, p.DType)
			}
		}
	}
	// What the issue asks for.
	for _, want := range strings.Fields("sd15 sdxl sd35-large sd35-medium flux-dev flux2-dev qwen-image wan21-t2v-1.3b wan21-t2v-14b " +
		"wan22-ti2v-5b wan22-t2v-14b wan22-i2v-14b hunyuan-video ltxv-2b ltx2-19b z-image chroma lumina2 clip-l clip-g t5-xxl umt5-xxl " +
		"qwen2.5-vl-7b llama3-8b sd-vae flux-vae wan21-vae sd15-lora sd15-controlnet") {
		if _, err := Find(want); err != nil {
			t.Error(err)
		}
	}
}

func plainDashed(name string) string {
	return regexp.MustCompile(`[^a-z0-9.]+`).ReplaceAllString(name, "-")
}

func TestFindSuggests(t *testing.T) {
	if _, err := Find("flux"); err == nil || !strings.Contains(err.Error(), "did you mean flux-dev or") {
		t.Errorf("got %v", err)
	}
	if _, err := Find("x"); err == nil || strings.Contains(err.Error(), "did you mean") {
		t.Errorf("got %v", err)
	}
}

// What ComfyUI tells models by (comfy/model_detection.py).
func TestShapesThatTellModels(t *testing.T) {
	check := func(family, name string, want ...int64) {
		t.Helper()
		f, err := Find(family)
		if err != nil {
			t.Fatal(err)
		}
		tensors, err := f.Tensors(f.DTypes[0])
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(tensors, func(x safetensors.Tensor) bool { return x.Name == name })
		if i < 0 {
			t.Fatalf("%s has no %s", family, name)
		}
		if got := tensors[i].Shape; !slices.Equal(got, want) {
			t.Errorf("%s %s: got %v, want %v", family, name, got, want)
		}
	}
	check("sdxl", "model.diffusion_model.input_blocks.0.0.weight", 320, 4, 3, 3)
	check("sdxl", "model.diffusion_model.label_emb.0.0.weight", 1280, 2816)
	check("sdxl", "model.diffusion_model.input_blocks.4.1.transformer_blocks.0.attn2.to_k.weight", 640, 2048)
	check("sdxl", "first_stage_model.decoder.conv_in.weight", 512, 4, 3, 3)
	check("sdxl", "conditioner.embedders.0.transformer.text_model.embeddings.position_embedding.weight", 77, 768)
	check("flux-dev", "guidance_in.in_layer.weight", 3072, 256)
	check("qwen-image", "txt_norm.weight", 3584)
	check("wan21-i2v-14b", "patch_embedding.weight", 5120, 36, 1, 2, 2)
	check("wan22-i2v-14b", "head.modulation", 1, 2, 5120)
	check("z-image", "cap_embedder.1.weight", 3840, 2560)
	check("t5-xxl", "encoder.block.23.layer.1.DenseReluDense.wi_1.weight", 10240, 4096)
	check("sd15-controlnet", "control_model.zero_convs.0.0.weight", 320, 320, 1, 1)
}

// Ensure that the scaled form has a scale for each layer that has fp8, and that
// nothing else is fp8.
func TestScaled(t *testing.T) {
	f, err := Find("t5-xxl")
	if err != nil {
		t.Fatal(err)
	}
	tensors, err := f.Tensors("fp8_scaled")
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]string{}
	for _, x := range tensors {
		types[x.Name] = x.DType
	}
	layers := 0
	for name, dtype := range types {
		if dtype != "F8_E4M3" || name == "scaled_fp8" {
			continue
		}
		layers++
		if scale := strings.TrimSuffix(name, "weight") + "scale_weight"; types[scale] != "F32" {
			t.Errorf("%s has no scale", name)
		}
	}
	// 24 blocks with four matrices of attention and three of the feed-forward part.
	if layers != 24*7 {
		t.Errorf("%d layers are of fp8, want %d", layers, 24*7)
	}
	for _, name := range []string{"shared.weight", "encoder.embed_tokens.weight", "encoder.final_layer_norm.weight"} {
		if types[name] != "F16" {
			t.Errorf("%s is %s, want F16", name, types[name])
		}
	}
	if _, err := imageFamilies[0].Tensors("fp8_scaled"); err == nil {
		t.Error("no error for a checkpoint")
	}
	if _, err := f.Tensors("int8"); err == nil || !strings.Contains(err.Error(), "fp16, bf16, fp8") {
		t.Errorf("got %v", err)
	}
}

func TestParseShapes(t *testing.T) {
	got, err := parseShapes("# a comment\n\na.{1-3}.w 2x3\nb -\n")
	if err != nil || len(got) != 4 || got[2].Name != "a.3.w" || !slices.Equal(got[0].Shape, []int64{2, 3}) || len(got[3].Shape) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"a", "a 2x", "a -1", "a.{3-1} 2", "a.{x-1} 2", "a.{1-99999} 2"} {
		if _, err := parseShapes(bad); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}

func BenchmarkHeader(b *testing.B) {
	f, err := Find("ltx2-19b")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := f.header("bf16", Fill{}); err != nil {
			b.Fatal(err)
		}
	}
}
