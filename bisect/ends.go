package bisect

import (
	"fmt"
	"math"
	"slices"
)

const (
	differEnough = 0.9 // probability that the ends differ from which the search begins
	sameEnough   = 0.9 // and that they do not from which it ends
	// Before any run. Whoever asks has seen a difference, but often only once.
	priorSame     = 0.18
	priorReversed = 0.02
	// Runs of the bad end: a second one tells early whether it always fails.
	leastOfBad = 2
	// Runs of each end by which values must have shown a difference.
	mostOfValues = 60
)

// ends is what is known of the two ends.
type ends struct {
	verdict Verdict // Open, Same or Reversed
	enough  bool    // they differ
	next    int     // the end to run next
	why     string
}

// judgeEnds looks whether the ends differ.
func (s *Search) judgeEnds() ends {
	if s.cfg.Rates != nil || s.cfg.Levels != nil {
		return ends{verdict: Open, enough: true} // told so
	}
	var lo, hi []Run
	for _, r := range s.inside() {
		switch r.Index {
		case s.lo:
			lo = append(lo, r)
		case s.hi:
			hi = append(hi, r)
		}
	}
	var e ends
	switch {
	case len(lo) == 0:
		e = ends{verdict: Open, next: s.lo}
	case len(hi) == 0:
		e = ends{verdict: Open, next: s.hi}
	case s.cfg.Metric == Value:
		e = s.judgeValues(valuesOf(lo), valuesOf(hi))
	case s.cfg.Deterministic:
		e = judgeOnce(lo[0].Bad, hi[0].Bad)
	case len(s.several) > 0:
		e = ends{verdict: Open, enough: true} // they are ends because they differ
	default:
		e = s.judgeOutcomes(tallies([]int{s.lo}, lo)[0], tallies([]int{s.hi}, hi)[0])
	}
	if len(s.several) > 0 && e.verdict != Open {
		// The whole range has a change, whatever is said of this part.
		e.verdict = GaveUp
		e.why = "several changes were seen, and the part with the one that was asked for does not show it: " + e.why
	}
	return e
}

func judgeOnce(good, bad bool) ends {
	switch {
	case good && bad:
		return ends{verdict: Same, why: "good and bad do not differ: both fail"}
	case good:
		return ends{verdict: Reversed, why: "the good end fails and the bad end passes: are they the wrong way round?"}
	case !bad:
		return ends{verdict: Same, why: "good and bad do not differ: both pass"}
	}
	return ends{verdict: Open, enough: true}
}

// judgeOutcomes compares three stories: bad fails more often, both fail alike, good
// fails more often.
func (s *Search) judgeOutcomes(good, bad tally) ends {
	var differ, reversed float64
	for _, q := range learntRates {
		differ += q.weight * math.Exp(good.chance(q.good)+bad.chance(q.bad))
		reversed += q.weight * math.Exp(good.chance(q.bad)+bad.chance(q.good))
	}
	both := tally{good.fails + bad.fails, good.passes + bad.passes}
	var same float64
	for i, p := range points { // a third never, a third always, a third in between
		w := 1.0 / 3 / float64(len(points))
		if i == 0 || i == len(points)-1 {
			w += 1.0 / 3
		}
		same += w * math.Exp(both.chance(p))
	}
	differ *= 1 - priorSame - priorReversed
	same *= priorSame
	reversed *= priorReversed
	total := differ + same + reversed
	said := fmt.Sprintf("%s at good, %s at bad", good, bad)
	e := ends{verdict: Open}
	switch {
	case differ/total >= differEnough && bad.fails+bad.passes < leastOfBad:
		e.next = s.hi
	case differ/total >= differEnough:
		e.enough = true
	case same/total >= sameEnough:
		e.verdict = Same
		e.why = "good and bad do not differ: " + said + hidden(good, bad)
	case reversed/total >= sameEnough:
		e.verdict = Reversed
		e.why = "good fails more often than bad: " + said + "; are they the wrong way round?"
	case both.fails == 0: // one failure of bad would end this
		e.next = s.hi
	case both.passes == 0:
		e.next = s.lo
	case good.fails+good.passes < bad.fails+bad.passes:
		e.next = s.lo
	default:
		e.next = s.hi
	}
	return e
}

// String is "2 of 5 runs failed".
func (t tally) String() string {
	if n := t.fails + t.passes; n == 1 {
		return fmt.Sprintf("%.0f of 1 run failed", t.fails)
	}
	return fmt.Sprintf("%.0f of %.0f runs failed", t.fails, t.fails+t.passes)
}

// hidden says what so few runs could have missed.
func hidden(good, bad tally) string {
	if good.fails+bad.fails > 0 {
		return ""
	}
	return fmt.Sprintf(" (a failure of less than %.0f %% of the runs could hide)", 100*(1-math.Pow(0.05, 1/bad.passes)))
}

// judgeValues compares the values of the ends.
func (s *Search) judgeValues(good, bad []float64) ends {
	e := ends{verdict: Open, next: s.lo}
	if len(bad) < len(good) {
		e.next = s.hi
	}
	said := fmt.Sprintf("good and bad do not differ: %s at good, %s at bad", wordsOf(good), wordsOf(bad))
	if s.cfg.Deterministic {
		if good[0] == bad[0] {
			return ends{verdict: Same, why: said}
		}
		return ends{verdict: Open, enough: true}
	}
	n := min(len(good), len(bad))
	spread := deviation(good, 0) + deviation(bad, 0)
	switch {
	case n < 2:
	case spread == 0 && mean(good) != mean(bad):
		e.enough = true
	case n < 3:
	case spread == 0:
		return ends{verdict: Same, why: said}
	case differs(good, bad):
		e.enough = true
	case n >= mostOfValues, n >= 12 && bayesFactor(good, bad) < 0.25 && rankP(good, bad) > 0.2:
		half := 2 * math.Sqrt((deviation(good, 1)+deviation(bad, 1))/float64(n))
		return ends{verdict: Same, why: fmt.Sprintf("%s (a difference of less than about %.3g could hide)", said, half+math.Abs(mean(bad)-mean(good)))}
	}
	return e
}

