package convert

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Inputs that depend on values and links: COMFY_DYNAMICCOMBO_V3 (a choice that
// brings inputs of its own), COMFY_AUTOGROW_V3 (one more socket than are linked)
// and COMFY_MATCHTYPE_V3 (sockets that take each other's type). After
// core/graph/widgets/dynamicWidgets.ts of the front end.

// choice is an option of a dynamic combo with the inputs that it brings.
type choice struct {
	Key    string                     `json:"key"`
	Inputs map[string]json.RawMessage `json:"inputs"`
}

func (n *node) addDynamicCombo(w *widget) {
	var choices []choice
	_ = json.Unmarshal(w.spec.raw["options"], &choices)
	w.kind, w.typ = dynamicCombo, "combo"
	w.value = absent{}
	for _, c := range choices {
		w.values = append(w.values, c.Key)
	}
	n.push(w)
	if len(choices) > 0 {
		n.set(w, choices[0].Key)
	}
}

// choose replaces the inputs of a dynamic combo's former choice by those of the
// present one. Links stay with sockets that both have.
func (n *node) choose(w *widget) {
	var former []*slot
	n.slots = slices.DeleteFunc(n.slots, func(s *slot) bool {
		if !inGroup(s.name, w.name) {
			return false
		}
		former = append(former, s)
		return true
	})
	n.widgets = slices.DeleteFunc(n.widgets, func(x *widget) bool { return inGroup(x.name, w.name) })
	key := text(w.value)
	if key == "" || n.depth > maxDepth {
		return
	}
	var choices []choice
	_ = json.Unmarshal(w.spec.raw["options"], &choices)
	i := slices.IndexFunc(choices, func(c choice) bool { return c.Key == key })
	if i < 0 {
		return
	}
	widgets, slots := len(n.widgets), len(n.slots)
	n.depth++
	for _, group := range []string{"required", "optional"} {
		for _, s := range parseSpecs(choices[i].Inputs[group], group == "optional") {
			s.name = w.name + "." + s.name
			n.addInput(s)
		}
	}
	n.depth--
	// Widgets go behind the combo, and sockets behind its own, where it has one
	// already.
	added := slices.Clone(n.widgets[widgets:])
	n.widgets = slices.Insert(n.widgets[:widgets:widgets], slices.Index(n.widgets, w)+1, added...)
	if at := slices.IndexFunc(n.slots, func(s *slot) bool { return s.name == w.name }); at >= 0 && at < slots {
		moved := slices.Clone(n.slots[slots:])
		n.slots = slices.Insert(n.slots[:slots:slots], at+1, moved...)
	}
	for _, old := range former {
		if now := n.slot(old.name); now != nil && old.linked {
			now.link, now.linked = old.link, true
			n.grow(now)
		}
	}
}

// maxDepth bounds how deep dynamic combos nest.
const maxDepth = 16

// autogrow is a group of sockets that grows as they are linked.
type autogrow struct {
	name, prefix string
	names        []string
	inputs       []*spec
	min, max     int
}

func (n *node) addAutogrow(s *spec) {
	var template struct {
		Input  map[string]json.RawMessage `json:"input"`
		Names  []string                   `json:"names"`
		Prefix string                     `json:"prefix"`
		Min    *int                       `json:"min"`
		Max    *int                       `json:"max"`
	}
	_ = json.Unmarshal(s.raw["template"], &template)
	g := &autogrow{name: s.name, prefix: template.Prefix, names: template.Names, min: 1, max: 100}
	if template.Min != nil {
		g.min = min(max(*template.Min, 0), 100)
	}
	if template.Max != nil {
		g.max = *template.Max
	}
	if g.names != nil {
		g.max = len(g.names)
	}
	g.inputs = append(parseSpecs(template.Input["required"], false), parseSpecs(template.Input["optional"], true)...)
	if n.growing == nil {
		n.growing = map[string]*autogrow{}
	}
	n.growing[g.name] = g
	for i := range g.min + 1 {
		n.addGroup(g, i)
	}
}

func (g *autogrow) nameOf(ordinal int, input *spec) string {
	switch {
	case g.names != nil:
		if ordinal < 0 || ordinal >= len(g.names) {
			return g.name + ".undefined"
		}
		return g.name + "." + g.names[ordinal]
	case len(g.inputs) == 1:
		return g.name + "." + g.prefix + strconv.Itoa(ordinal)
	}
	return g.name + "." + input.name + strconv.Itoa(ordinal)
}

// addGroup adds the sockets of one more round behind those of the round before.
func (n *node) addGroup(g *autogrow, ordinal int) {
	if ordinal >= g.max || len(g.inputs) == 0 || n.depth > maxDepth {
		return
	}
	n.depth++
	defer func() { n.depth-- }()
	var added []*slot
	for _, in := range g.inputs {
		one := *in
		one.name = g.nameOf(ordinal, in)
		before := len(n.slots)
		n.addInput(&one)
		if len(n.slots) == before {
			continue
		}
		s := n.slots[len(n.slots)-1]
		n.slots = n.slots[:len(n.slots)-1]
		n.slots = slices.DeleteFunc(n.slots, func(old *slot) bool {
			if old.name != s.name {
				return false
			}
			if old.linked && !s.linked {
				s.link, s.linked = old.link, true
			}
			return true
		})
		added = append(added, s)
	}
	before := g.nameOf(ordinal-1, g.inputs[len(g.inputs)-1])
	at := len(n.slots)
	for i, s := range n.slots {
		if strings.HasPrefix(s.name, before) {
			at = i + 1
		}
	}
	n.slots = slices.Insert(n.slots, at, added...)
}

var ordinalAtEnd = regexp.MustCompile(`\d+$`)

// grow adds a round behind a socket that is linked.
func (n *node) grow(s *slot) {
	i := strings.LastIndexByte(s.name, '.')
	if i < 0 {
		return
	}
	g := n.growing[s.name[:i]]
	if g == nil {
		return
	}
	name := s.name[i+1:]
	if g.names != nil {
		if at := slices.Index(g.names, name); at >= 0 {
			n.addGroup(g, at+1)
		}
		return
	}
	if at, err := strconv.Atoi(ordinalAtEnd.FindString(name)); err == nil {
		n.addGroup(g, at+1)
	}
}

// match is a socket that shares its type with others of one template.
type match struct{ template, typ string }

func (n *node) addMatch(template, name, typ string) {
	if n.matching == nil {
		n.matching = map[string]match{}
	}
	n.matching[name] = match{template, typ}
}
