package workflows

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"memtrix"
)

// InputError is about one input that a person named.
type InputError struct {
	Path string // as the person wrote it: "KSampler.steps"
	Msg  string
}

// Error gives the message with the path in it.
func (e *InputError) Error() string { return e.Msg }

// InputPath is the input as the person wrote it, so that a spec's place can be
// found.
func (e *InputError) InputPath() string { return e.Path }

// Find resolves "5.steps" (node id) or "KSampler.steps" (class type, where only
// one node has it) to an input that the workflow has. Its error is of type
// *InputError and lists what there is.
func Find(w memtrix.Workflow, path string) (memtrix.Input, error) {
	fail := func(format string, args ...any) (memtrix.Input, error) {
		return memtrix.Input{}, &InputError{path, fmt.Sprintf(format, args...)}
	}
	found := false
	for i := range path {
		if path[i] != '.' {
			continue
		}
		found = true
		// Class types and inputs may hold dots, too: the first split that fits.
		node, name := path[:i], path[i+1:]
		ids := nodesCalled(w.Graph, node)
		switch {
		case len(ids) == 0:
			continue
		case len(ids) > 1:
			return fail("%s: nodes %s are all of class %s; name one by its id, as in %q", path, strings.Join(shorten(ids), ", "), node, ids[0]+"."+name)
		}
		n := w.Graph[ids[0]]
		if _, ok := n.Inputs[name]; ok {
			return memtrix.Input{Node: ids[0], Name: name}, nil
		}
		if len(n.Inputs) == 0 {
			return fail("%s: node %s has no inputs", path, label(ids[0], n))
		}
		return fail("%s: node %s has no input %q; it has %s", path, label(ids[0], n), name, strings.Join(slices.Sorted(maps.Keys(n.Inputs)), ", "))
	}
	if !found {
		return fail("%q is no input; write node.input, for example \"5.steps\" or \"KSampler.steps\"", path)
	}
	node, _, _ := strings.Cut(path, ".")
	if inside := meant(w.Graph, node); len(inside) > 0 {
		return fail("%s: a server knows no node %q, which is the name of a subgraph or a title; name the node that is meant by its id: %s",
			path, node, strings.Join(shorten(inside), ", "))
	}
	var all []string
	for _, id := range sortedIDs(w.Graph) {
		all = append(all, label(id, w.Graph[id]))
	}
	return fail("%s: there is no node %q in the workflow; it has %s", path, node, strings.Join(shorten(all), ", "))
}

// meant are the nodes that a person may mean by the id of a subgraph, whose nodes are
// what is sent, or by a title.
func meant(graph map[string]memtrix.GraphNode, name string) []string {
	var nodes []string
	for _, id := range sortedIDs(graph) {
		n := graph[id]
		if strings.HasPrefix(id, name+":") || n.Meta != nil && strings.EqualFold(n.Meta.Title, name) {
			nodes = append(nodes, label(id, n))
		}
	}
	return nodes
}

// nodesCalled are the ids of the nodes that a name means: the node of that id,
// else all of that class.
func nodesCalled(graph map[string]memtrix.GraphNode, name string) []string {
	if _, ok := graph[name]; ok {
		return []string{name}
	}
	var ids []string
	for _, id := range sortedIDs(graph) {
		if graph[id].ClassType == name {
			ids = append(ids, id)
		}
	}
	return ids
}

// Set gives an input another value (JSON) and leaves w as it was. A link given
// as value must lead to a node that is there. The error is of type *InputError.
func Set(w memtrix.Workflow, path string, value json.RawMessage) (memtrix.Workflow, error) {
	in, err := Find(w, path)
	if err != nil {
		return w, err
	}
	if !json.Valid(value) {
		return w, &InputError{path, fmt.Sprintf("%s: %s is not a JSON value", path, value)}
	}
	before := w
	w.Graph = withInput(w.Graph, in, slices.Clone(value))
	if from, ok := link(value); ok {
		if _, there := w.Graph[from]; !there {
			return before, &InputError{path, fmt.Sprintf("%s: %s links to node %q, which is not in the workflow", path, value, from)}
		}
		if circle := findCircle(w.Graph); circle != nil {
			return before, &InputError{path, fmt.Sprintf("%s: with %s nodes %s take from each other in a circle", path, value, strings.Join(circle, " -> "))}
		}
	}
	w.Hash = Hash(w.Graph)
	return w, nil
}

// withInput copies a graph as far as one changed input needs.
func withInput(graph map[string]memtrix.GraphNode, in memtrix.Input, value json.RawMessage) map[string]memtrix.GraphNode {
	graph = maps.Clone(graph)
	node := graph[in.Node]
	node.Inputs = maps.Clone(node.Inputs)
	node.Inputs[in.Name] = value
	graph[in.Node] = node
	return graph
}
