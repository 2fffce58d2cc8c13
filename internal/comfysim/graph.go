package comfysim

import (
	"encoding/json"
	"slices"
	"strconv"
)

// graph is a prompt in API format, with its nodes in their order.
type graph struct {
	ids   []string
	nodes map[string]*graphNode
}

type graphNode struct {
	id     string
	class  string
	inputs object
	title  string
}

// link is an input that comes from another node.
type link struct {
	from string
	slot int
}

// asLink reads a value of the form ["4", 0].
func asLink(v any) (link, bool) {
	list, ok := v.([]any)
	if !ok || len(list) != 2 {
		return link{}, false
	}
	from, ok := list[0].(string)
	if !ok {
		return link{}, false
	}
	number, ok := list[1].(json.Number)
	if !ok {
		return link{}, false
	}
	slot, err := strconv.Atoi(number.String())
	return link{from, slot}, err == nil
}

// newGraph reads a graph. A node without a class keeps an empty one.
func newGraph(prompt object) *graph {
	g := &graph{nodes: map[string]*graphNode{}}
	for _, p := range prompt {
		node, ok := p.value.(object)
		if !ok {
			node = object{}
		}
		n := &graphNode{id: p.key}
		class, _ := node.get("class_type")
		n.class, _ = class.(string)
		inputs, _ := node.get("inputs")
		n.inputs, _ = inputs.(object)
		if meta, ok := node.get("_meta"); ok {
			if m, ok := meta.(object); ok {
				title, _ := m.get("title")
				n.title, _ = title.(string)
			}
		}
		g.ids = append(g.ids, p.key)
		g.nodes[p.key] = n
	}
	return g
}

// links are the inputs of a node that come from others, in order.
func (n *graphNode) links() []link {
	var out []link
	for _, p := range n.inputs {
		if l, ok := asLink(p.value); ok {
			out = append(out, l)
		}
	}
	return out
}

// order is ComfyUI's ExecutionList: what is to run, and what each waits for.
type order struct {
	g        *graph
	isOutput func(class string) bool
	isCached func(id string) bool
	pending  []string
	waits    map[string]map[string]bool // node to those it waits for
	blocks   map[string][]string        // node to those that wait for it
}

func newOrder(g *graph, isOutput, isCached func(string) bool) *order {
	return &order{g: g, isOutput: isOutput, isCached: isCached,
		waits: map[string]map[string]bool{}, blocks: map[string][]string{}}
}

// add puts a node and everything it needs on the list, in the order in which
// ComfyUI finds them: from a stack, so the last input comes first.
func (o *order) add(id string) {
	stack := []string{id}
	type edge struct{ from, to string }
	var edges []edge
	for len(stack) > 0 {
		id := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if o.waits[id] != nil {
			continue
		}
		o.pending = append(o.pending, id)
		o.waits[id] = map[string]bool{}
		for _, l := range o.g.nodes[id].links() {
			if o.g.nodes[l.from] != nil && !o.isCached(l.from) {
				stack = append(stack, l.from)
				edges = append(edges, edge{l.from, id})
			}
		}
	}
	for _, e := range edges {
		if !o.waits[e.to][e.from] {
			o.waits[e.to][e.from] = true
			o.blocks[e.from] = append(o.blocks[e.from], e.to)
		}
	}
}

// next picks a node that is ready: output nodes first, then those right before
// an output node, then those two before (so that a picture shows early), else
// the first.
func (o *order) next() (string, bool) {
	var ready []string
	for _, id := range o.pending {
		if len(o.waits[id]) == 0 {
			ready = append(ready, id)
		}
	}
	if len(ready) == 0 {
		return "", false
	}
	for distance := range 3 {
		for _, id := range ready {
			if o.leadsToOutput(id, distance) {
				return id, true
			}
		}
	}
	return ready[0], true
}

func (o *order) leadsToOutput(id string, distance int) bool {
	if distance == 0 {
		return o.isOutput(o.g.nodes[id].class)
	}
	return slices.ContainsFunc(o.blocks[id], func(next string) bool { return o.leadsToOutput(next, distance-1) })
}

// done takes a node off the list.
func (o *order) done(id string) {
	o.pending = slices.DeleteFunc(o.pending, func(x string) bool { return x == id })
	for _, next := range o.blocks[id] {
		delete(o.waits[next], id)
	}
}
