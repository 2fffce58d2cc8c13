package convert

import (
	"maps"
	"slices"
	"strings"
)

// Modes of a node (LGraphEventMode). All others are as good as always.
const (
	never  = 2
	bypass = 4
)

// Ends of a link at the border of a subgraph.
const (
	inputSide  = "-10"
	outputSide = "-20"
)

// graph is the root of a workflow or the definition of a subgraph. Instances
// share their definition's nodes, as they do in the front end.
type graph struct {
	id        string // "" for the root
	name      string
	nodes     []*node
	byID      map[string]*node
	links     map[int]*link
	lastLink  int
	inputs    []*port
	outputs   []*port
	instances []*node
}

type link struct {
	id       int
	from     string
	fromSlot int
	to       string
	toSlot   int // as stored; what counts is the input that names the link
}

// port is an input or output of a subgraph's definition.
type port struct {
	name, typ string
	links     []int
	first     *widget // the first widget that was linked to it
}

type output struct {
	name, typ string
	links     []int
}

type node struct {
	id, typ, title string
	mode           int
	props          map[string]any
	slots          []*slot
	outputs        []output
	widgets        []*widget
	values         any // widgets_values as stored

	in      *graph
	class   *class // nil for virtual and unknown ones and for instances
	sub     *graph // of an instance of a subgraph
	virtual bool   // exists in the front end only
	missing bool   // nobody knows its type
	hosts   map[string]*widget

	growing  map[string]*autogrow
	matching map[string]match
	depth    int
}

// readLinks reads links in either form: arrays (0.4) and objects (1).
func readLinks(g *graph, raw []any) {
	for _, item := range raw {
		l := &link{}
		var id any
		if row := list(item); len(row) >= 5 {
			id, l.from, l.to = row[0], idOf(row[1]), idOf(row[3])
			l.fromSlot, _ = whole(row[2])
			l.toSlot, _ = whole(row[4])
		} else if o := dict(item); o != nil {
			id, l.from, l.to = o["id"], idOf(o["origin_id"]), idOf(o["target_id"])
			l.fromSlot, _ = whole(o["origin_slot"])
			l.toSlot, _ = whole(o["target_slot"])
		} else {
			continue
		}
		n, ok := whole(id)
		if !ok {
			continue
		}
		l.id = n
		g.links[n] = l
		g.lastLink = max(g.lastLink, n)
	}
}

// dropDuplicates removes links between the same two ends but one, which is the
// one that the target's input names (LGraph._removeDuplicateLinks).
func (g *graph) dropDuplicates() {
	type ends struct {
		from   string
		fromAt int
		to     string
		toAt   int
	}
	groups := map[ends][]int{}
	for _, id := range slices.Sorted(maps.Keys(g.links)) {
		l := g.links[id]
		e := ends{l.from, l.fromSlot, l.to, l.toSlot}
		groups[e] = append(groups[e], id)
	}
	for e, ids := range groups {
		if len(ids) < 2 {
			continue
		}
		keep := ids[0]
		target := g.byID[e.to]
		named := func(id int) *slot {
			if target == nil {
				return nil
			}
			for _, s := range target.slots {
				if s.linked && s.link == id {
					return s
				}
			}
			return nil
		}
		for _, id := range ids {
			if named(id) != nil {
				keep = id
				break
			}
		}
		for _, id := range ids {
			if id == keep {
				continue
			}
			if s := named(id); s != nil {
				s.link = keep
			}
			delete(g.links, id)
			for _, p := range slices.Concat(g.inputs, g.outputs) {
				for i := range p.links {
					if p.links[i] == id {
						p.links[i] = keep
					}
				}
			}
		}
	}
}

func readPorts(raw []any) []*port {
	var ports []*port
	for _, item := range raw {
		o := dict(item)
		p := &port{name: text(o["name"]), typ: typeOf(o["type"])}
		for _, id := range list(o["linkIds"]) {
			if n, ok := whole(id); ok {
				p.links = append(p.links, n)
			}
		}
		ports = append(ports, p)
	}
	return ports
}

// typeOf reads a slot's type; old files have numbers for events and for any.
func typeOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		if v != 0 {
			return number(v)
		}
	case []any:
		return "COMBO"
	}
	return ""
}

// fits tells whether two types can be linked (LiteGraph.isValidConnection).
func fits(a, b string) bool {
	if a == "" || a == "*" || b == "" || b == "*" || a == b {
		return true
	}
	as, bs := typeList(a), typeList(b)
	for _, x := range as {
		if x == "" || x == "*" || slices.Contains(bs, x) {
			return true
		}
	}
	return slices.ContainsFunc(bs, func(y string) bool { return y == "" || y == "*" })
}

func typeList(t string) []string { return strings.Split(strings.ToLower(t), ",") }
