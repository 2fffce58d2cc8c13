package regress

import (
	"fmt"
	"math"

	"memtrix"
)

// Steady is of how many trials in a row something must be true before one that differs is
// news.
const Steady = 5

const steady = Steady

// Outcomes are the changes in how the trials of a series end.
//
// After five passes or more in a row the first out-of-memory is a new-oom, whatever
// comes next: one trial is enough for an alarm, and a repeat says more. It is fixed
// when it passes after five or more that ran out of memory, or five times in a row
// after at least two. A cell that sometimes passes and sometimes does not is flaky:
// then single failures are no news, and a change is one of the rate, which is told by
// Fisher's exact test over all places where the rate could have changed (Bonferroni),
// at 1 % a series. It assumes that trials of a flaky cell fail independently.
//
// What ran out of memory and what failed otherwise are followed apart. A trial that
// did not fail for memory but failed says nothing about memory, and the other way
// round; neither is a gap.
func Outcomes(points []Point) []Change {
	var all []Change
	for _, bad := range []func(memtrix.OutcomeKind) bool{isOOM, isFailure} {
		f := follower{kind: NewOOM}
		if bad(memtrix.Error) {
			f.kind = NewFailure
		}
		for i, p := range points {
			switch {
			case bad(p.Outcome):
				f.add(i, true, p.Outcome)
			case p.Outcome == memtrix.Pass:
				f.add(i, false, p.Outcome)
			}
		}
		all = append(all, f.changes()...)
	}
	sortByPlace(all)
	return all
}

func isOOM(k memtrix.OutcomeKind) bool { return k == memtrix.OOM }

// isFailure leaves out what says nothing about the program: what was never run, was
// interrupted, or could not be measured.
func isFailure(k memtrix.OutcomeKind) bool {
	switch k {
	case memtrix.Error, memtrix.Killed, memtrix.Hang, memtrix.StartupFailure, memtrix.InvalidWorkflow:
		return true
	}
	return false
}

// stretch is a run of trials at one rate.
type stretch struct {
	at        int // index of its first point
	n, failed int
	name      memtrix.OutcomeKind // how the first of them failed
}

// follower goes along the trials and knows the stretch since the last change.
type follower struct {
	kind   Kind
	failed []bool // of the stretch
	at     []int
	names  []memtrix.OutcomeKind
	done   []stretch
	xlogx  []float64
}

func (f *follower) add(at int, failed bool, name memtrix.OutcomeKind) {
	f.failed, f.at, f.names = append(f.failed, failed), append(f.at, at), append(f.names, name)
	if n := len(f.failed) - 1; f.changed(n) {
		return
	}
	f.rate()
}

// changed looks for what needs no statistics, with the newest trial n of the stretch.
func (f *follower) changed(n int) bool {
	fails := count(f.failed)
	switch {
	case f.failed[n] && fails == 1 && n >= steady:
		f.cut(n)
	case !f.failed[n] && fails == n && n >= steady:
		f.cut(n)
	case fails == 2 && f.failedThenPassed(fails, 2*steady), fails > 2 && f.failedThenPassed(fails, steady):
		f.cut(fails)
	default:
		return false
	}
	return true
}

// failedThenPassed reports whether the stretch is so many failures in a row and then so
// many passes.
func (f *follower) failedThenPassed(failed, passed int) bool {
	return len(f.failed) == failed+passed && trailing(f.failed, false) == passed
}

// rate looks for a change of rate in a flaky stretch, and cuts where it is clearest.
func (f *follower) rate() {
	n := len(f.failed)
	all := count(f.failed)
	if all == 0 || all == n || n < 2*steady {
		return
	}
	// The place by likelihood, which is cheap; its error rate exactly.
	best, where, failures := 0.0, 0, 0
	before, places := 0, 0
	for k := 1; k < n; k++ {
		if f.failed[k-1] {
			before++
		}
		if k < steady || n-k < 2 {
			continue
		}
		places++
		if l := f.likelihood(before, k) + f.likelihood(all-before, n-k); where == 0 || l > best {
			best, where, failures = l, k, before
		}
	}
	if 2*(best-f.likelihood(all, n)) < leastLikelihood || places == 0 {
		return
	}
	if p := fisher(failures, where, all-failures, n-where); p*float64(places) < flakyLevel {
		f.cut(where)
	}
}

// flakyLevel is the error rate of one look. There is a look at every new trial, and most
// of them see the same: with this level two to four flaky series of a hundred are said
// to have changed in 200 nights.
const flakyLevel = 0.002

// leastLikelihood is a ratio of likelihoods (twice its logarithm) below which the
// exact test cannot be sure either.
const leastLikelihood = 8

