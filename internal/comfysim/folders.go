package comfysim

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// folders are where a server reads models and inputs and writes outputs.
type folders struct {
	base, output, input, temp, user string
	userIsNew                       bool
	models                          map[string][]string // kind to folders
	custom                          []string            // custom_nodes folders
}

// Old and new names of the same kind of model.
var modelKinds = map[string][]string{
	"checkpoints":      {"checkpoints"},
	"loras":            {"loras"},
	"vae":              {"vae"},
	"diffusion_models": {"unet", "diffusion_models"},
	"text_encoders":    {"text_encoders", "clip"},
}

var modelSuffixes = []string{".ckpt", ".pt", ".pt2", ".bin", ".pth", ".safetensors", ".pkl", ".sft"}

func newFolders(opts options) (folders, error) {
	base := opts.str("--base-directory", ".")
	f := folders{
		base:   base,
		output: opts.str("--output-directory", filepath.Join(base, "output")),
		input:  opts.str("--input-directory", filepath.Join(base, "input")),
		temp:   filepath.Join(opts.str("--temp-directory", base), "temp"),
		user:   opts.str("--user-directory", filepath.Join(base, "user")),
		models: map[string][]string{},
		custom: []string{filepath.Join(base, "custom_nodes")},
	}
	root := opts.str("--models-directory", filepath.Join(base, "models"))
	for kind, names := range modelKinds {
		for _, name := range names {
			f.models[kind] = append(f.models[kind], filepath.Join(root, name))
		}
	}
	for _, file := range opts["--extra-model-paths-config"] {
		if err := f.addExtra(file); err != nil {
			return f, fmt.Errorf("extra model paths %s: %w", file, err)
		}
	}
	_, err := os.Stat(f.user)
	f.userIsNew = err != nil
	return f, nil
}

// addExtra reads a file in the form of extra_model_paths.yaml: sections with an
// optional base_path, and for each kind one folder a line.
func (f *folders) addExtra(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var sections map[string]map[string]any
	if err := yaml.Unmarshal(data, &sections); err != nil {
		return err
	}
	for _, section := range sections {
		base, _ := section["base_path"].(string)
		if base != "" && !filepath.IsAbs(base) {
			base = filepath.Join(filepath.Dir(file), base)
		}
		first, _ := section["is_default"].(bool)
		for name, value := range section {
			if text, ok := value.(string); ok && name != "base_path" {
				f.addKind(name, lines(text), cmp.Or(base, filepath.Dir(file)), first)
			}
		}
	}
	return nil
}

// lines gives the lines of a text that hold something, trimmed.
func lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

func (f *folders) addKind(name string, dirs []string, base string, first bool) {
	if name == "custom_nodes" {
		for _, d := range dirs {
			if !filepath.IsAbs(d) {
				d = filepath.Join(base, d)
			}
			f.custom = append(f.custom, d)
		}
	}
	for kind, names := range modelKinds {
		if !slices.Contains(names, name) {
			continue
		}
		for _, d := range dirs {
			if !filepath.IsAbs(d) {
				d = filepath.Join(base, d)
			}
			if first {
				f.models[kind] = slices.Insert(f.models[kind], 0, d)
			} else {
				f.models[kind] = append(f.models[kind], d)
			}
		}
	}
}

// list names the model files of a kind, relative to their folder, sorted.
func (f *folders) list(kind string) []string {
	names := []string{}
	for _, dir := range f.models[kind] {
		// A folder that is not there holds no models.
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains(modelSuffixes, strings.ToLower(filepath.Ext(path))) {
				return nil
			}
			if rel, err := filepath.Rel(dir, path); err == nil {
				names = append(names, rel)
			}
			return nil
		})
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// find gives the path of a model file, "" when it is not there.
func (f *folders) find(kind, name string) string {
	for _, dir := range f.models[kind] {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// images names the files of the input folder.
func (f *folders) images() []string {
	names := []string{}
	entries, err := os.ReadDir(f.input)
	if err != nil {
		return names
	}
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}
