package standin

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"memtrix/workflows/safetensors"
)

// Family is a kind of model file.
type Family struct {
	Name  string
	About string
	// Folder is where ComfyUI looks for it: the folder's name in models/.
	Folder string
	// Model is what ComfyUI's log calls it when it has recognised the diffusion
	// model in it ("model_type FLOW" is of several, so the class's name is not
	// in the log; see shapes/README.md). "" where it holds none.
	Model string
	// DTypes are the types that its files are published in, the usual one first.
	DTypes []string
	// Published are files that the stand-in takes the place of.
	Published []Published

	parts    []part
	names    []string // patterns of file names, see recognise.go
	extra    []extra
	metadata map[string]string
}

// Published is a file as its publisher offers it.
type Published struct {
	DType string
	File  string
	// Bytes is its size; a rounded one has three digits.
	Bytes   int64
	Rounded bool
}

// part is a list of shapes/ that a file holds.
type part struct {
	list   string
	prefix string // of the names in the file
	// dtype is that of these tensors whatever is asked for; "" for what is asked for.
	dtype string
	// replace has beginnings of names and what stands in the file instead.
	replace []string
	drop    []string // names that the file lacks
	// rank makes the part a LoRA of the list's linear layers.
	rank int64
}

// extra is a tensor that is no weight: a tokenizer.
type extra struct {
	name  string
	bytes func() []byte
}

// DTypes are the types that a stand-in can be written in. fp8_scaled is ComfyUI's
// older form of fp8 with a scale for each layer.
func DTypes() []string { return []string{"fp16", "bf16", "fp8", "fp8_scaled", "fp32"} }

// dtypes gives the safetensors names.
var dtypes = map[string]string{"fp16": "F16", "bf16": "BF16", "fp8": "F8_E4M3", "fp8_scaled": "F8_E4M3", "fp32": "F32"}

// All are all families, sorted by what they are for.
func All() []*Family {
	return slices.Concat(imageFamilies, videoFamilies, textFamilies, coderFamilies, sideFamilies)
}

// Find gives the family of a name.
func Find(name string) (*Family, error) {
	for _, f := range All() {
		if f.Name == name {
			return f, nil
		}
	}
	return nil, fmt.Errorf("there is no stand-in for %q; 'memtrix standin list' shows those that there are%s", name, similar(name))
}

