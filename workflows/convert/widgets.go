package convert

import (
	"slices"
	"strings"
)

// kind says how a widget behaves beside holding a value.
type kind int

const (
	plain kind = iota
	combo
	dynamicCombo // its choice brings further inputs
	curve
	multiline  // a text that is never null
	previewed  // always sent empty: the page fills it
	ofPage     // the page must make it: cannot be converted
	comboIndex // of a CustomCombo: the place of its choice
	comboOption
)

// widget is a control of a node and its value.
type widget struct {
	name  string
	kind  kind
	typ   string // the front end's type, to compare promoted widgets
	value any
	spec  *spec
	// stored: it takes a place in widgets_values. sent: it is in the prompt.
	stored, sent bool
	// values of a combo; the first one replaces null.
	values []any
	// byPrompt: // and {a|b} in the text are acted on. byPrefix: so is %...%.
	byPrompt, byPrefix bool
}

// slot is an input of a node: a socket, with or without a widget behind it.
type slot struct {
	name, typ string
	widget    string // "" for a plain socket
	link      int
	linked    bool
	host      *widget // of a subgraph's instance: the promoted widget
	port      *port   // of a subgraph's instance: the definition's input
}

// widgetTypes are the types of inputs that become widgets (ComfyWidgets in
// scripts/widgets.ts, and the custom widgets of the front end's extensions).
var widgetTypes = map[string]bool{
	"INT": true, "FLOAT": true, "STRING": true, "BOOLEAN": true, "COMBO": true, "MARKDOWN": true, "TEXTAREA": true,
	"COLOR": true, "COLORS": true, "CURVE": true, "RANGE": true, "BOUNDING_BOX": true, "BOUNDING_BOXES": true,
	"CHART": true, "GALLERIA": true, "PAINTER": true, "IMAGECOMPARE": true, "IMAGEUPLOAD": true,
	"COMFY_DYNAMICCOMBO_V3": true, "WEBCAM": true, "AUDIO_UI": true, "AUDIOUPLOAD": true, "AUDIO_RECORD": true,
	"LOAD_3D": true, "LOAD_3D_ADVANCED": true, "PREVIEW_3D": true,
}

func (s *spec) widgetType() string {
	if t := text(s.opts["widgetType"]); t != "" {
		return t
	}
	return s.typ
}

func (s *spec) isWidget() bool { return widgetTypes[s.widgetType()] && !s.is("forceInput") }

// populate gives a node what the front end gives a new one: first all plain
// sockets, then the widgets with theirs.
func (n *node) populate(c *class) {
	n.class = c
	for _, s := range c.inputs {
		n.addSocket(s)
	}
	for _, s := range c.inputs {
		n.addWidget(s)
	}
	for _, typ := range c.outputs {
		n.outputs = append(n.outputs, output{typ: typ})
	}
	switch c.name {
	case "PreviewAny", "SaveText":
		n.push(&widget{name: "preview_text", value: ""})
		n.push(&widget{name: "preview_mode", value: false})
	case "WebcamCapture":
		n.push(&widget{name: "waiting for camera...", value: "capture", stored: true, sent: true})
	case "CustomCombo":
		n.populateCustomCombo()
	}
	if slices.Contains(savePrefixed, c.name) {
		if w := n.widget("filename_prefix"); w != nil {
			w.byPrefix = true
		}
	}
}

func (n *node) push(w *widget) { n.widgets = append(n.widgets, w) }

func (n *node) addInput(s *spec) {
	n.addSocket(s)
	n.addWidget(s)
}

func (n *node) addSocket(s *spec) {
	switch {
	case s.isWidget():
	case s.typ == "COMFY_AUTOGROW_V3":
		n.addAutogrow(s)
	case s.typ == "COMFY_MATCHTYPE_V3":
		typ := "*"
		if t, ok := dict(s.opts["template"])["allowed_types"].(string); ok {
			typ = t
		}
		n.slots = append(n.slots, &slot{name: s.name, typ: typ})
		n.addMatch(text(dict(s.opts["template"])["template_id"]), s.name, typ)
	default:
		n.slots = append(n.slots, &slot{name: s.name, typ: s.typ})
	}
}

func (n *node) addWidget(s *spec) {
	if !s.isWidget() {
		return
	}
	w := &widget{name: s.name, spec: s, typ: s.widgetType(), stored: true, sent: true, value: s.opts["default"]}
	name := s.name
	switch s.widgetType() {
	case "COMBO":
		n.addCombo(w)
	case "COMFY_DYNAMICCOMBO_V3":
		n.addDynamicCombo(w)
	case "INT", "FLOAT":
		if w.value == nil {
			w.value = 0.0
		}
		n.push(w)
		n.addControl(w)
	default:
		name = n.addOther(w)
	}
	n.slots = append(n.slots, &slot{name: name, typ: s.typ, widget: name})
}

