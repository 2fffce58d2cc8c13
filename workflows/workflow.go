// Package workflows reads workflow files into memtrix.Workflow, finds what to
// vary between prompts so that nothing is served from the node cache, and holds
// the built-in workflows.
//
// A file may be in ComfyUI's API format, in the format that its front end saves
// (UI format), or a picture, video or sound that carries either (package
// embedded). What is in UI format stays as it is until a server is there: each
// version makes its own prompt of it, with its own node classes (Fit, package
// convert). Everything else is recognised and refused with a message that says
// what it is and what a person can do. The package knows no server beyond what
// GET /object_info answers.
package workflows

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"memtrix"
	"memtrix/internal/pyjson"
	"memtrix/workflows/convert"
)

// Load reads a workflow file. Its name is the file's without ending.
func Load(path string) (memtrix.Workflow, error) {
	f, err := ReadFile(path)
	if err != nil {
		return memtrix.Workflow{}, err
	}
	base := filepath.Base(path)
	return f.workflow(strings.TrimSuffix(base, filepath.Ext(base)), path)
}

// Decode reads a workflow of any form, also wrapped as {"prompt": {...}}. source
// is where data came from, for messages and Workflow.Source. The inputs to vary
// are found by FindVary; those of a workflow in UI format only when it is fitted
// to a server.
func Decode(name, source string, data []byte) (memtrix.Workflow, error) {
	f, err := read(source, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return memtrix.Workflow{}, err
	}
	return f.workflow(name, source)
}

func (f File) workflow(name, source string) (memtrix.Workflow, error) {
	w, err := f.read(name, source)
	if err == nil && f.Warning != "" {
		w.Warnings = append(w.Warnings, f.Warning)
	}
	return w, err
}

func (f File) read(name, source string) (memtrix.Workflow, error) {
	if f.UI != nil {
		return decodeUI(name, source, f.UI)
	}
	graph, err := decodeGraph(source, f.prompt)
	if err != nil {
		return memtrix.Workflow{}, err
	}
	if err := checkGraph(source, graph); err != nil {
		return memtrix.Workflow{}, err
	}
	w := memtrix.Workflow{Name: name, Source: source, Graph: graph, Hash: Hash(graph)}
	w.Vary, w.Warnings = FindVary(w)
	return w, nil
}

// topLevel parses the text as far as the keys of its outermost object; ui is the
// text of a workflow in UI format, which it may be or hold.
func topLevel(source string, data []byte) (top map[string]json.RawMessage, ui []byte, err error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil, fmt.Errorf("%s is empty", source)
	}
	if !utf8.Valid(data) {
		return nil, nil, fmt.Errorf("%s is neither UTF-8 text nor a known kind of file; a workflow is JSON", source)
	}
	if !json.Valid(data) {
		// The front end reads NaN as null; a server would not take it.
		if clean := pyjson.Standard(data); json.Valid(clean) && convert.IsUI(clean) {
			return nil, clean, nil
		}
		return nil, nil, jsonError(source, data)
	}
	if err := json.Unmarshal(data, &top); err != nil || top == nil {
		return nil, nil, fmt.Errorf("%s is JSON, but no workflow: its outermost value is not an object", source)
	}
	if isUI(top) {
		return nil, data, nil
	}
	inner, ok := object(top["prompt"])
	if _, isNode := inner["class_type"]; ok && !isNode {
		if isUI(inner) {
			return nil, top["prompt"], nil
		}
		return inner, nil, nil
	}
	// {"workflow": {...}} is what ComfyUI puts beside the prompt of an image.
	if inner, ok := object(top["workflow"]); ok && isUI(inner) {
		return nil, top["workflow"], nil
	}
	return top, nil, nil
}

func object(data json.RawMessage) (map[string]json.RawMessage, bool) {
	var m map[string]json.RawMessage
	if len(data) == 0 || json.Unmarshal(data, &m) != nil {
		return nil, false
	}
	return m, m != nil
}

// isUI recognises what the frontend saves: a list of nodes with links, or the
// version of the format. A node of an API prompt may well be called "nodes",
// but is no list.
func isUI(top map[string]json.RawMessage) bool {
	nodes := bytes.TrimSpace(top["nodes"])
	if len(nodes) > 0 && nodes[0] == '[' {
		return true
	}
	_, hasLinks := top["links"]
	_, hasState := top["state"]
	version := string(bytes.TrimSpace(top["version"]))
	return (version == "1" || version == "0.4") && (hasLinks || hasState || len(nodes) > 0)
}

// decodeGraph reads the nodes, and reports all that are none at once.
func decodeGraph(source string, top map[string]json.RawMessage) (map[string]memtrix.GraphNode, error) {
	graph := make(map[string]memtrix.GraphNode, len(top))
	var bad []string
	for _, id := range sortedIDs(top) {
		node, problem := decodeNode(top[id])
		if problem != "" {
			bad = append(bad, fmt.Sprintf("node %q %s", id, problem))
			continue
		}
		graph[id] = node
	}
	switch {
	case len(top) == 0:
		return nil, fmt.Errorf("%s holds no nodes", source)
	case len(graph) == 0:
		return nil, fmt.Errorf("%s is JSON, but no workflow in API format: none of its values has a class_type", source)
	case len(bad) > 0:
		return nil, fmt.Errorf("%s: %s", source, strings.Join(shorten(bad), "; "))
	}
	return graph, nil
}

func decodeNode(data json.RawMessage) (memtrix.GraphNode, string) {
	fields, ok := object(data)
	if !ok {
		return memtrix.GraphNode{}, "is not an object"
	}
	var node memtrix.GraphNode
	class, ok := fields["class_type"]
	if !ok {
		return node, "has no class_type (the frontend leaves it out for nodes whose package is not installed)"
	}
	if err := json.Unmarshal(class, &node.ClassType); err != nil || node.ClassType == "" {
		return node, "has a class_type that is not a text"
	}
	node.Inputs = map[string]json.RawMessage{}
	if inputs, there := fields["inputs"]; there {
		if node.Inputs, ok = object(inputs); !ok {
			return node, fmt.Sprintf("(%s) has inputs that are not an object", node.ClassType)
		}
	}
	// The title is for people only: a broken one is no reason to refuse.
	var meta memtrix.GraphMeta
	if json.Unmarshal(fields["_meta"], &meta) == nil && meta != (memtrix.GraphMeta{}) {
		node.Meta = &meta
	}
	return node, ""
}

// shorten keeps a list of problems readable.
func shorten(list []string) []string {
	const most = 10
	if len(list) <= most {
		return list
	}
	return append(slices.Clone(list[:most]), fmt.Sprintf("and %d more", len(list)-most))
}
