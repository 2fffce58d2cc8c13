package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"memtrix/internal/pyjson"
)

// Defs are the node classes of one server: its answer to GET /object_info.
type Defs struct {
	raw map[string]json.RawMessage

	mu      sync.Mutex // a Defs may serve several conversions at once
	classes map[string]*class
	modules map[string]bool // of custom nodes, lower case
	// loadersOnly: all other classes are unknown rather than missing.
	loadersOnly bool
}

// ParseDefs reads the answer to GET /object_info.
func ParseDefs(data []byte) (*Defs, error) {
	d := &Defs{classes: map[string]*class{}}
	data = pyjson.Standard(data) // Python writes an INT without limit so
	if err := json.Unmarshal(data, &d.raw); err != nil {
		return nil, fmt.Errorf("object_info: %w", err)
	}
	d.modules = map[string]bool{}
	for name, raw := range d.raw {
		if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '{' || !bytes.Contains(raw, []byte(`"input"`)) {
			return nil, fmt.Errorf("object_info: %q is no node class", name)
		}
		if i := bytes.Index(raw, []byte(`"custom_nodes.`)); i >= 0 {
			module, _, _ := strings.Cut(string(raw[i+len(`"custom_nodes.`):]), `"`)
			d.modules[strings.ToLower(module)] = true
		}
	}
	if len(d.raw) == 0 {
		return nil, errors.New("object_info: it holds no node class")
	}
	return d, nil
}

// Len is the number of node classes.
func (d *Defs) Len() int { return len(d.raw) }

// hasPack tells whether any class comes from a custom node folder whose name
// holds the word.
func (d *Defs) hasPack(word string) bool {
	for module := range d.modules {
		if strings.Contains(module, word) {
			return true
		}
	}
	return false
}

// class gives a node class, or nil where the server has none of that name.
func (d *Defs) class(name string) *class {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c, ok := d.classes[name]; ok {
		return c
	}
	raw, ok := d.raw[name]
	if !ok {
		return nil
	}
	c := parseClass(name, raw)
	d.classes[name] = c
	return c
}

// class is one node class as the front end sees it.
type class struct {
	name    string
	title   string
	inputs  []*spec // in the order of the front end
	defined []*spec // in the order of the definition
	outputs []string
	matched []string // template of each output whose type follows inputs, else ""
	custom  bool     // of a custom node pack, whose own code may change it in the browser
}

// spec is an input's definition.
type spec struct {
	name     string
	typ      string // "COMBO" for a list of values
	optional bool
	opts     map[string]any
	raw      map[string]json.RawMessage // opts whose key order counts
	values   []any                      // of a COMBO
}

func (s *spec) is(option string) bool { return truthy(s.opts[option]) }

func parseClass(name string, raw json.RawMessage) *class {
	var c struct {
		Input   map[string]json.RawMessage `json:"input"`
		Order   map[string][]string        `json:"input_order"`
		Output  []any                      `json:"output"`
		Title   string                     `json:"display_name"`
		Matched []any                      `json:"output_matchtypes"`
		Module  string                     `json:"python_module"`
	}
	// What has an unexpected form stays empty; the rest counts.
	_ = json.Unmarshal(raw, &c)
	cl := &class{name: name, title: c.Title, custom: strings.HasPrefix(c.Module, "custom_nodes.")}
	if cl.title == "" {
		cl.title = name
	}
	if t, ok := englishTitles[name]; ok {
		cl.title = t
	}
	for _, o := range c.Output {
		typ, ok := o.(string)
		switch {
		case !ok:
			typ = "COMBO"
		case typ == "COMFY_MATCHTYPE_V3":
			typ = "*"
		}
		cl.outputs = append(cl.outputs, typ)
	}
	for _, m := range c.Matched {
		cl.matched = append(cl.matched, text(m))
	}
	required := parseSpecs(c.Input["required"], false)
	cl.defined = append(withFrontEndInputs(name, required), parseSpecs(c.Input["optional"], true)...)
	cl.inputs = ordered(cl.defined, c.Order)
	return cl
}

func parseSpecs(raw json.RawMessage, optional bool) []*spec {
	var specs []*spec
	for _, f := range fields(raw) {
		if s := parseSpec(f.name, f.raw, optional); s != nil {
			specs = append(specs, s)
		}
	}
	return specs
}

// parseSpec reads [type, {options}]; a list in the first place is a COMBO.
func parseSpec(name string, raw json.RawMessage, optional bool) *spec {
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil || len(parts) == 0 {
		return nil
	}
	s := &spec{name: name, optional: optional, opts: map[string]any{}}
	if len(parts) > 1 {
		_ = json.Unmarshal(parts[1], &s.opts)
		_ = json.Unmarshal(parts[1], &s.raw)
	}
	switch first := bytes.TrimSpace(parts[0]); first[0] {
	case '[':
		s.typ = "COMBO"
		_ = json.Unmarshal(first, &s.values)
	case '"':
		_ = json.Unmarshal(first, &s.typ)
		if s.typ == "COMBO" {
			s.values = list(s.opts["options"])
		}
	default:
		return nil
	}
	return s
}

// ordered sorts inputs as the front end does (nodeDefOrderingUtil.ts): by
// input_order, required before optional, then what that leaves out.
func ordered(specs []*spec, order map[string][]string) []*spec {
	var out []*spec
	for _, group := range []string{"required", "optional"} {
		for _, name := range order[group] {
			i := slices.IndexFunc(specs, func(s *spec) bool { return s.name == name && s.optional == (group == "optional") })
			if i >= 0 && !slices.Contains(out, specs[i]) {
				out = append(out, specs[i])
			}
		}
	}
	for _, s := range specs {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// englishTitles are the titles that the front end's own English texts have for a
// class and /object_info of ComfyUI 0.29.0 has otherwise (locales/en/nodeDefs.json).
var englishTitles = map[string]string{
	"PrimitiveString":          "Text String (DEPRECATED)",
	"PrimitiveStringMultiline": "Input Text",
	"RecraftTextToImageNode":   "Recraft Text to Image",
	"RecraftImageToImageNode":  "Recraft Image to Image",
	"RecraftTextToVectorNode":  "Recraft Text to Vector",
}

// audioNodes get a player from the front end (uploadAudio.ts).
var audioNodes = []string{"LoadAudio", "SaveAudio", "PreviewAudio", "SaveAudioMP3", "SaveAudioOpus", "SaveAudioAdvanced"}

// withFrontEndInputs adds the inputs that the front end gives a class beside
// those of its definition: players, viewers and upload buttons.
func withFrontEndInputs(name string, required []*spec) []*spec {
	extra := func(name, typ string) {
		required = append(required, &spec{name: name, typ: typ, opts: map[string]any{}})
	}
	if slices.Contains(audioNodes, name) {
		extra("audioUI", "AUDIO_UI")
	}
	if name == "SaveGLB" || name == "Preview3D" {
		extra("image", "PREVIEW_3D")
	}
	for _, s := range required {
		if name == "Load3DAdvanced" && s.typ == "LOAD_3D" {
			s.typ = "LOAD_3D_ADVANCED"
		}
		if s.typ == "COMBO" && (s.is("image_upload") || s.is("animated_image_upload") || s.is("video_upload")) {
			extra("upload", "IMAGEUPLOAD")
			break
		}
		if s.name == "audio" && s.is("audio_upload") {
			extra("upload", "AUDIOUPLOAD")
			break
		}
	}
	return required
}