// addOther adds a widget that has no followers, but for a few, and gives the
// name of its socket.
func (n *node) addOther(w *widget) string {
	s := w.spec
	switch s.widgetType() {
	case "STRING", "MARKDOWN":
		if w.value == nil {
			w.value = ""
		}
		w.byPrompt = s.is("dynamicPrompts")
		if s.is("multiline") {
			w.kind, w.typ = multiline, "customtext"
		}
	case "BOOLEAN":
		if w.value == nil {
			w.value = false
		}
	case "COLOR":
		if w.value == nil {
			w.value = "#000000"
		}
	case "TEXTAREA", "PAINTER":
		if !truthy(w.value) {
			w.value = ""
		}
	case "COLORS", "BOUNDING_BOXES", "GALLERIA":
		if w.value == nil {
			w.value = []any{}
		}
	case "CURVE":
		w.kind = curve
		if w.value == nil {
			w.value = map[string]any{"points": []any{[]any{0.0, 0.0}, []any{1.0, 1.0}}, "interpolation": "monotone_cubic"}
		}
	case "RANGE":
		if w.value == nil {
			w.value = map[string]any{"min": 0.0, "max": 1.0}
		}
	case "BOUNDING_BOX":
		n.addBox(w)
		return w.name
	case "IMAGECOMPARE":
		w.value, w.stored = []any{"", ""}, false
	case "IMAGEUPLOAD":
		w.value, w.sent = "image", false
	case "AUDIOUPLOAD":
		w.value, w.sent = "", false
	case "AUDIO_UI":
		w.value, w.stored, w.sent = "", false, false
	case "PREVIEW_3D":
		w.value, w.kind = "", previewed
	case "WEBCAM":
		w.value, w.kind = "", ofPage
	case "AUDIO_RECORD":
		w.value, w.kind = "", ofPage
		n.push(w)
		n.push(&widget{name: w.name, value: "", stored: true})
		return w.name
	case "LOAD_3D", "LOAD_3D_ADVANCED":
		n.addScene(w)
		return w.name
	case "CHART":
		w.value = map[string]any{}
	}
	n.push(w)
	return w.name
}

// addBox adds a box with a number for each of its sides.
func (n *node) addBox(w *widget) {
	sides := map[string]float64{"x": 0, "y": 0, "width": 512, "height": 512}
	box := dict(w.value)
	for side, size := range sides {
		if f, ok := box[side].(float64); ok {
			size = f
		}
		sides[side] = size
	}
	w.value = map[string]any{"x": sides["x"], "y": sides["y"], "width": sides["width"], "height": sides["height"]}
	n.push(w)
	for _, side := range []string{"x", "y", "width", "height"} {
		n.push(&widget{name: side, value: sides[side], stored: true})
	}
}

// addScene adds a 3D view, with buttons where there is a file to load into it.
func (n *node) addScene(w *widget) {
	if n.class.name == "Load3D" || n.class.name == "Load3DAnimation" {
		for _, button := range [][2]string{{"upload 3d model", "upload3dmodel"}, {"upload extra resources", "uploadExtraResources"}, {"clear", "clear"}} {
			n.push(&widget{name: button[0], value: button[1], stored: true, sent: true})
		}
	}
	w.value, w.kind = "", ofPage
	n.push(w)
}

func (n *node) addCombo(w *widget) {
	s := w.spec
	w.kind, w.typ, w.values = combo, "combo", s.values
	switch {
	case s.is("multi_select"):
		w.value = []any{}
	case truthy(w.value):
	case len(s.values) > 0:
		w.value = s.values[0]
	case s.is("remote"):
		w.value = "Loading..."
	default:
		w.value = absent{}
	}
	n.push(w)
	if remote := dict(s.opts["remote"]); remote != nil {
		if text(s.opts["image_folder"]) == "output" {
			n.push(&widget{name: "Auto-refresh after generation", value: false, stored: true})
		}
		if truthy(remote["refresh_button"]) {
			n.push(&widget{name: "refresh", value: "refresh", stored: true, sent: true})
		}
	}
	n.addControl(w)
}

// addControl adds what says how a value changes from prompt to prompt.
func (n *node) addControl(w *widget) {
	control, said := w.spec.opts["control_after_generate"]
	wanted := truthy(control)
	if w.spec.widgetType() == "INT" && (!said || control == nil) {
		wanted = w.name == "seed" || w.name == "noise_seed"
	}
	if !wanted {
		return
	}
	name, first := "control_after_generate", "randomize"
	if s, ok := control.(string); ok {
		name, first = s, s
	}
	if w.typ == "FLOAT" {
		first = "fixed"
	}
	n.push(&widget{name: name, value: first, stored: true, values: []any{"fixed", "increment", "decrement", "randomize"}})
	if w.kind == combo {
		n.push(&widget{name: "control_filter_list", value: "", stored: true})
	}
}

// control tells whether w is followed by one that controls it.
func isControl(w *widget) bool { return !w.sent && len(w.values) == 4 && w.values[0] == "fixed" }

func (n *node) populateCustomCombo() {
	n.push(&widget{name: "index", kind: comboIndex, value: 0.0, stored: true, sent: true})
	n.addComboOption()
}

func (n *node) addComboOption() {
	n.push(&widget{name: "option" + number(float64(len(n.widgets)-1)), kind: comboOption, value: "", stored: true, sent: true})
}

func (n *node) widget(name string) *widget {
	for _, w := range n.widgets {
		if w.name == name {
			return w
		}
	}
	return nil
}

func (n *node) slot(name string) *slot {
	for _, s := range n.slots {
		if s.name == name {
			return s
		}
	}
	return nil
}

// set gives a widget a value, with all that follows from it.
func (n *node) set(w *widget, v any) {
	w.value = v
	switch w.kind {
	case dynamicCombo:
		n.choose(w)
	case comboOption:
		if w == n.widgets[len(n.widgets)-1] && truthy(v) && len(n.widgets) < maxOptions {
			n.addComboOption()
		}
	case multiline:
		if v == nil || v == (absent{}) {
			w.value = ""
		}
	}
}

// maxOptions bounds the options of a CustomCombo.
const maxOptions = 10_000

// widgetOf gives the widget behind a socket, or nil.
func (n *node) widgetOf(s *slot) *widget {
	if s.host != nil {
		return s.host
	}
	if s.widget == "" {
		return nil
	}
	return n.widget(s.widget)
}

// inGroup tells whether a name belongs to a dynamic input.
func inGroup(name, group string) bool { return strings.HasPrefix(name, group+".") }
