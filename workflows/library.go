package workflows

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"memtrix"
)

//go:embed library/*.json
var libraryFiles embed.FS

// Entry is a built-in workflow: a small one in API format, for what people report.
type Entry struct {
	Name  string
	About string
	// inputs are those that a parameter sets; a parameter that is not here is
	// not one of this workflow.
	inputs map[string][]string
}

// The parameters of built-in workflows.
const (
	paramWidth  = "width"
	paramHeight = "height"
	paramFrames = "frames"
	paramBatch  = "batch"
	paramSteps  = "steps"
)

// size are the parameters of an input node with width, height and batch_size.
func size(node string, more map[string][]string) map[string][]string {
	inputs := map[string][]string{
		paramWidth: {node + ".width"}, paramHeight: {node + ".height"}, paramBatch: {node + ".batch_size"},
	}
	for k, v := range more {
		inputs[k] = append(inputs[k], v...)
	}
	return inputs
}

// library are the built-in workflows, the smallest first.
var library = []Entry{
	{"image", "save an image that is made and scaled; no model, runs anywhere in seconds",
		size("1", map[string][]string{paramWidth: {"2.width"}, paramHeight: {"2.height"}})},
	{"upscale", "image to four times its size by ESRGAN", size("1", nil)},
	{"vae-decode", "decode a large batch of latents", map[string][]string{
		paramWidth: {"1.width"}, paramHeight: {"1.height"}, paramBatch: {"4.amount"}}},
	{"sd15", "text to image, SD 1.5", size("4", map[string][]string{paramSteps: {"5.steps"}})},
	{"img2img", "image to image, SD 1.5", size("4", map[string][]string{paramSteps: {"6.steps"}})},
	{"lora", "text to image, SD 1.5 with a LoRA", size("5", map[string][]string{paramSteps: {"6.steps"}})},
	{"controlnet", "text to image, SD 1.5 with a ControlNet", size("7", map[string][]string{
		paramWidth: {"5.width"}, paramHeight: {"5.height"}, paramSteps: {"8.steps"}})},
	{"sdxl", "text to image, SDXL", size("4", map[string][]string{paramSteps: {"5.steps"}})},
	{"two-models", "SD 1.5, then SDXL on what came out of it: the switch that leaks", size("5", map[string][]string{
		paramWidth: {"8.width"}, paramHeight: {"8.height"}, paramSteps: {"6.steps", "12.steps"}})},
	{"ltx", "text to video, LTX-Video 2B", size("6", map[string][]string{
		paramFrames: {"6.length"}, paramSteps: {"7.steps"}})},
	{"wan", "text to video, Wan 2.1 1.3B", size("7", map[string][]string{
		paramFrames: {"7.length"}, paramSteps: {"8.steps"}})},
	{"flux", "text to image, Flux.1 dev", size("6", map[string][]string{paramSteps: {"7.steps"}})},
	{"qwen-image", "text to image, Qwen-Image in fp8", size("7", map[string][]string{paramSteps: {"8.steps"}})},
	{"wan22", "text to video, the pair of 14B models of Wan 2.2 in fp8", size("9", map[string][]string{
		paramFrames: {"9.length"}})},
}

// Library are the names of the built-in workflows, the smallest first.
func Library() []string {
	names := make([]string, len(library))
	for i, e := range library {
		names[i] = e.Name
	}
	return names
}

// Catalog are the built-in workflows, the smallest first.
func Catalog() []Entry { return slices.Clone(library) }

// Defaults are the parameters of a built-in workflow with the values that its
// file has, for people: "resolution" "1024x1024", "steps" "4".
func (e Entry) Defaults() (map[string]string, error) {
	w, err := BuiltIn(e.Name)
	if err != nil {
		return nil, err
	}
	value := func(param string) string {
		for _, path := range e.inputs[param] {
			if in, err := Find(w, path); err == nil {
				return string(w.Graph[in.Node].Inputs[in.Name])
			}
		}
		return ""
	}
	defaults := map[string]string{}
	for _, param := range []string{paramFrames, paramBatch, paramSteps} {
		if v := value(param); v != "" {
			defaults[param] = v
		}
	}
	if v := value(paramWidth); v != "" {
		defaults["resolution"] = v + "x" + value(paramHeight)
	}
	return defaults, nil
}

