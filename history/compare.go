package history

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"memtrix"
	"memtrix/regress"
)

// Side is one of two things that are compared: the trials of a session, of a version, or
// one trial.
type Side struct {
	Name   string
	Trials []*memtrix.Brief
}

// Comparison is two sides, cell by cell.
type Comparison struct {
	A, B string
	// Cells are those that both have; what ended differently comes first, then what
	// differs most.
	Cells []CellPair
	// Warnings are about all of it: what is not alike, what was left out.
	Warnings []string
}

// CellPair is one cell on both sides.
type CellPair struct {
	Workflow, Settings, Hardware, Card string
	A, B                               []*memtrix.Brief
	Outcome                            OutcomePair
	// Unlike are conditions that differ, in words: what differs in numbers may be due to
	// them.
	Unlike []string
	Meters []MeterPair
	// Causes are what else differs between the last trial of A and the first of B.
	Causes []Cause
}

// MeterPair is one meter on both sides, in Unit (seconds for times).
type MeterPair struct {
	Meter string
	Unit  memtrix.Unit
	Floor float64 // least difference that matters
	regress.Comparison
	ValuesA, ValuesB []float64
	Worse            bool // it differs, to the worse
	// Files is set when resident memory differs and the server's own part of it does not:
	// the difference are pages of mapped files, which are the page cache's (FilePages).
	Files bool
	// Borders is set of floors that were compared by what failed next to them.
	Borders bool
}

// Delta is the relative difference of the medians, false where there is none to tell.
func (m MeterPair) Delta() (float64, bool) {
	if len(m.ValuesA) == 0 || len(m.ValuesB) == 0 || m.A.Median == 0 {
		return 0, false
	}
	return (m.B.Median - m.A.Median) / math.Abs(m.A.Median), true
}

// ErrUnlike is wrapped by errors about sides of which a comparison would say nothing.
var ErrUnlike = errors.New("cannot be compared")

// CompareSides compares two sides. Cells are paired by settings, hardware, workflow and
// probe; a cell that the other side has only with or without the probe, or on a server
// that ran before, is paired with that, and it is said; two sides of one cell each
// are paired whatever they are. Simulated and measured trials are refused, and so is
// what has no cell in common, and what is compared with itself. Of trials that others
// shared, that were not measured, or at which memtrix only looked on, none takes part.
func CompareSides(a, b Side, named []string) (Comparison, error) {
	c := Comparison{A: a.Name, B: b.Name}
	looked := [2]int{c.leaveOut(&a), c.leaveOut(&b)}
	for i, s := range []Side{a, b} {
		switch {
		case len(s.Trials) > 0:
		case looked[i] > 0:
			return c, fmt.Errorf("%s was only looked on at (memtrix watch): its user's own prompts ran, so it is compared with nothing: %w", s.Name, ErrUnlike)
		default:
			return c, fmt.Errorf("%s has no trial that says anything: %w", s.Name, ErrUnlike)
		}
	}
	if err := c.common(a, b); err != nil {
		return c, err
	}
	if x, y := simulated(a.Trials), simulated(b.Trials); x != y {
		return c, fmt.Errorf("%s is %s and %s is %s: what was simulated is no measurement: %w", a.Name, x, b.Name, y, ErrUnlike)
	}
	both := append(slices.Clone(a.Trials), b.Trials...)
	meters, unknown, known := Meters(both, named)
	if len(unknown) > 0 {
		return c, UnknownMeters(unknown, known)
	}
	pairs, onlyA, onlyB := pair(a.Trials, b.Trials)
	if len(pairs) == 0 {
		return c, fmt.Errorf("%s and %s have no cell in common (%s against %s): %w", a.Name, b.Name, cellsText(onlyA), cellsText(onlyB), ErrUnlike)
	}
	for _, p := range pairs {
		c.Cells = append(c.Cells, comparePair(p[0], p[1], meters))
	}
	c.commonUnlike()
	c.oneAfterTheOther(a, b)
	for _, only := range []struct {
		name  string
		cells [][]*memtrix.Brief
	}{{a.Name, onlyA}, {b.Name, onlyB}} {
		if len(only.cells) > 0 {
			c.Warnings = append(c.Warnings, fmt.Sprintf("only %s has %s", only.name, cellsText(only.cells)))
		}
	}
	slices.SortStableFunc(c.Cells, func(x, y CellPair) int { return cmp.Compare(y.weight(), x.weight()) })
	return c, nil
}

