package convert

import (
	"slices"
	"strings"
)

// matchTypes gives the sockets of a template the type that their links have in
// common, as the front end does a moment after loading. It matters where a node
// is bypassed.
func (n *node) matchTypes() {
	if n.class == nil || len(n.matching) == 0 {
		return
	}
	var templates []string
	for _, s := range n.slots {
		if m, ok := n.matching[s.name]; ok && !slices.Contains(templates, m.template) {
			templates = append(templates, m.template)
		}
	}
	for _, t := range templates {
		n.matchTemplate(t)
	}
}

func (n *node) matchTemplate(template string) {
	var group []*slot
	var linked []string
	for _, s := range n.slots {
		if m, ok := n.matching[s.name]; ok && m.template == template {
			group = append(group, s)
			linked = append(linked, n.linkedType(s))
		}
	}
	types := make([]string, len(group))
	for i, s := range group {
		others := slices.Concat(linked[:i:i], linked[i+1:], []string{n.matching[s.name].typ})
		common, ok := commonType(others)
		if !ok {
			return
		}
		types[i] = common
	}
	for i, s := range group {
		s.typ = types[i]
	}
	common, ok := commonType(linked)
	if !ok {
		return
	}
	for i, t := range n.class.matched {
		if t == template && i < len(n.outputs) {
			n.outputs[i].typ = common
		}
	}
}

// linkedType is the type of what an input is linked to.
func (n *node) linkedType(s *slot) string {
	l := n.in.links[s.link]
	if !s.linked || l == nil {
		return "*"
	}
	if l.from == inputSide {
		if l.fromSlot >= 0 && l.fromSlot < len(n.in.inputs) {
			return n.in.inputs[l.fromSlot].typ
		}
		return "*"
	}
	if from := n.in.byID[l.from]; from != nil && l.fromSlot >= 0 && l.fromSlot < len(from.outputs) {
		if t := from.outputs[l.fromSlot].typ; t != "" {
			return t
		}
	}
	return "*"
}

// commonType is what all types have in common; * is all of them.
func commonType(types []string) (string, bool) {
	var common []string
	any := true
	for _, t := range types {
		if t == "*" || t == "" {
			continue
		}
		parts := strings.Split(t, ",")
		if any {
			common, any = parts, false
			continue
		}
		common = slices.DeleteFunc(slices.Clone(common), func(c string) bool { return !slices.Contains(parts, c) })
	}
	if any {
		return "*", true
	}
	return strings.Join(common, ","), len(common) > 0
}
