// Package convert turns a workflow as ComfyUI's front end saves it (UI format)
// into the prompt that this front end would send to a server (API format).
//
// It is pure: it knows files only as bytes and a server only as its answer to
// GET /object_info. The rules are those of comfyui-frontend-package 1.47.10; its
// file names stand where a rule comes from. What no file can tell, because the
// page makes it when a prompt is queued (a 3D scene, a recording, a webcam), and
// what the server does not know (missing node classes, dangling links), is
// refused with the node named, or, leniently, dropped with all that depends on it.
//
// It does not repair: a model's name that a server does not have, and a number
// out of range, go through as they do in the front end. Package check says so.
package convert

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"memtrix"
)

// Options say what a front end takes from the machine it runs on.
type Options struct {
	// Lenient drops nodes that cannot be converted, and all that depend on them,
	// instead of refusing.
	Lenient bool
	// Now is used for %date:...% in file names; the zero time is now.
	Now time.Time
	// Choose picks one of n choices {a|b} in a prompt text, 0 for the first. The
	// front end does it by chance; nil takes the first, so that one file is always
	// the same prompt.
	Choose func(n int) int
}

// Result is a converted workflow.
type Result struct {
	// Prompt maps node ids to nodes; inputs are in the form in which they are sent.
	Prompt map[string]memtrix.GraphNode
	// Notes say what a person should know: what was done otherwise than by the
	// front end, and what was dropped.
	Notes []string
	// Varied are number inputs that the person lets change from prompt to prompt
	// (control_after_generate is not "fixed").
	Varied []memtrix.Input
}

// Problem is a node that cannot be converted.
type Problem struct {
	Node   string // its id; in subgraphs the path of ids, "4:201"
	Title  string
	Type   string
	Reason string
}

func (p Problem) String() string {
	name := "node " + p.Node
	if p.Title != "" && p.Title != p.Type {
		name += fmt.Sprintf(" %q", p.Title)
	}
	return fmt.Sprintf("%s (%s): %s", name, p.Type, p.Reason)
}

// Refusal is the error for a workflow that cannot be converted as a whole, with
// every reason.
type Refusal struct {
	Problems []Problem
}

