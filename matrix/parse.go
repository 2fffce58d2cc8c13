package matrix

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml/ast"

	"memtrix"
)

var specKeys = []string{
	"name", "versions", "workflows", "settings", "hardware", "prompts", "repeats", "rest", "free", "probe",
	"interval", "keep", "order", "timeouts", "budget", "control", "expect", "args", "env", "models", "custom-nodes", "custom-nodes-from",
	"source", "packages", "overrides", "wheels", "python", "standin", "standin-fill", "standins",
}

// Parse reads a spec. file is its name for messages and for resolving relative
// paths; it is not opened. The error is of type Errors and holds every mistake.
func Parse(file string, data []byte) (*Spec, error) {
	r := &specReader{reader: reader{file: file}, spec: NewSpec()}
	r.spec.File = file
	root := r.document(data)
	if root != nil {
		r.root(root)
	}
	r.spec.Warnings = r.warns
	r.spec.Warnings.sort()
	if len(r.errs) > 0 {
		r.errs.sort()
		return nil, r.errs
	}
	return r.spec, nil
}

type specReader struct {
	reader
	spec *Spec
	// defaults of versions, from the top of the spec.
	defaults VersionEntry
}

func (r *specReader) root(root ast.Node) {
	s := r.spec
	base := filepath.Base(s.File)
	s.Name = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return '_'
		}
		return c
	}, strings.TrimSuffix(base, filepath.Ext(base)))
	seen := map[string]pos{}
	ok := r.keys(root, "the spec", specKeys, func(f field) {
		seen[f.key] = f.at
		r.field(f)
	})
	if !ok {
		return
	}
	for _, must := range []string{"versions", "workflows"} {
		if _, ok := seen[must]; !ok {
			r.fail(position(root), "the spec has no %s:", must)
		}
	}
	s.applyDefaults(r.defaults)
	if _, ok := seen["settings"]; !ok {
		s.Settings = FirstLookSettings("gpu")
		if s.running() { // nobody can choose any
			s.Settings = asItIs
		}
	}
	r.serverWarnings(seen)
	if len(r.errs) == 0 {
		r.checkCells()
	}
}

func (r *specReader) field(f field) {
	s := r.spec
	switch f.key {
	case "name":
		r.name(f.value, &s.Name)
	case "versions":
		r.versions(f.value)
	case "workflows":
		r.workflows(f.value)
	case "settings":
		s.settingsPos = f.at
		r.settingsEntry(f.value)
	case "hardware":
		r.hardware(f.value)
	case "prompts":
		r.count(f.value, "prompts", 10000, &s.Prompts)
	case "repeats":
		r.count(f.value, "repeats", 1000, &s.Repeats)
	case "rest":
		r.duration(f.value, "rest", true, 0, longest, &s.Rest)
	case "free":
		r.onOff(f.value, "free", &s.Free)
	case "probe":
		r.onOff(f.value, "probe", &s.Probe)
	case "interval":
		r.duration(f.value, "interval", false, 100*time.Microsecond, 10*time.Second, &s.Interval)
	case "order":
		r.order(f.value, &s.Order)
	case "keep":
		r.keep(f.value, &s.Keep)
	case "timeouts":
		r.timeouts(f.value)
	case "budget":
		r.duration(f.value, "budget", true, time.Second, longest, &s.Budget)
	case "control":
		s.Control, s.controlPos = r.settings(f.value, "control"), f.at
	case "expect":
		r.expect(f.value)
	case "args":
		s.Args, s.argsPos = r.words(f.value, "args"), f.at
	case "env":
		s.Env = r.env(f.value)
	case "models":
		s.modelsPos = f.at
		for _, dir := range r.words(f.value, "models") {
			s.Models = append(s.Models, r.path(dir))
		}
	case "custom-nodes":
		r.customNodes(f, &r.defaults.Packs)
	case "custom-nodes-from":
		r.customNodesFrom(f, &r.defaults.Packs)
	case "standin", "standin-fill", "standins":
		r.standIns(f)
	default:
		r.versionDefault(f, &r.defaults)
	}
}

// name reads a name that may stand in file names and tables.
func (r *reader) name(n ast.Node, into *string) {
	text, ok := r.word(n, "name")
	if !ok {
		return
	}
	if len(text) > 100 {
		r.fail(position(n), "name has %d bytes; 100 are enough", len(text))
		return
	}
	*into = strings.TrimSpace(text)
}

