package standin

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// File is a model file as a workflow asks for it.
type File struct {
	// Folder is the kind of model: the folder's name in models/ ("checkpoints").
	Folder string
	// Name is the path in that folder, with slashes.
	Name string
	// Class is the loader node's class, Input its input that names the file, and
	// Type its input "type" ("flux", of a text encoder), "" where it has none.
	Class, Input, Type string
}

// Choice is what a file's stand-in is.
type Choice struct {
	Family *Family
	DType  string
	// Why says by what the file was recognised.
	Why string
}

// UnknownError is returned for a file that no family fits for certain.
type UnknownError struct {
	File   File
	Reason string
	// Families are those that the loader node could take.
	Families []string
}

// Error says what is known and what can be done.
func (e *UnknownError) Error() string {
	msg := fmt.Sprintf("no stand-in for %s (%s.%s, folder %s): %s", e.File.Name, e.File.Class, e.File.Input, e.File.Folder, e.Reason)
	if len(e.Families) == 0 {
		return msg
	}
	return fmt.Sprintf("%s. Say what it is, for example standins: {%q: %s}; what goes into that folder: %s",
		msg, e.File.Name, e.Families[0], strings.Join(e.Families, ", "))
}

// CheckMapped reports what is wrong with what a person said a file is ("FAMILY" or
// "FAMILY DTYPE"), whatever the file.
func CheckMapped(mapped string) error {
	name, dtype, _ := strings.Cut(strings.TrimSpace(mapped), " ")
	family, err := Find(name)
	if err != nil || strings.TrimSpace(dtype) == "" {
		return err
	}
	_, err = family.Size(strings.TrimSpace(dtype))
	return err
}

// Recognise chooses the family and type of a file by the folder that its loader
// node reads and by its name. Mapped is what a person said of it ("FAMILY" or
// "FAMILY DTYPE"), "" for nothing. An error is of type *UnknownError where more
// must be said.
func Recognise(f File, mapped string) (Choice, error) {
	if wrong := outside(f.Name); wrong != "" {
		return Choice{}, &UnknownError{File: f, Reason: wrong}
	}
	if kind := otherKind(f.Name); kind != "" {
		return Choice{}, &UnknownError{File: f, Reason: kind}
	}
	if mapped != "" {
		return choose(f, mapped)
	}
	if c, ok := published(f); ok {
		return c, nil
	}
	name := plain(base(f.Name))
	family, why := byName(f, name), "its name"
	if family == nil {
		family, why = byType(f), "its loader's type "+f.Type
	}
	unknown := &UnknownError{File: f, Reason: "its name tells no family", Families: fitting(f.Folder)}
	if family == nil {
		if word := odd.FindString(name); word != "" {
			unknown.Reason = fmt.Sprintf("models called %q have other shapes than the plain ones", strings.Trim(word, "_"))
		}
		return Choice{}, unknown
	}
	if word := otherQuant.FindString(name); word != "" {
		unknown.Reason = fmt.Sprintf("by its name it is %s, but %q is no type that a stand-in can have", family.Name, strings.Trim(word, "_"))
		unknown.Families = []string{family.Name + " fp8"}
		return Choice{}, unknown
	}
	dtype, told := dtypeOf(name, family)
	if !told {
		why += "; type not told, so the usual one"
	}
	return Choice{Family: family, DType: dtype, Why: why}, nil
}

// published finds a file under the very name that it is published with.
func published(f File) (Choice, bool) {
	for _, family := range All() {
		for _, p := range family.Published {
			if sameFolder(family.Folder, f.Folder) && strings.EqualFold(p.File, path.Base(f.Name)) {
				return Choice{Family: family, DType: p.DType, Why: "its name"}, true
			}
		}
	}
	return Choice{}, false
}

// outside tells names that are no place below a models folder: a workflow of
// somebody else must not choose where files are written.
func outside(name string) string {
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > 255 {
			return "its name is longer than a file's name can be (255 bytes)"
		}
	}
	switch {
	case strings.ContainsFunc(name, unicode.IsControl) || !utf8.ValidString(name):
		return "its name has characters that no file's name should have"
	case path.IsAbs(name) || !filepath.IsLocal(filepath.FromSlash(name)) || len(name) > 1 && name[1] == ':':
		return "its name leads out of that folder, and a loader takes only what is in it. Give the input another value with set:"
	}
	return ""
}

// choose follows what a person said.
func choose(f File, mapped string) (Choice, error) {
	name, dtype, _ := strings.Cut(strings.TrimSpace(mapped), " ")
	family, err := Find(name)
	if err != nil {
		return Choice{}, err
	}
	if !loads(f.Folder, family.Folder) {
		return Choice{}, &UnknownError{File: f, Families: fitting(f.Folder),
			Reason: fmt.Sprintf("it is said to be %s, which goes into the folder %s", family.Name, family.Folder)}
	}
	if dtype = strings.TrimSpace(dtype); dtype == "" {
		dtype, _ = dtypeOf(plain(base(f.Name)), family)
	}
	if _, err := family.Tensors(dtype); err != nil {
		return Choice{}, err
	}
	return Choice{Family: family, DType: dtype, Why: "what the spec says"}, nil
}

