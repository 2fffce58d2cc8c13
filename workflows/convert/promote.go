package convert

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Older files say in properties.proxyWidgets which widgets inside an instance
// are promoted, and later front ends turn that into inputs when they open the
// file. After core/graph/subgraph/migration/proxyWidgetMigration.ts.

// proxy is one entry: a widget of an inner node, and the instance's value.
type proxy struct {
	node, name, deeper string
	value              any
	known              bool // value is there
}

var prefixed = regexp.MustCompile(`^\s*(\d+)\s*:\s*(.+)$`)

// promote brings an instance's promoted widgets into today's form.
func (n *node) promote(raw []any, stored any) {
	values := list(stored)
	var entries []proxy
	for i, item := range raw {
		pair := list(item)
		if len(pair) < 2 || len(pair) > 3 {
			return // one that is malformed spoils all
		}
		for _, part := range pair {
			if _, ok := part.(string); !ok {
				return
			}
		}
		e := proxy{node: text(pair[0]), name: text(pair[1])}
		if len(pair) == 3 {
			e.deeper = text(pair[2])
		}
		if !n.resolves(e) {
			for m := prefixed.FindStringSubmatch(e.name); m != nil; m = prefixed.FindStringSubmatch(e.name) {
				e.deeper, e.name = m[1], m[2]
			}
		}
		// null is no value of a widget.
		if i < len(values) && values[i] != nil {
			e.value, e.known = values[i], true
		}
		entries = append(entries, e)
	}
	n.settle(entries)
}

// settle does each entry. What an entry is is told from the state before all.
func (n *node) settle(entries []proxy) {
	type planned struct {
		entry proxy
		slot  *slot
		inner *node
	}
	var plans []planned
	for _, e := range entries {
		p := planned{entry: e, slot: n.promotedFrom(e.node, e.name)}
		p.inner = n.sub.byID[e.node]
		if p.slot == nil && p.inner != nil && p.inner.typ == "PrimitiveNode" {
			if s := n.slot(text(p.inner.props[bypassedTo])); s != nil && p.inner.props[bypassedTo] != nil {
				p.slot = s
			}
		}
		plans = append(plans, p)
	}
	primitives := map[*node][]proxy{}
	var order []*node
	for _, p := range plans {
		switch {
		case p.slot != nil:
			n.giveHost(p.slot, p.entry)
		case p.inner == nil:
		case p.inner.typ == "PrimitiveNode":
			if primitives[p.inner] == nil {
				order = append(order, p.inner)
			}
			primitives[p.inner] = append(primitives[p.inner], p.entry)
		case !strings.HasPrefix(p.entry.name, "$$"):
			n.newInput(p.inner, p.entry)
		}
	}
	for _, inner := range order {
		n.replacePrimitive(inner, primitives[inner])
	}
}

func (n *node) giveHost(s *slot, e proxy) {
	if e.known && s.host != nil {
		s.host.value = e.value
	}
}

// promotedFrom finds the input that stands for an inner node's widget.
func (n *node) promotedFrom(id, name string) *slot {
	for _, s := range n.slots {
		if s.port == nil {
			continue
		}
		for _, e := range n.sub.ends(s.port) {
			if e.node.sub != nil {
				if e.node.id == id && e.slot.name == name {
					return s
				}
				break
			}
			if w := e.node.widgetOf(e.slot); w != nil {
				if e.node.id == id && w.name == name {
					return s
				}
				break
			}
		}
	}
	return nil
}

// target is what an instance's input of that name ends at.
func (n *node) target(name string) (id, widget string, ok bool) {
	for _, p := range n.sub.inputs {
		if p.name != name {
			continue
		}
		for _, e := range n.sub.ends(p) {
			if e.node.sub != nil {
				return e.node.id, e.slot.name, true
			}
			if w := e.node.widgetOf(e.slot); w != nil {
				return e.node.id, w.name, true
			}
		}
		return "", "", false
	}
	return "", "", false
}

// resolves tells whether an entry names a widget, through nested instances.
func (n *node) resolves(e proxy) bool {
	host, id, name := n, e.node, e.name
	for range 100 {
		inner := host.sub.byID[id]
		switch {
		case inner == nil:
			return false
		case inner.sub == nil:
			return inner.typ != "PrimitiveNode" && inner.widget(name) != nil
		}
		var ok bool
		if id, name, ok = inner.target(name); !ok {
			return false
		}
		host = inner
	}
	return false
}

// sourceSlot is the input behind which an entry's widget lies.
func (e proxy) sourceSlot(inner *node) (*slot, *widget) {
	if inner.sub != nil {
		for _, s := range inner.slots {
			id, name, ok := inner.target(s.name)
			found := ok && name == e.name
			if e.deeper != "" {
				found = found && id == e.deeper
			} else {
				found = found || s.name == e.name
			}
			if found {
				if s.host != nil {
					return s, s.host
				}
				break
			}
		}
		for _, s := range inner.slots {
			if s.host != nil && s.host.name == e.name {
				return s, s.host
			}
		}
		return nil, nil
	}
	w := inner.widget(e.name)
	if w == nil {
		return nil, nil
	}
	for _, s := range inner.slots {
		if s.widget == w.name {
			return s, w
		}
	}
	return nil, nil
}

