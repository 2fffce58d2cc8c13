package convert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Group nodes, the forerunner of subgraphs: the file keeps what is in them in
// extra.groupNodes. A front end of today makes a subgraph of each when it opens
// the file (extensions/core/groupNode.ts). So does this, but for one thing: front
// end 1.47.10 does not count the widgets whose choices are a plain list and hands
// out the values one place too early. Here each value goes to the widget that it
// was stored for, and a note says so.

// group is the content of one group node.
type group struct {
	nodes    []map[string]any
	links    [][]any
	external [][2]int // outputs that are shown although they are used inside
	config   map[string]any
}

// groupID begins the id of the definition that a group node becomes.
const groupID = "group:"

// groupPrefixes begin the type of a group node.
var groupPrefixes = []string{"workflow/", "workflow>"}

// expandGroups puts a subgraph in the place of every group node, gives the new
// definitions, and changes the tree.
func (l *loader) expandGroups(root map[string]any, defs []map[string]any, last int) []map[string]any {
	groups := dict(dict(root["extra"])["groupNodes"])
	if len(groups) == 0 {
		return nil
	}
	var added []map[string]any
	for _, g := range slices.Concat([]map[string]any{root}, defs) {
		for _, item := range list(g["nodes"]) {
			n := dict(item)
			name := text(n["type"])
			for _, p := range groupPrefixes {
				name = strings.TrimPrefix(name, p)
			}
			content := dict(groups[name])
			if content == nil || name == text(n["type"]) {
				continue
			}
			def, next := l.expand(n, readGroup(content), name, last)
			if def == nil {
				continue
			}
			old := idOf(n["id"])
			last = next
			n["id"], n["type"] = float64(last), def["id"]
			if text(n["title"]) == "" {
				n["title"] = name
			}
			moveLinks(g, map[string]any{old: float64(last)})
			added = append(added, def)
			l.notes = append(l.notes, fmt.Sprintf("group node %s (%s) became the subgraph %d, its values each at the widget that they were stored for (front end 1.47 shifts them)", old, name, last))
		}
	}
	return added
}

func readGroup(raw map[string]any) group {
	g := group{config: dict(raw["config"])}
	for _, item := range list(raw["nodes"]) {
		n := dict(item)
		if n == nil {
			n = map[string]any{}
		}
		g.nodes = append(g.nodes, n)
	}
	for _, item := range list(raw["links"]) {
		g.links = append(g.links, list(item))
	}
	for _, item := range list(raw["external"]) {
		row := list(item)
		if len(row) < 2 {
			continue
		}
		at, okAt := whole(row[0])
		out, okOut := whole(row[1])
		if okAt && okOut {
			g.external = append(g.external, [2]int{at, out})
		}
	}
	return g
}

// inner is a node of a group while its definition is made.
type inner struct {
	raw   map[string]any
	id    float64
	probe *node // a new node of its class; nil for virtual ones
	// converted are names of widgets that were inputs when the group was made.
	converted []string
}

// groupLink is a link inside a group, by place.
type groupLink struct{ from, fromSlot, to, toSlot int }

func (g group) inside() []groupLink {
	var links []groupLink
	for _, row := range g.links {
		if len(row) < 4 {
			continue
		}
		var l groupLink
		ok := true
		for i, at := range []*int{&l.from, &l.fromSlot, &l.to, &l.toSlot} {
			v, isInt := whole(row[i])
			*at, ok = v, ok && isInt
		}
		if ok && l.from >= 0 && l.from < len(g.nodes) && l.to >= 0 && l.to < len(g.nodes) {
			links = append(links, l)
		}
	}
	return links
}