// Error lists the problems, one a line.
func (r *Refusal) Error() string {
	lines := make([]string, len(r.Problems))
	for i, p := range r.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// ErrNothing is returned where no node is left to be sent.
var ErrNothing = errors.New("no node is left that a server could run")

// maxNodes bounds a prompt: nested subgraphs multiply.
const maxNodes = 50_000

// Convert turns a workflow in UI format into a prompt. The error is a *Refusal
// where nodes cannot be converted.
func Convert(data []byte, defs *Defs, opts Options) (Result, error) {
	tree, err := decode(data)
	if err != nil {
		return Result{}, err
	}
	root := dict(tree)
	if _, ok := root["nodes"].([]any); !ok {
		return Result{}, errors.New("no workflow in UI format: it has no list of nodes")
	}
	if opts.Now.IsZero() {
		opts.Now = time.Now()
	}
	if opts.Choose == nil {
		opts.Choose = func(int) int { return 0 }
	}
	g, l := load(root, defs)
	m := &maker{opts: opts, root: g, prompt: map[string]map[string]any{}, made: map[string]made{}, notes: l.notes}
	m.everywhere = everyNode(g, nil, 0)
	m.sharePrimitives()
	if err := m.walk(nil, g); err != nil {
		return Result{}, err
	}
	m.checkVirtual()
	return m.result()
}

// maker makes the prompt of loaded graphs.
type maker struct {
	opts       Options
	root       *graph
	everywhere []*node // all nodes, in the order in which the front end searches
	prompt     map[string]map[string]any
	made       map[string]made
	problems   []Problem
	notes      []string
	choices    bool
	varied     []memtrix.Input
	sketch     bool // nodes only
}

// made is a node of the prompt and where it came from.
type made struct {
	f *frame
	n *node
}

// everyNode gives all nodes, those within an instance before it.
func everyNode(g *graph, all []*node, depth int) []*node {
	if depth > 50 || len(all) > maxNodes {
		return all
	}
	for _, n := range g.nodes {
		if n.sub != nil {
			all = everyNode(n.sub, all, depth+1)
		}
		all = append(all, n)
	}
	return all
}

func (m *maker) problem(f *frame, n *node, reason string) {
	m.problems = append(m.problems, Problem{Node: f.id(n), Title: n.title, Type: n.typ, Reason: reason})
}

// walk makes the nodes of a graph and of the subgraphs in it. As in the front
// end, the mode of an instance counts at the root only; within subgraphs it cuts
// links, but what is inside is sent all the same.
func (m *maker) walk(f *frame, g *graph) error {
	if f != nil {
		for up := f.up; up != nil; up = up.up {
			if up.inst.sub == g {
				return fmt.Errorf("the subgraph %q contains itself", f.inst.title)
			}
		}
	}
	for _, n := range g.nodes {
		active := n.mode != never && n.mode != bypass
		switch {
		case n.sub != nil:
			if active || f != nil {
				if err := m.walk(f.enter(n), n.sub); err != nil {
					return err
				}
			}
		case n.virtual || !active:
		default:
			if len(m.made) >= maxNodes {
				return fmt.Errorf("more than %d nodes: its subgraphs multiply", maxNodes)
			}
			m.node(f, n)
		}
	}
	return nil
}

// node makes one node of the prompt.
func (m *maker) node(f *frame, n *node) {
	id := f.id(n)
	m.made[id] = made{f, n}
	inputs := map[string]any{}
	m.prompt[id] = inputs
	if m.sketch && (n.class == nil || strings.HasPrefix(n.in.id, groupID)) {
		return // of a group's values nobody knows where they belong without all classes
	}
	if reason := n.impossible(); reason != "" {
		m.problem(f, n, reason)
	}
	if k := n.surplus(); k > 0 && n.class != nil && n.class.custom {
		m.notes = append(m.notes, fmt.Sprintf("node %s (%s) has %d values more than widgets: its pack adds widgets in the browser, which the server does not tell; they are not in the prompt", id, n.typ, k))
	}
	for i, w := range n.widgets {
		if w.name == "" || !w.sent {
			continue
		}
		if i+1 < len(n.widgets) && isControl(n.widgets[i+1]) && n.widgets[i+1].value != "fixed" && w.kind == plain {
			m.varied = append(m.varied, memtrix.Input{Node: id, Name: w.name})
		}
		if v := m.value(n, w); v != (any)(absent{}) {
			inputs[w.name] = wrapped(v, w.kind == curve)
		}
	}
	for i, s := range n.slots {
		o, err := (&resolver{}).input(f, n, i, "")
		switch {
		case err != nil:
			m.problem(f, n, err.Error())
		case o.isVal && o.value == (any)(absent{}):
			delete(inputs, s.name)
		case o.isVal:
			inputs[s.name] = wrapped(o.value, false)
		case o.from != "":
			inputs[s.name] = ref{o.from, o.slot}
		}
	}
}

// ref is a link to another node's output.
type ref struct {
	node string
	slot int
}

// wrapped keeps a list from being taken for a link.
func wrapped(v any, isCurve bool) any {
	l, ok := v.([]any)
	switch {
	case !ok:
		return v
	case isCurve:
		return map[string]any{"__type__": "CURVE", "__value__": l}
	}
	return map[string]any{"__value__": l}
}

// value is what a widget sends.
func (m *maker) value(n *node, w *widget) any {
	s, isText := w.value.(string)
	switch {
	case w.kind == previewed:
		return ""
	case w.kind == comboIndex:
		choice := n.widgets[0].value
		for i, option := range n.widgets[2:] {
			if t, ok := choice.(string); ok && option.value == t {
				return float64(i)
			}
		}
		return -1.0
	case isText && w.byPrompt:
		return dynamicPrompt(s, func(k int) int {
			if k > 1 {
				m.choices = true
			}
			return min(max(m.opts.Choose(k), 0), k-1)
		})
	case isText && w.byPrefix:
		return replace(s, m.everywhere, m.opts.Now)
	}
	return w.value
}

// impossible says why a node cannot be converted, "" where it can.
func (n *node) impossible() string {
	if n.missing {
		return "the server has no node class of this name" + packOf(n.props, n.typ)
	}
	if isLinker(n.typ) {
		return "its pack adds links to other nodes in the browser when a prompt is queued; they are not in the file"
	}
	for _, w := range n.widgets {
		if w.kind == ofPage {
			return fmt.Sprintf("its %q is made by the page when a prompt is queued (a 3D scene, a recording or a camera's picture); no file holds it", w.name)
		}
	}
	return ""
}

// packOf says which custom node pack a workflow says a node is of.
func packOf(props map[string]any, typ string) string {
	if pack := packName(props); pack != "" {
		return "; the workflow says it is of the pack " + pack
	}
	if text(props["cnr_id"]) == "comfy-core" {
		since := ""
		if v := text(props["ver"]); v != "" {
			since = " of version " + v
		}
		return "; the workflow says it is one of ComfyUI's own" + since
	}
	if _, ok := packOnly[typ]; ok {
		return "; it exists in the front end of a custom node pack only, which this server does not have"
	}
	return ""
}

// sharePrimitives gives the value of each PrimitiveNode to every widget that it
// is linked to, even where it is muted (PrimitiveNode.applyToGraph).
func (m *maker) sharePrimitives() {
	done := map[*node]bool{}
	for _, n := range m.everywhere {
		if n.typ == "PrimitiveNode" && n.virtual && !done[n] {
			done[n] = true
			n.share(m)
		}
	}
}

func (n *node) share(m *maker) {
	if len(n.outputs) == 0 || len(n.outputs[0].links) == 0 {
		return
	}
	v, first := any(absent{}), true
	for _, id := range n.outputs[0].links {
		l := n.in.links[id]
		if l == nil {
			continue
		}
		target, s := n.in.targetOf(l)
		if first {
			first = false
			if s == nil || s.widget == "" && !widgetTypes[s.typ] {
				return // such a one gets no widget, and so no value
			}
			v = n.own(target.widgetOf(s))
			if t, ok := v.(string); ok && t != "" && truthy(n.props["Run widget replace on values"]) {
				v = replace(t, everyNode(n.in, nil, 0), m.opts.Now)
			}
		}
		if s == nil || v == (any)(absent{}) {
			continue
		}
		if w := target.widgetOf(s); w != nil {
			target.set(w, v)
		}
	}
}

// own is a PrimitiveNode's value: the stored one, else that of the widget it was
// made for.
func (n *node) own(w *widget) any {
	if values := list(n.values); len(values) > 0 {
		if values[0] == nil && w != nil && len(w.values) > 0 {
			return w.values[0]
		}
		return values[0]
	}
	if w != nil {
		return w.value
	}
	return absent{}
}

// targetOf finds where a link arrives: at the input that names it, else at the
// place that the link names.
func (g *graph) targetOf(l *link) (*node, *slot) {
	target := g.byID[l.to]
	if target == nil {
		return nil, nil
	}
	for _, s := range slices.Backward(target.slots) {
		if s.linked && s.link == l.id {
			return target, s
		}
	}
	if l.toSlot >= 0 && l.toSlot < len(target.slots) {
		return target, target.slots[l.toSlot]
	}
	return target, nil
}

// checkVirtual reports Get nodes without their Set node, as far as a node takes
// something from them.
func (m *maker) checkVirtual() {
	for _, id := range slices.SortedFunc(maps.Keys(m.made), compareIDs) {
		at := m.made[id]
		for i := range at.n.slots {
			r := &resolver{through: func(f *frame, n *node) {
				if n.virtual && (n.typ == "GetNode" || n.typ == "easy getNode") {
					if set, _ := n.carrier(); set == nil {
						m.problem(at.f, at.n, fmt.Sprintf("its input %q is taken from %s %s, and no Set node has the name %q", at.n.slots[i].name, n.typ, f.id(n), n.carried()))
					}
				}
			}}
			_, _ = r.input(at.f, at.n, i, "") // its error is reported already
		}
	}
}

// result refuses, or drops what cannot be sent, and writes what is left.
func (m *maker) result() (Result, error) {
	slices.SortStableFunc(m.problems, func(a, b Problem) int { return compareIDs(a.Node, b.Node) })
	if len(m.problems) > 0 && !m.opts.Lenient {
		return Result{Notes: m.notes}, &Refusal{m.problems}
	}
	m.drop()
	if m.choices {
		m.notes = append(m.notes, "of choices {a|b} in prompt texts the first was taken; the front end takes one by chance")
	}
	if len(m.prompt) == 0 {
		return Result{Notes: m.notes}, ErrNothing
	}
	prompt := make(map[string]memtrix.GraphNode, len(m.prompt))
	for id, inputs := range m.prompt {
		n := m.made[id].n
		node := memtrix.GraphNode{ClassType: n.typ, Inputs: map[string]json.RawMessage{}, Meta: &memtrix.GraphMeta{Title: n.title}}
		for name, v := range inputs {
			if to, ok := v.(ref); ok {
				if _, there := m.prompt[to.node]; !there {
					continue // its node is not sent
				}
				v = []any{to.node, float64(to.slot)}
			}
			node.Inputs[name] = Canonical(v)
		}
		prompt[id] = node
	}
	varied := slices.DeleteFunc(m.varied, func(in memtrix.Input) bool {
		_, isNumber := m.prompt[in.Node][in.Name].(float64)
		return !isNumber
	})
	return Result{Prompt: prompt, Notes: m.notes, Varied: varied}, nil
}

// drop removes the nodes with problems and all that depend on them.
func (m *maker) drop() {
	gone := map[string]bool{}
	for _, p := range m.problems {
		if !gone[p.Node] {
			m.notes = append(m.notes, "dropped "+p.String())
		}
		gone[p.Node] = true
		delete(m.prompt, p.Node)
	}
	for again := len(gone) > 0; again; {
		again = false
		for _, id := range slices.SortedFunc(maps.Keys(m.prompt), compareIDs) {
			for _, name := range slices.Sorted(maps.Keys(m.prompt[id])) {
				to, ok := m.prompt[id][name].(ref)
				if !ok || !gone[to.node] {
					continue
				}
				n := m.made[id]
				p := Problem{id, n.n.title, n.n.typ, fmt.Sprintf("its input %q comes from node %s, which was dropped", name, to.node)}
				m.notes = append(m.notes, "dropped "+p.String())
				gone[id], again = true, true
				delete(m.prompt, id)
				break
			}
		}
	}
}

// compareIDs sorts "2" before "10", and "12:7" after "12".
func compareIDs(a, b string) int {
	as, bs := strings.Split(a, ":"), strings.Split(b, ":")
	for i := range min(len(as), len(bs)) {
		if c := cmp.Or(cmp.Compare(len(as[i]), len(bs[i])), strings.Compare(as[i], bs[i])); c != 0 {
			return c
		}
	}
	return len(as) - len(bs)
}
