package convert

import (
	"slices"
	"strings"
)

// loader makes graphs of a file, as the front end does when it opens one.
type loader struct {
	defs *Defs
	subs map[string]*graph
	// all are the graphs in the order in which they are made, the root last.
	all   []*graph
	notes []string
}

// load makes the graphs of a file; it may change the tree.
func load(root map[string]any, defs *Defs) (*graph, *loader) {
	l := &loader{defs: defs, subs: map[string]*graph{}}
	found := definitions(root)
	last := renumber(root, found)
	found = append(found, l.expandGroups(root, found, last)...)
	for _, d := range leavesFirst(found) {
		g := newGraph(text(d["id"]), d)
		g.inputs, g.outputs = readPorts(list(d["inputs"])), readPorts(list(d["outputs"]))
		l.subs[g.id] = g
		l.fill(g, d)
	}
	g := newGraph("", root)
	l.fill(g, root)
	l.afterwards()
	return g, l
}

func newGraph(id string, raw map[string]any) *graph {
	g := &graph{id: id, name: text(raw["name"]), byID: map[string]*node{}, links: map[int]*link{}}
	readLinks(g, list(raw["links"]))
	return g
}

// fill makes the nodes of a graph and sets them up, each when all are there.
func (l *loader) fill(g *graph, raw map[string]any) {
	var stored []map[string]any
	for _, item := range list(raw["nodes"]) {
		r := dict(item)
		if r == nil {
			continue
		}
		n := l.newNode(g, r)
		g.nodes = append(g.nodes, n)
		g.byID[n.id] = n
		stored = append(stored, r)
	}
	for i, n := range g.nodes {
		n.configure(stored[i])
	}
	g.dropDuplicates()
	for i, n := range g.nodes {
		if n.sub != nil {
			n.promote(list(dict(stored[i]["properties"])["proxyWidgets"]), n.values)
		}
	}
	l.all = append(l.all, g)
}

// virtualTypes exist in the front end only. A Reroute is followed, a
// PrimitiveNode copies its value, notes are notes.
var virtualTypes = []string{"Reroute", "PrimitiveNode", "Note", "MarkdownNote"}

func (l *loader) newNode(g *graph, r map[string]any) *node {
	n := &node{id: idOf(r["id"]), typ: text(r["type"]), title: text(r["title"]), in: g}
	n.mode, _ = whole(r["mode"])
	n.props = dict(r["properties"])
	switch c := l.defs.class(n.typ); {
	case slices.Contains(virtualTypes, n.typ), l.isFrontEndOnly(n.typ):
		n.virtual = true
		if n.typ == "Reroute" {
			n.slots = []*slot{{typ: "*"}}
		}
	case l.subs[n.typ] != nil:
		n.sub = l.subs[n.typ]
		n.virtual = true
		n.sub.instances = append(n.sub.instances, n)
		if n.title == "" {
			n.title = n.sub.name
		}
	case c != nil:
		n.populate(c)
		if n.title == "" {
			n.title = c.title
		}
	default:
		n.missing = true
	}
	if n.title == "" {
		n.title = n.typ
	}
	return n
}

// configure gives a new node what the file has for it.
func (n *node) configure(r map[string]any) {
	n.values = r["widgets_values"]
	for i, item := range list(r["outputs"]) {
		o := dict(item)
		if i >= len(n.outputs) {
			n.outputs = append(n.outputs, output{typ: typeOf(o["type"])})
		}
		for _, id := range list(o["links"]) {
			if k, ok := whole(id); ok {
				n.outputs[i].links = append(n.outputs[i].links, k)
			}
		}
		n.outputs[i].name = text(o["name"])
	}
	stored := readSlots(list(r["inputs"]))
	switch {
	case n.sub != nil:
		n.configureInstance(stored)
	case n.virtual:
		n.configureVirtual(stored)
	case n.missing:
		n.slots = stored
	default:
		n.configureClass(stored)
	}
}

func readSlots(raw []any) []*slot {
	var slots []*slot
	for _, item := range raw {
		o := dict(item)
		s := &slot{name: text(o["name"]), typ: typeOf(o["type"]), widget: text(dict(o["widget"])["name"])}
		s.link, s.linked = whole(o["link"])
		slots = append(slots, s)
	}
	return slots
}

