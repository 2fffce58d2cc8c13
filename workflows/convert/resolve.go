package convert

import (
	"fmt"
	"slices"
)

// frame is an instance of a subgraph that is gone into, nil for the root.
type frame struct {
	inst *node
	up   *frame
	path string // of ids, with ":" at its end
}

func (f *frame) enter(inst *node) *frame {
	path := inst.id + ":"
	if f != nil {
		path = f.path + path
	}
	return &frame{inst: inst, up: f, path: path}
}

func (f *frame) id(n *node) string {
	if f == nil {
		return n.id
	}
	return f.path + n.id
}

// origin is what an input takes: another node's output, a promoted widget's
// value, or nothing.
type origin struct {
	from  string // id of a node, or ""
	slot  int
	value any
	isVal bool
}

// longest bounds how many steps a link may take through virtual nodes and
// borders of subgraphs: more go round in a circle.
const longest = 2000

// linkError is a link that leads nowhere.
type linkError struct{ reason string }

func (e *linkError) Error() string { return e.reason }

func wrongLink(format string, args ...any) error {
	return &linkError{fmt.Sprintf(format, args...)}
}

// resolver follows links as ExecutableNodeDTO does.
type resolver struct {
	steps int
	// through, if set, is told every node that a link goes through or comes from.
	through func(f *frame, n *node)
}

// input follows the i-th input of a node. want is the type that is asked for,
// "" for the input's own.
func (r *resolver) input(f *frame, n *node, i int, want string) (origin, error) {
	if r.steps++; r.steps > longest {
		return origin{}, wrongLink("its links go round in a circle")
	}
	if i < 0 || i >= len(n.slots) {
		return origin{}, wrongLink("a link asks for its input %d, which it does not have", i)
	}
	s := n.slots[i]
	if !s.linked {
		return origin{}, nil
	}
	l := n.in.links[s.link]
	if l == nil {
		return origin{}, wrongLink("its input %q has link %d, which does not exist", s.name, s.link)
	}
	if l.from == inputSide && f != nil {
		return r.outside(f, l.fromSlot, s.name)
	}
	from := n.in.byID[l.from]
	if from == nil {
		return origin{}, wrongLink("its input %q is linked to node %s, which does not exist", s.name, l.from)
	}
	if want == "" {
		want = s.typ
	}
	return r.output(f, from, l.fromSlot, want)
}

// outside follows a link that comes in over the border of a subgraph.
func (r *resolver) outside(f *frame, at int, name string) (origin, error) {
	host := f.inst
	if at < 0 || at >= len(host.slots) {
		return origin{}, wrongLink("its input %q comes from input %d of the subgraph %q, which does not have it", name, at, host.title)
	}
	s := host.slots[at]
	if !s.linked {
		if s.host == nil {
			return origin{}, nil
		}
		return origin{value: s.host.value, isVal: true}, nil
	}
	return r.input(f.up, host, at, "")
}

// output follows a node's output.
func (r *resolver) output(f *frame, n *node, at int, want string) (origin, error) {
	if r.through != nil {
		r.through(f, n)
	}
	switch {
	case n.mode == never:
		return origin{}, nil
	case n.mode == bypass:
		i, err := n.bypassed(at, want)
		if err != nil || i < 0 {
			return origin{}, err
		}
		return r.input(f, n, i, "")
	case n.sub != nil:
		return r.inside(f, n, at, want)
	case n.virtual:
		if r.steps++; r.steps > longest {
			return origin{}, wrongLink("its links go round in a circle")
		}
		if set, i := n.carrier(); set != nil {
			if set.mode == never {
				return origin{}, nil
			}
			return r.input(f, set, i, want)
		}
		if at < 0 || at >= len(n.slots) {
			return origin{}, nil
		}
		return r.input(f, n, at, want)
	}
	return origin{from: f.id(n), slot: at}, nil
}

// inside follows a link over the border into an instance.
func (r *resolver) inside(f *frame, n *node, at int, want string) (origin, error) {
	if at < 0 || at >= len(n.sub.outputs) {
		return origin{}, wrongLink("a link asks for output %d of the subgraph %q, which it does not have", at, n.title)
	}
	if r.steps++; r.steps > longest {
		return origin{}, wrongLink("its links go round in a circle")
	}
	for _, id := range n.sub.outputs[at].links {
		l := n.sub.links[id]
		if l == nil {
			continue
		}
		in := f.enter(n)
		if l.from == inputSide {
			return r.outside(in, l.fromSlot, n.sub.outputs[at].name)
		}
		from := n.sub.byID[l.from]
		if from == nil {
			return origin{}, wrongLink("output %q of the subgraph %q is linked to node %s, which does not exist", n.sub.outputs[at].name, n.title, l.from)
		}
		return r.output(in, from, l.fromSlot, want)
	}
	return origin{}, nil
}

// bypassed chooses the input that takes an output's place, or -1.
func (n *node) bypassed(at int, want string) (int, error) {
	if at < 0 || at >= len(n.outputs) {
		return -1, wrongLink("a link asks for output %d of the bypassed node %s, which it does not have", at, n.id)
	}
	own := n.outputs[at].typ
	if want == "*" || want == "" {
		if len(n.slots) > at {
			return at, nil
		}
		if len(n.slots) == 0 {
			return -1, nil
		}
		return 0, nil
	}
	suits := func(s *slot) bool { return fits(s.typ, own) && fits(s.typ, want) }
	if at < len(n.slots) && suits(n.slots[at]) {
		return at, nil
	}
	if i := slices.IndexFunc(n.slots, func(s *slot) bool { return s.typ == want }); i >= 0 {
		return i, nil
	}
	return slices.IndexFunc(n.slots, suits), nil
}
