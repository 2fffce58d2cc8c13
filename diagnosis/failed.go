package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"memtrix"
)

// failed is the first exception or refusal that the server told.
func (c *cased) failed() (memtrix.Outcome, bool) {
	f := c.firstFailure()
	switch {
	case f == nil:
		return memtrix.Outcome{}, false
	case f.refused:
		return c.invalid(f), true
	}
	if s, ok := readShortage(f.whole(), func() string { return c.around(f) }); ok {
		return c.short(f, s), true
	}
	o := memtrix.Outcome{
		Kind: memtrix.Error, Memory: memtrix.MemoryNone, Phase: c.failurePhase(f), Node: f.node,
		Message: f.headline(), Evidence: c.proof(f),
	}
	return o, true
}

// firstFailure is from the events where there are any: they name the node. The
// log may know more, so its lines are found, too.
func (c *cased) firstFailure() *failure {
	told := exceptions(c.lines)
	if f := c.fromEvents(); f != nil {
		for i := range told {
			if f.refused || !alike(told[i].message, f.message) {
				continue
			}
			f.index = told[i].index
			if f.traceback == "" {
				f.traceback = told[i].traceback
			}
			break
		}
		return f
	}
	if f := refusedInLog(c.lines); f != nil {
		return f
	}
	if len(told) > 0 {
		f := told[0]
		if c.at.node != nil {
			f.node, f.stepped = c.at.node, c.at.stepped
		} else if r := report(c.lines); r != nil {
			f.node = r.node
		}
		return &f
	}
	if len(c.e.Events) > 0 && !c.e.died() {
		return nil // the events tell every failure of a prompt
	}
	if f := report(c.lines); f != nil {
		return f
	}
	f := loose(c.lines)
	if f == nil && !c.startFailed() && len(c.e.Events) == 0 && !c.e.died() {
		f = unannounced(c.lines)
	}
	if f != nil {
		f.node, f.stepped = c.at.node, c.at.stepped
	}
	return f
}

func (c *cased) fromEvents() *failure {
	stepped := false
	for i := range c.e.Events {
		ev := &c.e.Events[i]
		switch {
		case ev.Kind == memtrix.EventNodeStart:
			stepped = false
		case ev.Kind == memtrix.EventProgress:
			stepped = true
		case ev.Failure != nil:
			f := &failure{
				typ: ev.Failure.Type, message: ev.Failure.Message, traceback: ev.Failure.Traceback, refused: ev.Failure.Refused,
				node: c.node(ev.Failure.Node), index: -1, stepped: stepped,
			}
			if f.node == nil {
				f.node = c.node(ev.Node)
			}
			return f
		}
	}
	return nil
}

// alike compares the first lines of two messages.
func alike(a, b string) bool {
	a, _, _ = strings.Cut(strings.TrimSpace(a), "\n")
	b, _, _ = strings.Cut(strings.TrimSpace(b), "\n")
	return strings.TrimSpace(a) == strings.TrimSpace(b)
}

func (c *cased) around(f *failure) string {
	if f.index < 0 {
		return ""
	}
	return before(c.lines, f.index)
}

func (c *cased) failurePhase(f *failure) memtrix.Phase {
	if !c.ready && f.node == nil && c.e.died() {
		return memtrix.PhaseStartup
	}
	head := c.lines
	if f.index >= 0 {
		head = c.lines[:f.index]
	}
	return phaseOf(f.node, f.traceback, head, f.stepped)
}

// proof are the lines of a failure: those of the log where it tells them.
func (c *cased) proof(f *failure) []string {
	const most = 8
	text := f.message
	if f.index >= 0 {
		text = c.lines[f.index].text
		if !strings.Contains(f.message, "\n") {
			return []string{strings.TrimSpace(text)}
		}
		_, rest, _ := strings.Cut(f.message, "\n")
		text += "\n" + rest
	} else if f.typ != "" {
		text = f.whole()
	}
	var proof []string
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l == "" || strings.HasPrefix(l, "TIPS:") || strings.HasPrefix(l, "This error means you ran out of memory") {
			continue
		}
		if proof = append(proof, l); len(proof) == most {
			break
		}
	}
	return proof
}

func (c *cased) invalid(f *failure) memtrix.Outcome {
	o := memtrix.Outcome{
		Kind: memtrix.InvalidWorkflow, Memory: memtrix.MemoryNone, Phase: memtrix.PhaseValidation, Node: f.node,
		Message: f.headlineOfRefusal(), Evidence: c.proof(f),
	}
	// A person wants to mend all of it at once.
	if all := c.refusals(); len(all) > 1 {
		o.Evidence = all
		o.Message += fmt.Sprintf(" (and %d more)", len(all)-1)
	}
	return o
}