// differs weighs "two levels" against "one", or goes by ranks where outliers or modes
// make the standard deviation large.
func differs(a, b []float64) bool { return bayesFactor(a, b) > 3 || rankP(a, b) < 0.004 }

// confirmed reports whether the values on either side of an interval differ beyond
// doubt: the search begins with ends that probably differ, and must not end with a
// border in mere noise.
func (s *Search) confirmed(from, to int) bool {
	if s.fit == nil {
		return true
	}
	var good, bad []float64
	for _, r := range s.inside() {
		switch {
		case r.Index < from:
			good = append(good, r.Value)
		case r.Index >= to:
			bad = append(bad, r.Value)
		}
	}
	if len(good) < 2 || len(bad) < 2 {
		return false
	}
	if deviation(good, 0)+deviation(bad, 0) == 0 {
		return mean(good) != mean(bad)
	}
	return bayesFactor(good, bad) > 100 || rankP(good, bad) < 0.001
}

const (
	// Runs of one candidate that lie this far apart, in steps between the levels and in
	// standard deviations, show that a single run tells little: it may be in a second
	// mode. (Three normal runs lie 3 apart once in ten times.)
	farApart, farOut = 0.9, 3.0
	// Then so many runs are wanted of the candidates on either side of the border.
	besideRuns = 6
)

// unsteady is the candidate beside an interval that is to be run again before it is
// believed, -1 for none. Few runs of values with a second mode look like two clear
// levels; more of them at the border show the mode.
func (s *Search) unsteady(from, to int) int {
	if s.fit == nil {
		return -1
	}
	var step, sd float64
	for _, n := range s.fit.states {
		share := s.fit.values.unit / float64(len(s.fit.states))
		step += math.Abs(n.level[1]-n.level[0]) * share
		sd += n.sd * share
	}
	of := map[int][]float64{}
	before, after := s.lo, s.hi // the nearest that were run
	for _, r := range s.inside() {
		of[r.Index] = append(of[r.Index], r.Value)
		if r.Index < from {
			before = max(before, r.Index)
		}
		if r.Index >= to {
			after = min(after, r.Index)
		}
	}
	apart := 0.0
	for _, v := range of {
		apart = max(apart, slices.Max(v)-slices.Min(v))
	}
	switch {
	case apart < farApart*step, apart < farOut*sd:
	case len(of[before]) < besideRuns && len(of[before]) <= len(of[after]):
		return before
	case len(of[after]) < besideRuns:
		return after
	}
	return -1
}

// bayesFactor of "two levels" against "one" after Schwarz (Raftery 1995; for t:
// Wagenmakers 2007, doi 10.3758/BF03194105).
func bayesFactor(a, b []float64) float64 {
	n := float64(len(a) + len(b))
	pooled := deviation(a, 0)*float64(len(a)) + deviation(b, 0)*float64(len(b))
	t2 := (mean(a) - mean(b)) * (mean(a) - mean(b)) / (1/float64(len(a)) + 1/float64(len(b))) / (pooled / (n - 2))
	return math.Exp(n/2*math.Log1p(t2/(n-2))) / math.Sqrt(n)
}

// rankP is the two-sided probability of the Mann-Whitney statistic by its normal
// approximation, with ties and the correction for continuity; with so few runs that
// this errs, 1.
func rankP(a, b []float64) float64 {
	n, m := float64(len(a)), float64(len(b))
	if n < 4 || m < 4 {
		return 1
	}
	var u float64
	ties := map[float64]float64{}
	for _, x := range a {
		ties[x]++
		for _, y := range b {
			switch {
			case x > y:
				u++
			case x == y:
				u += 0.5
			}
		}
	}
	for _, y := range b {
		ties[y]++
	}
	all := n + m
	var tied float64
	for _, t := range ties {
		tied += t*t*t - t
	}
	v := n * m / 12 * (all + 1 - tied/(all*(all-1)))
	if v <= 0 {
		return 1
	}
	z := max(0, math.Abs(u-n*m/2)-0.5) / math.Sqrt(v)
	return math.Erfc(z / math.Sqrt2)
}

// nextEnd is the end to run while it is not known whether they differ.
func (s *Search) nextEnd(pending []int) (int, bool) {
	e := s.judgeEnds()
	if e.enough || e.verdict != Open {
		return 0, false
	}
	if len(pending) == 0 {
		return e.next, true
	}
	// One more of the other end may run beside it.
	if len(pending) > 1 {
		return 0, false
	}
	if pending[0] == s.lo {
		return s.hi, true
	}
	return s.lo, true
}

func valuesOf(runs []Run) []float64 {
	out := make([]float64, len(runs))
	for i, r := range runs {
		out[i] = r.Value
	}
	return out
}

func wordsOf(v []float64) string {
	if len(v) == 1 {
		return fmt.Sprintf("%.6g", v[0])
	}
	return fmt.Sprintf("%.6g (sd %.2g, %d runs)", mean(v), math.Sqrt(deviation(v, 1)), len(v))
}

func mean(v []float64) float64 { return sum(v) / float64(len(v)) }

// deviation is the variance with n-less in the denominator.
func deviation(v []float64, less int) float64 {
	if len(v) <= less {
		return 0
	}
	m := mean(v)
	var ss float64
	for _, x := range v {
		ss += (x - m) * (x - m)
	}
	return ss / float64(len(v)-less)
}