// expand makes the definition for one instance, which has its own values. Inner
// nodes get the ids after last; the instance gets the one after theirs.
func (l *loader) expand(instance map[string]any, g group, name string, last int) (map[string]any, int) {
	var inners []*inner
	for _, raw := range g.nodes {
		last++
		in := &inner{raw: cloneNode(raw), id: float64(last)}
		in.raw["id"] = in.id
		if c := l.defs.class(text(raw["type"])); c != nil {
			in.probe = &node{in: &graph{}}
			in.probe.populate(c)
			in.probe.values = raw["widgets_values"]
			in.probe.setValues()
		}
		for _, s := range readSlots(list(raw["inputs"])) {
			if s.widget == s.name && s.name != "" {
				in.converted = append(in.converted, s.name)
			}
		}
		inners = append(inners, in)
	}
	last++
	def := map[string]any{"id": groupID + strconv.Itoa(last), "name": name}
	b := &groupBuilder{group: g, inners: inners, def: def}
	stored := list(instance["widgets_values"])
	if used := b.values(stored); used != len(stored) {
		l.notes = append(l.notes, fmt.Sprintf("group node %s (%s) has %d values, and its widgets take %d: look whether each is where it belongs", idOf(instance["id"]), name, len(stored), used))
	}
	b.link()
	b.ports(list(instance["inputs"]))
	b.results()
	b.finish(instance)
	return def, last
}

func cloneNode(raw map[string]any) map[string]any {
	n := map[string]any{}
	for k, v := range raw {
		n[k] = v
	}
	return n
}

type groupBuilder struct {
	group  group
	inners []*inner
	def    map[string]any

	links   []any
	lastID  int
	inputs  []any
	outputs []any
	slots   map[int][]any // inputs of the inner nodes, in raw form
	hostIns []any
}

// values hands out the instance's values: to each inner node in order, to its
// widgets in order, but those that were inputs. It gives how many they take.
func (b *groupBuilder) values(values []any) int {
	at := 0
	take := func() (any, bool) {
		at++
		if at > len(values) {
			return nil, false
		}
		return values[at-1], true
	}
	for i, in := range b.inners {
		if in.probe == nil {
			if text(in.raw["type"]) == "PrimitiveNode" && b.usedInside(i) {
				if v, ok := take(); ok {
					in.raw["widgets_values"] = []any{v}
				}
				take() // how it changes
			}
			continue
		}
		skip := false
		for _, w := range slices.Clone(in.probe.widgets) {
			if !w.stored {
				continue
			}
			if !isControl(w) {
				skip = slices.Contains(in.converted, w.name)
			}
			if skip {
				continue
			}
			if v, ok := take(); ok {
				in.probe.set(w, v)
			}
		}
		var all []any
		for _, w := range in.probe.widgets {
			if w.stored {
				all = append(all, orNil(w.value))
			}
		}
		in.raw["widgets_values"] = all
	}
	return at
}

func orNil(v any) any {
	if v == (any)(absent{}) {
		return nil
	}
	return v
}

func (b *groupBuilder) usedInside(i int) bool {
	return slices.ContainsFunc(b.group.inside(), func(l groupLink) bool { return l.from == i })
}

// sockets are the inputs of an inner node in the order in which a group counts
// them: plain sockets, then the widgets that were inputs.
func (b *groupBuilder) sockets(i int) []string {
	in := b.inners[i]
	if in.probe == nil {
		if text(in.raw["type"]) == "Reroute" {
			return []string{""}
		}
		return nil
	}
	var names []string
	for _, s := range in.probe.slots {
		if s.widget == "" {
			names = append(names, s.name)
		}
	}
	return append(names, in.converted...)
}

// link makes the links inside.
func (b *groupBuilder) link() {
	b.slots = map[int][]any{}
	for _, l := range b.group.inside() {
		name, ok := b.nameAt(l.to, l.toSlot)
		if !ok {
			continue
		}
		b.lastID++
		b.links = append(b.links, map[string]any{"id": float64(b.lastID), "origin_id": b.inners[l.from].id, "origin_slot": float64(l.fromSlot), "target_id": b.inners[l.to].id, "target_slot": float64(l.toSlot)})
		b.addSlot(l.to, name, b.lastID)
	}
}

// nameAt is the name of an inner input by its place in the stored inputs, which
// may be those of before widgets had sockets.
func (b *groupBuilder) nameAt(i, at int) (string, bool) {
	if stored := readSlots(list(b.inners[i].raw["inputs"])); at >= 0 && at < len(stored) {
		return stored[at].name, true
	}
	names := b.sockets(i)
	if at < 0 || at >= len(names) {
		return "", false
	}
	return names[at], true
}

func (b *groupBuilder) addSlot(i int, name string, link int) {
	s := map[string]any{"name": name, "type": "*", "link": float64(link)}
	if slices.Contains(b.inners[i].converted, name) {
		s["widget"] = map[string]any{"name": name}
	}
	b.slots[i] = append(b.slots[i], s)
}