// common refuses a side that is compared with itself, and says of how many trials both are.
func (c *Comparison) common(a, b Side) error {
	ids := map[int64]bool{}
	for _, t := range a.Trials {
		ids[t.Trial.ID] = true
	}
	both := 0
	for _, t := range b.Trials {
		if ids[t.Trial.ID] {
			both++
		}
	}
	what := trialsText(both)
	switch {
	case both == 0:
	case both == len(a.Trials) && both == len(b.Trials):
		return fmt.Errorf("%s and %s are the same %s: a thing compared with itself says nothing: %w", a.Name, b.Name, what, ErrUnlike)
	default:
		c.Warnings = append(c.Warnings, fmt.Sprintf("both sides have the same %s: in so far something is compared with itself", what))
	}
	return nil
}

func trialsText(n int) string {
	if n == 1 {
		return "trial"
	}
	return fmt.Sprintf("%d trials", n)
}

// leaveOut takes away trials that say nothing, and says how many. It gives how many of
// them were of servers that memtrix only looked on at.
func (c *Comparison) leaveOut(s *Side) (looked int) {
	var kept []*memtrix.Brief
	shared, other, steps := 0, 0, 0
	found := slices.ContainsFunc(s.Trials, func(t *memtrix.Brief) bool { return Says(t) && experiment(t.Session.Spec) && hasValue(t) })
	for _, t := range s.Trials {
		switch {
		case found && experiment(t.Session.Spec) && !hasValue(t):
			steps++ // what they came to is a value of the cell that was asked about
		case Says(t):
			kept = append(kept, t)
		case t.Trial.Watched():
			looked++
		case t.Trial.Shared:
			shared++
		case t.Trial.Outcome.Kind != memtrix.NotApplicable:
			other++
		}
	}
	if shared > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s: %d trials take no part, since prompts of others ran on their server", s.Name, shared))
	}
	if other > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s: %d trials take no part, since they were interrupted, could not be measured, or their settings were not in force", s.Name, other))
	}
	if steps > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s: %d trials take no part, since they are steps of a search: what it found is compared", s.Name, steps))
	}
	if looked > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s: %d trials take no part, since memtrix only looked on while their server's user ran prompts", s.Name, looked))
	}
	s.Trials = kept
	return looked
}

func simulated(trials []*memtrix.Brief) string {
	yes, no := false, false
	for _, t := range trials {
		if t.Trial.Simulated {
			yes = true
		} else {
			no = true
		}
	}
	switch {
	case yes && no:
		return "partly simulated"
	case yes:
		return "simulated"
	}
	return "measured"
}

func comparePair(a, b []*memtrix.Brief, meters []string) CellPair {
	cell := a[0].Trial.Cell
	p := CellPair{
		Workflow: cell.Workflow.Name, Settings: cell.Settings.String(), Hardware: hardwareText(cell.Hardware.Name),
		Card: Card(a[0].Trial.Environment), A: a, B: b,
		Causes: Causes(a[len(a)-1].Trial, b[0].Trial),
	}
	ca, cb := conditions(a), conditions(b)
	p.Unlike = regress.Compare(regress.Side{Conditions: ca}, regress.Side{Conditions: cb}, regress.Options{}).Unlike
	p.Outcome = compareOutcomes(a, b)
	both := append(slices.Clone(a), b...)
	for _, m := range meters {
		unit := unitOf(both, m)
		x, y := scaled(Place{Trials: a}.Values(m), unit), scaled(Place{Trials: b}.Values(m), unit)
		if len(x) == 0 && len(y) == 0 {
			continue
		}
		mp := MeterPair{Meter: m, Unit: shownUnit(unit), ValuesA: x, ValuesB: y}
		o := options(m, unit, floorTimePair)
		o.What = ""
		mp.Comparison = regress.Compare(
			regress.Side{Name: "A", Values: x, Trials: len(x)}, regress.Side{Name: "B", Values: y, Trials: len(y)}, o)
		if len(x) == 0 || len(y) == 0 {
			mp.Reason, mp.More = "only one side has it", 0
		} else if len(x) == 1 && len(y) == 1 {
			mp.borders(a, b)
		}
		mp.Worse = mp.Verdict == regress.Differs && (mp.B.Median > mp.A.Median) != moreIsBetter(m)
		p.Meters = append(p.Meters, mp)
	}
	p.filePages()
	return p
}

func (p *CellPair) filePages() {
	for i := range p.Meters {
		m := &p.Meters[i]
		own := slices.IndexFunc(p.Meters, func(o MeterPair) bool { return o.Meter == FilePages(m.Meter) })
		if m.Verdict != regress.Differs || own < 0 || p.Meters[own].Verdict == regress.Differs {
			continue
		}
		if o := p.Meters[own]; len(o.ValuesA) > 0 && len(o.ValuesB) > 0 {
			m.Files, m.Worse = true, false
			m.Reason += filesOnly
		}
	}
}

