package runner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"memtrix"
	"memtrix/recorders"
)

// lookLimit is how long a probe may take to answer: it waits for Python's lock, which
// code in the server may hold for a while.
const lookLimit = 5 * time.Second

// look lets the probe read its values; nil without a probe, or when it is silent.
func (t *trialRun) look(ctx context.Context) *memtrix.ProbeMoment {
	p, ok := t.instance.(memtrix.Prober)
	if !ok || !t.trial.Cell.Probe {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	moment, err := p.Look(ctx)
	if err != nil {
		if !errors.Is(err, memtrix.ErrUnsupported) {
			t.probeSilent = err
		}
		return nil
	}
	return moment
}

// lookInto adds what the probe reads now to a reading.
func (t *trialRun) lookInto(ctx context.Context, values map[string]int64) {
	moment := t.look(ctx)
	if moment == nil {
		return
	}
	for meter, v := range moment.Values {
		if _, ok := values[meter]; !ok { // recorders know the process better
			values[meter] = v
		}
	}
}

// gatherProbe takes over what the probe told: its meters among the series, torch's own
// peaks into the spans of nodes and prompts, and the rest beside them. The server is
// gone by now.
func (t *trialRun) gatherProbe() {
	p, ok := t.instance.(memtrix.Prober)
	if !ok {
		return
	}
	told, series := p.Probe()
	switch {
	case told != nil:
		settleAccounts(told, t.trial.Series, t.trial.Readings)
		told.Inventories = t.inventories
		t.trial.Probe = told
		t.warnOfProbe(told)
	case t.trial.Cell.Probe:
		t.warn("no probe: this target has none")
	}
	t.trial.Series = append(t.trial.Series, series...)
}

func (t *trialRun) warnOfProbe(p *memtrix.Probe) {
	switch {
	case p.Idle == nil && len(p.Nodes) == 0 && t.probeSilent != nil:
		t.warn("the probe told nothing: %v", t.probeSilent)
	case t.probeSilent != nil:
		t.warn("the probe was silent when it was asked: %v", t.probeSilent)
	}
	if len(p.Missing) > 0 {
		t.warn("the probe does not see: %s", strings.Join(p.Missing, "; "))
	}
	for _, f := range p.Faults {
		t.warn("a fault of the probe: %s", f)
	}
	if p.Dropped > 0 {
		t.warn("%d reports of the probe were dropped, since memtrix did not read fast enough", p.Dropped)
	}
}

// settleAccounts holds what the probe saw against what was measured from outside: the
// context before any model, what stays when models are gone, and each prompt's part that cannot be evicted.
func settleAccounts(p *memtrix.Probe, series []memtrix.Series, readings []memtrix.Reading) {
	used := deviceUsed(p.Idle, series)
	if p.Idle != nil {
		if device, ok := used(p.Idle.At, p.Idle.Values); ok {
			context := memtrix.Outside(device, p.Idle.Values)
			p.Context = &context
		}
	}
	for _, r := range readings {
		if a, ok := p.Account(r.Values); ok && r.Kind == memtrix.Freed && r.Values[memtrix.WeightsResident] == 0 {
			p.Code = &a.Rest
		}
	}
	for i := range p.Prompts {
		pp := &p.Prompts[i]
		nodes := slices.DeleteFunc(slices.Clone(p.Nodes), func(n memtrix.NodeRun) bool { return n.Prompt != pp.Prompt })
		least, ok := memtrix.NonEvictable(nodes, func(n memtrix.NodeRun) (int64, bool) { return used(n.End, n.After) })
		if ok {
			pp.NonEvictable = &least
		}
	}
}

// deviceUsed gives the trial's use of the card at a moment of the probe. What is free
// to the server's process then is held against the same before the first prompt, when
// the card stood still and what the trial used was measured from outside: the two are
// of one moment, and a sample from outside would be up to its interval late.
func deviceUsed(idle *memtrix.ProbeMoment, series []memtrix.Series) func(time.Duration, memtrix.Values) (int64, bool) {
	none := func(time.Duration, memtrix.Values) (int64, bool) { return 0, false }
	if idle == nil {
		return none
	}
	freeThen, ok := idle.Values[memtrix.VRAMDriverFree]
	if !ok {
		return none
	}
	i := slices.IndexFunc(series, func(s memtrix.Series) bool { return s.Meter.Name == memtrix.VRAMTrialUsed })
	if i < 0 {
		return none
	}
	usedThen, ok := recorders.ValueAt(series[i], idle.At)
	if !ok {
		return none
	}
	return func(_ time.Duration, v memtrix.Values) (int64, bool) {
		free, ok := v[memtrix.VRAMDriverFree]
		return usedThen + freeThen - free, ok
	}
}

// probePeaks are torch's own peaks in a span. A node that ran twice in one prompt is
// told by time.
func probePeaks(p *memtrix.Probe, s memtrix.Span) []memtrix.Peak {
	if p == nil {
		return nil
	}
	best := map[string]memtrix.Peak{}
	for _, n := range p.Nodes {
		if !within(n, s) {
			continue
		}
		for meter, v := range n.Peaks {
			if had, ok := best[meter]; !ok || v > had.Value {
				best[meter] = memtrix.Peak{Meter: meter, Value: v, How: memtrix.PeakProbe, At: n.End}
			}
		}
	}
	var peaks []memtrix.Peak
	for _, m := range memtrix.ProbeMeters {
		if b, ok := best[m.Name]; ok {
			peaks = append(peaks, b)
		}
	}
	return peaks
}

// within: the server tells of a node's start through its socket a moment before the
// node's work begins, and of the next one's after this one's has ended.
func within(n memtrix.NodeRun, s memtrix.Span) bool {
	if n.Prompt != s.Prompt || n.End == 0 {
		return false
	}
	switch s.Kind {
	case memtrix.SpanPrompt:
		return true
	case memtrix.SpanNode:
		return s.Node != nil && s.Node.ID == n.Node.ID && n.Start < s.End && n.End > s.Start
	}
	return false
}
