package bisect

import (
	"math"
	"slices"
)

// belief is the posterior, and what a run would add to it.
type belief struct {
	lo, hi int
	p      []float64 // of each candidate to be the first bad one; 0 outside (lo, hi]
	gain   []float64 // expected information of a run, bits about which it is
	// good and bad are how often a run speaks for "bad" on either side: the channel
	// by which runs that are on their way are counted.
	good, bad float64
}

func newBelief(lo, hi int, p []float64) *belief {
	var sum float64
	for k := range p {
		if k <= lo || k > hi {
			p[k] = 0
		}
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return &belief{lo: lo, hi: hi, p: p, gain: make([]float64, len(p)), good: 0, bad: 1}
}

// interval is the smallest run of candidates whose probability is sure at least; of
// several the most probable.
func (b *belief) interval(sure float64) (from, to int, p float64) {
	// Sums of thousands of small numbers may miss 1 by a little.
	need := min(sure, 1-1e-9)
	from, to = b.lo+1, b.hi
	p = sum(b.p[from : to+1])
	var mass float64
	left := b.lo + 1
	for right := b.lo + 1; right <= b.hi; right++ {
		mass += b.p[right]
		for left < right && mass-b.p[left] >= need {
			mass -= b.p[left]
			left++
		}
		if mass >= need && (right-left < to-from || right-left == to-from && mass > p) {
			from, to, p = left, right, mass
		}
	}
	return from, to, min(p, 1)
}

// segments cuts the candidates where runs were: of those in one segment the runs say
// the same.
type segments struct {
	at   []int     // candidates that were run, in order
	mass []float64 // prior of segment j: first bad ones with exactly j of at before them
	log  []float64 // its logarithm, of a sum of 1
}

// cut makes the segments of the part (lo, hi].
func cut(lo, hi int, prior []float64, runs []Run) segments {
	var g segments
	for _, r := range runs {
		g.at = append(g.at, r.Index)
	}
	slices.Sort(g.at)
	g.at = slices.Compact(g.at)
	g.mass = make([]float64, len(g.at)+1)
	j := 0
	for k := lo + 1; k <= hi; k++ {
		for j < len(g.at) && g.at[j] < k {
			j++
		}
		g.mass[j] += prior[k]
	}
	g.log = make([]float64, len(g.mass))
	total := sum(g.mass)
	for j, m := range g.mass {
		g.log[j] = math.Log(m / total)
	}
	return g
}

// spread gives each candidate its share of its segment.
func (g segments) spread(lo, hi int, prior, weight []float64) *belief {
	p := make([]float64, len(prior))
	j := 0
	for k := lo + 1; k <= hi; k++ {
		for j < len(g.at) && g.at[j] < k {
			j++
		}
		if g.mass[j] > 0 {
			p[k] = prior[k] / g.mass[j] * weight[j]
		}
	}
	return newBelief(lo, hi, p)
}

// entropy of a coin, bits.
func entropy(p float64) float64 {
	if p <= 0 || p >= 1 {
		return 0
	}
	return -(p*math.Log2(p) + (1-p)*math.Log2(1-p))
}

func sum(x []float64) float64 {
	var s float64
	for _, v := range x {
		s += v
	}
	return s
}

// logSum is log(sum(exp(x))).
func logSum(x []float64) float64 {
	top := slices.Max(x)
	if math.IsInf(top, -1) {
		return top
	}
	var s float64
	for _, v := range x {
		s += math.Exp(v - top)
	}
	return top + math.Log(s)
}
