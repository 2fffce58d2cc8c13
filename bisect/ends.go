package bisect

import (
	"fmt"
	"math"
)

const (
	differEnough = 0.9 // probability that the ends differ from which the search begins
	sameEnough   = 0.9 // and that they do not from which it ends
	// Before any run. Whoever asks has seen a difference, but often only once.
	priorSame     = 0.18
	priorReversed = 0.02
	// Runs of the bad end: a second one tells early whether it always fails.
	leastOfBad = 2
	// Of values it begins earlier: a run inside tells of the levels, too, and that the
	// ends differ is asked again at the end.
	valuesDiffer = 0.8
	// That values do not differ is believed at this probability, and from a dozen runs
	// of each end on.
	sameValues = 0.7
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
	same := s.fit.normal.noDifference(priorSame)
	switch {
	case n < 2:
	case spread == 0 && mean(good) == mean(bad):
		if n > 2 {
			return ends{verdict: Same, why: said}
		}
	case same < 1-valuesDiffer || rankP(good, bad) < 0.004:
		e.enough = true
	case n >= mostOfValues, n >= 12 && same > sameValues && rankP(good, bad) > 0.2:
		half := 2 * math.Sqrt((deviation(good, 1)+deviation(bad, 1))/float64(n))
		return ends{verdict: Same, why: fmt.Sprintf("%s (a difference of less than about %.3g could hide)", said, half+math.Abs(mean(bad)-mean(good)))}
	}
	return e
}

// confirmed reports whether the values on either side of an interval differ beyond
// doubt: the search begins with ends that probably differ, and must not end with a
// border in mere noise. Outliers and modes make the standard deviation large: then ranks
// tell.
func (s *Search) confirmed(from, to int) bool {
	if s.fit == nil || s.fit.normal.noDifference(priorSame) < 0.01 {
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
	return rankP(good, bad) < 0.001
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
