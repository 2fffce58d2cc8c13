package history

import (
	"fmt"
	"slices"
	"strings"

	"memtrix"
	"memtrix/regress"
)

// OutcomePair is how the trials of a cell ended on both sides.
type OutcomePair struct {
	A, B string // "4 pass", "1 pass, 3 oom (vram)"
	// Kind is new-oom, fixed-oom, new-failure or "" where nothing is told.
	Kind  regress.Kind
	Worse bool
	// Expected is set for a new failure that the spec expects (expect:): it is told, and is
	// not worse.
	Expected bool
	// Fixed is set when B passes and A did not, whatever the failure.
	Fixed bool
	// P and More are those of Fisher's exact test (regress.Comparison).
	P    float64
	More int
}

// compareOutcomes compares how trials ended. One out-of-memory after passes is told
// whatever the number of trials: how sure it is stands beside it.
func compareOutcomes(a, b []*memtrix.Brief) OutcomePair {
	fa, first := Place{Trials: a}.Failed()
	fb, now := Place{Trials: b}.Failed()
	o := OutcomePair{A: outcomesText(a), B: outcomesText(b)}
	if fa == 0 && fb == 0 {
		return o
	}
	c := regress.Compare(regress.Side{Trials: len(a), Failed: fa}, regress.Side{Trials: len(b), Failed: fb}, regress.Options{})
	o.P, o.More = c.P, c.More
	switch ra, rb := float64(fa)/float64(len(a)), float64(fb)/float64(len(b)); {
	case rb > ra && (fa == 0 || c.Verdict == regress.Differs):
		o.fails(b, now)
	case ra > rb && (fb == 0 || c.Verdict == regress.Differs):
		o.Fixed = true
		if first == memtrix.OOM {
			o.Kind = regress.FixedOOM
		}
	case fa == len(a) && fb == len(b) && first != now:
		// All failed, in another way: how sure that is.
		as := regress.Compare(regress.Side{Trials: len(a), Failed: ended(a, now)}, regress.Side{Trials: len(b), Failed: ended(b, now)}, regress.Options{})
		o.P, o.More = as.P, as.More
		o.fails(b, now)
	}
	return o
}

// fails makes it one of trials that newly end in a way other than passing.
func (o *OutcomePair) fails(b []*memtrix.Brief, as memtrix.OutcomeKind) {
	o.Kind = regress.NewFailure
	if as == memtrix.OOM {
		o.Kind = regress.NewOOM
	}
	o.Expected = !slices.ContainsFunc(b, func(t *memtrix.Brief) bool { return !t.Trial.AsExpected() })
	o.Worse = !o.Expected
}

// told reports whether a change of outcomes is not chance.
func (o OutcomePair) told() bool { return o.Kind != "" && o.More == 0 && o.P < regress.Alpha }

func ended(trials []*memtrix.Brief, as memtrix.OutcomeKind) int {
	n := 0
	for _, t := range trials {
		if t.Trial.Outcome.Kind == as {
			n++
		}
	}
	return n
}

// outcomesText counts outcomes: "1 pass, 3 oom (vram)".
func outcomesText(trials []*memtrix.Brief) string {
	counts := map[string]int{}
	var order []string
	for _, t := range trials {
		o := t.Trial.Outcome
		text := string(o.Kind)
		if o.Memory != "" && o.Memory != memtrix.MemoryNone && o.Kind != memtrix.Pass {
			text += " (" + string(o.Memory) + ")"
		}
		if counts[text]++; counts[text] == 1 {
			order = append(order, text)
		}
	}
	var words []string
	for _, text := range order {
		words = append(words, fmt.Sprintf("%d %s", counts[text], text))
	}
	return strings.Join(words, ", ")
}
