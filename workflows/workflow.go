// Package workflows reads workflow files into memtrix.Workflow, finds what to
// vary between prompts so that nothing comes from the node cache, and holds the
// built-in workflows and the stand-in models that they load.
//
// Files are read in ComfyUI's API format. Everything else (UI format, images
// and videos with a workflow in them) is recognised and refused with a message
// that says what it is and what a person can do. The package knows no server:
// whether a node class exists, or takes a value, is not decided here.
package workflows

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"memtrix"
)

// maxSize bounds a workflow file: API-format prompts have some 100 KB, and
// ComfyUI itself refuses requests above 100 MB.
const maxSize = 64 << 20

// Load reads a workflow file. Its name is the file's without ending.
func Load(path string) (memtrix.Workflow, error) {
	info, err := os.Stat(path)
	if err != nil {
		return memtrix.Workflow{}, fmt.Errorf("read workflow: %w", err)
	}
	if !info.Mode().IsRegular() {
		return memtrix.Workflow{}, fmt.Errorf("%s is not a file", path)
	}
	if info.Size() > maxSize {
		return memtrix.Workflow{}, refuse(path, info.Size())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return memtrix.Workflow{}, fmt.Errorf("read workflow: %w", err)
	}
	base := filepath.Base(path)
	return Decode(strings.TrimSuffix(base, filepath.Ext(base)), path, data)
}

// refuse says why a file is too large; a video or a model is named as such.
func refuse(path string, size int64) error {
	head := make([]byte, 64)
	if f, err := os.Open(path); err == nil {
		n, _ := f.Read(head)
		f.Close()
		if err := refuseMedia(path, head[:n]); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s has %d MiB; a workflow has less than %d MiB", path, size>>20, maxSize>>20)
}

// Decode reads a workflow in API format, also wrapped as {"prompt": {...}}.
// source is where data came from, for messages and Workflow.Source. The inputs
// to vary are found by FindVary. A workflow in UI format gives *UIFormatError.
func Decode(name, source string, data []byte) (memtrix.Workflow, error) {
	if err := refuseMedia(source, data); err != nil {
		return memtrix.Workflow{}, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	top, err := topLevel(source, data)
	if err != nil {
		return memtrix.Workflow{}, err
	}
	graph, err := decodeGraph(source, top)
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

// topLevel parses the text as far as the keys of its outermost object.
func topLevel(source string, data []byte) (map[string]json.RawMessage, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, fmt.Errorf("%s is empty", source)
	}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%s is neither UTF-8 text nor a known kind of file; a workflow is JSON", source)
	}
	if !json.Valid(data) {
		return nil, jsonError(source, data)
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil || top == nil {
		return nil, fmt.Errorf("%s is JSON, but no workflow: its outermost value is not an object", source)
	}
	if isUI(top) {
		return nil, &UIFormatError{Source: source}
	}
	inner, ok := object(top["prompt"])
	if _, isNode := inner["class_type"]; ok && !isNode {
		if isUI(inner) {
			return nil, &UIFormatError{Source: source}
		}
		return inner, nil
	}
	// {"workflow": {...}} is what ComfyUI puts beside the prompt of an image.
	if inner, ok := object(top["workflow"]); ok && isUI(inner) {
		return nil, &UIFormatError{Source: source}
	}
	return top, nil
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
