package memtrix

import "encoding/json"

// Workflow is a prompt in ComfyUI's API format, ready to be sent.
type Workflow struct {
	// Name is what tables show.
	Name string `json:"name"`
	// Source says where it came from: a path, or "built-in".
	Source string `json:"source"`
	// Hash is a hash of the graph's content; it is part of a cell's identity.
	Hash string `json:"hash"`
	// Graph maps node id to node. Of a workflow with UI it has the nodes without
	// their inputs.
	Graph map[string]GraphNode `json:"graph"`
	// UI is the workflow as ComfyUI's front end saves it, where the file holds it
	// so. Each version makes its own prompt of it when its server is up.
	UI json.RawMessage `json:"ui,omitempty"`
	// Changes and VaryPaths wait until then: inputs that the spec gives another
	// value, and those that it wants varied.
	Changes   []Change `json:"changes,omitempty"`
	VaryPaths []string `json:"vary_paths,omitempty"`
	// Vary lists the inputs that are changed before each prompt, so that
	// nothing is served from the node cache.
	Vary []Input `json:"vary,omitempty"`
	// StandIns are model files that are stand-ins, not real weights.
	StandIns []StandIn `json:"stand_ins,omitempty"`
	// Warnings are what a person should know before it runs, e.g. that a branch
	// of it has nothing to vary.
	Warnings []string `json:"-"`
}

// GraphNode is one node of a graph in API format.
type GraphNode struct {
	ClassType string                     `json:"class_type"`
	Inputs    map[string]json.RawMessage `json:"inputs"`
	Meta      *GraphMeta                 `json:"_meta,omitempty"`
}

// GraphMeta is the part of a node that only people read.
type GraphMeta struct {
	Title string `json:"title,omitempty"`
	// Registry, Repository and Release say which node pack a node came from, as the
	// frontend notes it in the properties of a node: the pack's name in the
	// registry ("comfy-core" is ComfyUI itself), or its owner/repository on GitHub,
	// and its version or commit.
	Registry   string `json:"cnr_id,omitempty"`
	Repository string `json:"aux_id,omitempty"`
	Release    string `json:"ver,omitempty"`
}

// Change is an input that gets another value ("5.steps").
type Change struct {
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
}

// Input names one input of one node.
type Input struct {
	Node string `json:"node"`
	Name string `json:"name"`
}

// Node names a node of a running workflow.
type Node struct {
	// ID is the node that ran. Nodes made by expansion have ids that are not
	// in the graph; "" where it is not told.
	ID string `json:"id,omitempty"`
	// DisplayID is the node of the graph that a person sees.
	DisplayID string `json:"display_id,omitempty"`
	// ClassType is e.g. "KSampler", "" where it is not known.
	ClassType string `json:"class_type,omitempty"`
	// Title is the person's own name for the node, where there is one.
	Title string `json:"title,omitempty"`
}

// StandIn is a model file with a model family's real tensor names, shapes and
// types, and no real weights.
type StandIn struct {
	Name string `json:"name"` // in its folder, as the workflow asks for it
	// Family, DType and Fill ("zero", "random seed 1") are what memtrix wrote;
	// all "" in what was stored before they were kept.
	Family string `json:"family,omitempty"`
	DType  string `json:"dtype,omitempty"`
	Fill   string `json:"fill,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
}

// UnmarshalJSON reads a name alone, too: that is what was stored once.
func (s *StandIn) UnmarshalJSON(data []byte) error {
	*s = StandIn{}
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &s.Name)
	}
	type plain StandIn
	return json.Unmarshal(data, (*plain)(s))
}