// conditions are what must be alike for a difference to be the version's.
func conditions(trials []*memtrix.Brief) map[string]string {
	t := trials[0].Trial
	e, c := t.Environment, t.Cell
	m := map[string]string{
		"card": Card(e), "driver": e["driver"], "kernel": e["kernel"], "CPU": e["cpu.model"],
		"settings": c.Settings.String(), "workflow": c.Workflow.Name, "probe": onOff(c.Probe),
		"size of the machine": sizeText(c.Hardware), "server": serverText(c.Version),
	}
	if n, err := strconv.ParseFloat(e["ram.total"], 64); err == nil {
		m["RAM"] = fmt.Sprintf("%.0f GiB", n/(1<<30))
	}
	return m
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

func sizeText(h memtrix.Hardware) string {
	text := h.Name
	for _, part := range []struct {
		name string
		n    int64
	}{{"VRAM", h.VRAM}, {"RAM", h.RAM}} {
		if part.n > 0 {
			text += fmt.Sprintf(" %s %.3g GiB", part.name, float64(part.n)/(1<<30))
		}
	}
	return text
}

func serverText(v memtrix.Version) string {
	if v.Attached != nil {
		return "one that ran before"
	}
	return "a fresh one"
}

// oneAfterTheOther says when two versions of one session did not run in turn: what drifted
// meanwhile (another program, warmth, caches) is then in the difference, of times most of all.
func (c *Comparison) oneAfterTheOther(a, b Side) {
	one := a.Trials[0].Session.ID
	other := func(t *memtrix.Brief) bool { return t.Session.ID != one }
	if len(a.Trials)+len(b.Trials) <= 2 || slices.ContainsFunc(a.Trials, other) || slices.ContainsFunc(b.Trials, other) {
		return
	}
	endA, endB := a.Trials[len(a.Trials)-1].Trial.ID, b.Trials[len(b.Trials)-1].Trial.ID
	if endA < b.Trials[0].Trial.ID || endB < a.Trials[0].Trial.ID {
		c.Warnings = append(c.Warnings, "all trials of one side ran before those of the other: what drifted on the machine meanwhile is in the difference, of times most of all; with order: abba they run in turn")
	}
}

// commonUnlike moves what every cell says of its conditions to the warnings.
func (c *Comparison) commonUnlike() {
	var common []string
	for _, text := range c.Cells[0].Unlike {
		if !slices.ContainsFunc(c.Cells, func(p CellPair) bool { return !slices.Contains(p.Unlike, text) }) {
			common = append(common, text)
		}
	}
	for _, text := range common {
		c.Warnings = append(c.Warnings, "not alike: "+text)
	}
	for i := range c.Cells {
		c.Cells[i].Unlike = slices.DeleteFunc(c.Cells[i].Unlike, func(text string) bool { return slices.Contains(common, text) })
	}
}

// weight orders cells: changed outcomes, then the greatest difference to the worse.
func (p CellPair) weight() float64 {
	w := 0.0
	switch {
	case p.Outcome.Worse && p.Outcome.Kind == regress.NewOOM:
		w = 4e9
	case p.Outcome.Worse:
		w = 3e9
	case p.Outcome.Fixed:
		w = 2e9
	}
	for _, m := range p.Meters {
		if d, ok := m.Delta(); ok && m.Verdict == regress.Differs {
			w = max(w, math.Abs(d))
			if m.Worse {
				w = max(w, 1e6+math.Abs(d))
			}
		}
	}
	return w
}

// Changes are what is told of a comparison, as changes: for who fails on them.
func (c Comparison) Changes() []Change {
	var all []Change
	for _, p := range c.Cells {
		base := Change{
			Workflow: p.Workflow, Settings: p.Settings, Hardware: p.Hardware, How: HowCompared, Axis: ByVersion, Causes: p.Causes,
			From: c.A, To: c.B, Session: p.B[0].Session.ID, At: started(p.B[0]),
			TrialBefore: p.A[len(p.A)-1].Trial.ID, TrialAfter: p.B[0].Trial.ID, Simulated: p.B[0].Trial.Simulated,
		}
		if p.Outcome.Kind != "" {
			ch := base
			ch.Kind, ch.Worse, ch.Confidence = p.Outcome.Kind, p.Outcome.Worse, 1-p.Outcome.P
			ch.Reason = p.Outcome.A + " before, " + p.Outcome.B + " now"
			if ch.Expected = p.Outcome.Expected; ch.Expected {
				ch.Reason += asExpected
			}
			all = append(all, ch)
		}
		for _, m := range p.Meters {
			if m.Verdict != regress.Differs {
				continue
			}
			ch := base
			ch.Kind, ch.Meter, ch.Unit, ch.Worse = regress.Shift, m.Meter, m.Unit, m.Worse
			ch.Before, ch.After, ch.Confidence, ch.Reason = m.A.Median, m.B.Median, 1-m.P, Label(m.Meter)+" "+m.Reason
			all = append(all, ch)
		}
	}
	return all
}