// refusals are all that a server said against a prompt.
func (c *cased) refusals() []string {
	var all []string
	for _, ev := range c.e.Events {
		if ev.Failure == nil || !ev.Failure.Refused {
			continue
		}
		if text := strings.TrimSpace(ev.Failure.Message); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// headlineOfRefusal has no type in front: the message says it in words.
func (f *failure) headlineOfRefusal() string {
	first, _, _ := strings.Cut(strings.TrimSpace(f.message), "\n")
	if f.node != nil && !strings.Contains(first, f.node.ClassType) {
		return fmt.Sprintf("node %s (%s): %s", f.node.ID, f.node.ClassType, first)
	}
	return first
}

// short is a failure that a rule knows.
func (c *cased) short(f *failure, s shortage) memtrix.Outcome {
	o := memtrix.Outcome{
		Kind: s.rule.Outcome, Memory: s.memory, How: s.rule.How, Phase: c.failurePhase(f), Node: f.node,
		Requested: s.requested, Free: s.free, Unallocated: s.unallocated, Evidence: c.proof(f), Rule: s.rule.ID,
	}
	if o.Phase == "" {
		o.Phase = s.rule.Phase
	}
	for _, a := range s.rule.Advice {
		o.Advice = append(o.Advice, s.rule.words(a, f.whole()))
	}
	switch {
	case s.why != "":
		o.Kind, o.How = memtrix.Error, ""
		o.Message = f.headline() + " (" + s.why + ")"
		return o
	case o.Kind != memtrix.OOM:
		o.How = ""
		o.Message = f.headline() + " (" + s.rule.words(s.rule.Says, f.whole()) + ")"
		return o
	}
	o = c.bySeries(o, f)
	if o.Memory == memtrix.MemoryVRAM || o.Memory == memtrix.MemoryUnknown {
		o.Holders = c.holders(f)
	}
	o.Message = oomMessage(o)
	if o.How == memtrix.HowSignal {
		o.Message += ", killed"
	}
	if s.inFragments() {
		o.Message += ", " + bytesText(*s.unallocated) + " in fragments"
	}
	return o
}

// context is little that memtrix's own keeper has on the card beside what it holds, or
// the driver for itself.
const context = 1 << 30

// withoutKeeper leaves out the process of memtrix that makes a small card of a large one.
// It is known by its amount: its number is another one inside a container.
func (c *cased) withoutKeeper(found []memtrix.Holder) []memtrix.Holder {
	nearest, least := -1, int64(context)
	for i, h := range found {
		if d := max(h.Bytes-c.e.Kept, c.e.Kept-h.Bytes); d < least {
			nearest, least = i, d
		}
	}
	if c.e.Kept <= context || nearest < 0 {
		return found
	}
	return slices.Delete(found, nearest, nearest+1)
}

// holders are other processes with memory of the card: those that the text names,
// or what was in use before the server came.
func (c *cased) holders(f *failure) []memtrix.Holder {
	if found := holders(f.whole(), c.lines); len(found) > 0 {
		return c.withoutKeeper(found)
	}
	least := int64(0)
	if c.e.Kept > 0 {
		least = context
	}
	if n, ok := highest(c.series(memtrix.VRAMOthersUsed), 0, c.endOfWork()); ok && n-c.e.Kept > least {
		return []memtrix.Holder{{Name: "unknown", Bytes: n - c.e.Kept}}
	}
	if s := c.series(memtrix.VRAMDeviceUsed); s != nil && s.V[0]-c.e.Kept > context {
		return []memtrix.Holder{{Name: "unknown", Bytes: s.V[0] - c.e.Kept}}
	}
	return nil
}

// nodeWords is "KSampler (5)", or what of it is known.
func nodeWords(n memtrix.Node) string {
	switch {
	case n.ClassType == "":
		return "node " + n.ID
	case n.ID == "":
		return n.ClassType
	}
	return n.ClassType + " (" + n.ID + ")"
}

func oomMessage(o memtrix.Outcome) string {
	var b strings.Builder
	if o.Memory == memtrix.MemoryUnknown {
		b.WriteString("out of memory, not certain which")
	} else {
		fmt.Fprintf(&b, "out of memory: %s", o.Memory)
	}
	if o.Node != nil {
		b.WriteString(", in " + nodeWords(*o.Node))
	}
	if o.Requested != nil {
		fmt.Fprintf(&b, ", %s requested", bytesText(*o.Requested))
	}
	if o.Free != nil {
		fmt.Fprintf(&b, ", %s free", bytesText(*o.Free))
	}
	return b.String()
}
