package comfysim

import (
	"fmt"
	"slices"
)

// nodeInfo is one node class as /object_info describes it.
type nodeInfo struct {
	name    string
	raw     object // the whole entry
	inputs  []inputInfo
	outputs []string
	output  bool // an output node: what a prompt is run for
}

// inputInfo is one input of a class.
type inputInfo struct {
	name     string
	required bool
	typ      string   // "INT", "MODEL"; "" for a list of choices
	choices  []string // of a list
	opts     object
	raw      []any // as INPUT_TYPES gives it
}

// readNodes reads the embedded classes. They are those of 0.29.0; the older
// versions have them with the same inputs.
func readNodes() (map[string]*nodeInfo, []string, error) {
	data, err := texts.ReadFile("text/nodes.json")
	if err != nil {
		return nil, nil, err
	}
	v, err := decodeJSON(data)
	if err != nil {
		return nil, nil, err
	}
	nodes := map[string]*nodeInfo{}
	var order []string
	for _, p := range v.(object) {
		raw := p.value.(object)
		nodes[p.key] = readNode(p.key, raw)
		order = append(order, p.key)
	}
	return nodes, order, nil
}

// NodeTypes are the node types that can be simulated, sorted. Each ComfyUI since
// 2023 has them, too.
func NodeTypes() []string {
	_, order, err := readNodes()
	if err != nil {
		panic(err) // embedded
	}
	return slices.Sorted(slices.Values(order))
}

func readNode(name string, raw object) *nodeInfo {
	n := &nodeInfo{name: name, raw: raw}
	inputs, _ := raw.get("input")
	for _, section := range inputs.(object) {
		if section.key == "hidden" {
			continue
		}
		for _, p := range section.value.(object) {
			n.inputs = append(n.inputs, readInput(p.key, section.key == "required", p.value.([]any)))
		}
	}
	outputs, _ := raw.get("output")
	for _, o := range outputs.([]any) {
		n.outputs = append(n.outputs, o.(string))
	}
	isOutput, _ := raw.get("output_node")
	n.output, _ = isOutput.(bool)
	return n
}

func readInput(name string, required bool, raw []any) inputInfo {
	in := inputInfo{name: name, required: required, raw: raw}
	if len(raw) == 1 {
		in.raw = append(slices.Clone(raw), object{})
	}
	in.opts, _ = in.raw[1].(object)
	switch first := raw[0].(type) {
	case string:
		in.typ = first
	case []any:
		in.setChoices(toStrings(first))
	}
	return in
}

func (in *inputInfo) setChoices(words []string) {
	in.choices = words
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = w
	}
	in.raw = slices.Clone(in.raw)
	in.raw[0] = list
}

func toStrings(list []any) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = fmt.Sprint(v)
	}
	return out
}

// scanned names the inputs whose choices are files.
var scanned = map[string]string{
	"ckpt_name": "checkpoints", "lora_name": "loras", "unet_name": "diffusion_models",
	"clip_name": "text_encoders", "vae_name": "vae",
}

// withFiles is the class with its lists of files as the folders are now.
func (n *nodeInfo) withFiles(f *folders) *nodeInfo {
	out := *n
	out.inputs = slices.Clone(n.inputs)
	for i := range out.inputs {
		in := &out.inputs[i]
		if kind, ok := scanned[in.name]; ok {
			in.setChoices(f.list(kind))
		}
		if n.name == "LoadImage" && in.name == "image" {
			in.setChoices(f.images())
		}
	}
	return &out
}

// objectInfo is the entry for /object_info.
func (n *nodeInfo) objectInfo(f *folders) object {
	n = n.withFiles(f)
	sections := object{}
	old, _ := n.raw.get("input")
	for _, s := range old.(object) {
		if s.key == "hidden" {
			sections = sections.with(s.key, s.value)
			continue
		}
		inputs := object{}
		for _, in := range n.inputs {
			if in.required == (s.key == "required") {
				inputs = append(inputs, pair{in.name, in.raw})
			}
		}
		sections = sections.with(s.key, inputs)
	}
	return slices.Clone(n.raw).with("input", sections)
}
