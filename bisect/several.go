package bisect

import (
	"math"
	"slices"
)

// Change is one of several that were noticed: From is still as before, To is not.
type Change struct{ From, To int }

// think is the posterior after all runs.
func (s *Search) think() *belief {
	runs := s.inside()
	s.pairs = nil
	switch c := s.cfg; {
	case c.Metric == Pass && c.Rates != nil:
		s.pairs = []pair{{c.Rates.Good, c.Rates.Bad, 1}}
	case c.Deterministic:
		s.pairs = certain
		if c.Metric == Value {
			runs = s.nearest(runs)
		}
	case c.Metric == Pass:
		s.pairs = learntRates
	case c.Levels != nil:
		return givenBelief(s.lo, s.hi, s.prior, *c.Levels, runs)
	default:
		return s.fit.belief(s.lo, s.hi, s.prior)
	}
	return ratesBelief(s.lo, s.hi, s.prior, s.pairs, runs)
}

// follow lets the models of values take the runs that they have not seen.
func (s *Search) follow() {
	if c := s.cfg; c.Metric != Value || c.Deterministic || c.Levels != nil {
		return
	}
	if s.fit == nil {
		s.fit = &fit{}
	}
	for _, r := range s.inside()[len(s.fit.runs):] {
		s.fit.take(s.lo, s.hi, s.prior, r)
	}
}

var certain = []pair{{0, 1, 1}}

// nearest turns values into outcomes: nearer to which end.
func (s *Search) nearest(runs []Run) []Run {
	var good, bad float64
	for _, r := range runs {
		switch r.Index {
		case s.lo:
			good = r.Value
		case s.hi:
			bad = r.Value
		}
	}
	out := make([]Run, len(runs))
	for i, r := range runs {
		out[i] = Run{Index: r.Index, Bad: math.Abs(r.Value-good) > math.Abs(r.Value-bad)}
	}
	return out
}

// split looks whether one change explains the runs. Where it does not, the search goes
// on in the part that holds the change that was asked for, and split is true.
func (s *Search) split() bool {
	var at []int // candidates between which the changes lie: the ends of the parts
	switch {
	case s.fit != nil:
		at = s.thirdLevel()
	case s.cfg.Metric == Value && s.cfg.Deterministic:
		at = s.between()
	case s.pairs != nil:
		at = s.backAndForth()
	}
	if at == nil {
		return false
	}
	part := s.choosePart(at)
	for i := 0; i+1 < len(at); i++ {
		if i != part {
			s.several = append(s.several, Change{at[i], at[i+1]})
		}
	}
	slices.SortFunc(s.several, func(a, b Change) int { return a.From - b.From })
	s.lo, s.hi = at[part], at[part+1]
	s.fit = nil
	return true
}

// choosePart is which of the parts between at holds the change asked for.
func (s *Search) choosePart(at []int) int {
	last := len(at) - 2
	switch {
	case s.cfg.Find == Last:
		return last
	case s.cfg.Find == First || s.cfg.Metric == Pass:
		return 0
	}
	best, step := 0, -1.0
	for i := 0; i <= last; i++ {
		if d := math.Abs(s.levelAt(at[i+1]) - s.levelAt(at[i])); d > step {
			best, step = i, d
		}
	}
	return best
}

func (s *Search) levelAt(i int) float64 {
	var v []float64
	for _, r := range s.runs {
		if r.Index == i && !r.Untestable {
			v = append(v, r.Value)
		}
	}
	return middle(v)
}

// between looks, where runs do not scatter, for a value that is neither that of the
// good nor that of the bad end: off both by a quarter of what they differ by.
func (s *Search) between() []int {
	good, bad := s.levelAt(s.lo), s.levelAt(s.hi)
	limit := math.Abs(bad-good) / 4
	for _, r := range s.inside() {
		if r.Index > s.lo && r.Index < s.hi && math.Abs(r.Value-good) > limit && math.Abs(r.Value-bad) > limit {
			return []int{s.lo, r.Index, s.hi}
		}
	}
	return nil
}

const (
	// Runs at a level that neither end showed before it is believed.
	levelRuns = 3
	// By how much, in natural logarithms, a level of its own must explain them better.
	levelBetter = 11.0
	// Values within so many standard deviations of each other are at one level.
	levelWidth = 4.0
)

// thirdLevel looks for a level between the ends that no run of an end was near to: a
// second mode would have shown there, too.
func (s *Search) thirdLevel() []int {
	var sds []float64
	for _, n := range s.fit.states {
		sds = append(sds, n.sd)
	}
	if at := s.levelBetween(middle(sds), false); at != nil {
		return at
	}
	// Where one side has two levels the model may see one with much noise, or a second
	// mode: runs of one candidate show how much noise there is.
	if own, ok := s.repeatability(); ok && own < middle(sds) {
		return s.levelBetween(own, true)
	}
	return nil
}

