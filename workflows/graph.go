package workflows

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"memtrix"
)

// link reads an input that takes another node's output: ["4", 0]. As in
// ComfyUI (comfy_execution/graph_utils.py, is_link) a list of two is one if its
// first item is a text and its second a number.
func link(value json.RawMessage) (from string, ok bool) {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || value[0] != '[' {
		return "", false
	}
	var pair []json.RawMessage
	if json.Unmarshal(value, &pair) != nil || len(pair) != 2 {
		return "", false
	}
	var slot json.Number
	if pair[0][0] != '"' || json.Unmarshal(pair[0], &from) != nil || pair[1][0] == '"' || json.Unmarshal(pair[1], &slot) != nil || slot == "" {
		return "", false
	}
	return from, true
}

// sources are the nodes that a node takes something from.
func sources(n memtrix.GraphNode) []string {
	var ids []string
	for _, name := range slices.Sorted(maps.Keys(n.Inputs)) {
		if from, ok := link(n.Inputs[name]); ok && !slices.Contains(ids, from) {
			ids = append(ids, from)
		}
	}
	return ids
}

// SortedIDs are the ids of a graph as people count: "2" before "10".
func SortedIDs[V any](m map[string]V) []string { return sortedIDs(m) }

// sortedIDs sorts node ids as people count: "2" before "10", "12:7" after "12".
func sortedIDs[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), compareIDs)
}

func compareIDs(a, b string) int {
	as, bs := strings.Split(a, ":"), strings.Split(b, ":")
	for i := range min(len(as), len(bs)) {
		x, errX := strconv.ParseUint(as[i], 10, 64)
		y, errY := strconv.ParseUint(bs[i], 10, 64)
		c := strings.Compare(as[i], bs[i])
		if errX == nil && errY == nil && x != y {
			c = cmp.Compare(x, y)
		}
		if c != 0 {
			return c
		}
	}
	return len(as) - len(bs)
}

// label names a node for people: `3 (KSampler)`.
func label(id string, n memtrix.GraphNode) string {
	return id + " (" + n.ClassType + ")"
}

// checkGraph finds links to nodes that are not there, and circles.
func checkGraph(source string, graph map[string]memtrix.GraphNode) error {
	var bad []string
	for _, id := range sortedIDs(graph) {
		n := graph[id]
		for _, name := range slices.Sorted(maps.Keys(n.Inputs)) {
			from, ok := link(n.Inputs[name])
			if _, there := graph[from]; ok && !there {
				bad = append(bad, fmt.Sprintf("input %s of node %s is linked to node %q, which is not in the workflow", name, label(id, n), from))
			}
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("%s: %s", source, strings.Join(shorten(bad), "; "))
	}
	if circle := findCircle(graph); circle != nil {
		return fmt.Errorf("%s: nodes %s take from each other in a circle", source, strings.Join(circle, " -> "))
	}
	return nil
}

// findCircle gives the nodes of one circle, or nil. It removes nodes that take
// from none that is left; what stays holds a circle. (No recursion: a chain may
// be as long as the file.)
func findCircle(graph map[string]memtrix.GraphNode) []string {
	waits, users := map[string]int{}, consumers(graph)
	var free []string
	for id, n := range graph {
		if waits[id] = len(sources(n)); waits[id] == 0 {
			free = append(free, id)
		}
	}
	for len(free) > 0 {
		id := free[len(free)-1]
		free = free[:len(free)-1]
		delete(waits, id)
		for _, user := range users[id] {
			if waits[user]--; waits[user] == 0 {
				free = append(free, user)
			}
		}
	}
	if len(waits) == 0 {
		return nil
	}
	// Each node left takes from another one left: walking back must come round.
	var path []string
	for id := sortedIDs(waits)[0]; ; {
		if i := slices.Index(path, id); i >= 0 {
			path = append(path[i:], id)
			slices.Reverse(path)
			return path
		}
		path = append(path, id)
		for _, from := range sources(graph[id]) {
			if _, left := waits[from]; left {
				id = from
				break
			}
		}
	}
}

// consumers maps each node to those that take something from it.
func consumers(graph map[string]memtrix.GraphNode) map[string][]string {
	users := map[string][]string{}
	for _, id := range sortedIDs(graph) {
		for _, from := range sources(graph[id]) {
			users[from] = append(users[from], id)
		}
	}
	return users
}

// ancestors are a node and all that it depends on.
func ancestors(graph map[string]memtrix.GraphNode, id string) map[string]bool {
	seen := map[string]bool{id: true}
	todo := []string{id}
	for len(todo) > 0 {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, from := range sources(graph[next]) {
			if !seen[from] {
				seen[from] = true
				todo = append(todo, from)
			}
		}
	}
	return seen
}

// OutputNodes are the ids of the nodes that a server most likely runs the
// workflow for, in order: those that nobody takes anything from, and those that
// save or preview something even so. Only a server knows for sure (OUTPUT_NODE
// of the class).
func OutputNodes(w memtrix.Workflow) []string {
	users := consumers(w.Graph)
	var ids []string
	for _, id := range sortedIDs(w.Graph) {
		class := w.Graph[id].ClassType
		if len(users[id]) == 0 || strings.HasPrefix(class, "Save") || strings.HasPrefix(class, "Preview") {
			ids = append(ids, id)
		}
	}
	return ids
}
