package runner

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"memtrix"
)

// item is one trial that is to be done.
type item struct {
	cell   memtrix.PlannedCell
	repeat int
}

// missing gives the trials of a plan that a session does not have yet: every
// repeat of every cell that can run, in the plan's order, and each cell that is
// not applicable once, so that it is in the store with its reason.
func missing(plan *memtrix.Plan, done map[string]map[int]memtrix.OutcomeKind) []item {
	if plan.Order == memtrix.OrderABBA {
		return forthAndBack(plan.Cells, done)
	}
	return inOrder(plan.Cells, done)
}

// forthAndBack takes the cells that differ in their version alone together, and runs
// their first repeats in order, their second ones backwards, and so on.
func forthAndBack(cells []memtrix.PlannedCell, done map[string]map[int]memtrix.OutcomeKind) []item {
	groups := map[string][]memtrix.PlannedCell{}
	var order []string
	for _, c := range cells {
		key := c.Cell.Series()
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], c)
	}
	var work []item
	for _, key := range order {
		all := inOrder(groups[key], done) // cell by cell
		slices.SortStableFunc(all, func(a, b item) int { return cmp.Compare(a.repeat, b.repeat) })
		for len(all) > 0 {
			n := slices.IndexFunc(all, func(w item) bool { return w.repeat != all[0].repeat })
			if n < 0 {
				n = len(all)
			}
			if all[0].repeat%2 == 1 {
				slices.Reverse(all[:n])
			}
			work, all = append(work, all[:n]...), all[n:]
		}
	}
	return work
}

func inOrder(cells []memtrix.PlannedCell, done map[string]map[int]memtrix.OutcomeKind) []item {
	var work []item
	for _, c := range cells {
		repeats := max(c.Repeats, 1)
		switch c.Status {
		case memtrix.StatusLeftOut:
			continue
		case memtrix.StatusNotApplicable:
			repeats = 1
		}
		finished := done[c.Cell.ID()]
		for n := c.First; n < repeats; n++ {
			if _, ok := finished[n]; !ok {
				work = append(work, item{c, n})
			}
		}
	}
	return work
}

// estimate guesses how long the rest of a session takes from what its trials
// have taken so far.
type estimate struct {
	work      []item
	byVersion map[string][]float64 // seconds, by version
}

func newEstimate(work []item) *estimate {
	return &estimate{work: work, byVersion: map[string][]float64{}}
}

func (e *estimate) took(i int, seconds float64) {
	if e.work[i].cell.Status != memtrix.StatusRun {
		return
	}
	key := e.work[i].cell.Cell.Version.Name
	e.byVersion[key] = append(e.byVersion[key], seconds)
}

// left is the expected time of trial i and all after it: what trials of the
// same version took, else any trials of this session, else what the plan says.
func (e *estimate) left(i int) time.Duration {
	var all []float64
	for _, s := range e.byVersion {
		all = append(all, s...)
	}
	var total float64
	for _, w := range e.work[i:] {
		own := e.byVersion[w.cell.Cell.Version.Name]
		switch {
		case w.cell.Status != memtrix.StatusRun:
		case len(own) > 0:
			total += mean(own)
		case len(all) > 0:
			total += mean(all)
		default:
			total += w.cell.Seconds
		}
	}
	return time.Duration(total * float64(time.Second))
}

func mean(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

func title(c memtrix.PlannedCell, repeat int) string {
	version := c.Cell.Version.Name
	if c.Cell.Version.Target == memtrix.TargetSim {
		version += " (simulated)"
	}
	s := fmt.Sprintf("%s  %s  %s", version, c.Cell.Workflow.Name, c.Cell.Settings)
	if h := c.Cell.Hardware.Name; h != "" && h != "as-is" {
		s += "  " + h
	}
	if c.Repeats > 1 {
		s += fmt.Sprintf("  repeat %d/%d", repeat+1, c.Repeats)
	}
	return s
}

// describe is a trial's outcome in a few words: "oom (vram) in KSampler (5)".
func describe(t *memtrix.Trial) string {
	o := t.Outcome
	s := string(o.Kind)
	if o.Memory != "" && o.Memory != memtrix.MemoryNone {
		s += " (" + string(o.Memory) + ")"
	}
	if o.Node != nil && o.Kind != memtrix.Pass {
		s += " in " + o.Node.ClassType + " (" + o.Node.ID + ")"
	}
	if o.Kind != memtrix.Pass && t.AsExpected() {
		s += ", as expected"
	}
	return s
}