// likelihood is the logarithm of the greatest likelihood of a failures in n.
func (f *follower) likelihood(a, n int) float64 {
	for i := len(f.xlogx); i <= n; i++ {
		f.xlogx = append(f.xlogx, float64(i)*math.Log(max(float64(i), 1)))
	}
	return f.xlogx[a] + f.xlogx[n-a] - f.xlogx[n]
}

// cut begins a new stretch at k with what came since.
func (f *follower) cut(k int) {
	f.done = append(f.done, f.stretch(0, k))
	f.failed, f.at, f.names = f.failed[k:], f.at[k:], f.names[k:]
}

func (f *follower) stretch(from, to int) stretch {
	s := stretch{at: f.at[from], n: to - from}
	for i := from; i < to; i++ {
		if f.failed[i] {
			if s.failed == 0 {
				s.name = f.names[i]
			}
			s.failed++
		}
	}
	return s
}

// changes are what lies between the stretches.
func (f *follower) changes() []Change {
	if len(f.done) == 0 {
		return nil
	}
	all := append(f.done, f.stretch(0, len(f.failed)))
	var changes []Change
	for i, now := range all[1:] {
		old := all[i]
		c := Change{
			Kind: f.kind, At: now.at, Before: old.rate(), After: now.rate(),
			Confidence: min(1-chance(old.failed, old.n, now.failed, now.n), mostSure),
			Reason:     f.reason(old, now),
		}
		if c.After < c.Before {
			// That other failures are gone has no name among the changes.
			if f.kind != NewOOM {
				continue
			}
			c.Kind = FixedOOM
		}
		changes = append(changes, c)
	}
	return changes
}

func (s stretch) rate() float64 { return float64(s.failed) / float64(s.n) }

func (f *follower) reason(old, now stretch) string {
	word := string(now.name)
	if f.kind == NewOOM {
		word = "out of memory"
	}
	switch {
	case now.failed == 0 && old.failed == old.n:
		return fmt.Sprintf("%d of %d pass after %d out of memory", now.n, now.n, old.n)
	case now.failed == 0:
		return fmt.Sprintf("%d of %d pass, of %d earlier %d were out of memory", now.n, now.n, old.n, old.failed)
	case old.failed == 0 && now.failed == now.n:
		return fmt.Sprintf("%s in %d of %d after %d passes", word, now.failed, now.n, old.n)
	}
	low, high := Rate(now.failed, now.n, 0.95)
	before := fmt.Sprintf("earlier in %d of %d", old.failed, old.n)
	if old.failed == 0 {
		before = fmt.Sprintf("after %d passes", old.n)
	}
	return fmt.Sprintf("%s in %d of %d (95 %% interval of the rate: %.0f to %.0f %%), %s", word, now.failed, now.n, 100*low, 100*high, before)
}

func count(failed []bool) int {
	n := 0
	for _, b := range failed {
		if b {
			n++
		}
	}
	return n
}

// trailing is how many at the end are as said.
func trailing(failed []bool, as bool) int {
	n := 0
	for i := len(failed) - 1; i >= 0 && failed[i] == as; i-- {
		n++
	}
	return n
}

// chance is the probability that m new trials fail b times or more extremely so when n
// earlier ones failed a times at the same rate, which is not known (Jeffreys's prior:
// beta-binomial, one-sided).
func chance(a, n, b, m int) float64 {
	al, be := float64(a)+0.5, float64(n-a)+0.5
	up := float64(b)*float64(n) > float64(a)*float64(m)
	var p float64
	for k := 0; k <= m; k++ {
		if up && k >= b || !up && k <= b {
			p += math.Exp(lchoose(m, k) + lbeta(float64(k)+al, float64(m-k)+be) - lbeta(al, be))
		}
	}
	return min(p, 1)
}

// fisher is the two-sided p value of Fisher's exact test: a of n against b of m.
func fisher(a, n, b, m int) float64 {
	k := a + b
	whole := lchoose(n+m, k)
	prob := func(x int) float64 { return math.Exp(lchoose(n, x) + lchoose(m, k-x) - whole) }
	seen := prob(a)
	var p float64
	for x := max(0, k-m); x <= min(n, k); x++ {
		if q := prob(x); q <= seen*(1+1e-9) {
			p += q
		}
	}
	return min(p, 1)
}

func lchoose(n, k int) float64 {
	return lgamma(float64(n)+1) - lgamma(float64(k)+1) - lgamma(float64(n-k)+1)
}

func lbeta(a, b float64) float64 { return lgamma(a) + lgamma(b) - lgamma(a+b) }

func lgamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}
