package lab

import (
	"math"
	"slices"

	"memtrix"
)

// Checked is a check with what became of it.
type Checked struct {
	Check
	// Outcomes are those of its trials, in order.
	Outcomes []memtrix.Outcome
	// Prompt is the prompt that failed in the first trial that failed, 0 for none.
	Prompt int
	// Skipped is why it was not tried.
	Skipped string
}

func (c Checked) counts() (passed, failed int) {
	for _, o := range c.Outcomes {
		if o.Kind == memtrix.Pass {
			passed++
		} else {
			failed++
		}
	}
	return passed, failed
}

// failure is the first one, false where there is none.
func (c Checked) failure() (memtrix.Outcome, bool) {
	i := slices.IndexFunc(c.Outcomes, func(o memtrix.Outcome) bool { return o.Kind != memtrix.Pass })
	if i < 0 {
		return memtrix.Outcome{}, false
	}
	return c.Outcomes[i], true
}

// Verdict is what a diagnosis says.
type Verdict string

const (
	VerdictCause  Verdict = "cause"   // a change makes it pass: what it changed is the cause
	VerdictWayOut Verdict = "way-out" // nothing that was switched off is, but what needs less passes
	VerdictPasses Verdict = "passes"  // it does not fail here
	VerdictNone   Verdict = "none"    // it fails whatever was tried
	VerdictWrong  Verdict = "wrong"   // the workflow cannot be run at all, so memory is no question
	VerdictGaveUp Verdict = "gave-up" // too many trials
)

// Conclusion is a verdict with the check that it is about.
type Conclusion struct {
	Verdict Verdict
	// Check is what made it pass.
	Check *Check
	// Sure is set where luck is no explanation: had the change no effect, so many passes
	// would come about once in twenty times or less often.
	Sure bool
}

// Checklist says which check is next. It is pure: all that it knows it is told.
type Checklist struct {
	Offers Offers
	// Most is how many trials there may be; 0 sets no bound.
	Most int
}

const (
	// luck is the chance of passing so often without a reason, below which a change that
	// passes is called the cause.
	luck = 0.05
	// leastBase is how often what was given is seen before a change is called the cause:
	// a failure that comes and goes by itself shows itself there.
	leastBase = 3
	// leastPasses is how often it passes before it is said to pass, and how often it is
	// seen before it is said that nothing helps.
	leastPasses = 2
	// mostRepeats bounds the trials of what was given and of one change.
	mostRepeats = 6
)

// Next gives the next trial to run, or false when there is a conclusion.
func (l Checklist) Next(known []Checked) (Check, bool) {
	next, _ := l.step(known)
	if next == nil {
		return Check{}, false
	}
	return *next, true
}

// Conclude says what is known so far.
func (l Checklist) Conclude(known []Checked) Conclusion {
	_, c := l.step(known)
	return c
}

// step gives the next check, or a conclusion where there is none.
func (l Checklist) step(known []Checked) (*Check, Conclusion) {
	base, _ := find(known, asGiven.ID)
	passed, failed := base.counts()
	trials := 0
	for _, c := range known {
		trials += len(c.Outcomes)
	}
	enough := l.Most > 0 && trials >= l.Most
	switch o, _ := base.failure(); {
	case failed > 0 && o.Kind == memtrix.InvalidWorkflow:
		return nil, Conclusion{Verdict: VerdictWrong, Sure: true}
	case failed == 0 && passed >= leastPasses:
		return nil, Conclusion{Verdict: VerdictPasses, Sure: true}
	case enough:
		return nil, Conclusion{Verdict: VerdictGaveUp}
	case failed == 0:
		return &asGiven, Conclusion{}
	}
	return l.changes(known, base)
}

// changes walks through what may be changed.
func (l Checklist) changes(known []Checked, base Checked) (*Check, Conclusion) {
	o, _ := base.failure()
	var group *Checked // all given settings left out, where that passes
	list := l.Offers.checks(o, base.Prompt)
	grouped := slices.ContainsFunc(list, func(c Check) bool {
		tried, _ := find(known, c.ID)
		return c.Kind == CheckOwnAll && tried.Skipped == ""
	})
	for _, c := range list {
		if c.Kind != CheckOwn && group != nil {
			break // together they are the cause, and none alone
		}
		if c.Kind == CheckOwn && grouped && group == nil {
			continue // without all of them it fails, too
		}
		tried, ok := find(known, c.ID)
		if ok && tried.Skipped != "" {
			continue
		}
		passed, failed := tried.counts()
		switch {
		case failed > 0:
		case passed == 0:
			return &c, Conclusion{}
		case c.Kind == CheckOwnAll:
			group = &tried
		default:
			return confirm(base, tried, len(list), flaky(known))
		}
	}
	if group != nil {
		return confirm(base, *group, len(list), flaky(known))
	}
	if len(base.Outcomes) < leastPasses {
		return &asGiven, Conclusion{} // it may pass by itself
	}
	return nil, Conclusion{Verdict: VerdictNone}
}

// confirm repeats a change that passed, and what was given, until luck is no
// explanation. changes is how many there are that could have passed by luck, which one
// of them has shown where the failure comes and goes.
func confirm(base, tried Checked, changes int, comesAndGoes bool) (*Check, Conclusion) {
	passed, failed := base.counts()
	n := passed + failed
	again, _ := tried.counts()
	// Laplace's rule of succession: what was given fails about so often.
	rate := float64(failed+1) / float64(n+2)
	limit := luck
	if comesAndGoes {
		limit /= float64(changes)
	}
	verdict := VerdictCause
	if tried.Kind == CheckLess {
		verdict = VerdictWayOut
	}
	switch {
	case n < leastBase:
		return &asGiven, Conclusion{}
	case math.Pow(1-rate, float64(again)) <= limit:
		return nil, Conclusion{Verdict: verdict, Check: &tried.Check, Sure: true}
	case n >= mostRepeats && again >= mostRepeats:
		return nil, Conclusion{Verdict: verdict, Check: &tried.Check}
	case n < again || again >= mostRepeats:
		return &asGiven, Conclusion{}
	}
	return &tried.Check, Conclusion{}
}

// flaky says that something both passed and failed: the failure comes and goes.
func flaky(known []Checked) bool {
	return slices.ContainsFunc(known, func(c Checked) bool {
		passed, failed := c.counts()
		return passed > 0 && failed > 0
	})
}

func find(known []Checked, id string) (Checked, bool) {
	i := slices.IndexFunc(known, func(c Checked) bool { return c.ID == id })
	if i < 0 {
		return Checked{}, false
	}
	return known[i], true
}
