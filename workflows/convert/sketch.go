package convert

import (
	"crypto/sha256"
	_ "embed" // loaders.json
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"memtrix"
)

// IsUI recognises what the front end saves: an object with a list of nodes.
func IsUI(data []byte) bool {
	var top struct {
		Nodes json.RawMessage `json:"nodes"`
	}
	return json.Unmarshal(data, &top) == nil && len(top.Nodes) > 0 && top.Nodes[0] == '['
}

// loaders are ComfyUI's own classes that load models, as in /object_info of 0.29.0
// but for texts and values: a name of a model stands in the same place in every
// release, so that it can be told without a server.
//
//go:embed loaders.json
var loaders []byte

var loaderDefs = sync.OnceValues(func() (*Defs, error) {
	defs, err := ParseDefs(loaders)
	if err == nil {
		defs.loadersOnly = true
	}
	return defs, err
})

// Sketch gives the nodes that a workflow in UI format will send, by their ids,
// with class, title and pack: as much as can be told without a server. Nodes have
// no inputs, but for ComfyUI's own loaders, which have the names of their models.
func Sketch(data []byte) (map[string]memtrix.GraphNode, error) {
	tree, err := decode(data)
	if err != nil {
		return nil, err
	}
	if _, ok := dict(tree)["nodes"].([]any); !ok {
		return nil, errors.New("no workflow in UI format: it has no list of nodes")
	}
	defs, err := loaderDefs()
	if err != nil {
		return nil, err
	}
	g, _ := load(dict(tree), defs)
	m := &maker{root: g, prompt: map[string]map[string]any{}, made: map[string]made{}, sketch: true}
	if err := m.walk(nil, g); err != nil {
		return nil, err
	}
	nodes := make(map[string]memtrix.GraphNode, len(m.made))
	for id, at := range m.made {
		inputs := map[string]json.RawMessage{}
		for name, v := range m.prompt[id] {
			if _, isLink := v.(ref); !isLink {
				inputs[name] = Canonical(v)
			}
		}
		nodes[id] = memtrix.GraphNode{ClassType: at.n.typ, Inputs: inputs, Meta: &memtrix.GraphMeta{
			Title:      at.n.title,
			Registry:   text(at.n.props["cnr_id"]),
			Repository: text(at.n.props["aux_id"]),
			Release:    text(at.n.props["ver"]),
		}}
	}
	return nodes, nil
}

// seen are the keys of a file that a prompt can depend on; all others are places,
// colours and the state of the page.
var seen = map[string]bool{
	"nodes": true, "links": true, "definitions": true, "subgraphs": true, "extra": true, "groupNodes": true, "external": true, "config": true,
	"id": true, "type": true, "mode": true, "inputs": true, "outputs": true, "widgets_values": true, "properties": true,
	"name": true, "widget": true, "link": true, "linkIds": true, "version": true, "last_node_id": true, "state": true, "lastNodeId": true,
	"origin_id": true, "origin_slot": true, "target_id": true, "target_slot": true, "label": true,
	"proxyWidgets": true, "proxyWidgetErrorQuarantine": true, "originalEntry": true, "hostValue": true, "Run widget replace on values": true,
}

// Hash identifies a workflow in UI format by content: where nodes lie, colours,
// groups and white space do not matter.
func Hash(data []byte) (string, error) {
	tree, err := decode(data)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(Canonical(essence(tree)))
	return "ui" + hex.EncodeToString(sum[:8]), nil
}

// essence keeps what a prompt can depend on. Values of widgets stay whole.
func essence(v any) any {
	switch v := v.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, value := range v {
			switch {
			case key == "widgets_values" || key == "hostValue":
				kept[key] = value
			case key == "groupNodes":
				// Named by people.
				groups := map[string]any{}
				for name, g := range dict(value) {
					groups[name] = essence(g)
				}
				kept[key] = groups
			case seen[key] && value != nil:
				inner := essence(value)
				if m, isMap := inner.(map[string]any); !isMap || len(m) > 0 {
					kept[key] = inner
				}
			}
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i, item := range v {
			kept[i] = essence(item)
		}
		return kept
	}
	return v
}

// Packs are the custom node packs that a workflow's own properties name, by
// node type.
func Packs(data []byte) map[string]string {
	tree, err := decode(data)
	if err != nil {
		return nil
	}
	packs := map[string]string{}
	root := dict(tree)
	for _, g := range append([]map[string]any{root}, definitions(root)...) {
		for _, item := range list(g["nodes"]) {
			n := dict(item)
			if pack := packName(dict(n["properties"])); pack != "" {
				packs[text(n["type"])] = pack
			}
		}
	}
	return packs
}

// packName is a pack as properties of a node name it, "" where they do not.
func packName(props map[string]any) string {
	for _, key := range []string{"cnr_id", "aux_id"} {
		if id := text(props[key]); id != "" && id != "comfy-core" {
			if v := text(props["ver"]); v != "" {
				return fmt.Sprintf("%s (%s)", id, v)
			}
			return id
		}
	}
	return ""
}