func find(name string) (Entry, error) {
	i := slices.IndexFunc(library, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return Entry{}, fmt.Errorf("there is no built-in workflow %q; there are %s (a file is named by file:)", name, strings.Join(Library(), ", "))
	}
	return library[i], nil
}

// BuiltIn gives a built-in workflow as its file has it.
func BuiltIn(name string) (memtrix.Workflow, error) {
	e, err := find(name)
	if err != nil {
		return memtrix.Workflow{}, err
	}
	data, err := libraryFiles.ReadFile("library/" + e.Name + ".json")
	if err != nil {
		return memtrix.Workflow{}, err
	}
	w, err := Decode(name, "built-in", data)
	w.Source = "built-in"
	return w, err
}

// Params are parameters of a built-in workflow; 0 is the workflow's own value.
type Params struct {
	Width, Height int // pixels; of the largest image that a model makes
	Frames        int
	Batch         int
	Steps         int
}

func (p Params) with(w memtrix.Workflow, e Entry) (memtrix.Workflow, error) {
	for _, set := range []struct {
		param string
		value int
	}{{paramWidth, p.Width}, {paramHeight, p.Height}, {paramFrames, p.Frames}, {paramBatch, p.Batch}, {paramSteps, p.Steps}} {
		if set.value == 0 {
			continue
		}
		if len(e.inputs[set.param]) == 0 {
			return w, fmt.Errorf("the built-in workflow %s has no %s", e.Name, set.param)
		}
		for _, path := range e.inputs[set.param] {
			var err error
			if w, err = Set(w, path, json.RawMessage(strconv.Itoa(set.value))); err != nil {
				return w, err
			}
		}
	}
	return w, nil
}

// Request says which workflow to build, and how it differs from its file.
type Request struct {
	BuiltIn string // a built-in name, or
	File    string // a path
	Name    string // "" for the built-in's or the file's own
	// Params are those of a built-in workflow.
	Params Params
	// Set are inputs with another value, applied in order.
	Set []Value
	// Vary are the inputs to vary; none leaves it to FindVary.
	Vary []string
}

// Value gives the input at Path ("5.steps") a JSON value.
type Value struct {
	Path  string
	Value json.RawMessage
}

// Build reads a workflow and applies what a person changed. Errors about inputs
// are of type *InputError, joined where there are several.
func Build(r Request) (memtrix.Workflow, error) {
	w, err := r.read()
	if err != nil {
		return w, err
	}
	if r.Name != "" {
		w.Name = r.Name
	}
	if w.UI != nil {
		return later(w, r)
	}
	_, known := FindVary(w)
	ofFile := slices.Clone(w.Warnings[len(known):])
	var errs []error
	for _, v := range r.Set {
		if w, err = Set(w, v.Path, v.Value); err != nil {
			errs = append(errs, err)
		}
	}
	if len(r.Vary) > 0 {
		w, err = UseVary(w, r.Vary)
		errs = append(errs, err)
	} else {
		w.Vary, w.Warnings = FindVary(w)
	}
	w.Warnings = append(w.Warnings, ofFile...)
	return w, errors.Join(errs...)
}

func (r Request) read() (memtrix.Workflow, error) {
	if r.File != "" {
		return Load(r.File)
	}
	e, err := find(r.BuiltIn)
	if err != nil {
		return memtrix.Workflow{}, err
	}
	w, err := BuiltIn(r.BuiltIn)
	if err != nil {
		return w, err
	}
	return r.Params.with(w, e)
}