// levelBetween looks for a level of its own at a noise of sd. strict asks that chance
// has not put all its runs, and no others, into a second mode.
func (s *Search) levelBetween(sd float64, strict bool) []int {
	f, v := s.fit, s.fit.values
	for t, m := range v.y {
		var y []float64
		near := false
		from, to := s.hi, s.lo // where runs at this level are
		for u, x := range v.y {
			if math.Abs(x-m) > levelWidth*sd {
				continue
			}
			i := f.segments.at[v.segment[u]]
			near = near || i == s.lo || i == s.hi
			from, to = min(from, i), max(to, i)
			y = append(y, x)
		}
		if near || len(y) < levelRuns || s.mixed(v, from, to, m, levelWidth*sd) {
			continue
		}
		if strict && byMode(len(y), len(v.y)-len(y)) > -modeBetter {
			continue
		}
		if ownLevel(f.states, y, sd) > levelBetter {
			return []int{s.lo, f.segments.at[v.segment[t]], s.hi}
		}
	}
	return nil
}

// mixed reports whether runs of candidates from..to lie elsewhere, too: a second mode
// comes and goes, a level has its stretch for itself.
func (s *Search) mixed(v values, from, to int, m, width float64) bool {
	for u, x := range v.y {
		i := s.fit.segments.at[v.segment[u]]
		if i >= from && i <= to && math.Abs(x-m) > width {
			return true
		}
	}
	return false
}

// modeBetter is by how much, in natural logarithms, a second mode must explain less.
const modeBetter = 8.0

// byMode is the log likelihood that a second mode holds all of some runs and none of
// others, at the share of it that fits best.
func byMode(in, out int) float64 {
	q := float64(in) / float64(in+out)
	return float64(in)*math.Log(q) + float64(out)*math.Log(1-q)
}

// leastFreedom are the degrees of freedom from which the scatter of runs of single
// candidates is believed.
const leastFreedom = 4

// repeatability is the standard deviation of runs of one candidate, in the unit of the
// fit's values.
func (s *Search) repeatability() (sd float64, ok bool) {
	v := s.fit.values
	of := map[int][]float64{}
	for t, y := range v.y {
		of[v.segment[t]] = append(of[v.segment[t]], y)
	}
	var squares, freedom float64
	for _, y := range of {
		squares += deviation(y, 0) * float64(len(y))
		freedom += float64(len(y) - 1)
	}
	if freedom < leastFreedom {
		return 0, false
	}
	// Values that repeat exactly have no noise, but a fit needs some.
	return max(math.Sqrt(squares/freedom), 1e-4), true
}

// ownLevel is by how much one level more explains values better than outliers and the
// first modes of the sides, its price (Schwarz) taken off. sd is the noise of a level.
func ownLevel(states []noise, y []float64, sd float64) float64 {
	var sides, own float64
	m := middle(y)
	for _, v := range y {
		var g, b, o float64
		for _, n := range states {
			odd := max(n.odd, 0.002) * outlier(v)
			g += (1-n.odd)*normal(v-n.level[0], n.sd) + odd
			b += (1-n.odd)*normal(v-n.level[1], n.sd) + odd
			o += (1-n.odd)*normal(v-m, min(n.sd, sd)) + odd
		}
		sides += math.Log(max(g, b))
		own += math.Log(o)
	}
	return own - sides - 0.5*math.Log(float64(len(y))) - 2
}

// backAndForth weighs three changes (bad, good again, bad) against one, and gives the
// borders of the first and of the last one where three are far more likely.
func (s *Search) backAndForth() []int {
	runs := s.inside()
	if s.cfg.Metric == Value {
		return nil // between has looked
	}
	at := cut(s.lo, s.hi, s.prior, runs).at
	t := tallies(at, runs)
	one, three := math.Inf(-1), math.Inf(-1)
	var best []int
	for _, q := range s.pairs {
		l1, _ := bestPath(t, q, 1)
		l3, path := bestPath(t, q, 3)
		w := math.Log(q.weight)
		one = max(one, l1+w)
		if l3+w > three && path != nil {
			three, best = l3+w, path
		}
	}
	// Two more places, each among all candidates, and a prior of 1 in 50.
	price := 2*math.Log(float64(s.hi-s.lo)) + math.Log(50)
	if best == nil || three-one < price {
		return nil
	}
	return []int{at[best[0]-1], at[best[1]-1], at[best[2]-1], at[best[2]]}
}

// bestPath is the most likely way through the tallies with so many changes between bad
// and good, beginning good, and the index of the first tally after each change.
func bestPath(t []tally, q pair, changes int) (float64, []int) {
	type way struct {
		l  float64
		at []int
	}
	ways := make([]way, changes+1)
	for c := range ways {
		ways[c].l = math.Inf(-1)
	}
	ways[0].l = 0
	for i, x := range t {
		for c := changes; c >= 0; c-- {
			if c > 0 && i > 0 && ways[c-1].l > ways[c].l {
				ways[c] = way{ways[c-1].l, append(slices.Clone(ways[c-1].at), i)}
			}
			rate := q.good
			if c%2 == 1 {
				rate = q.bad
			}
			ways[c].l += x.chance(rate)
		}
	}
	return ways[changes].l, ways[changes].at
}