// configureVirtual: for these nodes the place of an input counts.
func (n *node) configureVirtual(stored []*slot) {
	for i, s := range stored {
		if i < len(n.slots) {
			s.typ = n.slots[i].typ
		}
	}
	if len(stored) > 0 {
		n.slots = stored
	}
	if n.typ == "PrimitiveNode" {
		n.widgets = []*widget{{name: "value", typ: "primitive", value: absent{}}}
	}
}

// configureClass matches the file's inputs to the class's by name, and hands out
// the values in the order of the widgets.
func (n *node) configureClass(stored []*slot) {
	byName := map[string]*slot{}
	for _, s := range stored {
		byName[s.name] = s
	}
	own := map[string]bool{}
	for _, s := range n.slots {
		own[s.name] = true
		if f := byName[s.name]; f != nil {
			s.link, s.linked = f.link, f.linked
		}
	}
	for _, s := range stored {
		if !own[s.name] {
			n.slots = append(n.slots, s)
		}
	}
	for _, s := range slices.Clone(n.slots) {
		if _, there := n.in.links[s.link]; s.linked && there {
			n.grow(s)
		}
	}
	n.setValues()
	// An input of a widget that the node does not have is taken away.
	n.slots = slices.DeleteFunc(n.slots, func(s *slot) bool { return s.widget != "" && n.widget(s.widget) == nil })
}

// setValues hands out widgets_values. A choice of a dynamic combo, and an option
// of a CustomCombo, may bring the widget that takes the next one.
func (n *node) setValues() {
	var values []any
	switch v := n.values.(type) {
	case []any:
		values = n.withoutForced(v)
	case map[string]any:
		if n.class.custom {
			n.setByName(v)
			return
		}
		// By index an object has no values: a core node loses all of its own.
		for _, w := range slices.Clone(n.widgets) {
			if w.stored {
				n.set(w, absent{})
			}
		}
		return
	}
	at := 0
	for i := 0; i < len(n.widgets) && at < len(values); i++ {
		if w := n.widgets[i]; w.stored {
			n.set(w, values[at])
			at++
		}
	}
}

// setByName hands out values that were stored by name: packs that do so read them
// so themselves.
func (n *node) setByName(values map[string]any) {
	for i := 0; i < len(n.widgets); i++ { // a choice may bring more
		w := n.widgets[i]
		if v, there := values[w.name]; there && w.stored {
			n.set(w, v)
		}
	}
}

// surplus is how many values a file has for a node beyond those of its widgets.
func (n *node) surplus() int {
	stored := 0
	for _, w := range n.widgets {
		if w.stored {
			stored++
		}
	}
	return len(list(n.values)) - stored
}

// withoutForced drops the values of inputs that were widgets once and are plain
// sockets today, where the number of values says that they are there
// (migrateWidgetsValues).
func (n *node) withoutForced(values []any) []any {
	var forced []bool
	for _, s := range n.class.defined {
		if n.widget(s.name) == nil && !s.is("forceInput") {
			continue
		}
		forced = append(forced, s.is("forceInput"))
		if s.is("control_after_generate") {
			forced = append(forced, false)
		}
	}
	if len(forced) != len(values) {
		return values
	}
	var kept []any
	for i, v := range values {
		if !forced[i] {
			kept = append(kept, v)
		}
	}
	return kept
}

// afterwards does what the front end does when all is loaded.
func (l *loader) afterwards() {
	for _, g := range l.all {
		for _, n := range g.nodes {
			n.mend()
		}
	}
	for _, g := range l.all {
		for _, n := range g.nodes {
			n.matchTypes()
		}
	}
}

// mend repairs values that an old file may have (app.loadGraphData).
func (n *node) mend() {
	for _, w := range slices.Concat(n.widgets, n.promoted()) {
		if s := text(w.value); w.name == "sampler_name" && (n.typ == "KSampler" || n.typ == "KSamplerAdvanced") && strings.HasPrefix(s, "sample_") {
			w.value = strings.TrimPrefix(s, "sample_")
		}
		none := w.value == nil || w.value == absent{}
		if none && w.typ == "combo" && len(w.values) > 0 {
			n.set(w, w.values[0])
		}
	}
}

func (n *node) promoted() []*widget {
	var all []*widget
	for _, s := range n.slots {
		if s.host != nil && !slices.Contains(all, s.host) {
			all = append(all, s.host)
		}
	}
	return all
}
