package history

import (
	"fmt"

	"memtrix"
	"memtrix/regress"
)

// Step is how trials ended at a place of a line and at the place before it.
type Step struct {
	Place int
	OutcomePair
}

// steps compares how trials ended at each place with the place before that is no gap, as
// CompareSides does.
func (l Line) steps() []Step {
	var all []Step
	last := -1
	for i, p := range l.Places {
		if len(p.Trials) == 0 {
			continue
		}
		if last >= 0 {
			all = append(all, Step{i, compareOutcomes(l.Places[last].Trials, p.Trials)})
		}
		last = i
	}
	return all
}

// outcomeStep is the change of a step.
func (l Line) outcomeStep(s Step) Change {
	before, after := l.around(s.Place)
	c := l.change(s.Place, before, after)
	c.Kind, c.How, c.Confidence, c.Worse, c.Expected = s.Kind, HowCompared, 1-s.P, s.Worse, s.Expected
	of := memtrix.OOM
	if s.Kind == regress.NewFailure {
		_, of = l.Places[s.Place].Failed()
	}
	trials := l.Places[s.Place].Trials
	var earlier []*memtrix.Brief
	for i := s.Place - 1; len(earlier) == 0; i-- {
		earlier = l.Places[i].Trials
	}
	c.Before, c.After = float64(ended(earlier, of))/float64(len(earlier)), float64(ended(trials, of))/float64(len(trials))
	c.Reason = fmt.Sprintf("%s before, %s now (p = %.3f)", s.A, s.B, s.P)
	if s.Expected {
		c.Reason += asExpected
	}
	return c
}

// Untold are the steps at which trials began to fail, or to pass again, and of which no
// change tells since the trials are too few. By date that is so as long as a change could
// not be told yet; a lone failure after that is that of a flaky cell.
func Untold(l Line, changes []Change) []Step {
	told := map[int]bool{}
	for _, c := range changes {
		if c.Meter == "" {
			told[c.Place] = true
		}
	}
	before := make([]int, len(l.Places)) // trials before each place
	for i := range l.Places[:max(0, len(l.Places)-1)] {
		before[i+1] = before[i] + len(l.Places[i].Trials)
	}
	var all []Step
	for _, s := range l.steps() {
		if s.Kind == "" && !s.Fixed || told[s.Place] || l.Axis == ByDate && before[s.Place] >= regress.Steady {
			continue
		}
		all = append(all, s)
	}
	return all
}

// TooFew says why nothing could be told of values along a line, "" where it could.
func TooFew(l Line) string {
	var counts []int
	for _, p := range l.Places {
		n := 0
		for _, t := range p.Trials {
			if t.Trial.Outcome.Kind == memtrix.Pass {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, n)
		}
	}
	if len(counts) >= regress.FewestPoints {
		return ""
	}
	if l.Axis == ByDate {
		return fmt.Sprintf("from night to night it takes %d sessions", regress.FewestPoints)
	}
	for i := 1; i < len(counts); i++ {
		if min(counts[i-1], counts[i]) >= regress.FewestRepeats {
			return ""
		}
	}
	return fmt.Sprintf("neighbours are compared from %d repeats on that pass, a series from %d versions on", regress.FewestRepeats, regress.FewestPoints)
}