func (b *groupBuilder) linkedInside(i int, name string) bool {
	return slices.ContainsFunc(b.slots[i], func(s any) bool { return dict(s)["name"] == name })
}

// ports makes the group's inputs: the plain sockets of all nodes that are not
// linked inside, then the widgets that were inputs.
func (b *groupBuilder) ports(stored []any) {
	var plainOnes, converted [][2]any
	for i, in := range b.inners {
		for _, name := range b.sockets(i) {
			if b.linkedInside(i, name) || b.hidden(i, "input", name) {
				continue
			}
			if slices.Contains(in.converted, name) {
				converted = append(converted, [2]any{i, name})
			} else {
				plainOnes = append(plainOnes, [2]any{i, name})
			}
		}
	}
	sockets := slices.DeleteFunc(readSlots(stored), func(s *slot) bool { return s.widget != "" && !s.linked })
	for k, p := range slices.Concat(plainOnes, converted) {
		i, name := p[0].(int), p[1].(string)
		b.lastID++
		port := "in" + strconv.Itoa(k)
		typ := "*"
		if probe := b.inners[i].probe; probe != nil {
			if s := probe.slot(name); s != nil {
				typ = s.typ
			}
		}
		b.inputs = append(b.inputs, map[string]any{"name": port, "type": typ, "linkIds": []any{float64(b.lastID)}})
		b.links = append(b.links, map[string]any{"id": float64(b.lastID), "origin_id": -10.0, "origin_slot": float64(k), "target_id": b.inners[i].id, "target_slot": 0.0})
		b.addSlot(i, name, b.lastID)
		host := map[string]any{"name": port, "type": "*"}
		if k < len(sockets) && sockets[k].linked {
			host["link"] = float64(sockets[k].link)
		}
		b.hostIns = append(b.hostIns, host)
	}
}

// hidden tells whether a person took an input or output off the group node.
func (b *groupBuilder) hidden(i int, side, key string) bool {
	visible, said := dict(dict(dict(b.group.config[strconv.Itoa(i)])[side])[key])["visible"]
	return said && visible == false
}

// results makes the group's outputs: those that are not used inside, and those
// that a person wanted all the same.
func (b *groupBuilder) results() {
	for i, in := range b.inners {
		var types []output
		switch {
		case in.probe != nil:
			types = in.probe.outputs
		case text(in.raw["type"]) == "Reroute":
			types = []output{{typ: "*"}}
		}
		for at, o := range types {
			used := slices.ContainsFunc(b.group.inside(), func(l groupLink) bool { return l.from == i && l.fromSlot == at })
			if used && !slices.Contains(b.group.external, [2]int{i, at}) || b.hidden(i, "output", strconv.Itoa(at)) {
				continue
			}
			b.lastID++
			b.links = append(b.links, map[string]any{"id": float64(b.lastID), "origin_id": in.id, "origin_slot": float64(at), "target_id": -20.0, "target_slot": float64(len(b.outputs))})
			b.outputs = append(b.outputs, map[string]any{"name": "out" + strconv.Itoa(len(b.outputs)), "type": o.typ, "linkIds": []any{float64(b.lastID)}})
		}
	}
}

func (b *groupBuilder) finish(instance map[string]any) {
	var nodes []any
	for i, in := range b.inners {
		in.raw["inputs"] = b.slots[i]
		delete(in.raw, "outputs")
		if text(in.raw["type"]) == "PrimitiveNode" {
			in.raw["outputs"] = []any{map[string]any{"type": "*", "links": b.linksOf(in.id)}}
		}
		nodes = append(nodes, in.raw)
	}
	b.def["nodes"], b.def["links"], b.def["inputs"], b.def["outputs"] = nodes, b.links, b.inputs, b.outputs
	instance["inputs"] = b.hostIns
	delete(instance, "outputs")
	delete(instance, "widgets_values")
	delete(instance, "properties")
}

func (b *groupBuilder) linksOf(id float64) []any {
	var ids []any
	for _, l := range b.links {
		if dict(l)["origin_id"] == id {
			ids = append(ids, dict(l)["id"])
		}
	}
	return ids
}