// similar names families that begin as a name does.
func similar(name string) string {
	var found []string
	for _, f := range All() {
		if len(name) >= 3 && strings.Contains(plain(f.Name), plain(name)[:3]) {
			found = append(found, f.Name)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(found, " or ") + "?"
}

// Tensors lists what the family's file holds in a type.
func (f *Family) Tensors(dtype string) ([]safetensors.Tensor, error) {
	if _, ok := dtypes[dtype]; !ok {
		return nil, fmt.Errorf("there is no dtype %q for stand-ins; there are %s", dtype, strings.Join(DTypes(), ", "))
	}
	if dtype == "fp8_scaled" && !f.Scalable() {
		return nil, fmt.Errorf("there is no fp8_scaled form of %s: it is for diffusion models and text encoders with files of their own", f.Name)
	}
	var all []safetensors.Tensor
	for _, p := range f.parts {
		tensors, err := p.tensors()
		if err != nil {
			return nil, err
		}
		own := dtype
		if p.dtype != "" {
			own = p.dtype
		}
		all = append(all, f.typed(tensors, own)...)
	}
	for _, e := range f.extra {
		all = append(all, safetensors.Tensor{Name: e.name, DType: "U8", Shape: []int64{int64(len(e.bytes()))}})
	}
	return all, nil
}

// Kinds are what the file holds, in words.
func (f *Family) Kinds() []string {
	single := map[string]string{
		"diffusion_models": "diffusion model", "text_encoders": "text encoder", "vae": "vae", "loras": "lora",
		"controlnet": "controlnet", "upscale_models": "upscale model",
	}
	if kind, ok := single[f.Folder]; ok {
		return []string{kind}
	}
	var kinds []string
	for _, p := range f.parts {
		kind := "text encoder"
		switch {
		case p.prefix == diffusion:
			kind = "diffusion model"
		case strings.HasSuffix(p.list, ".vae"):
			kind = "vae"
		case strings.HasSuffix(p.list, ".audio"):
			kind = "audio vae"
		case strings.HasSuffix(p.list, ".text"):
			kind = "text projection"
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// Scalable reports whether the file can be of the scaled form of fp8.
func (f *Family) Scalable() bool {
	return f.Folder == "diffusion_models" || f.Folder == "text_encoders"
}

// typed gives tensors a type. In the scaled form linear layers have one, and a
// scale each; all else stays in the family's usual type.
func (f *Family) typed(tensors []safetensors.Tensor, dtype string) []safetensors.Tensor {
	var typed []safetensors.Tensor
	for _, t := range tensors {
		t.DType = dtypes[dtype]
		switch {
		case strings.HasSuffix(t.Name, ".alpha"): // of a LoRA
			t.DType = "F32"
		case dtype == "fp8_scaled" && linear(t):
			scale := strings.TrimSuffix(t.Name, "weight") + "scale_weight"
			typed = append(typed, safetensors.Tensor{Name: scale, DType: "F32"})
		case dtype == "fp8_scaled":
			t.DType = dtypes[f.DTypes[0]]
		}
		typed = append(typed, t)
	}
	if dtype == "fp8_scaled" {
		// Two values: products are computed in the wider type, as on most cards.
		typed = append(typed, safetensors.Tensor{Name: "scaled_fp8", DType: "F8_E4M3", Shape: []int64{2}})
	}
	return typed
}

// embeddings are tables that look like the weights of a linear layer. Files keep
// the last layer of a language model in the wide type, too.
var embeddings = regexp.MustCompile(`(embed_tokens|shared|lm_head|token_embedding|position_embedding|relative_attention_bias|embeddings?)\.weight$`)

func linear(t safetensors.Tensor) bool {
	return len(t.Shape) == 2 && strings.HasSuffix(t.Name, ".weight") && !embeddings.MatchString(t.Name)
}

// Size is the size in bytes of the file.
func (f *Family) Size(dtype string) (int64, error) {
	key := [2]string{f.Name, dtype}
	if known, ok := sizes.Load(key); ok {
		return known.(int64), nil
	}
	_, h, err := f.header(dtype, Fill{})
	if err != nil {
		return 0, err
	}
	sizes.Store(key, h.FileSize())
	return h.FileSize(), nil
}

// sizes keeps what was worked out: of thousands of names each.
var sizes sync.Map

// Differs is how far a stand-in's size is from the published one, as a part of
// it: 0.001 is one in a thousand more.
func (p Published) Differs(size int64) float64 {
	return float64(size-p.Bytes) / float64(p.Bytes)
}

// Near reports whether a size is within half a percent of the published one, and
// of its rounding.
func (p Published) Near(size int64) bool {
	allowed := 0.005
	if p.Rounded {
		digit := math.Pow(10, math.Floor(math.Log10(float64(p.Bytes)))-2)
		allowed += digit / 2 / float64(p.Bytes)
	}
	return math.Abs(p.Differs(size)) <= allowed
}

func (p part) tensors() ([]safetensors.Tensor, error) {
	list, err := shapes(p.list)
	if err != nil {
		return nil, err
	}
	if p.rank > 0 {
		list = lora(list, p.rank)
	}
	tensors := make([]safetensors.Tensor, 0, len(list))
	for _, t := range list {
		if slices.Contains(p.drop, t.Name) {
			continue
		}
		for i := 0; i+1 < len(p.replace); i += 2 {
			if rest, ok := strings.CutPrefix(t.Name, p.replace[i]); ok {
				t.Name = p.replace[i+1] + rest
				break
			}
		}
		t.Name = p.prefix + t.Name
		tensors = append(tensors, t)
	}
	return tensors, nil
}

// lora makes the two small matrices and the scale of each linear layer, under the
// names that ComfyUI takes for any model (comfy/lora.py).
func lora(list []safetensors.Tensor, rank int64) []safetensors.Tensor {
	var tensors []safetensors.Tensor
	for _, t := range list {
		if !linear(t) {
			continue
		}
		name := strings.TrimSuffix(t.Name, "weight")
		tensors = append(tensors,
			safetensors.Tensor{Name: name + "alpha"},
			safetensors.Tensor{Name: name + "lora_down.weight", Shape: []int64{rank, t.Shape[1]}},
			safetensors.Tensor{Name: name + "lora_up.weight", Shape: []int64{t.Shape[0], rank}})
	}
	return tensors
}