// otherKind tells files that cannot be stood in for by their names.
func otherKind(name string) string {
	lower := strings.ToLower(path.Base(name))
	switch ext := path.Ext(lower); ext {
	case ".gguf":
		return "a GGUF file has its weights in blocks of few bits; a stand-in is a safetensors file. With a safetensors file's name and a plain loader (UNETLoader, CLIPLoader) in the workflow it can be stood in for"
	case ".ckpt", ".pt", ".pt2", ".pth", ".bin", ".pkl":
		return fmt.Sprintf("a %s file is read by Python's pickle; a stand-in is a safetensors file. Give the input another value with set:, a name that ends in .safetensors", ext)
	case ".json":
		return "an index of a model in several files; ComfyUI's loaders take one file"
	case ".safetensors", ".sft":
	default:
		return fmt.Sprintf("%q is no ending of a safetensors file", ext)
	}
	if shard.MatchString(lower) {
		return "one of several files of a model in diffusers form; ComfyUI's loaders take one file"
	}
	return ""
}

var shard = regexp.MustCompile(`-\d{5}-of-\d{5}\.`)

// odd are words of models that have other inputs, layers or sizes than the plain
// model of their family.
var odd = regexp.MustCompile(`(^|_)(inpaint(ing)?|refiner|pix2pix|instruct|fill|canny|depth|redux|vace|animate|s2v|fun|camera|radiance|omni|layered|lite|mini|tiny|turbo_vae)(_|$)`)

// otherQuant are ways to make a model smaller that a stand-in cannot have.
var otherQuant = regexp.MustCompile(`(^|_)(nvfp4|mxfp[48]|fp4|nf4|int[48]|svdq|q[2-8]|w[48]a[48]|awq|gptq)(_|$)`)

func byName(f File, name string) *Family {
	if odd.MatchString(name) && f.Folder != "controlnet" && f.Folder != "loras" {
		return nil
	}
	for _, family := range All() {
		if !sameFolder(family.Folder, f.Folder) {
			continue
		}
		for _, p := range family.names {
			if pattern(p).MatchString(name) {
				return family
			}
		}
	}
	return nil
}

// byType follows the input "type" of a text encoder's loader, where that leaves
// one family.
func byType(f File) *Family {
	if f.Folder != "text_encoders" || f.Class != "CLIPLoader" {
		return nil
	}
	families := map[string]string{
		"wan": "umt5-xxl", "ltxv": "t5-xxl", "chroma": "t5-xxl", "qwen_image": "qwen2.5-vl-7b",
	}
	family, err := Find(families[f.Type])
	if err != nil {
		return nil
	}
	return family
}

// sameFolder: ComfyUI knows two folders under an older name, too.
func sameFolder(a, b string) bool {
	newer := map[string]string{"unet": "diffusion_models", "clip": "text_encoders", "unet_gguf": "diffusion_models"}
	if n, ok := newer[b]; ok {
		b = n
	}
	return a == b
}

// loads reports whether a loader of one folder can do with a file of another: it
// takes the diffusion model out of a checkpoint, and the other way about.
func loads(folder, of string) bool {
	whole := func(name string) bool {
		return sameFolder("diffusion_models", name) || name == "checkpoints"
	}
	return sameFolder(of, folder) || whole(folder) && whole(of)
}

// fitting are the families that go into a folder.
func fitting(folder string) []string {
	var names []string
	for _, f := range All() {
		if sameFolder(f.Folder, folder) {
			names = append(names, f.Name)
		}
	}
	return names
}

// dtypeOf finds the type in a name, else it is the family's usual one.
func dtypeOf(name string, f *Family) (dtype string, told bool) {
	words := strings.Split(name, "_")
	has := func(any ...string) bool {
		return slices.ContainsFunc(any, func(w string) bool { return slices.Contains(words, w) })
	}
	fp8 := slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "fp8") }) || has("e4m3fn", "float8")
	switch {
	case fp8 && f.Scalable() && (has("scaled", "fp8mixed", "fp8scaled") || onlyScaled(f)):
		return "fp8_scaled", true
	case fp8:
		return "fp8", true
	case has("bf16", "bfloat16"):
		return "bf16", true
	case has("fp16", "f16", "float16", "half"):
		return "fp16", true
	case has("fp32", "f32", "float32"):
		return "fp32", true
	}
	return f.DTypes[0], false
}

// onlyScaled: of some models the file called fp8 is of the scaled form.
func onlyScaled(f *Family) bool {
	return slices.Contains(f.DTypes, "fp8_scaled") && !slices.Contains(f.DTypes, "fp8")
}

func base(name string) string {
	b := path.Base(name)
	return strings.TrimSuffix(b, path.Ext(b))
}

var notPlain = regexp.MustCompile(`[^a-z0-9]+`)

// plain writes a name in small letters, digits and single underscores.
func plain(name string) string {
	return strings.Trim(notPlain.ReplaceAllString(strings.ToLower(name), "_"), "_")
}

// pattern compiles one of the families' patterns, once. They are tested to compile.
func pattern(text string) *regexp.Regexp {
	known, ok := patternsOfNames.Load(text)
	if !ok {
		known, _ = patternsOfNames.LoadOrStore(text, regexp.MustCompile(text))
	}
	return known.(*regexp.Regexp)
}

var patternsOfNames sync.Map
