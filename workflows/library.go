package workflows

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"memtrix"
)

//go:embed library/*.json
var libraryFiles embed.FS

// library names the built-in workflows, the smallest first.
var library = []string{"image", "sd15", "sdxl"}

// Library are the names of the built-in workflows.
func Library() []string { return slices.Clone(library) }

// BuiltIn gives a built-in workflow: "image" (no model), "sd15" (SD 1.5,
// 256x256, 4 steps), "sdxl" (SDXL, 1024x1024, 4 steps).
func BuiltIn(name string) (memtrix.Workflow, error) {
	if !slices.Contains(library, name) {
		return memtrix.Workflow{}, fmt.Errorf("there is no built-in workflow %q; there are %s (a file is named by file:)", name, strings.Join(library, ", "))
	}
	data, err := libraryFiles.ReadFile("library/" + name + ".json")
	if err != nil {
		return memtrix.Workflow{}, err
	}
	w, err := Decode(name, "built-in", data)
	w.Source = "built-in"
	return w, err
}

// Request says which workflow to build, and how it differs from its file.
type Request struct {
	BuiltIn string // a built-in name, or
	File    string // a path
	Name    string // "" for the built-in's or the file's own
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
	var w memtrix.Workflow
	var err error
	if r.File != "" {
		w, err = Load(r.File)
	} else {
		w, err = BuiltIn(r.BuiltIn)
	}
	if err != nil {
		return w, err
	}
	if r.Name != "" {
		w.Name = r.Name
	}
	if w.UI != nil {
		return later(w, r)
	}
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
	return w, errors.Join(errs...)
}
