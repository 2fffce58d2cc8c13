package bisect

import (
	"math"
	"slices"
)

// useless is the information of a run, in bits, below which the search would not end.
const useless = 1e-7

// Next is the candidate to run now. pending are those whose runs are on their way,
// each as often as it runs. Without one (ok false) the search is over, or must wait for
// a run that is on its way.
func (s *Search) Next(pending []int) (index int, ok bool) {
	if s.verdict != Open {
		return 0, false
	}
	if len(s.runs)+len(pending) >= s.cfg.Most {
		return 0, false
	}
	if s.belief == nil {
		return s.nextEnd(pending)
	}
	if from, to, _ := s.belief.interval(s.cfg.Sure); s.atomic(from, to) {
		return s.otherEnd(), true // only whether the sides differ is open
	}
	gain := s.belief.gain
	if len(pending) > 0 {
		gain = s.belief.after(pending)
	}
	testable := s.testability()
	best, index := 0.0, -1
	for i := s.lo; i <= s.hi; i++ { // the ends, too: they tell how noisy a side is
		if s.untestable[i] {
			continue
		}
		worth := gain[i] * testable(i) / s.cost(i)
		// Equal but for rounding: the first one, so that the order is the same everywhere.
		if worth > best*(1+1e-9) && gain[i] > useless {
			best, index = worth, i
		}
	}
	switch {
	case index >= 0:
		return index, true
	case len(pending) > 0:
		return 0, false
	}
	// Nothing inside tells: what the sides look like may be wrong.
	return s.otherEnd(), true
}

// Proposals are the next k candidates to run at once, beside those that are on their
// way: for several machines or cards. There are fewer where more would not help.
func (s *Search) Proposals(k int, pending []int) []int {
	all := slices.Clone(pending)
	for len(all) < len(pending)+k {
		i, ok := s.Next(all)
		if !ok {
			break
		}
		all = append(all, i)
	}
	return all[len(pending):]
}

// otherEnd is that of the ends with fewer runs.
func (s *Search) otherEnd() int {
	var lo, hi int
	for _, r := range s.runs {
		switch r.Index {
		case s.lo:
			lo++
		case s.hi:
			hi++
		}
	}
	if lo < hi {
		return s.lo
	}
	return s.hi
}

func (s *Search) cost(i int) float64 {
	if s.cfg.Cost == nil {
		return 1
	}
	if c := s.cfg.Cost(i); c > 0 && finite(c) {
		return c
	}
	return math.SmallestNonzeroFloat32 // free, but two free ones still have an order
}

// testability is how likely it is that a candidate can be tested. Those that cannot
// come in runs (a package that no longer installs, a fault that stays for a week), so
// that it is less likely beside one that could not. That never speaks for good or bad.
func (s *Search) testability() func(int) float64 {
	n := s.cfg.N
	var bad float64
	tested := make([]bool, n)
	for _, r := range s.runs {
		if !r.Untestable {
			tested[r.Index] = true
		}
	}
	var all float64
	for i := range n {
		if s.untestable[i] {
			bad++
		}
		if s.untestable[i] || tested[i] {
			all++
		}
	}
	base := (0.5 + bad) / (10 + all)
	if bad == 0 {
		return func(i int) float64 {
			if tested[i] {
				return 1
			}
			return 1 - base
		}
	}
	near := s.distances(tested)
	reach := math.Max(1, float64(s.hi-s.lo)/64)
	return func(i int) float64 {
		if tested[i] {
			return 1
		}
		return (1 - base) * (1 - 0.7*math.Exp(-float64(near[i]-1)/reach))
	}
}

// distances is how far the next untestable candidate is, with no tested one between.
func (s *Search) distances(tested []bool) []int {
	n := s.cfg.N
	out := make([]int, n)
	for i := range out {
		out[i] = math.MaxInt32
	}
	walk := func(order []int) {
		d := math.MaxInt32
		for _, i := range order {
			switch {
			case s.untestable[i]:
				d = 0
			case tested[i]:
				d = math.MaxInt32
			case d < math.MaxInt32:
				d++
			}
			out[i] = min(out[i], d)
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	walk(order)
	slices.Reverse(order)
	walk(order)
	return out
}

// mostFutures is how many runs on their way are thought through, each both ways.
const mostFutures = 4

// after is the expected information of a run in addition to those on their way.
func (b *belief) after(pending []int) []float64 {
	gain := make([]float64, len(b.p))
	good, bad := clampRate(b.good), clampRate(b.bad)
	futures := [][]float64{slices.Clone(b.p)} // not normalised: the sum is the chance of it
	for n, i := range pending {
		if n >= mostFutures {
			// Of further ones only where they are matters: once is enough.
			break
		}
		var next [][]float64
		for _, p := range futures {
			yes, no := make([]float64, len(p)), make([]float64, len(p))
			for k, w := range p {
				rate := good
				if k <= i {
					rate = bad
				}
				yes[k], no[k] = w*rate, w*(1-rate)
			}
			next = append(next, yes, no)
		}
		futures = next
	}
	for _, p := range futures {
		total := sum(p)
		if total < 1e-12 {
			continue
		}
		var before float64
		for i := b.lo; i <= b.hi; i++ {
			before += p[i]
			share := before / total // candidate i is bad
			gain[i] += total * (entropy(share*bad+(1-share)*good) - share*entropy(bad) - (1-share)*entropy(good))
		}
	}
	for n, i := range pending {
		if n >= mostFutures {
			gain[i] = 0
		}
	}
	return gain
}

// clampRate keeps both futures of a run possible.
func clampRate(r float64) float64 { return min(max(r, 0.001), 0.999) }