// newInput makes an input for a widget that has none yet.
func (n *node) newInput(inner *node, e proxy) {
	s, w := e.sourceSlot(inner)
	if s == nil {
		return
	}
	p := n.sub.addInput(e.name, s.typ)
	n.sub.connect(p, inner, s, w)
	if own := n.slot(p.name); own != nil {
		n.giveHost(own, e)
	}
}

// addInput gives a definition, and with it all its instances, one more input.
func (g *graph) addInput(name, typ string) *port {
	taken := func(name string) bool {
		return slices.ContainsFunc(g.inputs, func(p *port) bool { return p.name == name })
	}
	unique := name
	for i := 1; taken(unique); i++ {
		unique = name + "_" + strconv.Itoa(i)
	}
	p := &port{name: unique, typ: typ}
	g.inputs = append(g.inputs, p)
	for _, inst := range g.instances {
		if inst.hosts != nil {
			inst.slots = append(inst.slots, &slot{name: unique, typ: typ, port: p})
		}
	}
	return p
}

// connect links a definition's input to an inner one, whose former link is cut.
// It fails where the widget is not like the one that was linked first.
func (g *graph) connect(p *port, inner *node, s *slot, w *widget) bool {
	if s.linked {
		g.cut(s)
	}
	if w != nil && p.first != nil && !alike(p.first, w) {
		return false
	}
	at := slices.Index(g.inputs, p)
	g.lastLink++
	g.links[g.lastLink] = &link{id: g.lastLink, from: inputSide, fromSlot: at, to: inner.id, toSlot: slices.Index(inner.slots, s)}
	p.links = append(p.links, g.lastLink)
	s.link, s.linked = g.lastLink, true
	if w != nil {
		p.first = w
		for _, inst := range g.instances {
			for _, own := range inst.slots {
				if own.port == p {
					inst.host(own, w)
				}
			}
		}
	}
	return true
}

// cut removes the link of an input.
func (g *graph) cut(s *slot) {
	if l := g.links[s.link]; l != nil {
		if from := g.byID[l.from]; from != nil && l.fromSlot < len(from.outputs) && l.fromSlot >= 0 {
			o := &from.outputs[l.fromSlot]
			o.links = slices.DeleteFunc(slices.Clone(o.links), func(id int) bool { return id == s.link })
		}
		for _, p := range g.inputs {
			p.links = slices.DeleteFunc(slices.Clone(p.links), func(id int) bool { return id == s.link })
		}
		delete(g.links, s.link)
	}
	s.link, s.linked = 0, false
}

// alike compares two widgets as SubgraphInput.matchesWidget does.
func alike(a, b *widget) bool {
	if a.typ != b.typ {
		return false
	}
	option := func(w *widget, name string) any {
		if w.spec == nil {
			return nil
		}
		return w.spec.opts[name]
	}
	for _, name := range []string{"min", "max", "step"} {
		x, y := option(a, name), option(b, name)
		if f, ok := x.(float64); ok && y != f || !ok && y != nil {
			return false
		}
	}
	return true
}

// bypassedTo is the property that names the input which took a PrimitiveNode's
// place.
const bypassedTo = "proxyBypassedToSubgraphInput"

// replacePrimitive puts an input in the place of a promoted PrimitiveNode, if
// the types of all that it is linked to allow that.
func (n *node) replacePrimitive(inner *node, entries []proxy) {
	g := n.sub
	if len(inner.outputs) == 0 || slices.ContainsFunc(entries, func(e proxy) bool { return e.name != entries[0].name }) {
		return
	}
	typ := inner.outputs[0].typ
	if typ == "" {
		typ = "*"
	}
	var targets []end
	for _, id := range inner.outputs[0].links {
		l := g.links[id]
		if l == nil {
			return
		}
		target := g.byID[l.to]
		if target == nil || l.toSlot < 0 || l.toSlot >= len(target.slots) {
			return
		}
		s := target.slots[l.toSlot]
		if s.typ != typ && s.typ != "*" && s.typ != "" && typ != "*" {
			return
		}
		targets = append(targets, end{target, s})
	}
	if len(targets) == 0 {
		return
	}
	for _, t := range targets[1:] {
		a, b := targets[0].node.widgetOf(targets[0].slot), t.node.widgetOf(t.slot)
		if a != nil && b != nil && !alike(a, b) {
			return
		}
	}
	name := entries[0].name
	if inner.title != "" && inner.title != "PrimitiveNode" {
		name = inner.title
	}
	p := g.addInput(name, typ)
	for _, t := range targets {
		g.connect(p, t.node, t.slot, t.node.widgetOf(t.slot))
	}
	if own := n.slot(p.name); own != nil {
		for _, e := range entries {
			if e.known {
				n.giveHost(own, e)
				break
			}
		}
	}
	if inner.props == nil {
		inner.props = map[string]any{}
	}
	inner.props[bypassedTo] = p.name
}