// words reads a list of scalars.
func (r *reader) words(n ast.Node, what string) []string {
	var out []string
	for _, item := range r.sequence(n, what) {
		if text, ok := r.word(item, "an item of "+what); ok {
			out = append(out, text)
		}
	}
	return out
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (r *reader) env(n ast.Node) map[string]string {
	out := map[string]string{}
	fields, _ := r.mapping(n, "env")
	for _, f := range fields {
		value, ok := scalarText(f.value)
		switch {
		case !envName.MatchString(f.key):
			r.fail(f.at, "%q is no name of an environment variable", f.key)
		case !ok:
			r.wrong(f.value, fmt.Sprintf("env %s needs a text (\"\" for an empty one)", f.key))
		case strings.Contains(value, "\x00"):
			r.fail(position(f.value), "env %s: no environment variable can hold a NUL", f.key)
		default:
			out[f.key] = value
		}
	}
	return out
}

func (r *specReader) timeouts(n ast.Node) {
	t := &r.spec.Timeouts
	into := map[string]*time.Duration{
		"start": &t.Start, "prompt": &t.Prompt, "silence": &t.Silence,
		"free": &t.Free, "stop": &t.Stop, "card": &t.Card, "queue": &t.Queue,
	}
	known := []string{"start", "prompt", "silence", "free", "stop", "card", "queue"}
	r.keys(n, "timeouts", known, func(f field) {
		r.duration(f.value, "timeouts: "+f.key, false, time.Millisecond, longest, into[f.key])
	})
}

func (r *specReader) hardware(n ast.Node) {
	var all []memtrix.Hardware
	seen := map[string]bool{}
	for _, item := range r.sequence(n, "hardware") {
		hw, ok := r.hardwareItem(item)
		if !ok {
			continue
		}
		if seen[hw.Name] {
			r.fail(position(item), "hardware %q is there twice", hw.Name)
			continue
		}
		seen[hw.Name] = true
		all = append(all, hw)
	}
	r.spec.Hardware = all
}

func (r *specReader) hardwareItem(n ast.Node) (memtrix.Hardware, bool) {
	if text, ok := scalarText(n); ok {
		if text != AsIs.Name {
			r.fail(position(n), "unknown hardware %q; it is as-is, or {name: card-8g, vram: 8GiB}", shorten(text))
			return memtrix.Hardware{}, false
		}
		return AsIs, true
	}
	before := len(r.errs)
	var hw memtrix.Hardware
	r.keys(n, "hardware", []string{"name", "vram", "ram", "swap"}, func(f field) {
		if f.key == "name" {
			r.name(f.value, &hw.Name)
			return
		}
		text, ok := r.word(f.value, f.key)
		if !ok {
			return
		}
		size, err := parseSize(text)
		if f.key == "swap" && text == "0" {
			size, err = 0, nil
		}
		if err != nil {
			r.fail(position(f.value), "%s %q: %v", f.key, shorten(text), err)
			return
		}
		switch f.key {
		case "vram":
			hw.VRAM = size
		case "ram":
			hw.RAM = size
		case "swap":
			hw.Swap = &size
		}
	})
	if len(r.errs) > before {
		return hw, false
	}
	switch {
	case hw.Name == "" || hw.VRAM == 0 && hw.RAM == 0 && hw.Swap == nil:
		r.fail(position(n), "hardware needs name: and at least one of vram:, ram: and swap:, or is as-is")
		return hw, false
	case hw.Name == AsIs.Name:
		r.fail(position(n), "the name as-is is the machine without changes; take another one")
		return hw, false
	}
	return hw, true
}

// path resolves a path of the spec: ~ is the home folder, and what is relative
// is so to the spec's folder.
func (r *reader) path(p string) string {
	if p == "~" || strings.HasPrefix(p, "~/") || strings.HasPrefix(p, `~\`) {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, p[1:])
		}
	}
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(filepath.Dir(r.file), p)
}

// command resolves an interpreter: a bare word is left to PATH.
func (r *reader) command(p string) string {
	if !strings.ContainsAny(p, `/\`) && p != "~" {
		return p
	}
	return r.path(p)
}
