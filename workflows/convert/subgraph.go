package convert

import "slices"

// An instance of a subgraph has an input for each of its definition's, and its
// own value for each that ends at a widget inside (a promoted widget). After
// lib/litegraph/src/subgraph/SubgraphNode.ts of the front end.

// configureInstance matches the file's inputs to the definition's by name. Those
// that the definition lacks are dropped.
func (n *node) configureInstance(stored []*slot) {
	byName := map[string]*slot{}
	for _, s := range stored {
		byName[s.name] = s
	}
	n.hosts = map[string]*widget{}
	for _, p := range n.sub.inputs {
		s := &slot{name: p.name, typ: p.typ, port: p}
		if f := byName[p.name]; f != nil {
			s.link, s.linked = f.link, f.linked
		}
		n.slots = append(n.slots, s)
		if w := n.sub.source(p); w != nil {
			n.host(s, w)
		}
	}
	n.outputs = n.outputs[:min(len(n.outputs), len(n.sub.outputs))]
	for i, p := range n.sub.outputs {
		if i == len(n.outputs) {
			n.outputs = append(n.outputs, output{})
		}
		n.outputs[i].name, n.outputs[i].typ = p.name, p.typ
	}
	quarantined := n.quarantined()
	values := list(n.values)
	at := 0
	for _, s := range n.slots {
		if s.host == nil {
			continue
		}
		v, there := quarantined[s.name]
		if !there && at < len(values) {
			v, there = values[at], true
		}
		if there {
			s.host.value = v
		}
		at++
	}
}

// quarantined are values that a later front end could not place and kept by name.
func (n *node) quarantined() map[string]any {
	values := map[string]any{}
	for _, item := range slices.Backward(list(n.props["proxyWidgetErrorQuarantine"])) {
		e := dict(item)
		pair := list(e["originalEntry"])
		if v := e["hostValue"]; len(pair) > 1 && idOf(pair[0]) == "-1" && v != nil {
			values[text(pair[1])] = v
		}
	}
	return values
}

// host promotes a widget: the instance gets a value of its own, which begins as
// that of the widget inside. Inputs of one name share it.
func (n *node) host(s *slot, inside *widget) {
	if w := n.hosts[s.name]; w != nil && w.typ == inside.typ {
		s.host = w
	} else {
		s.host = &widget{name: s.name, typ: inside.typ, kind: plain, spec: inside.spec, value: inside.value, values: inside.values, stored: true, sent: true}
		n.hosts[s.name] = s.host
	}
	s.widget = s.name
}

// end is where a link of a definition's input arrives.
type end struct {
	node *node
	slot *slot
}

// ends are the inputs that a definition's input is linked to, in order.
func (g *graph) ends(p *port) []end {
	var all []end
	for _, id := range p.links {
		l := g.links[id]
		if l == nil {
			continue
		}
		target := g.byID[l.to]
		if target == nil {
			continue
		}
		for _, s := range target.slots {
			if s.linked && s.link == id {
				all = append(all, end{target, s})
				break
			}
		}
	}
	return all
}

// source is the widget that a definition's input stands for, or nil.
func (g *graph) source(p *port) *widget {
	for _, e := range g.ends(p) {
		if w := e.node.widgetOf(e.slot); w != nil {
			return w
		}
	}
	return nil
}
